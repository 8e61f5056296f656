"""A clock that was set back: what was to come in seconds does not wait for days, and nothing is minus an hour old."""

from __future__ import annotations

import pytest

from relaybay import frames
from tests.unit.card_rig import CardRig

SECOND = 1_000_000
DAY = 86_400 * SECOND


@pytest.mark.spec("CMT-3", "FLT-5")
@pytest.mark.parametrize("back", [10 * SECOND, 3 * DAY, 30 * 365 * DAY])
def test_a_comment_from_the_board_is_not_held_until_its_time_comes_again(tmp_path, back) -> None:
    rig = CardRig(tmp_path)
    bound = rig.live("bob")
    task = rig.task(bound)
    rig.say(task, board=True)
    assert rig.hand(bound) is None, "its five seconds are not over"
    rig.now -= back
    done = rig.hand(bound)
    assert done is not None and len(done.items) == 1
    rig.relay.close()


@pytest.mark.spec("FLT-5")
def test_a_message_that_comes_from_the_future_is_no_less_than_nothing_old() -> None:
    facts = frames.FrameFacts(message_id="m1", sender_title="a", verified=True, body="x", waited_us=-DAY, newer=2)
    assert "sent 0 min ago" in frames.message_frame(facts)
