"""What was asked for against what is stored: nothing lost, nothing changed, nothing twice, nothing that was refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.faults.history import Operation, Told, digest
from tests.faults.left import Left, Violation


def hold(told: Told, left: Left) -> list[Violation]:
    return [
        *_sent(told, left),
        *_keys(told, left),
        *_times_stored(told, left),
        *_comments(told, left),
        *_tasks(told, left),
        *_read(told, left),
        *_feed(told, left),
        *_replayed(told, left),
    ]


def _sent(told: Told, left: Left) -> Iterator[Violation]:
    stored = {row["mid"]: row for row in left.messages}
    for one in told.of("send"):
        if one.result != "ok":
            continue
        row = stored.get(one.told["message_id"])
        if row is None:
            yield Violation(
                "lost", f"message {one.told['message_id']} was accepted (operation {one.n}) and is not there"
            )
        elif digest(row["body"]) != one.said["sha256"]:
            yield Violation("body", f"message {row['mid']} has another text than operation {one.n} sent")
        elif one.said["key"] and row["request_id"] != one.said["key"]:
            yield Violation("one_id", f"message {row['mid']} does not have the request id {one.said['key']}")


def _keys(told: Told, left: Left) -> Iterator[Violation]:
    ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in told.of("send"):
        if one.result == "ok" and one.said["key"]:
            ids[one.said["sender"], one.said["key"]].add(one.told["message_id"])
    for (sender, key), found in ids.items():
        if len(found) > 1:
            yield Violation("one_id", f"request id {key} of {sender} was answered with {sorted(found)}")
    used = Counter((row["sender_id"], row["request_id"]) for row in left.messages if row["request_id"])
    for (sender_id, key), times in used.items():
        if times > 1:
            yield Violation("one_id", f"sender {sender_id} has {times} messages with the request id {key}")


def _attempts(told: Told) -> dict[str, list[Operation]]:
    """Sends by the text they sent: campaigns send no text of two meanings."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for one in told.of("send"):
        found[one.said["sha256"]].append(one)
    return found


def _most(attempts: list[Operation]) -> int:
    """How often these attempts may have stored their text: attempts with one request id do so once in all."""
    able = [one for one in attempts if one.result != "fail"]
    keys = {(one.said["sender"], one.said["key"]) for one in able if one.said["key"]}
    return len(keys) + sum(not one.said["key"] for one in able)


def _times_stored(told: Told, left: Left) -> Iterator[Violation]:
    attempts = _attempts(told)
    stored = Counter(digest(row["body"]) for row in left.messages)
    for sha256, times in stored.items():
        tried = attempts.get(sha256, [])
        most = _most(tried)
        if not tried:
            yield Violation("refused", f"a text is stored that nobody sent ({sha256[:12]}…)")
        elif most == 0:
            yield Violation("refused", f"operation {tried[0].n} was refused, and its text is stored")
        elif times > most:
            yield Violation(
                "twice", f"the text of operation {tried[0].n} is stored {times} times, at most {most} asked for"
            )
    messages = Counter(row["mid"] for row in left.deliveries)
    for row in left.messages:
        if messages[row["mid"]] != 1:
            yield Violation("counters", f"message {row['mid']} has {messages[row['mid']]} deliveries")


def _comments(told: Told, left: Left) -> Iterator[Violation]:
    stored = {row["cid"]: row for row in left.comments}
    able: Counter[str] = Counter()
    for one in told.of("comment"):
        able[one.said["sha256"]] += one.result != "fail"
        if one.result != "ok":
            continue
        row = stored.get(one.told["comment_id"])
        if row is None:
            yield Violation(
                "lost", f"comment {one.told['comment_id']} was accepted (operation {one.n}) and is not there"
            )
        elif digest(row["body_md"]) != one.said["sha256"]:
            yield Violation("body", f"comment {row['cid']} has another text than operation {one.n} wrote")
    for sha256, times in Counter(digest(row["body_md"]) for row in left.comments).items():
        if times > able[sha256]:
            rule = "twice" if able[sha256] else "refused"
            yield Violation(rule, f"the text of a comment is stored {times} times, at most {able[sha256]} asked for")


def _tasks(told: Told, left: Left) -> Iterator[Violation]:
    stored = {row["task_key"]: row["title"] for row in left.tasks}
    able: Counter[str] = Counter()
    for one in told.of("task"):
        able[one.said["title"]] += one.result != "fail"
        if one.result == "ok" and stored.get(one.told["task"]) != one.said["title"]:
            yield Violation("lost", f"task {one.told['task']} (operation {one.n}) is not there, or is another one")
    for title, times in Counter(stored.values()).items():
        if times > able[title]:
            rule = "twice" if able[title] else "refused"
            yield Violation(rule, f"task {title!r} is stored {times} times, at most {able[title]} asked for")


def _read(told: Told, left: Left) -> Iterator[Violation]:
    state = {row["mid"]: row["state"] for row in left.deliveries} | {row["cid"]: row["state"] for row in left.comments}
    for one in told.of("ack"):
        for key in one.told.get("read", ()):
            if state.get(key) != "read":
                yield Violation("lost", f"operation {one.n} marked {key} read, and it is {state.get(key, 'not there')}")


def _feed(told: Told, left: Left) -> Iterator[Violation]:
    stored = {event.id: event.type for event in left.events}
    last: dict[str, int] = {}
    for one in told.of("feed"):
        for number, kind in one.told.get("events", ()):
            before = last.get(one.client)
            if before is not None and number != before + 1:
                yield Violation("events", f"operation {one.n}: {one.client} was given event {number} after {before}")
            last[one.client] = number
            if stored.get(number) != kind:
                yield Violation(
                    "lost", f"operation {one.n} read event {number} ({kind}), and it is {stored.get(number)}"
                )


def _replayed(told: Told, left: Left) -> Iterator[Violation]:
    applied: Counter[str] = Counter()
    for one in told.of("replay"):
        if one.result != "ok":
            continue
        fresh = one.told["applied"]
        applied.update(fresh)
        for key in fresh:
            if not left.spooled[key]:
                yield Violation("replay", f"spooled event {key} was applied (operation {one.n}) and is not remembered")
    for key, times in applied.items():
        if times > 1:
            yield Violation("replay", f"spooled event {key} was applied {times} times")
