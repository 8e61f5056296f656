"""Comments on a real store: table CMT through the use cases (page 40)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.frames import longest_comment_frame_units
from relaybay.service import binding, comment_lists, comments, handover, listing, steps, tasks
from relaybay.service.waits import WaitEntry
from relaybay.specs import limit
from relaybay.store import sessions
from tests.unit.card_rig import OWNER, CardRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


# -- the owner writes --------------------------------------------------------------------------------------------


@pytest.mark.spec("CMT-1", "CMT-2", "RECV-3", "RECV-4", "RECV-5", "RECV-6", "RECV-7", "RECV-8")
def test_a_new_comment_says_why_it_waits(rig) -> None:
    unbound = rig.say(rig.task())
    assert unbound["state"] == "sent" and "reason_code" not in unbound
    assert unbound["reason"] == "no session is bound" and "waits for a binding" in unbound["text"]

    other = rig.live("other")
    rows = {
        "working": rig.live("busy", activity="working"),
        "idle": rig.live("resting"),
        "being_woken": rig.live("woken"),
        "never_linked": rig.row("plain"),
        "ended": rig.row("over", "hook", "ended_exact"),
        "moved": rig.row("elsewhere", "agent", "moved", moved_to=other.id),
    }
    wait = WaitEntry("w1", rows["being_woken"].id, "hook-woken", rig.now)
    rig.relay.waits.open(wait, link_exact_live=True)
    rig.relay.waits.begin_poll(wait, lambda: None)
    for code, row in rows.items():
        said = rig.say(rig.task(row))
        assert (said["state"], said["reason_code"]) == ("sent", code)
        assert said["reason"] in said["text"] and f'"{row.title}"' in said["reason"]
        assert "message is kept" not in said["reason"] and "messages_list" not in said["reason"]
    assert f'{other.ref} "other"' in rig.say(rig.task(rows["moved"]))["reason"]
    gone = rig.row("lost", "agent", "moved", moved_to=None)
    assert "is gone or has left it" in rig.say(rig.task(gone))["reason"]
    left = rig.row("left", "agent", "moved", moved_to=rows["never_linked"].id)
    assert "is gone or has left it" in rig.say(rig.task(left))["reason"]


@pytest.mark.spec("CMT-1", "RECV-5")
def test_a_card_says_since_when_its_session_was_not_seen(rig) -> None:
    quiet = rig.live("quiet")
    task = rig.task(quiet)
    assert "last seen" not in rig.say(task)["reason"]
    rig.now += 3 * 3600 * SECOND
    assert "was last seen 3 h ago" in rig.say(task)["reason"]
    assert "last seen" not in rig.say(rig.task(rig.row("never")))["reason"]


@pytest.mark.spec("SEND-9", "SEND-10", "SEND-11", "SEND-15", "TEXT-1")
def test_a_comment_is_checked_as_a_message_is(rig) -> None:
    task = rig.task(rig.live("a"))
    for body, code in (
        (" \n\u200b", "body_blank"),
        ("a\0b", "body_not_text"),
        ("x" * 6001, "body_too_long"),
        ('"' * 6000, "body_too_long_quoted"),
    ):
        got = rig.no(lambda tx, b=body: comments.owner_comment(tx, rig.relay, task=task, body=b, from_board=True))
        assert got[0] == code
        hook = rig.by(name="somebody")
        assert rig.no(lambda tx, b=body, h=hook: comments.comment_add(tx, rig.relay, h, task=task, body=b))[0] == code
    said = rig.say(task, "one\r\ntwo\u2028three")
    assert rig.comment(said["id"]).body_md == "one\ntwo\nthree" and said["body"] == '"one\\ntwo\\nthree"'
    assert rig.say(task, "x" * 6000)["state"] == "sent"


@pytest.mark.spec("40")
def test_a_comment_may_answer_another_and_mean_a_step(rig) -> None:
    task, elsewhere = rig.task(), rig.task()
    rig.do(lambda tx: tasks.task_update(tx, rig.relay, OWNER, task=task, change=tasks.Change(step_add="First")))
    first = rig.say(task, step=1)
    assert first["step"] == 1
    assert rig.say(task, in_reply_to=first["id"])["in_reply_to"] == first["id"]

    def refused(key, **more):
        return rig.no(lambda tx: comments.owner_comment(tx, rig.relay, task=key, body="x", from_board=True, **more))

    assert refused(task, step=2) == ("step_unknown", "75")
    assert refused(elsewhere, in_reply_to=first["id"]) == ("comment_unknown", "75")
    assert refused("shop-99") == ("task_unknown", "75")


@pytest.mark.spec("CMT-12", "CMT-19", "CMT-3", "CMT-17")
def test_on_the_board_a_comment_can_be_taken_back_for_five_seconds(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    said = rig.say(task, board=True)
    rig.now += 3 * SECOND
    assert rig.hand(bound) is None
    # No session sees it in a list either.
    assert rig.list(rig.by(bound), task)["comments"] == []
    assert len(rig.list(OWNER, task)["comments"]) == 1
    gone = rig.do(lambda tx: comments.withdraw(tx, comment_id=said["id"]))
    assert gone["state"] == "gone"
    assert rig.list(OWNER, task)["comments"] == []
    assert rig.last_event("comment.withdrawn") == {"comment_id": said["id"], "task": task}
    assert rig.no(lambda tx: comments.withdraw(tx, comment_id=said["id"])) == ("comment_unknown", "CMT-12")

    late = rig.say(task, board=True)
    rig.now += 5 * SECOND
    assert rig.no(lambda tx: comments.withdraw(tx, comment_id=late["id"])) == ("too_late", "CMT-19")
    # The command line has no such seconds.
    at_once = rig.say(task, board=False)
    assert rig.no(lambda tx: comments.withdraw(tx, comment_id=at_once["id"])) == ("too_late", "CMT-19")
    assert rig.hand(bound) is not None
    assert rig.no(lambda tx: comments.withdraw(tx, comment_id=late["id"])) == ("too_late", "CMT-19")
    reply = rig.add(rig.by(bound), task)
    assert rig.no(lambda tx: comments.withdraw(tx, comment_id=reply["id"])) == ("too_late", "CMT-19")


@pytest.mark.spec("CMT-10", "CMT-11", "CMT-18")
def test_replies_wait_until_the_owner_has_seen_to_them(rig) -> None:
    bound = rig.live("a")
    task, other = rig.task(bound), rig.task(bound)
    first, second = rig.add(rig.by(bound), task), rig.add(rig.by(bound), other)
    assert first["state"] == "unanswered" and first["author"] == {
        "kind": "session", "title": "a", "ref": bound.ref, "verified": True,
    }  # fmt: skip
    rig.bind(task, rig.live("b"))
    assert rig.view(first["id"])["state"] == "unanswered"
    done = rig.do(lambda tx: comments.replies_read(tx, task=task))
    assert done["read"] == 1 and rig.view(first["id"])["state"] == "answered"
    assert rig.view(first["id"])["read_at"] and rig.view(second["id"])["state"] == "unanswered"
    assert rig.do(lambda tx: comments.replies_read(tx, task=task))["read"] == 0
    rig.say(other)
    assert rig.view(second["id"])["state"] == "answered"
    assert rig.types().count("comment.read") == 2
    assert rig.no(lambda tx: comments.replies_read(tx, task="shop-99")) == ("task_unknown", "75")


# -- agents read and answer --------------------------------------------------------------------------------------


@pytest.mark.spec("CMT-3", "CMT-6", "CMT-9", "ACK-6")
def test_the_bound_session_acknowledges(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    said = rig.say(task)
    assert rig.hand(bound) is not None
    shown = rig.view(said["id"])
    assert shown["state"] == "delivered" and shown["delivered_to"] == {"ref": bound.ref, "title": "a"}
    assert shown["reason"].startswith("Not acknowledged yet")
    answer = rig.ack(rig.by(bound), said["id"])
    assert (answer["state"], answer["read_how"]) == ("read", "verified")
    when = rig.view(said["id"])["read_at"]
    again = rig.ack(rig.by(bound), said["id"])
    assert again["read_how"] == "verified" and "Already read" in again["text"]
    assert rig.view(said["id"])["read_at"] == when
    assert rig.types().count("comment.read") == 1
    assert rig.last_event("comment.read") == {
        "comment_id": said["id"], "task": task, "session": bound.ref, "title": "a", "verified": True,
    }  # fmt: skip
    unseen = rig.say(task)
    assert rig.ack(rig.by(bound), unseen["id"])["state"] == "read"


@pytest.mark.spec("CMT-15", "CMT-24", "CMT-6", "ACK-2", "ACK-5")
def test_who_may_not_acknowledge(rig) -> None:
    bound, other, plain = rig.live("a"), rig.live("b"), rig.row("c")
    task = rig.task(bound)
    said = rig.say(task)
    assert rig.no_ack(rig.by(name="a"), said["id"]) == ("ack_not_proven", "CMT-15")
    assert rig.no_ack(rig.by(other), said["id"]) == ("not_bound", "CMT-24")
    assert rig.no_ack(rig.by(name="c"), said["id"]) == ("not_bound", "CMT-24")
    assert rig.no_ack(rig.by(name="nobody"), said["id"]) == ("session_unknown", "ACK-2")
    assert rig.no_ack(rig.by(bound), "c_none") == ("comment_unknown", "ACK-5")
    reply = rig.add(rig.by(other), task)
    assert rig.no_ack(rig.by(bound), reply["id"]) == ("comment_unknown", "ACK-5")
    # A row that never linked itself can read what it is sent, and that is shown.
    rig.bind(task, plain)
    answer = rig.ack(rig.by(name="c"), said["id"])
    assert answer["read_how"] == "not_verified" and "name not verified" in answer["text"]
    assert rig.no_ack(rig.by(bound), said["id"]) == ("not_bound", "CMT-24")
    # An ended session that proves itself by its own id is believed (LINK-4); its name alone is not.
    ended = rig.row("d", "hook", "ended_exact", "h-ended")
    last = rig.say(rig.task(ended))
    assert rig.no_ack(rig.by(name="d"), last["id"]) == ("ack_not_proven", "CMT-15")
    assert rig.ack(rig.by(name="d", hook="h-ended"), last["id"])["read_how"] == "verified"


@pytest.mark.spec("CMT-14", "CMT-15", "ACK-1")
def test_a_call_that_says_nobody_speaks_for_the_bound_session(rig) -> None:
    nobody = rig.by()
    unbound = rig.task()
    said = rig.say(unbound)
    assert rig.no_ack(nobody, said["id"]) == ("sender_required", "CMT-14")
    assert rig.no(lambda tx: comments.comment_add(tx, rig.relay, nobody, task=unbound, body="x")) == (
        "sender_required", "CMT-14",
    )  # fmt: skip
    plain = rig.row("plain")
    rig.bind(unbound, plain)
    assert rig.ack(nobody, said["id"])["read_how"] == "not_verified"
    reply = rig.add(nobody, unbound)
    assert reply["author"] == {"kind": "session", "title": "plain", "ref": plain.ref, "verified": False}
    assert "not verified" in reply["text"]
    # The bound session has proved itself before, so nobody else can mark for it; the comment is stored all the same.
    linked = rig.task(rig.live("linked"))
    said = rig.say(linked)
    assert rig.no_ack(nobody, said["id"]) == ("ack_not_proven", "CMT-15")
    assert "does not prove" in rig.add(nobody, linked, in_reply_to=said["id"])["text"]
    assert rig.view(said["id"])["state"] == "sent"
    # A hook id that no row has is no name (ACK-1).
    assert rig.no_ack(rig.by(hook="h-dead"), said["id"]) == ("sender_required", "ACK-1")


@pytest.mark.spec("CMT-7", "CMT-9", "CMT-13")
def test_a_reply_marks_what_it_answers(rig) -> None:
    bound, other = rig.live("a"), rig.live("b")
    task = rig.task(bound)
    first, second = rig.say(task), rig.say(task)
    by_other = rig.add(rig.by(other), task, in_reply_to=first["id"])
    assert "this call does not speak for it" in by_other["text"] and rig.view(first["id"])["state"] == "sent"
    by_name = rig.add(rig.by(name="a"), task, in_reply_to=first["id"])
    assert "does not prove" in by_name["text"] and not by_name["author"]["verified"]
    assert rig.view(first["id"])["state"] == "sent"
    reply = rig.add(rig.by(bound), task, in_reply_to=first["id"])
    assert reply["in_reply_to"] == first["id"] and reply["author"]["verified"]
    assert (rig.view(first["id"])["state"], rig.view(first["id"])["read_how"]) == ("read", "verified")
    assert rig.view(second["id"])["state"] == "sent"
    rig.add(rig.by(bound), task, in_reply_to=first["id"])
    assert rig.types().count("comment.read") == 1
    # An answer to another agent's comment marks nothing of the owner's.
    rig.add(rig.by(bound), task, in_reply_to=by_other["id"])
    assert rig.view(second["id"])["state"] == "sent"
    hook = rig.by(bound)
    wrong = rig.no(lambda tx: comments.comment_add(tx, rig.relay, hook, task=task, body="x", in_reply_to="c_none"))
    assert wrong == ("comment_unknown", "75")


@pytest.mark.spec("CMT-8", "CMT-23")
def test_a_reply_on_the_task_marks_what_its_session_was_given(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    handed = rig.say(task)
    assert rig.hand(bound) is not None
    unseen = rig.say(task)
    reply = rig.add(rig.by(bound), task)
    assert rig.view(handed["id"])["state"] == "read" and rig.view(unseen["id"])["state"] == "sent"
    assert "stay unread: 1" in reply["text"]
    # Another session's look, and one in the bound session's name without proof, give it to nobody.
    rig.list(rig.by(rig.live("b")), task)
    rig.list(rig.by(name="a"), task)
    rig.add(rig.by(bound), task)
    assert rig.view(unseen["id"])["state"] == "sent"
    assert rig.list(rig.by(bound), task, unread_only=True)["comments"][0]["id"] == unseen["id"]
    rig.add(rig.by(bound), task)
    assert rig.view(unseen["id"])["state"] == "read"


@pytest.mark.spec("CMT-8", "CMT-23")
def test_task_get_gives_comments_too_and_what_a_former_id_was_given_counts_no_more(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    said = rig.say(task)
    seen = rig.do(lambda tx: tasks.task_get(tx, rig.relay, rig.by(bound), task=task))
    assert [c["id"] for c in seen["comments"]] == [said["id"]] and seen["unread_comments"] == 1
    # Another conversation stands behind the row now: it was given nothing.
    rig.now += SECOND
    rig.store.write(lambda tx: sessions.change(tx, bound.id, hook_id="h-new", hook_since_us=tx.now))
    rig.add(rig.by(bound), task)
    assert rig.view(said["id"])["state"] == "sent"
    # A row that never linked itself is given what is listed in its name.
    plain = rig.row("plain")
    rig.bind(task, plain)
    rig.list(rig.by(name="plain"), task)
    rig.add(rig.by(name="plain"), task)
    assert rig.view(said["id"])["read_how"] == "not_verified"


@pytest.mark.spec("CMT-13", "LINK-10", "MOVE-5", "WRITE-4")
def test_a_reply_that_takes_a_row_over_proves_nothing_about_it(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    said = rig.say(task)
    rig.hand(bound)
    rig.row("folder", "hook", "guessed", "h-other")
    reply = rig.add(rig.by(name="a", hook="h-other"), task, in_reply_to=said["id"])
    assert reply["author"]["ref"] == bound.ref and rig.need(bound).hook_id == "h-other"
    # What was delivered to the conversation before waits again, for the one that is there now.
    assert rig.view(said["id"])["state"] == "sent"


@pytest.mark.spec("WRITE-1", "WRITE-2", "ROW-3", "LINK-5")
def test_who_writes_a_comment(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    dead = rig.by(hook="h-dead")
    assert rig.no(lambda tx: comments.comment_add(tx, rig.relay, dead, task=task, body="x")) == (
        "sender_required", "WRITE-2",
    )  # fmt: skip
    rig.row("twin"), rig.row("twin")
    twin = rig.by(name="twin")
    assert rig.no(lambda tx: comments.comment_add(tx, rig.relay, twin, task=task, body="x"))[1] == "WRITE-1"
    assert rig.add(rig.by(name="fresh"), task)["author"]["title"] == "fresh" and rig.titled("fresh") is not None
    # A refused one makes no row.
    new = rig.by(name="newer")
    assert rig.no(lambda tx: comments.comment_add(tx, rig.relay, new, task="shop-99", body="x"))[0] == "task_unknown"
    assert rig.titled("newer") is None
    taken = rig.store.write(
        lambda tx: comments.comment_add(tx, rig.relay, rig.by(name="other name", hook="hook-a"), task=task, body="x")
    )
    assert taken.warnings[0][0] == "link.name_ignored" and taken.data["author"]["ref"] == bound.ref


@pytest.mark.spec("PROOF-6")
def test_the_very_same_call_is_answered_again_and_done_once(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    caller = rig.by(bound)
    first, again = rig.add(caller, task), rig.add(caller, task)
    assert again["id"] == first["id"]
    assert len(rig.list(OWNER, task)["comments"]) == 1
    # With another body it is another call, which that tool-use id proves nothing for.
    assert rig.no(lambda tx: comments.comment_add(tx, rig.relay, caller, task="shop-99", body="y"))[0] == "task_unknown"
    said = rig.say(task)
    caller = rig.by(bound)
    assert rig.ack(caller, said["id"])["state"] == rig.ack(caller, said["id"])["state"] == "read"


# -- the task changes hands --------------------------------------------------------------------------------------


@pytest.mark.spec("CMT-5", "CMT-18", "CMT-22", "MOVE-4", "MOVE-11")
def test_a_comment_goes_with_its_task(rig) -> None:
    a, b = rig.live("a"), rig.live("b")
    task = rig.task(a)
    read, handed, sent = rig.say(task), rig.say(task), None
    assert rig.hand(a, "stop") is not None
    rig.ack(rig.by(a), read["id"])
    sent = rig.say(task)
    rig.bind(task, a)
    assert [rig.view(c["id"])["state"] for c in (read, handed, sent)] == ["read", "delivered", "sent"]
    bound = rig.bind(task, b)
    assert bound["unread_comments"] == 2 and bound["session"] == {"ref": b.ref, "title": "b"}
    assert [rig.view(c["id"])["state"] for c in (read, handed, sent)] == ["read", "sent", "sent"]
    assert rig.comment(handed["id"]).stop_blocks == 1
    assert "delivered_at" not in rig.view(handed["id"])
    assert rig.hand(a) is None
    assert rig.hand(b) is not None
    happened = rig.store.read(lambda tx: comment_lists.history(tx, task=task)).data["history"][handed["id"]]
    assert [(h["type"], h["session"]) for h in happened] == [
        ("comment.delivered", a.ref), ("comment.offered_again", a.ref), ("comment.delivered", b.ref),
    ]  # fmt: skip
    rig.do(lambda tx: binding.task_unbind(tx, rig.relay, OWNER, task=task))
    assert rig.view(handed["id"])["reason"] == "no session is bound"
    rig.bind(task, a)
    assert [rig.view(c["id"])["state"] for c in (read, handed, sent)] == ["read", "sent", "sent"]


@pytest.mark.spec("CMT-5", "CMT-18", "LINK-20", "MOVE-5")
def test_another_conversation_behind_the_row_gets_it_again(rig) -> None:
    a = rig.live("a")
    task = rig.task(a)
    handed = rig.say(task)
    rig.hand(a)
    rig.unlink(a)
    shown = rig.view(handed["id"])
    assert (shown["state"], shown["reason_code"]) == ("sent", "never_linked")


@pytest.mark.spec("CMT-4", "CMT-16", "CMT-17", "PACK-7")
def test_a_comment_blocks_two_stops_and_an_answer_that_is_lost_takes_its_block_back(rig) -> None:
    a = rig.live("a")
    task = rig.task(a)
    said = rig.say(task)
    rig.hand(a)
    assert rig.hand(a) is None
    first = rig.hand(a, "stop")
    assert first is not None and rig.comment(said["id"]).stop_blocks == 1
    rig.store.write(lambda tx: handover.answer_not_written(tx, rig.relay, first))
    assert rig.comment(said["id"]).stop_blocks == 0 and rig.comment(said["id"]).state == "delivered"
    assert rig.hand(a, "stop") and rig.hand(a, "stop") and rig.hand(a, "stop") is None
    assert rig.comment(said["id"]).stop_blocks == 2


@pytest.mark.spec("CMT-16", "CMT-20", "CMT-21")
def test_what_the_transcript_says_is_shown_and_a_lost_comment_is_offered_twice_more(rig) -> None:
    a = rig.live("a")
    task = rig.task(a)
    said = rig.say(task)

    def transcript(event: str, *, left: bool = True) -> str:
        facts = {"reoffers_left": left}
        return rig.store.write(lambda tx: steps.comment(tx, rig.comment(said["id"]), event, facts)[0].spec_id)

    assert transcript("context_seen") == transcript("context_missing") == "CMT-21"
    assert rig.view(said["id"])["state"] == "sent" and "in_context_at" not in rig.view(said["id"])
    for count in (1, 2):
        rig.hand(a)
        assert transcript("context_missing") == "CMT-16"
        assert (rig.view(said["id"])["state"], rig.comment(said["id"]).reoffers) == ("sent", count)
    rig.hand(a)
    assert transcript("context_missing", left=False) == "CMT-16" and rig.view(said["id"])["state"] == "delivered"
    assert transcript("context_seen") == "CMT-20"
    when = rig.view(said["id"])["in_context_at"]
    rig.now += SECOND
    assert transcript("context_seen") == "CMT-20" and rig.view(said["id"])["in_context_at"] == when
    rig.ack(rig.by(a), said["id"])
    assert transcript("context_missing") == "CMT-21" and rig.view(said["id"])["state"] == "read"


# -- lists -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("TEXT-3", "TEXT-5", "75")
def test_lists_are_bounded_and_go_on_where_they_stopped(rig) -> None:
    bound = rig.live("a <b>")
    task = rig.task(bound)
    most = (limit("answer_utf16_max") - longest_comment_frame_units()) // 2 - 1
    ids = [rig.say(task, "\\" * most)["id"] for _ in range(5)] + [rig.say(task, f"n{i}")["id"] for i in range(3)]
    assert 10_000 < max(listing.size(rig.view(cid)) for cid in ids) < listing.COMMENT_UNITS_MAX
    seen: list[str] = []
    page: dict = {}
    while not seen or "before" in page:
        page = rig.list(rig.by(bound), task, limit=3, before=page.get("before", ""))
        assert listing.size(page) <= 40_000
        seen += [c["id"] for c in page["comments"]]
    assert seen == ids[::-1]
    assert len(rig.list(OWNER, task, limit=200)["comments"]) < len(ids)
    assert json.loads(rig.view(ids[0])["body"]) == "\\" * most
    reply = rig.add(rig.by(bound), task)
    assert reply["author"]["title"] == "a \\u003cb\\u003e"
    listed = lambda **more: rig.no(lambda tx: comment_lists.comments_list(tx, rig.relay, OWNER, **more))  # noqa: E731
    assert listed(task=task, limit=0)[0] == "argument_invalid" and listed(task=task, limit=201)[0] == "argument_invalid"
    assert listed(task=task, before="c_none")[0] == "comment_unknown"
    assert listed(task="shop-99")[0] == "task_unknown"


@pytest.mark.spec("40", "PROOF-3")
def test_a_list_is_never_refused_for_who_it_says_it_is_and_links_nothing(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    rig.say(task)
    rig.row("twin"), rig.row("twin")
    before = rig.rows()
    mismatch = Caller("", "", "h-other", rig.witness("hook-a"))
    for caller in (
        mismatch,
        rig.by(name="twin"),
        rig.by(name="nobody"),
        rig.by(hook="h-dead"),
        rig.by(hook="hook-a"),
        rig.by(),
    ):
        assert len(rig.list(caller, task)["comments"]) == 1
        assert rig.do(lambda tx, c=caller: tasks.task_get(tx, rig.relay, c, task=task))["key"] == task
    assert rig.rows() == before


@pytest.mark.spec("TEXT-6", "40")
def test_events_hold_no_text(rig) -> None:
    bound = rig.live("a")
    task = rig.task(bound)
    said = rig.say(task, "SECRET-WORDS")
    rig.hand(bound)
    rig.add(rig.by(bound), task, "SECRET-ANSWER", in_reply_to=said["id"])
    assert not any("SECRET" in data for data in rig.events())
    assert {"comment.added", "comment.delivered", "comment.read"} <= set(rig.types())
