"""What a key of the filter grammar means in the tables: conditions on messages, tasks and texts, as SQL and values.

Over the letters that the lists use: `m` message and `d` its delivery, `t` task, `e` event, and in full-text search `c`,
a text's comment. A condition is never unknown, so that it can be turned round: where nobody is named, 0 stands for
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal

#: SQL with a `?` for each value.
Condition = tuple[str, list[Any]]
Subject = Literal["messages", "tasks", "events", "search"]

_ABOUT_TASK = "SELECT 1 FROM message m JOIN delivery d ON d.message_id = m.id WHERE m.task_id = t.id AND"
_COMMENT_ON = "SELECT 1 FROM comment k WHERE k.task_id = t.id AND"


def _waits(state: str) -> str:
    """That something of or about a task is in this state: the owner's comments on it, messages about it."""
    return (
        f"(EXISTS ({_COMMENT_ON} k.author_kind = 'owner' AND k.state = '{state}')"
        f" OR EXISTS ({_ABOUT_TASK} d.state = '{state}'))"
    )


_IN_INBOX = "SELECT ref FROM inbox WHERE seen_us = 0"
#: What the owner decides on: without what a suppressed row keeps until its user writes (page 50, SUP-3).
FOR_REVIEW: Final = "(d.state = 'held' AND d.recipient_id IS NOT NULL AND d.reason_code <> 'waits_for_resume')"
_UNANSWERED = f"EXISTS ({_COMMENT_ON} k.state = 'unanswered')"
_REPLY = "EXISTS (SELECT 1 FROM message a WHERE a.parent_id = m.id)"
_WORDS: Final[dict[Subject, dict[tuple[str, str], str]]] = {
    "messages": {
        ("is", "undelivered"): "d.state = 'sent'",
        ("is", "unread"): "d.state = 'delivered'",
        ("is", "read"): "d.state = 'read'",
        ("is", "in-context"): "d.in_context_us > 0",
        ("is", "held"): "d.state = 'held'",
        ("is", "lost"): "d.state = 'orphaned'",
        ("is", "unanswered"): f"NOT {_REPLY}",
        ("is", "needs-me"): f"(m.mid IN ({_IN_INBOX}) OR {FOR_REVIEW})",
        ("has", "reply"): _REPLY,
        ("has", "task"): "m.task_id IS NOT NULL",
    },
    "tasks": {
        ("is", "undelivered"): _waits("sent"),
        ("is", "unread"): _waits("delivered"),
        ("is", "unanswered"): _UNANSWERED,
        ("is", "needs-me"): f"({_UNANSWERED} OR EXISTS ({_ABOUT_TASK} m.mid IN ({_IN_INBOX})))",
        ("is", "bound"): "t.session_id IS NOT NULL",
        ("is", "unbound"): "t.session_id IS NULL",
        ("has", "attachment"): "EXISTS (SELECT 1 FROM attachment f WHERE f.task_id = t.id)",
        ("has", "comment"): "EXISTS (SELECT 1 FROM comment k WHERE k.task_id = t.id)",
        ("has", "step"): "EXISTS (SELECT 1 FROM step s WHERE s.task_id = t.id)",
        ("has", "undelivered"): _waits("sent"),
    },
    "events": {},
    "search": {
        ("in", "task"): "c.id IS NULL",
        ("in", "comment"): "c.id IS NOT NULL",
    },
}
#: Keys whose value is what the column holds.
_EQUAL: Final[dict[Subject, dict[str, str]]] = {
    "messages": {"state": "d.state", "audience": "m.audience"},
    "tasks": {"status": "t.status"},
    "events": {},
    "search": {
        "status": "t.status",
        "author": "coalesce(c.author_kind, CASE WHEN t.author = 'owner' THEN 'owner' ELSE 'session' END)",
    },
}
#: By keys, which small indexes give: of a long history only what is asked for is looked at.
_SENT = "d.id IN (SELECT x.id FROM message y JOIN delivery x ON x.message_id = y.id WHERE y.sender_id IN ({ids}))"
_GOT = "d.id IN (SELECT id FROM delivery WHERE recipient_id IN ({ids}))"
#: Under which name an event's subjects are found: `session:S-12`, `task:shop-3`.
_ABOUT = "e.id IN (SELECT event_id FROM event_subject WHERE subject IN ({names}))"
_SESSIONS: Final[dict[Subject, dict[str, tuple[str, ...]]]] = {
    "messages": {"from": (_SENT,), "to": (_GOT,), "session": (_SENT, _GOT)},
    "tasks": {"session": ("coalesce(t.session_id, 0) IN ({ids})",)},
    "events": {"session": (_ABOUT.format(names="SELECT 'session:S-' || id FROM session WHERE id IN ({ids})"),)},
    "search": {},
}
_OF_PROJECT = "SELECT id FROM session WHERE project_id = ?"
_TASK: Final[dict[Subject, str]] = {
    "messages": "d.message_id IN (SELECT id FROM message WHERE task_id IN ({ids}))",
    "tasks": "t.id IN ({ids})",
    "events": _ABOUT.format(names="SELECT 'task:' || task_key FROM task WHERE id IN ({ids})"),
    "search": "t.id IN ({ids})",
}
#: When it happened: sent, last changed, written.
AT: Final[dict[Subject, str]] = {
    "messages": "m.sent_us",
    "tasks": "t.updated_us",
    "events": "e.at_us",
    "search": "coalesce(c.created_us, t.updated_us)",
}


def word(subject: Subject, key: str, value: str) -> Condition:
    """A key with one of its own words."""
    fixed = _WORDS[subject].get((key, value))
    return (fixed, []) if fixed is not None else (f"{_EQUAL[subject][key]} = ?", [value])


def sessions(subject: Subject, key: str, ids: Sequence[int]) -> Condition:
    """That one of these sessions stands under the key; of a message's two ends `session` means either."""
    marks = ", ".join("?" * len(ids))
    return either((sql.format(ids=marks), list(ids)) for sql in _SESSIONS[subject][key])


def task(subject: Subject, task_id: int) -> Condition:
    """That it is, or is about, this task."""
    return _TASK[subject].format(ids="?"), [task_id]


def event_type(name: str) -> Condition:
    """An event's type, or with `.*` at the end whatever begins so."""
    start = name.removesuffix("*")
    return ("e.type = ?", [name]) if start == name else ("substr(e.type, 1, ?) = ?", [len(start), start])


def topics(names: Sequence[str]) -> Condition:
    """That a message was published under one of these topics, however many they are."""
    return "m.topic IN (SELECT value FROM json_each(?))", [json.dumps(list(names))]


def project(subject: Subject, project_id: int) -> Condition:
    """That it belongs to this project: a message by its task, or by a session at one of its ends."""
    if subject != "messages":
        return "t.project_id = ?", [project_id]
    by_task = _TASK[subject].format(ids="SELECT id FROM task WHERE project_id = ?")
    return either((sql, [project_id]) for sql in (by_task, _SENT.format(ids=_OF_PROJECT), _GOT.format(ids=_OF_PROJECT)))


def before(subject: Subject, at_us: int) -> Condition:
    """That it happened before a time."""
    return f"{AT[subject]} < ?", [at_us]


def either(parts: Iterable[Condition]) -> Condition:
    """At least one of several; of one, that one."""
    known = list(parts)
    if len(known) == 1:
        return known[0]
    return f"({' OR '.join(sql for sql, _ in known)})", [value for _, values in known for value in values]


def opposite(condition: Condition) -> Condition:
    """That it is not so."""
    sql, values = condition
    return f"NOT ({sql})", values


def all_of(conditions: Iterable[Condition]) -> Condition:
    """All of them; of none, always."""
    known = list(conditions)
    return " AND ".join(sql for sql, _ in known) or "1 = 1", [value for _, values in known for value in values]
