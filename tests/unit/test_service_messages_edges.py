"""Messages at their edges: what is counted, and what does not come into the Inbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.service import inbox
from relaybay.specs import limit
from tests.unit.mail_rig import MailRig


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
