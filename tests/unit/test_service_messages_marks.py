"""Tables ACK and DLV as calls reach them, on a real store: whose marks count, and what they leave."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.service import steps
from relaybay.store import messages as stored
from tests.unit.mail_rig import SECOND, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def alice(rig):
    return rig.live("alice")


# -- who speaks ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("ACK-1", "LINK-16")
def test_a_mark_without_name_and_live_proof_is_refused(rig, alice) -> None:
    rig.row("over", "hook", "ended_exact", "hook-over")
    rig.row("unseen", "hook", "exact_unseen", "hook-unseen")
    for hook in ("", "hook-of-nobody", "hook-over", "hook-unseen"):
        assert rig.no_marks(rig.claim(hook=hook)) == ("sender_required", "ACK-1")


@pytest.mark.spec("ACK-2", "ROW-4")
def test_a_mark_in_a_name_that_nobody_has_makes_no_row(rig, alice) -> None:
    for caller in (rig.claim("nobody"), rig.claim("nobody", "hook-alice"), rig.claim("nobody", title="No Body")):
        assert rig.no_marks(caller) == ("session_unknown", "ACK-2")
    assert rig.no_list(rig.claim("nobody")) == ("session_unknown", "ACK-2"), "messages_list likewise"
    # A hook id that the caller passes as a name is not shown either.
    assert rig.no_marks(rig.claim("hook-alice")) == ("session_unknown", "ACK-2")


@pytest.mark.spec("ACK-3", "LINK-5")
def test_a_mark_in_a_name_with_a_taken_hook_id_is_refused(rig, alice) -> None:
    rig.row("plain")
    for name in ("bob", "plain"):
        assert rig.no_marks(rig.claim(name, "hook-alice")) == ("hook_session_taken", "ACK-3")


@pytest.mark.spec("ACK-4", "LINK-17")
def test_a_mark_in_a_name_of_several_rows_is_refused(rig) -> None:
    rig.row("twin")
    rig.row("twin", "hook", "exact", "hook-twin", link_named=1)
    assert rig.no_marks(rig.claim("twin")) == ("sender_ambiguous", "ACK-4")
    assert rig.no_marks(rig.claim("twin", "hook-of-nobody")) == ("sender_ambiguous", "ACK-4")
    assert rig.read_marks(rig.claim("twin", "hook-twin"))["waiting"] == 0


@pytest.mark.spec("ACK-5", "DLV-9")
def test_only_its_own_mail_can_be_marked(rig, alice) -> None:
    theirs = rig.send(rig.by(alice))["message_id"]
    for mid in ("m_unknown", theirs, " "):
        assert rig.no_marks(rig.by(alice), mid) == ("message_unknown", "ACK-5")
    for state in ("orphaned", "read"):
        lost = rig.mail(rig.bob, rig.row(f"gone {state}"), state)
        rig.store.write(lambda tx, lost=lost: tx.update("delivery", lost.id, recipient_id=None))
        assert rig.no_marks(rig.by(alice), lost.mid) == ("message_orphaned", "ACK-5"), "its row is gone"
    # A row that the call itself makes (LINK-15) was sent nothing yet.
    rig.row("desk", "desktop", "guessed", "hook-desk", cwd="/srv/shop")
    before = rig.send(rig.by(alice), to="desk")["message_id"]
    assert rig.no_marks(rig.claim(hook="hook-desk"), before) == ("message_unknown", "ACK-5")
    assert rig.titled("shop") is None


@pytest.mark.spec("ACK-6", "LINK-13", "DLV-5", "DLV-6")
@pytest.mark.parametrize("hook", ["", "hook-of-nobody", "hook-guess"])
def test_a_mark_is_judged_on_the_named_row_s_link_as_it_stands(rig, alice, hook) -> None:
    rig.row("guess", "hook", "guessed", "hook-guess")
    plain = rig.row("plain")
    first = rig.send(rig.by(alice), to="plain")["message_id"]
    assert rig.read_marks(rig.claim("plain", hook), first)["acknowledged"] == [first]
    assert rig.marks(first) == ("read", "not_verified")
    assert rig.need(plain).link_state == "none" and rig.titled("guess") is not None, "a mark makes and moves no link"
    second = rig.send(rig.by(alice))["message_id"]
    assert rig.no_marks(rig.claim("bob", hook), second) == ("ack_not_proven", "DLV-6")


# -- what a mark does ----------------------------------------------------------------------------------------------


@pytest.mark.spec("DLV-2", "DLV-4", "DLV-7")
def test_a_proven_reader_marks_what_it_was_given_or_has_listed(rig, alice) -> None:
    seen = rig.send(rig.by(alice))["message_id"]
    rig.hand(rig.bob)
    listed = rig.send(rig.by(alice))["message_id"]
    for mid in (seen, listed):
        answer = rig.read_marks(rig.by(rig.bob), mid)
        assert (answer["acknowledged"], answer["already_read"]) == ([mid], [])
        assert rig.marks(mid) == ("read", "verified") and rig.stored(mid).read_us == rig.now
        event = rig.last_event("message.read")
        assert (event["message_id"], event["verified"], event["to"]) == (mid, True, "bob")
    assert rig.hand(rig.bob) is None, "no hook hands it over any more (DLV-2)"
    first = rig.stored(seen).read_us
    answer = rig.read_marks(rig.by(rig.bob), seen)
    assert (answer["acknowledged"], answer["already_read"]) == ([], [seen]) and "Read before: 1" in answer["text"]
    assert rig.stored(seen).read_us == first and len(rig.events("message.read")) == 2, "the first mark stays"


@pytest.mark.spec("DLV-2", "LINK-2", "LINK-3", "LINK-4")
@pytest.mark.parametrize(
    ("link", "named"),
    [("exact", ""), ("exact", "reader"), ("guessed", ""), ("guessed", "reader"), ("ended_exact", "reader")],
)
def test_the_row_s_own_hook_id_proves_it(rig, alice, link, named) -> None:
    reader = rig.row("reader", "hook", link, "hook-reader")
    mid = rig.send(rig.by(alice), to="reader")["message_id"]
    rig.read_marks(rig.claim(named, "hook-reader"), mid)
    assert rig.marks(mid) == ("read", "verified")
    after = rig.need(reader).link_state
    assert after == ("ended_exact" if link == "ended_exact" else "exact"), "one call is enough (LINK-2)"


@pytest.mark.spec("DLV-5")
def test_a_row_that_never_linked_itself_marks_visibly_unverified(rig, alice) -> None:
    for kind, link in (("agent", "none"), ("agent", "guessed"), ("agent", "exact_unseen")):
        row = rig.row(f"{kind} {link}", kind, link)
        mid = rig.send(rig.by(alice), to=row.ref)["message_id"]
        answer = rig.read_marks(rig.claim(row.title), mid)
        assert rig.marks(mid) == ("read", "not_verified") and "name not verified" in answer["text"]
        assert rig.last_event("message.read")["verified"] is False


@pytest.mark.spec("DLV-6")
@pytest.mark.parametrize("link", ["exact", "ended_exact", "moved"])
def test_a_row_that_has_linked_itself_is_marked_by_proof_only(rig, alice, link) -> None:
    rig.row("reader", "agent", link, "hook-reader", activity="idle")
    mid = rig.send(rig.by(alice), to="reader")["message_id"]
    assert rig.no_marks(rig.claim("reader"), mid) == ("ack_not_proven", "DLV-6")
    assert rig.no_marks(rig.claim("reader")) == ("ack_not_proven", "DLV-6"), "without an id the whole call is refused"
    rig.read_marks(rig.by(rig.bob))
    assert rig.marks(mid) == ("sent", "")


@pytest.mark.spec("DLV-6")
def test_a_call_without_an_id_is_refused_whole_though_nothing_waits(rig) -> None:
    assert rig.no_marks(rig.claim("bob")) == ("ack_not_proven", "DLV-6")


@pytest.mark.spec("DLV-4", "ACK-6")
def test_without_an_id_a_proven_reader_marks_what_was_delivered(rig, alice) -> None:
    given = [rig.send(rig.by(alice))["message_id"] for _ in range(3)]
    rig.hand(rig.bob)
    later = rig.send(rig.by(alice))["message_id"]
    rig.listed(rig.by(rig.bob))
    answer = rig.read_marks(rig.by(rig.bob))
    assert (answer["acknowledged"], answer["already_read"], answer["waiting"]) == (given, [], 1)
    assert "Marked read: 3. Read before: 0. Left unread: 1." in answer["text"]
    assert rig.marks(later) == ("sent", ""), "what no hook has given yet waits on"
    assert rig.read_marks(rig.by(rig.bob)) == {**answer, "acknowledged": [], "text": "Marked read: 0. Read before: 0. Left unread: 1."}  # fmt: skip


@pytest.mark.spec("DLV-5", "ACK-6")
def test_without_an_id_a_row_without_hooks_marks_what_its_inbox_has_listed(rig, alice) -> None:
    row = rig.row("plain")
    ids = [rig.send(rig.by(alice), to="plain")["message_id"] for _ in range(3)]
    assert rig.read_marks(rig.claim("plain"))["acknowledged"] == [] and rig.marks(ids[0])[0] == "sent"
    rig.listed(rig.claim("plain"), limit_=1)
    for box in ("out", "all"):
        rig.listed(rig.claim("plain"), box=box)
    answer = rig.read_marks(rig.claim("plain"))
    assert (answer["acknowledged"], answer["waiting"]) == ([ids[2]], 2)
    rig.listed(rig.claim("plain"), message_id=ids[0])
    assert rig.read_marks(rig.claim("plain"))["acknowledged"] == [ids[0]]
    # What the owner lists is given to nobody.
    owner = rig.claim("plain")
    rig.listed(type(owner)(session="plain", owner=True))
    assert rig.read_marks(rig.claim("plain"))["waiting"] == 1
    assert rig.relay.mailbox.of(row.id).messages_sent == 1


@pytest.mark.spec("DLV-5", "DLV-15", "LINK-1", "HL-8")
def test_what_was_read_unverified_is_not_handed_over_when_the_row_gets_a_link(rig, alice) -> None:
    row = rig.row("plain")
    mid = rig.send(rig.by(alice), to="plain")["message_id"]
    rig.read_marks(rig.claim("plain"), mid)
    rig.store.write(lambda tx: tx.update("session", row.id, link_state="exact", hook_id="hook-plain"))
    assert rig.hand(row) is None


@pytest.mark.spec("LINK-2", "LINK-15", "ACK-6")
def test_a_mark_links_the_caller_s_own_row(rig, alice) -> None:
    guess = rig.row("guess", "hook", "guessed", "hook-guess")
    rig.read_marks(rig.vouched("hook-guess"))
    assert rig.need(guess).link_state == "exact" and rig.need(guess).last_seen_us == rig.now
    desk = rig.row("desk", "desktop", "guessed", "hook-desk", cwd="/srv/shop")
    assert rig.read_marks(rig.claim(hook="hook-desk"))["waiting"] == 0
    assert rig.titled("shop").link_state == "exact" and rig.need(desk).link_state == "none"


@pytest.mark.spec("ROW-4")
def test_last_seen_is_moved_by_marks_that_prove_or_have_nothing_to_prove(rig, alice) -> None:
    plain = rig.row("plain")
    rig.now += 60 * SECOND
    rig.no_marks(rig.claim("bob"))
    assert rig.need(rig.bob).last_seen_us < rig.now
    rig.read_marks(rig.by(rig.bob))
    rig.read_marks(rig.claim("plain"))
    rig.listed(rig.claim("alice"))
    assert rig.need(rig.bob).last_seen_us == rig.now - SECOND and rig.need(plain).last_seen_us == rig.now
    assert rig.need(alice).last_seen_us < rig.now - SECOND, "a read does not count"


# -- replies -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("DLV-2", "DLV-4")
@pytest.mark.parametrize("given", [True, False])
def test_a_reply_marks_its_parent(rig, alice, given) -> None:
    parent = rig.send(rig.by(alice))["message_id"]
    if given:
        rig.hand(rig.bob)
    receipt = rig.send(rig.by(rig.bob), in_reply_to=parent)
    assert rig.marks(parent) == ("read", "verified") and receipt["warned"] == []
    assert rig.hand(rig.bob) is None
    again = rig.send(rig.by(rig.bob), "more", in_reply_to=parent)
    assert again["warned"] == [] and len(rig.events("message.read")) == 1, "DLV-7"


@pytest.mark.spec("DLV-5")
def test_a_reply_of_a_row_that_never_linked_itself_marks_unverified(rig, alice) -> None:
    rig.row("plain")
    parent = rig.send(rig.by(alice), to="plain")["message_id"]
    receipt = rig.send(rig.claim("plain"), in_reply_to=parent)
    assert receipt["sender_verified"] is False and rig.marks(parent) == ("read", "not_verified")


@pytest.mark.spec("DLV-6", "SEND-4")
@pytest.mark.parametrize("link", ["ended_exact", "moved"])
def test_a_reply_that_proves_nothing_is_sent_and_says_that_its_parent_stays_unread(rig, alice, link) -> None:
    rig.row("reader", "agent", link, "hook-reader")
    parent = rig.send(rig.by(alice), to="reader")["message_id"]
    receipt = rig.send(rig.claim("reader"), in_reply_to=parent)
    assert receipt["warned"] == ["ack_not_proven"] and receipt["recipient"]["ref"] == alice.ref
    assert rig.marks(parent) == ("sent", "")


@pytest.mark.spec("DLV-2", "DLV-4", "LINK-4", "SEND-4")
def test_an_ended_row_s_own_id_marks_the_parent_though_it_verifies_no_sender(rig, alice) -> None:
    rig.row("over", "agent", "ended_exact", "hook-over")
    parent = rig.send(rig.by(alice), to="over")["message_id"]
    receipt = rig.send(rig.claim("over", "hook-over"), in_reply_to=parent)
    assert receipt["sender_verified"] is False and receipt["warned"] == []
    assert rig.marks(parent) == ("read", "verified")


@pytest.mark.spec("DLV-2", "LINK-2")
def test_a_guess_of_its_own_that_the_reply_makes_exact_counts_as_proof(rig, alice) -> None:
    rig.row("guess", "hook", "guessed", "hook-guess")
    parent = rig.send(rig.by(alice), to="guess")["message_id"]
    rig.send(rig.claim(hook="hook-guess"), in_reply_to=parent)
    assert rig.marks(parent) == ("read", "verified")


@pytest.mark.spec("DLV-5", "LINK-1", "HL-8")
def test_an_id_that_no_hook_has_reported_proves_no_mark(rig, alice) -> None:
    rig.row("plain")
    parent = rig.send(rig.by(alice), to="plain")["message_id"]
    receipt = rig.send(rig.claim("plain", "hook-invented"), in_reply_to=parent)
    assert receipt["sender_verified"] is False and rig.marks(parent) == ("read", "not_verified")
    assert rig.titled("plain").link_state == "exact_unseen"


# -- moved and lost mail -------------------------------------------------------------------------------------------


@pytest.mark.spec("DLV-51", "MOVE-12", "LINK-6", "DLV-50", "MOVE-1")
def test_two_rows_that_turn_out_to_be_one_are_not_handed_their_own_words(rig, alice) -> None:
    rig.row("unnamed", "hook", "exact", "hook-1", activity="idle")
    rig.row("named")
    own = [
        rig.send(rig.vouched("hook-1"), to="named")["message_id"],
        rig.send(rig.claim("named"), to="unnamed")["message_id"],
    ]
    other = rig.send(rig.by(alice), to="unnamed")["message_id"]
    rig.send(rig.vouched("hook-1", "named"))
    assert [rig.marks(mid) for mid in own] == [("read", "own_message")] * 2
    done = rig.hand(rig.titled("named"))
    assert other in done.text and not any(mid in done.text for mid in own)
    assert rig.stored(own[0]).sender_id == rig.stored(own[0]).recipient_id == rig.titled("named").id


@pytest.mark.spec("DLV-49", "MOVE-5", "LINK-1")
def test_mail_that_another_conversation_was_given_waits_again(rig, alice) -> None:
    row = rig.row("plain", "agent", "guessed", "hook-old")
    given = rig.mail(alice, row, "delivered")
    rig.send(rig.claim("plain", "hook-new"))
    assert rig.state(given) == "sent" and rig.mail_now(given).delivered_us == 0
    assert json.loads(rig.events("message.offered_again")[0])["message_id"] == given.mid


@pytest.mark.spec("DLV-8", "DLV-14", "DLV-16", "DLV-9", "DLV-7")
def test_mail_whose_row_goes_keeps_names_and_marks(rig, alice) -> None:
    ids = {state: rig.mail(alice, rig.bob, state) for state in ("sent", "delivered", "read")}
    for _ in range(2):
        for mail in ids.values():
            rig.store.write(lambda tx, mail=mail: steps.delivery(tx, stored.by_key(tx, mail.id), "recipient_row_gone"))
    for state, mail in ids.items():
        now = rig.mail_now(mail)
        assert (now.recipient_id, now.recipient_title) == (None, "bob")
        assert (now.state, now.reason_code) == (("read", "") if state == "read" else ("orphaned", "row_gone"))
        assert rig.no_marks(rig.by(rig.bob), mail.mid) == ("message_orphaned", "ACK-5")
