"""Table SEND on a real store: the message, its recipient and its parent, the order of checks, and what a send leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.frames import longest_frame_units
from relaybay.service import inbox, sessions
from relaybay.specs import limit
from tests.unit.mail_rig import OWNER, SECOND, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


# -- the message itself --------------------------------------------------------------------------------------------


@pytest.mark.spec("SEND-8")
def test_nobody_writes_to_itself(rig) -> None:
    alice = rig.live("alice")
    task = rig.task(alice)
    for said in ({"to": "alice"}, {"to": alice.ref}, {"to": "hook-alice"}, {"task": task}):
        assert rig.no_send(rig.by(alice), **said) == ("to_self", "SEND-8")
    assert '"alice"' in rig.why(rig.by(alice), to="hook-alice")


@pytest.mark.spec("SEND-8", "LINK-1", "LINK-6", "LINK-7", "LINK-14")
def test_who_is_itself_is_judged_after_link(rig) -> None:
    # A name that is new, an id that nobody holds, a row that would be merged, a row that would lose its guess.
    assert rig.no_send(rig.claim("new"), to="new") == ("to_self", "SEND-8")
    assert rig.no_send(rig.claim("new", "hook-new"), to="hook-new") == ("to_self", "SEND-8")
    rig.row("guess", "hook", "guessed", "hook-guess")
    for to in ("guess", "hook-guess", "A name"):
        assert rig.no_send(rig.claim("A name", "hook-guess"), to=to) == ("to_self", "SEND-8")
    rig.row("desk", "desktop", "guessed", "hook-desk")
    assert rig.no_send(rig.claim("A name", "hook-desk"), to="hook-desk") == ("to_self", "SEND-8")
    assert rig.send(rig.claim("A name", "hook-desk"), to="desk")["recipient"]["title"] == "desk", (
        "desk stays its own row"
    )


@pytest.mark.spec("SEND-8", "SEND-18", "LINK-6")
def test_a_parent_that_the_merged_row_sent_is_the_sender_s_own(rig) -> None:
    rig.row("unnamed", "hook", "exact", "hook-1", activity="idle")
    rig.row("named")
    asked = rig.send(rig.vouched("hook-1"), to="named")["message_id"]
    for said in ({}, {"to": "named"}, {"to": "unnamed"}, {"to": "hook-1"}):
        refused = rig.no_send(rig.vouched("hook-1", "named"), in_reply_to=asked, **said)
        assert refused == ("to_self", "SEND-8"), said


@pytest.mark.spec("SEND-9", "SEND-10", "SEND-11", "SEND-15", "TEXT-1")
def test_bodies_that_are_not_taken(rig) -> None:
    alice, most = rig.live("alice"), limit("body_chars_max")
    assert rig.no_send(rig.by(alice), " \n\u200b\u2060") == ("body_blank", "SEND-9")
    for odd in ("a\0b", "a\ud800b", "\udfff"):
        assert rig.no_send(rig.by(alice), odd) == ("body_not_text", "SEND-15")
    assert rig.no_send(rig.by(alice), "x" * (most + 1)) == ("body_too_long", "SEND-10")
    assert f"{most + 1} characters; at most {most}" in rig.why(rig.by(alice), "x" * (most + 1))
    assert rig.no_send(rig.by(alice), "a" + "\u202e" * 1500) == ("body_too_long_quoted", "SEND-11")
    assert "cost double" in rig.why(rig.by(alice), '"' * most)
    assert rig.send(rig.by(alice), "x" * most)["state"] == "sent"
    # A line break of two characters counts as the one it becomes.
    assert rig.send(rig.by(alice), "x" * (most - 1) + "\r\n")["state"] == "sent"


@pytest.mark.spec("SEND-11", "PACK-1", "PACK-4", "TEXT-3")
def test_the_longest_body_fits_the_narrowest_answer(rig) -> None:
    # Everything that can stand around it does: names at their bound, a task, a parent, an age, the tail, a Stop.
    bare = Caller("", "", "", rig.witness("hook-\u202e"))
    alice = rig.row("\u202e" * 200, "hook", "exact", "hook-\u202e", link_named=1, name="calm-otter-and-more")
    body = '"' * ((limit("answer_utf16_max") - longest_frame_units() - 2) // 2)
    parent = rig.send(rig.by(rig.bob), to=alice.ref)["message_id"]
    task = rig.task(title="T")
    receipt = rig.send(bare, body, in_reply_to=parent, task=task)
    assert rig.no_send(rig.by(alice), body + '"') == ("body_too_long_quoted", "SEND-11")
    for _ in range(5):
        rig.send(rig.by(alice), "newer")
    rig.now += 600 * SECOND
    done = rig.hand(rig.bob, "stop")
    assert receipt["message_id"] in done.text and "newer messages" in done.text
    assert len(done.text.encode("utf-16-le")) // 2 <= limit("answer_utf16_max")
    assert json.dumps(body) in done.text, "the literal is whole"


@pytest.mark.spec("SEND-12")
def test_the_eleventh_send_within_a_minute_is_refused(rig) -> None:
    alice = rig.live("alice")
    for _ in range(10):
        rig.now += SECOND
        assert rig.send(rig.by(alice))["state"] == "sent"
        # What is refused never counts.
        assert rig.no_send(rig.by(alice), " ") == ("body_blank", "SEND-9")
    rig.now += SECOND
    assert rig.no_send(rig.by(alice)) == ("rate_limited", "SEND-12")
    assert "in 50 s" in rig.why(rig.by(alice))
    assert rig.send(rig.claim("somebody else"))["state"] == "sent", "each sender has a window of its own"
    rig.now += 49 * SECOND
    assert "in 1 s" in rig.why(rig.by(alice))
    rig.now += SECOND
    assert rig.send(rig.by(alice))["state"] == "sent"
    assert rig.no_send(rig.by(alice)) == ("rate_limited", "SEND-12")


@pytest.mark.spec("SEND-12", "MOVE-10", "LINK-6")
def test_the_window_of_a_row_goes_to_the_one_it_is_merged_into(rig) -> None:
    guess = rig.row("guess", "hook", "exact", "hook-1", activity="idle")
    for _ in range(6):
        rig.send(rig.vouched("hook-1"))
    for _ in range(4):
        rig.send(rig.claim("agent"))
    assert rig.need(guess).unnamed
    # Together they have sent ten: so has the row that both would be after this send.
    assert rig.no_send(rig.vouched("hook-1", "agent")) == ("rate_limited", "SEND-12")
    rig.now += 60 * SECOND
    assert rig.send(rig.vouched("hook-1", "agent"))["sender_verified"]
    assert rig.get(guess) is None
    for _ in range(9):
        rig.send(rig.vouched("hook-1"))
    assert rig.no_send(rig.vouched("hook-1")) == ("rate_limited", "SEND-12")


@pytest.mark.spec("SEND-13", "INV-7")
def test_a_chain_of_replies_ends_at_depth_eight_and_in_the_inbox(rig) -> None:
    alice, last = rig.live("alice"), ""
    for depth in range(9):
        rig.now += 10 * SECOND
        sender = alice if depth % 2 == 0 else rig.bob
        said = {"in_reply_to": last} if last else {"to": "bob"}
        last = rig.send(rig.by(sender), **said)["message_id"]
        assert rig.stored(last).depth == depth
    before = rig.dump()
    rig.relay.listeners.append(lambda news: told.append((news.touched, news.events)))
    told: list = []
    outcome = rig.store.write(rig.sending(rig.by(rig.bob), in_reply_to=last))
    assert (outcome.refusal.answer, outcome.refusal.spec_id) == ("send.reply_too_deep", "SEND-13")
    changed = [row for row in rig.dump() if row not in before]
    assert [row[0] for row in changed] == ["inbox"] and len(rig.dump()) == len(before) + 1
    assert told == [({rig.bob.id}, [])], "the board counts anew, and no event says so"
    entry = rig.store.read(inbox.inbox).data["entries"][0]
    assert (entry["kind"], entry["ref"], entry["session"]["ref"]) == ("reply_too_deep", last, rig.bob.ref)
    assert rig.marks(last) == ("sent", ""), "the parent is not marked"
    assert rig.store.write(lambda tx: inbox.seen(tx, kind="reply_too_deep", ref=last)).ok
    assert rig.store.read(inbox.inbox).data["count"] == 0
    rig.store.write(rig.sending(rig.by(rig.bob), in_reply_to=last))
    assert rig.store.read(inbox.inbox).data["count"] == 1, "it stands again when it happens again"


@pytest.mark.spec("SEND-14", "DLV-9")
def test_only_what_the_sender_was_sent_can_be_answered(rig) -> None:
    alice, carol = rig.live("alice"), rig.live("carol")
    theirs = rig.send(rig.by(alice))["message_id"]
    for parent in ("m_unknown", theirs, "  "):
        assert rig.no_send(rig.by(carol), in_reply_to=parent) == ("message_unknown", "SEND-14")
    assert rig.no_send(rig.by(alice), in_reply_to=theirs) == ("message_unknown", "SEND-14"), "not even its own words"
    assert rig.no_send(rig.claim("a new row"), in_reply_to=theirs) == ("message_unknown", "SEND-14")
    reply = rig.send(rig.by(rig.bob), in_reply_to=theirs)
    assert reply["recipient"]["ref"] == alice.ref
    mail = rig.stored(reply["message_id"])
    assert (mail.parent_mid, mail.depth) == (theirs, 1)
    lost = rig.mail(alice, rig.row("gone"), "orphaned")
    assert rig.no_send(rig.by(rig.bob), in_reply_to=lost.mid) == ("message_orphaned", "SEND-14")


@pytest.mark.spec("SEND-14", "LINK-6", "LINK-14")
def test_mail_of_a_row_that_the_send_merges_can_be_answered(rig) -> None:
    guess = rig.row("guess", "hook", "guessed", "hook-1")
    asked = rig.send(rig.by(rig.bob), to="guess")["message_id"]
    receipt = rig.send(rig.claim("my name", "hook-1"), in_reply_to=asked)
    assert receipt["recipient"]["ref"] == rig.bob.ref and receipt["sender_verified"] and not receipt["warned"]
    assert rig.get(guess) is None and rig.stored(asked).recipient_id == rig.titled("my name").id
    # A guess alone proved nothing before the call, and the row had never linked itself (DLV-5).
    assert rig.marks(asked) == ("read", "not_verified")


@pytest.mark.spec("SEND-14", "DLV-2", "LINK-6")
def test_a_reply_marks_a_merged_row_s_mail_by_the_link_that_row_had(rig) -> None:
    # The unnamed row's exact link was the call's own before: that is proof, whatever the row it is merged into had.
    rig.row("unnamed", "hook", "exact", "hook-1", activity="idle")
    rig.row("old name", "agent", "ended_exact", "hook-0")
    asked = rig.send(rig.by(rig.bob), to="unnamed")["message_id"]
    missed = rig.send(rig.by(rig.bob), to="old name")["message_id"]
    receipt = rig.send(rig.vouched("hook-1", "old name"), in_reply_to=asked)
    assert not receipt["warned"] and rig.marks(asked) == ("read", "verified")
    assert rig.stored(missed).state == "sent"


@pytest.mark.spec("SEND-17")
def test_a_send_says_to_whom(rig) -> None:
    alice = rig.live("alice")
    for said in ({"to": ""}, {"to": " "}, {"to": "\u200b", "task": "", "in_reply_to": ""}):
        assert rig.no_send(rig.by(alice), **said) == ("recipient_required", "SEND-17")
    task = rig.task(rig.bob)
    parent = rig.send(rig.by(rig.bob), to="alice")["message_id"]
    for said in ({"to": "bob"}, {"in_reply_to": parent}, {"task": task}, {"task": task.upper()}):
        assert rig.send(rig.by(alice), **said)["recipient"]["ref"] == rig.bob.ref


@pytest.mark.spec("SEND-17")
def test_a_task_beside_a_recipient_only_says_what_it_is_about(rig) -> None:
    alice, carol = rig.live("alice"), rig.live("carol")
    task = rig.task(carol)
    receipt = rig.send(rig.by(alice), to="bob", task=task)
    assert receipt["recipient"]["title"] == "bob" and rig.stored(receipt["message_id"]).task_key == task
    unbound = rig.task()
    assert rig.send(rig.by(alice), to="bob", task=unbound)["state"] == "sent"
    parent = rig.send(rig.by(rig.bob), to="alice")["message_id"]
    assert rig.send(rig.by(alice), in_reply_to=parent, task=unbound)["recipient"]["title"] == "bob"


@pytest.mark.spec("SEND-18")
def test_to_and_in_reply_to_must_agree(rig) -> None:
    alice = rig.live("alice")
    rig.live("carol")
    parent = rig.send(rig.by(rig.bob), to="alice")["message_id"]
    assert rig.no_send(rig.by(alice), to="carol", in_reply_to=parent) == ("recipient_conflict", "SEND-18")
    text = rig.why(rig.by(alice), to="carol", in_reply_to=parent)
    assert '"carol"' in text and '"bob"' in text
    assert rig.send(rig.by(alice), to="BOB", in_reply_to=parent)["recipient"]["title"] == "bob"
    rig.row("unnamed", "hook", "exact", "hook-1", activity="idle")
    asked = rig.send(rig.by(rig.bob), to="unnamed")["message_id"]
    own_new_name = rig.vouched("hook-1", "Newly named")
    assert rig.no_send(own_new_name, to="newly named", in_reply_to=asked) == ("recipient_conflict", "SEND-18")


@pytest.mark.spec("SEND-19")
def test_a_task_that_gives_nobody(rig) -> None:
    alice, unbound = rig.live("alice"), rig.task()
    assert rig.no_send(rig.by(alice), task="shop-99") == ("task_unknown", "SEND-19")
    assert rig.no_send(rig.by(alice), to="bob", task="shop-99") == ("task_unknown", "SEND-19")
    assert rig.no_send(rig.by(alice), task=unbound) == ("task_unbound", "SEND-19")


# -- order ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec(
    "SEND-1", "SEND-3", "SEND-8", "SEND-9", "SEND-10", "SEND-15", "SEND-16", "SEND-14", "PROOF-3", "RECV-1"
)
def test_checks_run_in_their_order(rig) -> None:
    alice = rig.live("alice")
    rig.send(rig.by(alice), "first", to="bob", request_id="r1")
    worst = {"body": " \0" + "x" * 5000, "to": "nobody", "task": "shop-9", "in_reply_to": "m_0", "request_id": "r1"}
    both = Caller("S-999", "", "hook-else", rig.witness("hook-alice"))
    steps: list[tuple[Caller, dict[str, str], str]] = [
        (both, {}, "hook_session_mismatch"),
        (Caller("S-999", "", "", rig.witness("hook-alice")), {}, "name_invalid"),
        (rig.vouched("hook-alice", "bob"), {}, "hook_session_taken"),
        (rig.by(alice), {}, "request_id_reused"),
        (rig.by(alice), {"request_id": "r2"}, "message_unknown"),
        (rig.by(alice), {"in_reply_to": ""}, "task_unknown"),
        (rig.by(alice), {"task": ""}, "recipient_unknown"),
        (rig.by(alice), {"to": "alice"}, "to_self"),
        (rig.by(alice), {"to": "bob", "body": " "}, "body_blank"),
        (rig.by(alice), {"body": "\0" + "x" * 5000}, "body_not_text"),
        (rig.by(alice), {"body": '"' * 5000}, "body_too_long"),
        (rig.by(alice), {"body": '"' * 4000}, "body_too_long_quoted"),
    ]
    said = dict(worst)
    for caller, mended, code in steps:
        said |= mended
        assert rig.no_send(caller, **said)[0] == code, code
    assert rig.send(rig.by(alice), **{**said, "body": "well"})["state"] == "sent"


@pytest.mark.spec("SEND-10", "SEND-12", "SEND-13")
def test_body_then_depth_then_rate(rig) -> None:
    alice, last = rig.live("alice"), ""
    for depth in range(9):
        rig.now += 10 * SECOND
        said = {"in_reply_to": last} if last else {"to": "bob"}
        last = rig.send(rig.by(alice if depth % 2 == 0 else rig.bob), **said)["message_id"]
    while not full(rig):
        rig.send(rig.by(rig.bob), to="alice")
    assert rig.no_send(rig.by(rig.bob), "x" * 5000, in_reply_to=last)[0] == "body_too_long"
    deep = rig.store.write(rig.sending(rig.by(rig.bob), in_reply_to=last))
    assert deep.refusal.spec_id == "SEND-13"
    assert rig.no_send(rig.by(rig.bob), to="alice") == ("rate_limited", "SEND-12")


def full(rig: MailRig) -> bool:
    """Whether bob's window is full."""
    window = rig.now - 60 * SECOND
    query = "SELECT count(*) FROM message WHERE sender_id = ? AND sent_us > ?"
    return rig.store.read(lambda tx: tx.value(query, rig.bob.id, window)) >= 10


# -- what a send leaves --------------------------------------------------------------------------------------------


@pytest.mark.spec("TEXT-3", "TEXT-6", "INV-12", "INV-3")
def test_a_send_leaves_its_message_its_events_and_a_full_mailbox(rig) -> None:
    alice = rig.live("al\u202eice")
    task = rig.task()
    receipt = rig.send(rig.by(alice), "The secret text", to="bob", task=task)
    assert (receipt["state"], receipt["recipient"]) == ("sent", {"title": "bob", "ref": rig.bob.ref})
    sent, edge = rig.last_event("message.sent"), rig.last_event("session.message")
    parties = {"from": "al\\u202eice", "from_ref": alice.ref, "to": "bob", "to_ref": rig.bob.ref, "task": task}
    assert sent == {"message_id": receipt["message_id"], "verified": True, **parties}
    assert edge == {"by": "message_send", **parties}
    assert "secret" not in "".join(rig.events())
    assert rig.relay.mailbox.of(rig.bob.id).messages_sent == 1
    assert rig.stored(receipt["message_id"]).body == "The secret text"


@pytest.mark.spec("TEXT-1", "TEXT-6")
def test_a_body_is_stored_as_admitted_and_not_stripped(rig) -> None:
    receipt = rig.send(rig.by(rig.live("alice")), "  a\r\nb\rc\u2028d\u2029e\u0085f\vg\fh\t \n")
    assert rig.stored(receipt["message_id"]).body == "  a\nb\nc\nd\ne\nf\ng\nh\t \n"


@pytest.mark.spec("ROW-4")
def test_last_seen_follows_accepted_calls_that_prove_the_link(rig) -> None:
    alice, plain = rig.live("alice"), rig.row("plain")
    rig.now += 100 * SECOND
    rig.no_send(rig.claim("alice"))
    rig.no_send(rig.claim("plain"), to="nobody")
    assert rig.need(alice).last_seen_us < rig.now and rig.need(plain).last_seen_us == 0
    over = rig.row("over", "agent", "ended_exact", last_seen_us=5)
    for caller in (rig.by(alice), rig.claim("plain"), rig.claim("over")):
        rig.send(caller)
    assert (rig.need(alice).last_seen_us, rig.need(plain).last_seen_us) == (rig.now, rig.now)
    assert rig.need(over).last_seen_us == 5, "nothing proved that it was that session"


@pytest.mark.spec("LINK-20")
def test_after_an_unlink_the_name_is_free_to_use_unverified(rig) -> None:
    alice = rig.live("alice")
    assert rig.no_send(rig.claim("alice"))[0] == "sender_not_proven"
    rig.store.write(lambda tx: sessions.unlink(tx, rig.relay, alice.ref))
    assert rig.send(rig.claim("alice"))["sender_verified"] is False
    assert OWNER.owner
