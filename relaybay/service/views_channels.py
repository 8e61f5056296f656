"""Read models of `/channels`, `/channels/TOPIC`, `/broadcasts` and `/sessions/S-12/with/S-7` (page 50, OWN-6 and 7).

No policy filters them, for only the owner looks. Without the switch the stored messages can still be read.
"""

from __future__ import annotations

from typing import Any, Final

from relaybay.domain import Outcome, Refusal
from relaybay.rules import topics
from relaybay.rules.text import literal, name_literal
from relaybay.service import channel_lists, history, naming
from relaybay.service.arguments import one_session
from relaybay.service.card import session_view
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.views import ALL_MAX
from relaybay.service.views_messages import PICKER_MAX
from relaybay.store import channels as stored
from relaybay.store import history as pages
from relaybay.store import messages, sessions
from relaybay.store.history import Page
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

#: Channels that the page lists until all are asked for.
LISTED_MAX: Final = 60
#: Messages of one page of a reader.
PAGE_MESSAGES: Final = 20
#: Recipients whose outcomes stand open at a message; of more, they open.
OUTCOMES_OPEN: Final = 3


def channels_page(tx: Tx, relay: Relay, *, session: str = "", all_of: str = "") -> Outcome:
    """All channels by last activity. With a session also how it receives each and its direct conversations."""
    row = one_session(tx, session) if session else None
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    found = _channels(tx, relay, row)
    shown = sorted(found, key=lambda one: one.get("last_at", ""), reverse=True)
    most = ALL_MAX if all_of == "channels" else LISTED_MAX
    return Outcome(
        data={
            "on": relay.messaging.channels,
            "channels": shown[:most],
            "left_out": max(len(shown) - most, 0),
            "all_of": "channels" if all_of == "channels" else "",
            "patterns": list(stored.patterns(tx, row.id)) if row is not None else [],
            **_chosen(tx, row),
        }
    )


def _chosen(tx: Tx, row: SessionRow | None) -> dict[str, Any]:
    """The session that is chosen, and those that can be."""
    known = sessions.every(tx)
    return {
        "session": session_view(row) if row is not None else None,
        "sessions": [session_view(one) for one in known[:PICKER_MAX]],
        "sessions_left_out": max(len(known) - PICKER_MAX, 0),
    }


def _channels(tx: Tx, relay: Relay, row: SessionRow | None) -> list[dict[str, Any]]:
    """Each `{kind, count, last_at?, topic?, with?, received?}`."""
    if not relay.messaging.channels:
        return _stored(tx)
    said = channel_lists.channels(tx, relay, session=row.ref if row is not None else "").data
    found = [{"kind": "topic", **one} for one in said["topics"]]
    everybody = said["broadcasts"]
    if everybody["count"] or row is not None:
        received = {"received": "exact" if everybody["received"] else "not"} if row is not None else {}
        found.append({**everybody, "kind": "broadcast", **received})
    for one in said["conversations"]:
        party = {name: one[name] for name in ("ref", "title", "name") if one[name]}
        found.append({"kind": "direct", "with": party, "count": one["count"], "last_at": one["last_at"]})
    return found


def _stored(tx: Tx) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"kind": "topic", "topic": one.topic, "count": one.count, "last_at": rfc3339(one.last_us)}
        for one in stored.topics(tx)
    ]
    everybody = stored.broadcasts(tx)
    if everybody is not None:
        found.append({"kind": "broadcast", "count": everybody.count, "last_at": rfc3339(everybody.last_us)})
    return found


def topic_page(tx: Tx, relay: Relay, *, topic: str, session: str = "", before: str = "") -> Outcome:
    """The reader of one topic; with a session also how it receives the topic, and what `s` does about it."""
    if not topics.is_topic(topic):
        return Outcome(refusal=Refusal("board.topic_unknown", "TOPIC-1", {"topic": name_literal(topic)}))
    asked = _asked(tx, session, before)
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    row, start = asked
    page = pages.published(tx, wanted=None, topic=topic, before=start, most=PAGE_MESSAGES)
    channel: dict[str, Any] = {"kind": "topic", "topic": topic}
    if row is not None:
        channel["received"] = topics.how_received(stored.patterns(tx, row.id), topic)
    return Outcome(data=_reader(tx, relay, channel, page, before) | _chosen(tx, row))


def broadcasts_page(tx: Tx, relay: Relay, *, session: str = "", before: str = "") -> Outcome:
    """The reader of broadcasts; with a session also whether it receives them."""
    asked = _asked(tx, session, before)
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    row, start = asked
    page = pages.published(tx, wanted=None, before=start, most=PAGE_MESSAGES)
    channel: dict[str, Any] = {"kind": "broadcast"}
    if row is not None:
        channel["received"] = "exact" if row.broadcasts else "not"
    return Outcome(data=_reader(tx, relay, channel, page, before) | _chosen(tx, row))


def conversation_page(tx: Tx, relay: Relay, *, ref: str, other: str, before: str = "") -> Outcome:
    """The reader of what two sessions wrote to each other."""
    rows = [sessions.by_ref(tx, one) for one in (ref, other)]
    for given, row in zip((ref, other), rows, strict=True):
        if row is None:
            values = {"session": name_literal(given), "near": naming.near(tx, given)}
            return Outcome(refusal=Refusal("session.unknown", "RECV-1", values))
    start = _start(tx, before)
    if isinstance(start, Refusal):
        return Outcome(refusal=start)
    one, two = (row for row in rows if row is not None)
    where, both = pages.between(one.id, two.id)
    page = pages.newest(tx, PAGE_MESSAGES, where=where, values=both, before=start)
    channel = {"kind": "direct", "with": session_view(two)}
    return Outcome(data=_reader(tx, relay, channel, page, before) | {"session": session_view(one)})


def _asked(tx: Tx, session: str, before: str) -> tuple[SessionRow | None, int] | Refusal:
    """The session that is chosen, if one is, and the number that the page begins below."""
    row = one_session(tx, session) if session else None
    if isinstance(row, Refusal):
        return row
    start = _start(tx, before)
    return start if isinstance(start, Refusal) else (row, start)


def _start(tx: Tx, before: str) -> int | Refusal:
    if not before:
        return 0
    found = messages.by_mid(tx, before)
    if found is None:
        return Refusal("board.message_unknown", "75", {"message_id": literal(before)})
    return found.message_id


def _reader(tx: Tx, relay: Relay, channel: dict[str, Any], page: Page, before: str) -> dict[str, Any]:
    """A page of a channel, newest at the bottom. `older` leads on; a page with `before` is not the newest end."""
    lines = []
    for mail in reversed(page.messages):
        line = history.line(tx, relay, mail)
        lines.append(line | {"body": literal(line["body"])})
    return {
        "on": relay.messaging.channels,
        "channel": channel,
        "messages": lines,
        "outcomes_open": OUTCOMES_OPEN,
        "before": before,
        "older": page.messages[-1].mid if page.more else "",
    }
