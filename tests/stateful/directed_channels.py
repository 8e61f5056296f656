"""Directed runs over a delivery in the states that channels add to it: what each event does there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.stateful.channel_world import ChannelWorld
from tests.stateful.directed_mail import hand_over

Run = Callable[[ChannelWorld], None]
CLOSED = ("refused", "rate_limited", "rejected", "dropped", "consumed")


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world with channels on."""
    for state in (*CLOSED, "held", "taken"):
        yield f"acknowledged in {state}", _acknowledged(state)
        yield f"the row goes in {state}", _row_goes(state)
        yield f"the row is merged in {state}", _merged(state)
    for state in ("held", "taken", "rejected", "dropped", "consumed", "refused"):
        for event in ("seen", "missing"):
            yield f"{event} in a context in {state}", _context(state, event)
        yield f"an answer not written in {state}", _not_written(state)
    for state in ("sent", "held", "delivered", "read", "orphaned", "refused", "rejected", "dropped"):
        yield f"kept when it is {state}", _kept(state)
    for state in ("refused", "rate_limited", "dropped"):
        yield f"caught up from {state}", _caught_up(state)


def last(w: ChannelWorld) -> int:
    """The newest delivery's key."""
    return int(w.deliveries()[-1]["id"])


def state_of(w: ChannelWorld, key: int) -> str:
    return str(w.seen.deliveries[key]["state"])


def is_now(w: ChannelWorld, key: int, *states: str) -> None:
    assert state_of(w, key) in states, (w.seen.deliveries[key], states)


def put(w: ChannelWorld, state: str, ref: str = "S-1", h: int = 0) -> int:
    """A delivery at a linked, live row in this state; `h` holds the row. What is dropped was a broadcast."""
    match state:
        case "refused":
            w.policy(ref, "refuse")
            w.script_send(ref, 11)
            w.policy(ref, "default")
        case "rate_limited":
            for n in range(17):
                w.script_send(ref, 20 + n, label="flood")
        case "rejected":
            w.script_send(ref, 12)
            w.reject(last(w))
        case "dropped":
            w.broadcasts(ref)
            w.script_publish(None, 13, broadcast=True)
            w.hook("SessionEnd", h, reason="logout", process=True)
            w.hook("SessionStart", h, source="resume", process=True)
        case "consumed" | "taken" | "sent":
            w.script_send(ref, 14)
            w.approve(last(w))
            if state != "sent":
                w.take(last(w))
            if state == "consumed":
                w.keep(last(w))
        case "held":
            w.script_send(ref, 15)
    is_now(w, last(w), state)
    return last(w)


def _acknowledged(state: str) -> Run:
    def run(w: ChannelWorld) -> None:
        w.linked(0, 2)
        key = put(w, state)
        mid, _ = w.where(key)
        assert not w.ack(w.caller("", witness=0), mid).ok, "DLV-30, 39, 47"
        w.ack(w.caller("", witness=0))
        w.list(w.caller("", witness=0), "all")
        w.list(w.caller("S-1"), "all")
        is_now(w, key, state)

    return run


def _row_goes(state: str) -> Run:
    """MOVE-3: an ended row whose id is claimed in another name (LINK-8)."""

    def run(w: ChannelWorld) -> None:
        w.linked(0, 2)
        w.create_task()
        key = put(w, state)
        # A /clear may follow, so that what is taken is not given back yet.
        w.hook("SessionEnd", 0, reason="clear", process=True)
        w.create_task(w.caller("Zoe", claims=0))
        row = w.seen.deliveries[key]
        assert row["recipient_id"] is None and row["recipient_title"] == "shop"
        is_now(w, key, "orphaned" if state in ("held", "taken") else state)
        w.look_around()

    return run


def _merged(state: str) -> Run:
    """MOVE-1: all that B has goes to A, approvals and open reviews apart (DLV-50, REV-2)."""

    def run(w: ChannelWorld) -> None:
        w.linked(0, 2)
        w.create_task(w.caller("Zoe"))
        heir = next(row["id"] for row in w.seen.tables["session"] if row["title"] == "Zoe")
        key = put(w, state)
        if state == "held":
            w.review(key)
        w.create_task(w.caller("Zoe", witness=0))
        assert w.seen.deliveries[key]["recipient_id"] == heir
        is_now(w, key, state)
        if state == "held":
            w.decide_late("approve", -1)
            is_now(w, key, "held")

    return run


def _again(w: ChannelWorld, state: str, *, at: str = "tool") -> tuple[int, str]:
    """A publication that was delivered at S-1 and whose mark was taken back, then brought into a state; its frame."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    if state == "refused":
        # Another row has it too, and is further on: merged, this one is there for the second time (DLV-55).
        w.linked(4)
        w.subscribe("S-3", "ci.*")
    w.publish(w.caller("", witness=2), "ci.fence")
    key = int(w.deliveries()[0]["id"])
    hand_over(w, "tool", 0)
    text = w.given[0].done.text
    if at == "stop":
        hand_over(w, "stop", 0)
    w.not_written(0)
    is_now(w, key, "sent")
    match state:
        case "held":
            w.policy("S-1", "hold")
        case "taken":
            w.take(key)
        case "rejected":
            w.policy("S-1", "hold")
            w.reject(key)
        case "dropped":
            w.hook("SessionEnd", 0, reason="logout")
        case "consumed":
            w.take(key)
            w.keep(key)
        case "refused":
            hand_over(w, "tool", 4)
            w.ack(w.caller("", witness=4))
            w.create_task(w.caller("S-3", witness=0))
    is_now(w, key, state)
    return key, text


def _context(state: str, event: str) -> Run:
    """CTX, when the delivery is not `delivered` any more (DLV-30, 39, 47)."""

    def run(w: ChannelWorld) -> None:
        key, text = _again(w, state)
        if event == "seen":
            w.script(0).shown(text)
        w.model_steps(0)
        w.look_long()
        is_now(w, key, state)

    return run


def _not_written(state: str) -> Run:
    """The Stop that showed it once more is heard of when it is something else already."""

    def run(w: ChannelWorld) -> None:
        key, _ = _again(w, state, at="stop")
        lost = [n for n, one in enumerate(w.given) if one.done.at == "stop"]
        w.not_written(lost[0])
        is_now(w, key, state)

    return run


def _kept(state: str) -> Run:
    """An automation's run came through when its message had gone on without it (DLV-45 to 47, 30)."""

    def run(w: ChannelWorld) -> None:
        w.linked(0, 2)
        w.subscribe("S-1", "ci.*")
        w.create_task()
        if state == "refused":
            w.create_task(w.caller("Zoe", witness=2))
        if state in ("dropped", "refused", "rejected"):
            w.linked(4)
            w.publish(w.caller("", witness=4), "ci.fence")
        else:
            w.mail(2, 0)
        key = last(w)
        w.take(key)
        is_now(w, key, "taken")
        match state:
            case "orphaned":
                w.hook("SessionEnd", 0, reason="clear", process=True)
                w.create_task(w.caller("Zoe", claims=0))
            case "dropped":
                w.hook("SessionEnd", 0, reason="logout")
            case "refused":
                w.give_back(key)
                _duplicate(w, key)
            case "rejected":
                w.policy("S-1", "hold")
                w.give_back(key)
                is_now(w, key, "held")
                w.reject(key)
            case _:
                if state == "held":
                    w.policy("S-1", "hold")
                w.hook("SessionEnd", 0, reason="logout")
                is_now(w, key, "held" if state == "held" else "sent")
                if state in ("delivered", "read"):
                    w.hook("SessionStart", 0, source="resume", process=True)
                    hand_over(w, "tool", 0)
                if state == "read":
                    w.ack(w.caller("", witness=0))
        is_now(w, key, state)
        w.keep(key)
        is_now(w, key, state)
        w.take(key)
        assert state_of(w, key) != "taken", "DLV-35: taken once, never again"

    return run


def _duplicate(w: ChannelWorld, key: int) -> None:
    """The row's delivery of a message is carried to one that has read it (DLV-55)."""
    mid, _ = w.where(key)
    w.linked(1)
    ref = f"S-{w.row_of(1)['id']}"
    w.policy(ref, "accept")
    w.subscribe(ref, "ci.*")
    other = next(row for row in w.deliveries() if w.where(row["id"])[0] == mid and row["id"] != key)
    hand_over(w, "prompt", 1)
    is_now(w, int(other["id"]), "delivered")
    w.create_task(w.caller("S-1", witness=1))


def _caught_up(state: str) -> Run:
    """DLV-41 to 43: the same row again, passive; held where POLICY holds it, and left alone where it does not fit."""

    def run(w: ChannelWorld) -> None:
        w.linked(0, 2)
        w.subscribe("S-1", "ci.*")
        for hold in (False, True):
            w.policy("S-1", "accept")
            if state == "refused":
                w.policy("S-1", "refuse")
            if state == "rate_limited":
                w.tick(61)
                for n in range(16):
                    w.script_send("S-1", 100 + n, label="ci")
                hand_over(w, "prompt", 0)
            w.tick(61 if state != "rate_limited" else 1)
            w.script_publish("ci.fence", 200 + hold)
            key = last(w)
            if state == "dropped":
                w.hook("SessionEnd", 0, reason="logout")
            is_now(w, key, state)
            w.policy("S-1", "refuse")
            if state == "dropped":
                w.hook("SessionStart", 0, source="resume", process=True)
            w.hook("UserPromptSubmit", 0, prompt_kind="local")
            is_now(w, key, state)
            w.policy("S-1", "hold" if hold else "accept")
            for _ in range(6):
                w.hook("UserPromptSubmit", 0, prompt_kind="local")
            is_now(w, key, "held" if hold else "delivered")
            assert w.seen.deliveries[key]["passive"] == 1

    return run
