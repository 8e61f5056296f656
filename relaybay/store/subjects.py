"""What an event is about: the names under which it is found again, written beside it when it is emitted.

Belongs here: which members of an event name something, and how such a name is written. Does not: queries (`events.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

#: Member of an event's data → the kind of thing that it names.
_MEMBERS: Final = {
    "session": "session",
    "from_ref": "session",
    "to_ref": "session",
    "author": "session",
    "by": "session",
    "taken_over_by": "session",
    "task": "task",
    "project": "project",
    "message_id": "message",
    "comment_id": "comment",
}
#: Authors and callers may be words instead (`owner`, `unnamed`).
_REF: Final = re.compile(r"S-[1-9][0-9]*")
#: Where an edge of the Map came from: what a client wrote with a tool of its own.
CLIENT_EDGE: Final = "edge:client"
EDGE: Final = "session.message"


def subject(kind: str, name: str) -> str:
    """How a thing is named among subjects: `task:shop-3`, `session:S-12`."""
    return f"{kind}:{name}"


def subjects_of(type_: str, data: Mapping[str, Any]) -> list[str]:
    """What an event is about, each once, in the order of its members.

    The Map's edge of a message of ours has none: it stands beside its `message.sent`, which says the same.
    """
    if type_ == EDGE and data.get("by") != "client":
        return []
    found = dict.fromkeys([CLIENT_EDGE] if type_ == EDGE else [])
    for member, value in data.items():
        kind = _MEMBERS.get(member)
        if kind is None or not isinstance(value, str) or not value:
            continue
        if kind == "session" and not _REF.fullmatch(value):
            continue
        found[subject(kind, value)] = None
        if kind == "task":
            # A key is its project's slug and a number, and what happens to a task happens in its project.
            found[subject("project", value.rpartition("-")[0])] = None
    return list(found)
