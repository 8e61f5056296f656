"""Messages at their edges: what is counted, and what does not come into the Inbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.answers import word
from relaybay.domain import Caller, Outcome
from relaybay.service import inbox, messages, moves, receipts, repeats
from relaybay.specs import limit
from relaybay.store import messages as stored
from relaybay.store import sessions, tool_uses
from tests.unit.mail_rig import SECOND, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def test_a_reply_that_only_comes_too_often_is_not_told_to_the_owner(rig) -> None:
    ann = rig.live("ann")
    mid = rig.send(rig.by(rig.bob), to="ann")["message_id"]
    for n in range(limit("sends_per_window_max")):
        rig.send(rig.by(ann), f"n{n}", in_reply_to=mid)
    assert rig.no_send(rig.by(ann), "one more", in_reply_to=mid)[1] == "SEND-12"
    assert rig.store.read(inbox.count) == 0


def test_an_acknowledgement_counts_what_still_waits_sent_or_delivered(rig) -> None:
    ann = rig.live("ann")
    first, second = (rig.send(rig.by(ann), text)["message_id"] for text in ("one", "two"))
    rig.hand(rig.bob)
    rig.send(rig.by(ann), "three")
    said = rig.read_marks(rig.by(rig.bob), first)
    assert (said["acknowledged"], said["already_read"], said["waiting"]) == ([first], [], 2)
    again = rig.read_marks(rig.by(rig.bob), first)
    assert (again["acknowledged"], again["already_read"], again["waiting"]) == ([], [first], 2)
    rest = rig.read_marks(rig.by(rig.bob))
    assert (rest["acknowledged"], rest["waiting"]) == ([second], 1)


def test_a_message_without_a_row_is_nobodys_and_cannot_be_answered(rig) -> None:
    ann, cat = rig.live("ann"), rig.live("cat")
    mid = rig.send(rig.by(ann), to="cat")["message_id"]
    rig.store.write(lambda tx: (moves.row_gone(tx, cat), sessions.remove(tx, cat.id)))
    assert rig.stored(mid).state == "orphaned" and rig.bob.id == 1
    assert rig.no_send(rig.by(rig.bob), in_reply_to=mid) == ("message_orphaned", "SEND-14")
    rig.store.write(lambda tx: stored.set_delivery(tx, stored.get(tx, mid), state="sent"))
    assert rig.store.read(lambda tx: receipts.standing(tx, rig.relay, stored.get(tx, mid)))[0] == "row_gone"


@pytest.mark.parametrize("how", ["verified", "not_verified", "own_message"])
def test_a_receipt_says_how_a_message_was_read(rig, how: str) -> None:
    mid = rig.send(rig.by(rig.live("ann")))["message_id"]
    rig.store.write(lambda tx: stored.set_delivery(tx, stored.get(tx, mid), state="read", read_us=tx.now, read_how=how))
    rig.now += 61 * SECOND
    answer = "receipt.read" if how == "verified" else f"receipt.read_{how}"
    said = rig.store.read(lambda tx: receipts.standing(tx, rig.relay, stored.get(tx, mid)))
    assert said == ("", word(answer, ago="1 min").text)


def test_who_writes_to_itself_is_told_so_by_its_present_title(rig) -> None:
    rig.row("Fresh", "hook", "exact", "h-fresh")
    outcome = rig.store.write(rig.sending(rig.vouched("h-fresh", "New"), to="new"))
    assert (outcome.refusal.answer, outcome.refusal.values) == ("send.to_self", {"recipient": '"Fresh"'})


def test_a_hook_id_that_a_caller_wrote_is_not_shown_again(rig) -> None:
    rig.row("Fresh", "hook", "exact", "h-fresh")
    rig.store.write(lambda tx: sessions.set_fate(tx, "h-gone", "taken_off"))
    outcome = rig.store.write(rig.sending(rig.by(rig.bob), to="h-gone"))
    assert (outcome.refusal.answer, outcome.refusal.values["to"]) == ("recv.unknown", '"…"')
    outcome = rig.store.write(rig.sending(rig.by(rig.bob), to="nobody"))
    assert outcome.refusal.values["to"] == '"nobody"'


# -- the same call again -------------------------------------------------------------------------------------------


def test_what_stands_for_a_calls_arguments_is_equal_for_equal_ones() -> None:
    assert repeats.digest(a="1", b="2") == repeats.digest(b="2", a="1") != repeats.digest(a="2", b="1")
    assert repeats.digest(body="\ud800") != repeats.digest(body="\ud801"), "whatever a body holds"
    kept = repeats.form(Outcome(data={"text": "\u00e9\ud800"}, warnings=(("link.name_ignored", {"holder": "b"}),)))
    assert kept.isascii()
    read = repeats.read(kept)
    assert read.data == {"text": "\u00e9\ud800"} and read.warnings == (("link.name_ignored", {"holder": "b"}),)


def test_another_call_over_a_used_id_leaves_the_first_ones_answer(rig) -> None:
    ann = rig.live("ann")
    caller = rig.by(ann)
    first = rig.send(caller)
    claims = Caller(ann.title, "", ann.hook_id or "", caller.tool_use_id)
    assert rig.told(lambda tx: messages.acknowledge(tx, rig.relay, claims))["acknowledged"] == []
    again = rig.send(caller)
    assert (again["message_id"], again.get("repeat"), rig.sends()) == (first["message_id"], True, 1)


def test_a_repeat_whose_first_answer_was_lost_is_carried_out(rig) -> None:
    ann = rig.live("ann")
    caller = rig.by(ann)
    said = {"body": "Please look.", "to": "bob", "task": "", "in_reply_to": "", "request_id": ""}
    mark = repeats.mark(caller, **said)
    rig.store.write(lambda tx: tool_uses.use(tx, caller.tool_use_id, ann.hook_id or "", None, "message_send", mark))
    sent = rig.send(caller)
    assert "repeat" not in sent and rig.sends() == 1
    assert (rig.send(caller)["message_id"], rig.sends()) == (sent["message_id"], 1), "and its own answer is kept"
