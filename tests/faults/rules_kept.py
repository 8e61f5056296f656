"""What the store says of itself: the feed, the marks that it tells of, the numbers that are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.faults.history import Told
from tests.faults.left import Event, Left, Violation

#: From each mark, where an event may lead. `message.read` may come before `delivered`: an agent may read a list.
_MESSAGE = {
    ("", "sent"): "sent",
    ("sent", "delivered"): "delivered",
    ("sent", "read"): "read",
    ("delivered", "read"): "read",
    ("delivered", "offered_again"): "sent",
}
_COMMENT = {("", "added"): "sent", ("sent", "withdrawn"): "gone", **{k: v for k, v in _MESSAGE.items() if k[0]}}


def hold(told: Told, left: Left, *, clock_steady: bool) -> list[Violation]:
    return [*_feed(left, clock_steady=clock_steady), *_messages(left), *_comments(left), *_numbers(told, left)]


def _feed(left: Left, *, clock_steady: bool) -> Iterator[Violation]:
    numbers = [event.id for event in left.events]
    if numbers != list(range(1, len(numbers) + 1)):
        missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
        yield Violation("events", f"the feed does not count from 1 without a gap; missing {missing[:10]}")
    elif left.sequences.get("event", 0) != len(numbers):
        yield Violation(
            "events", f"the last number given is {left.sequences.get('event')}, the feed ends at {len(numbers)}"
        )
    for before, after in zip(left.events, left.events[1:], strict=False):
        if clock_steady and after.at_us < before.at_us:
            yield Violation("events", f"event {after.id} is older than {before.id}, which stands before it")
    made = [event.data["message_id"] for event in left.events if event.type == "message.sent"]
    stored = [row["mid"] for row in left.messages]
    if sorted(made) == sorted(stored) and made != stored:
        yield Violation("events", "messages were told of in another order than they were stored in")
    added = Counter(event.data["task"] for event in left.events if event.type == "task.created")
    if added != Counter(row["task_key"] for row in left.tasks):
        yield Violation("events", "the tasks there are, and those that the feed tells of, differ")


def _walked(name: str, events: list[Event], moves: dict[tuple[str, str], str]) -> tuple[str, list[Violation]]:
    """The mark after these events, and the steps that no mark may take."""
    mark, wrong = "", []
    for event in events:
        step = event.type.partition(".")[2]
        after = moves.get((mark, step))
        if after is None:
            wrong.append(Violation("receipts", f"{name}: {event.type} (event {event.id}) after {mark or 'nothing'}"))
        else:
            mark = after
    return mark, wrong


def _messages(left: Left) -> Iterator[Violation]:
    told = left.about("message", "message_id")
    for row in left.deliveries:
        events = told.pop(row["mid"], [])
        if not events:
            yield Violation("events", f"message {row['mid']} is stored and no event tells of it")
            continue
        mark, wrong = _walked(f"message {row['mid']}", events, _MESSAGE)
        yield from wrong
        # A row that is deleted leaves its messages orphaned, and no event says so.
        if mark != row["state"] and not (row["state"] == "orphaned" and mark in ("sent", "delivered")):
            yield Violation("receipts", f"message {row['mid']} is {row['state']}, and the events say {mark}")
        if (row["state"] == "delivered") != bool(row["delivered_us"]) and row["state"] in ("sent", "delivered"):
            yield Violation("receipts", f"message {row['mid']} is {row['state']}, delivered at {row['delivered_us']}")
    for mid in told:
        yield Violation("events", f"the feed tells of message {mid}, which is not there")


def _comments(left: Left) -> Iterator[Violation]:
    told = left.about("comment", "comment_id")
    for row in left.comments:
        events = told.get(row["cid"], [])
        if not events:
            yield Violation("events", f"comment {row['cid']} is stored and no event tells of it")
            continue
        if row["author_kind"] != "owner":
            continue
        mark, wrong = _walked(f"comment {row['cid']}", events, _COMMENT)
        yield from wrong
        if mark != row["state"]:
            yield Violation("receipts", f"comment {row['cid']} is {row['state']}, and the events say {mark}")


def _numbers(told: Told, left: Left) -> Iterator[Violation]:
    for project in left.projects:
        numbers = [row["number"] for row in left.tasks if row["project_id"] == project["id"]]
        if sorted(numbers) != list(range(1, project["last_number"] + 1)):
            yield Violation("counters", f"{project['slug']} counts {project['last_number']} tasks and has {numbers}")
    for table, rows in (("message", left.messages), ("delivery", left.deliveries)):
        # A transaction that is undone gives its numbers back: a gap is a row that was there and is gone.
        if [row["id"] for row in rows] != list(range(1, left.sequences.get(table, 0) + 1)):
            yield Violation(
                "counters", f"{left.sequences.get(table, 0)} rows were added to {table}, {len(rows)} are there"
            )
    counted = {
        "open": sum(row["state"] in ("sent", "delivered") for row in left.deliveries),
        "messages": len(left.messages),
        "tasks": len(left.tasks),
    }
    last = told.operations[-1] if told.operations else None
    # What was counted before the last call says nothing of what is there now.
    for one in [last] if last is not None and last.op == "counts" and last.result == "ok" else []:
        for name, value in one.told.items():
            if counted[name] != value:
                yield Violation("counters", f"operation {one.n} was told {value} for {name}; there are {counted[name]}")
