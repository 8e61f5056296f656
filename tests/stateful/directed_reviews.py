"""Directed runs over the owner's review of one held message, from every state of it (table REV)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.stateful.channel_world import ChannelWorld
from tests.stateful.directed_channels import is_now, last, put
from tests.stateful.directed_mail import hand_over

Run = Callable[[ChannelWorld], None]
REVIEWS = ("none", "open", "stale", "closed")


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world with channels on."""
    for review in REVIEWS:
        for event in ("approve", "reject", "open", "carried", "left", "grew", "blocked"):
            yield f"{event} over a review that is {review}", _at(review, event)
    for state in ("sent", "taken", "rejected", "dropped", "delivered", "read"):
        yield f"decided when it is {state}", _not_held(state)
    yield "an approval is good for one epoch", one_epoch


def _held(w: ChannelWorld, review: str) -> tuple[int, str]:
    """A held message whose review is in this state, and the last token that was given for it."""
    w.linked(0, 2)
    w.create_task(w.caller("Zoe"))
    key, token = put(w, "held"), ""
    if review == "closed":
        # Approved; then the controls change, and POLICY holds it again.
        w.approve(key)
        w.policy("S-1", "hold")
        token = w.tokens[-1][2]
    elif review != "none":
        token = w.review(key)
    if review == "stale":
        w.policy("S-1", "hold")
    row = w.seen.deliveries[key]
    assert (row["state"], row["review_state"]) == ("held", review)
    return key, token


def _at(review: str, event: str) -> Run:
    def run(w: ChannelWorld) -> None:
        key, token = _held(w, review)
        match event:
            case "approve" | "reject":
                for wrong in ("", "nonsense"):
                    assert not w.decide(event, key, wrong).ok, "REV-4 to 6: without its token"
                assert w.decide(event, key, token).ok == (review == "open")
                is_now(w, key, {"approve": "sent", "reject": "rejected"}[event] if review == "open" else "held")
            case "open":
                fresh = w.review(key)
                assert fresh and fresh != token and not w.decide("approve", key, token).ok
                assert w.decide("approve", key, fresh).ok
                hand_over(w, "tool", 0)
                is_now(w, key, "delivered")
            case "carried":
                w.create_task(w.caller("Zoe", witness=0))
                assert w.seen.deliveries[key]["review_state"] == ("stale" if review == "open" else review)
            case "left":
                w.policy("S-1", "accept")
                assert w.seen.deliveries[key]["review_state"] == ("none" if review == "none" else "closed")
                is_now(w, key, "sent")
            case "grew":
                w.policy("S-1", "hold")
                assert w.seen.deliveries[key]["review_state"] == ("stale" if review == "open" else review)
            case "blocked":
                w.policy("S-1", "refuse")
                fresh = w.review(key)
                assert not w.decide("approve", key, fresh).ok and w.decide("reject", key, fresh).ok

    return run


def _not_held(state: str) -> Run:
    """REV-7 and 8: with no review and with a closed one."""

    def run(w: ChannelWorld) -> None:
        w.linked(0, 2)
        for reviewed in (False, True):
            if reviewed:
                key = put(w, "sent" if state in ("delivered", "read") else state)
            else:
                w.broadcasts("S-1")
                w.publish(w.caller("", witness=2), None, 80, broadcast=True)
                key = last(w)
                if state == "taken":
                    w.take(key)
                elif state == "rejected":
                    w.policy("S-1", "hold")
                    w.reject(key)
                    w.policy("S-1", "default")
                elif state == "dropped":
                    w.hook("SessionEnd", 0, reason="logout", process=True)
                    w.hook("SessionStart", 0, source="resume", process=True)
            if state in ("delivered", "read"):
                hand_over(w, "tool", 0)
            if state == "read":
                w.ack(w.caller("", witness=0))
            is_now(w, key, state)
            assert w.review(key) == ""
            for event in ("approve", "reject"):
                assert not w.decide(event, key, "token").ok
            is_now(w, key, state)

    return run


def one_epoch(w: ChannelWorld) -> None:
    """DLV-26: an approval ends with the next growth; a hand-over that is taken back finds it again."""
    w.linked(0, 2)
    key = put(w, "sent")
    hand_over(w, "tool", 0)
    w.not_written()
    is_now(w, key, "sent")
    hand_over(w, "tool", 0)
    w.mode(0, "plan")
    w.hook("Notification", 0)
    w.not_written()
    is_now(w, key, "held")
    w.mode(0, "default")
    w.hook("Notification", 0)
    is_now(w, key, "held")
