"""Read model of `/inbox` (pages 40 and 70): what waits for the owner, and one entry in focus with all it takes to
decide on it.

Entries have an id that an address can hold (`?at=`): a comment's or a message's own, `asks-S-3`, or a digest of what a
fault names.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from relaybay.domain import Outcome
from relaybay.rules.text import literal
from relaybay.service import inbox
from relaybay.service.card import opening
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.views import session_short
from relaybay.service.views_messages import message
from relaybay.service.views_reviews import held_at
from relaybay.store import comments, messages, sessions, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.transaction import Tx

#: Entries listed around the one in focus; the others are counted, and a link leads on.
LISTED_MAX: Final = 40
#: Of these at most so many stand before the one in focus.
LISTED_BEFORE: Final = 10
_DIGEST_CHARS: Final = 12
_KINDS: Final = {
    "reply": "replies", "reply_too_deep": "chains", "asks_permission": "asking", "asks_input": "asking", "held": "held",
}  # fmt: skip


def inbox_page(tx: Tx, relay: Relay, *, at: str = "", undo: str = "") -> Outcome:
    """The Inbox, oldest first, with the entry `at` in focus, else the first; `gone` where `at` waits no longer.

    `undo` is a comment that the owner has just written here: shown for as long as it can be taken back (CMT-12).
    """
    found = [
        entry | {"id": entry_id(entry)} for entry in inbox.inbox(tx, channels=relay.messaging.channels).data["entries"]
    ]
    ids = [entry["id"] for entry in found]
    gone = bool(at) and at not in ids
    place = ids.index(at) if at in ids else 0
    focus = None if gone or not found else found[place]
    start = max(0, min(place - LISTED_BEFORE, len(found) - LISTED_MAX))
    end = start + LISTED_MAX
    return Outcome(
        data={
            "focus": _focus(tx, relay, focus, found) if focus is not None else None,
            "gone": gone,
            "number": place + 1 if focus is not None else 0,
            "next": _after(ids, place, gone=gone),
            "previous": ids[place - 1] if place and not gone else "",
            "then": _then(found, focus),
            "entries": [_line(entry) for entry in found[start:end]],
            "earlier": {"count": start, "id": ids[start - 1] if start else ""},
            "later": {"count": max(len(found) - end, 0), "id": ids[end] if end < len(ids) else ""},
            "count": len(found),
            "undo": _undo(tx, undo),
            "checked": _checked(tx, found, channels=relay.messaging.channels),
        }
    )


def entry_id(entry: dict[str, Any]) -> str:
    """How an address names an entry."""
    if entry["kind"] in ("reply", "reply_too_deep"):
        return str(entry["ref"])
    if entry["kind"] == "held":
        # One message may be held at several sessions.
        return f"{entry['ref']}-{entry['session']['ref']}"
    if entry["kind"].startswith("asks_"):
        return f"asks-{entry['ref']}"
    digest = hashlib.sha256(f"{entry['kind']}\0{entry['ref']}".encode()).hexdigest()
    return f"fault-{digest[:_DIGEST_CHARS]}"


def _after(ids: list[str], place: int, *, gone: bool) -> str:
    """What `n` leads to: the next one, after the last the first; nothing when there is no other."""
    if gone:
        return ids[0] if ids else ""
    return ids[(place + 1) % len(ids)] if len(ids) > 1 else ""


def _then(found: list[dict[str, Any]], focus: dict[str, Any] | None) -> str:
    """What is in focus once this one is done. To mark a reply read, or to answer it, takes all replies of its task off
    (CMT-10).
    """
    if focus is None:
        return ""
    place = found.index(focus)
    for entry in (*found[place + 1 :], *found[:place]):
        if focus["kind"] != "reply" or entry["kind"] != "reply" or entry["task"] != focus["task"]:
            return str(entry["id"])
    return ""


def _line(entry: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        name: entry[name] for name in ("id", "kind", "since", "title", "task", "session", "text") if name in entry
    }
    if "body" in entry:
        # A list names things: of a text the beginning, on one line.
        shown["opening"] = opening(json.loads(entry["body"]))
    return shown


def _focus(tx: Tx, relay: Relay, entry: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    """An entry with what a decision needs: of a reply what it answers, of a chain the message, of a question the
    session.
    """
    if entry["kind"] == "reply":
        return entry | _reply(tx, entry, found)
    if entry["kind"] == "reply_too_deep":
        mail = messages.get(tx, entry["ref"])
        return entry | ({"message": message(tx, relay, mail)} if mail is not None else {})
    if entry["kind"] == "held":
        return entry | held_at(tx, relay, entry["ref"], entry["session"]["ref"])
    row = sessions.by_ref(tx, entry["session"]["ref"]) if "session" in entry else None
    if row is None:
        return entry
    now = relay.presence.current(row)
    more: dict[str, Any] = {
        "session": session_short(relay, row),
        "tasks": [{"key": t.task_key, "title": literal(t.title)} for t in tasks.bound_to(tx, row.id)],
    }
    if now.last_seen_us:
        more["last_seen"] = rfc3339(now.last_seen_us)
    return entry | more | ({"folder": literal(row.cwd)} if row.cwd else {})


def _reply(tx: Tx, entry: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, Any]:
    row = comments.get(tx, entry["ref"])
    assert row is not None
    more: dict[str, Any] = {
        "verified": bool(row.author_verified),
        "status": tasks.by_id(tx, row.task_id).status,
        "same_task": sum(other["kind"] == "reply" and other["task"] == entry["task"] for other in found) - 1,
    }
    before = _answered(tx, row)
    if before is not None:
        more["answers"] = {
            "id": before.cid,
            "named": bool(row.parent_cid),
            "created_at": rfc3339(before.created_us),
            "body": literal(before.body_md),
        }
    return more


def _answered(tx: Tx, row: CommentRow) -> CommentRow | None:
    """The owner's comment that a reply names, else the last one before it on its task."""
    named = comments.get(tx, row.parent_cid) if row.parent_cid else None
    if named is not None:
        return named if named.author_kind == "owner" else None
    own = [one for one in comments.of_task(tx, row.task_id) if one.author_kind == "owner" and one.id < row.id]
    return own[-1] if own else None


def _undo(tx: Tx, cid: str) -> dict[str, Any] | None:
    row = comments.get(tx, cid) if cid else None
    if row is None or row.author_kind != "owner" or row.state != "sent" or not row.held_back(tx.now):
        return None
    return {"id": row.cid, "task": row.task_key, "can_withdraw_until": rfc3339(row.grace_until_us)}


def _checked(tx: Tx, found: list[dict[str, Any]], *, channels: bool) -> dict[str, int]:
    """What was looked at, in numbers, for the page that has nothing to show."""
    counts = {"replies": 0, "chains": 0, "asking": 0, "faults": 0, "sessions": len(sessions.every(tx))}
    counts |= {"held": 0} if channels else {}
    for entry in found:
        counts[_KINDS.get(entry["kind"], "faults")] += 1
    return counts
