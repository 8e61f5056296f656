"""The words of the filter grammar: which keys each subject has, and what each key takes (page 70: one grammar).

Data alone, so that the parser, the help on a page and the documents read the same. Belongs here: names. Does not:
what a key means in a table (`service/filters_*.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from relaybay.rules.topics import is_pattern

Subject = Literal["messages", "tasks", "sessions", "events", "search"]
#: `choice`: one of the words listed. `once`: the same, a single one in the whole query. `name`: a session, as one can
#: write to it. `task`: a key. `project`: a slug. `type`: an event's type, or its beginning and `.*`. `age`: a number
#: and s, m, h, d or w. `time`: a day, or a day and a time on it.
#: `topic`: a topic, or a pattern as a session subscribes to one.
Kind = Literal["choice", "once", "name", "task", "project", "type", "topic", "age", "time"]


@dataclass(frozen=True, slots=True)
class Key:
    """What stands after the colon."""

    kind: Kind
    choices: tuple[str, ...] = ()


_NAME, _TASK, _PROJECT, _TYPE = Key("name"), Key("task"), Key("project"), Key("type")
_TIMES: Final = {"before": Key("time"), "after": Key("time"), "older": Key("age")}
STATES: Final = (
    *("sent", "held", "delivered", "read", "orphaned", "taken"),
    *("refused", "rate_limited", "rejected", "dropped", "consumed"),
)
STATUSES: Final = ("inbox", "todo", "doing", "review", "done", "dropped")

KEYS: Final[dict[Subject, dict[str, Key]]] = {
    "messages": {
        "is": Key("choice", ("undelivered", "unread", "read", "in-context", "held", "lost", "unanswered", "needs-me")),
        "state": Key("choice", STATES),
        "audience": Key("choice", ("direct", "topic", "broadcast")),
        "topic": Key("topic"),
        "from": _NAME,
        "to": _NAME,
        "session": _NAME,
        "task": _TASK,
        "project": _PROJECT,
        "has": Key("choice", ("reply", "task")),
        **_TIMES,
        "sort": Key("once", ("new", "old")),
    },
    "tasks": {
        "is": Key("choice", ("undelivered", "unread", "unanswered", "needs-me", "bound", "unbound")),
        "status": Key("choice", STATUSES),
        "session": _NAME,
        "project": _PROJECT,
        "has": Key("choice", ("attachment", "comment", "step", "undelivered")),
        **_TIMES,
        "sort": Key("once", ("new", "old", "updated")),
    },
    "sessions": {
        "is": Key("choice", ("live", "undelivered", "unread", "unanswered", "needs-me")),
        "state": Key("choice", ("working", "idle", "unknown", "ended")),
        "session": _NAME,
        "task": _TASK,
        "project": _PROJECT,
        "has": Key("choice", ("comment", "task", "undelivered")),
        **_TIMES,
        "sort": Key("once", ("new", "old", "seen")),
    },
    "events": {
        "type": _TYPE,
        "session": _NAME,
        "task": _TASK,
        **_TIMES,
        "sort": Key("once", ("new", "old")),
    },
    "search": {
        "in": Key("choice", ("task", "comment")),
        "author": Key("choice", ("owner", "session")),
        "status": Key("choice", STATUSES),
        "task": _TASK,
        "project": _PROJECT,
        **_TIMES,
        "sort": Key("once", ("best", "new", "old")),
    },
}
#: What can be looked for by words; the others have nothing that is searched (page 40: never messages).
WORDY: Final[frozenset[Subject]] = frozenset({"tasks", "sessions", "search"})
#: Kept for what is to come, and refused by name until then → what it filters.
RESERVED: Final = {"group": "groups"}

_AGE: Final = re.compile(r"[1-9][0-9]{0,4}[smhdw]")
_TIME: Final = re.compile(r"(19[7-9][0-9]|2[0-9]{3})-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2})?Z?)?")
_EVENT_TYPE: Final = re.compile(r"[a-z_]+(\.[a-z_]+)*(\.\*)?")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def takes(key: Key, value: str) -> bool:
    """Whether a value has the form that its key wants. That a session, task or project exists is not asked here."""
    match key.kind:
        case "choice" | "once":
            return value in key.choices
        case "age":
            return _AGE.fullmatch(value) is not None
        case "time":
            return _TIME.fullmatch(value) is not None and _is_date(value)
        case "type":
            return _EVENT_TYPE.fullmatch(value) is not None
        case "topic":
            return is_pattern(value)
    return not value.isspace()


def _is_date(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def age_seconds(value: str) -> int:
    """How many seconds an age has: `10m` is 600."""
    return int(value[:-1]) * _SECONDS[value[-1]]


def elsewhere(key: str) -> tuple[Subject, ...]:
    """The subjects that have this key."""
    return tuple(subject for subject, keys in KEYS.items() if key in keys)
