"""What channels there are, for people: topics, broadcasts, and one session's direct conversations (§ 7.5, OWN-6).

No policy filters these lists, since only the owner looks at them.
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules import topics
from relaybay.rules.text import name_line
from relaybay.service.arguments import one_session
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.store import channels as stored
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

#: A page for people and its JSON stay a size that can be read; the history may have a topic per message.
TOPICS_MAX = 1_000


def channels(tx: Tx, relay: Relay, *, session: str = "") -> Outcome:
    """The topics of the history and its broadcasts, by last activity. With a session (ref, `@name` or title) also how
    it receives each (`exact`, `pattern`, `not`) and its direct conversations by the other session. A read.

    Topics that the session names and that nobody has written to yet stand at the end, with a count of 0.
    """
    if not relay.messaging.channels:
        return Outcome(refusal=Refusal("channels.off", "OWN-6"))
    row: SessionRow | None = None
    if session:
        found = one_session(tx, session)
        if isinstance(found, Refusal):
            return Outcome(refusal=found)
        row = found
    patterns = stored.patterns(tx, row.id) if row is not None else ()
    known = stored.topics(tx)
    listed: list[dict[str, Any]] = [
        {"topic": one.topic, "count": one.count, "last_at": rfc3339(one.last_us)} for one in known[:TOPICS_MAX]
    ]
    written = {one.topic for one in known}
    listed += [{"topic": one, "count": 0} for one in patterns if topics.is_topic(one) and one not in written]
    if row is not None:
        listed = [one | {"received": topics.how_received(patterns, one["topic"])} for one in listed]
    said: dict[str, Any] = {"topics": listed, "broadcasts": _broadcasts(tx, row), "conversations": []}
    if row is not None:
        said |= {"conversations": _conversations(tx, row.id), "session": _named(row), "patterns": list(patterns)}
    answer = "topics.listed_more" if len(known) > TOPICS_MAX else "topics.listed"
    text = word(answer, count=len(known), shown=min(len(known), TOPICS_MAX)).text
    return Outcome(said | {"text": text})


def _broadcasts(tx: Tx, row: SessionRow | None) -> dict[str, Any]:
    found = stored.broadcasts(tx)
    said: dict[str, Any] = {"count": found.count if found is not None else 0}
    if found is not None:
        said["last_at"] = rfc3339(found.last_us)
    return said | ({"received": bool(row.broadcasts)} if row is not None else {})


def _conversations(tx: Tx, session_id: int) -> list[dict[str, Any]]:
    """With whom the session wrote, whoever began, the last one first."""
    return [
        _named(sessions.need(tx, one.peer_id)) | {"count": one.count, "last_at": rfc3339(one.last_us)}
        for one in stored.conversations(tx, session_id)
    ]


def _named(row: SessionRow) -> dict[str, Any]:
    return {"ref": row.ref, "title": name_line(row.title), "name": row.name or ""}
