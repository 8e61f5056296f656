"""What clients were shown, against the marks: shown again only where something explains it, marked only when shown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.faults.history import Operation, Told
from tests.faults.left import Left, Violation

#: How often a Stop may show a thing that was shown before (`limits.toml`, said here once more).
STOP_SHOWS_MAX = {"m": 1, "c": 2}


def hold(told: Told, left: Left) -> tuple[list[Violation], int]:
    """The violations, and how many deliveries lost their answer and are explained by it."""
    shows = [one for one in told.of("hook") if one.result == "ok" and one.told.get("shown")]
    back = _offered_again(left)
    unanswered, wrong = _never_shown(told, left, shows, back)
    return [
        *_known(left, shows, back),
        *_again(shows, back),
        *_after_read(told, shows),
        *_order(left, shows),
        *wrong,
    ], unanswered


def _offered_again(left: Left) -> Counter[str]:
    found: Counter[str] = Counter()
    for event in left.events:
        if event.type in ("message.offered_again", "comment.offered_again"):
            found[event.data.get("message_id") or event.data["comment_id"]] += 1
    return found


def _marks(left: Left) -> dict[str, dict[str, object]]:
    return {row["mid"]: row for row in left.deliveries} | {row["cid"]: row for row in left.comments}


def _known(left: Left, shows: list[Operation], back: Counter[str]) -> Iterator[Violation]:
    marks = _marks(left)
    for one in shows:
        for key in one.told["shown"]:
            row = marks.get(key)
            if row is None:
                yield Violation("lost", f"operation {one.n} was shown {key}, which is not there")
            elif row["state"] == "sent" and not back[key]:
                yield Violation("marks", f"operation {one.n} was shown {key}, which is not marked delivered")
            elif one.said["event"] == "Stop" and not row["stop_blocks"] and not back[key]:
                yield Violation("marks", f"operation {one.n} was blocked for {key}, and no block is counted")


def _again(shows: list[Operation], back: Counter[str]) -> Iterator[Violation]:
    at_stop: Counter[str] = Counter()
    elsewhere: Counter[str] = Counter()
    for one in shows:
        (at_stop if one.said["event"] == "Stop" else elsewhere).update(one.told["shown"])
    for key, times in elsewhere.items():
        if times > 1 + back[key]:
            yield Violation(
                "shown_twice", f"{key} was shown {times} times outside a Stop, offered again {back[key]} times"
            )
    for key, times in at_stop.items():
        if times > STOP_SHOWS_MAX[key[0]] + back[key]:
            yield Violation("shown_twice", f"{key} was shown by {times} Stops, offered again {back[key]} times")


def _after_read(told: Told, shows: list[Operation]) -> Iterator[Violation]:
    read: dict[str, Operation] = {}
    for one in told.of("ack"):
        for key in one.told.get("read", ()):
            read.setdefault(key, one)
    for one in shows:
        for key in one.told["shown"]:
            if key in read and read[key].ended < one.begun:
                yield Violation(
                    "shown_twice", f"operation {one.n} was shown {key}, read by operation {read[key].n} before"
                )


def _order(left: Left, shows: list[Operation]) -> Iterator[Violation]:
    place = {row["mid"]: row["id"] for row in left.deliveries}
    for one in shows:
        places = [place[key] for key in one.told["shown"] if key in place]
        if places != sorted(places):
            yield Violation("order", f"operation {one.n} was shown messages in another order than they were sent in")


def _never_shown(told: Told, left: Left, shows: list[Operation], back: Counter[str]) -> tuple[int, list[Violation]]:
    """A mark without a text: each hand-over needs a hook call of its session that got no answer."""
    if not told.of("hook"):
        # A campaign that keeps no record of its hooks can say nothing about them.
        return 0, []
    seen = {key for one in shows for key in one.told["shown"]}
    unanswered: dict[str, int] = defaultdict(int)
    for one in told.of("hook"):
        unanswered[one.said["session"]] += one.result == "unknown"
    hand_overs: dict[str, set[str]] = defaultdict(set)
    marked = 0
    for row in left.deliveries:
        if row["delivered_us"] and row["mid"] not in seen and row["handover_id"]:
            marked += 1
            hand_overs[row["delivered_hook_id"]].add(row["handover_id"])
    wrong = [
        Violation(
            "marks",
            f"{len(ids)} hand-overs to {session} were marked and never shown, {unanswered[session]} lost their answer",
        )
        for session, ids in hand_overs.items()
        if len(ids) > unanswered[session]
    ]
    return marked, wrong
