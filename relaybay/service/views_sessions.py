"""Read models of `/sessions` and `/sessions/S-12` (page 70): what a session does, how it is linked, what waits for it.

A hook id stands in none of them, nor does the transcript's path, which has it in its name (page 10).
"""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome, Refusal
from relaybay.rules.query import printed
from relaybay.rules.text import literal, name_line, name_literal
from relaybay.service import filters_sessions, naming, saved_views, session_controls
from relaybay.service.card import session_view
from relaybay.service.clock import rfc3339
from relaybay.service.reach import reach, said
from relaybay.service.relay import Relay
from relaybay.service.views import ALL_MAX, asked_whole, happened, open_mail, titles_of
from relaybay.service.views_messages import message
from relaybay.store import board as counted
from relaybay.store import conversations, events, messages, sessions, tasks
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

#: Sessions that all groups together list until all of one are asked for: the first groups take what they have, and
#: each has room for some, the ended ones for no more than that twice.
LISTED_MAX = 30
GROUP_ROOM = 5
ENDED_MAX = 10
CONVERSATIONS_MAX = 40
RECENT_MESSAGES_MAX = 10
TIMELINE_MAX = 40
GROUPS = ("needs_you", "working", "idle", "unknown", "ended")


def session_list(tx: Tx, relay: Relay, *, q: str = "", all_of: str = "") -> Outcome:
    """All sessions that a filter lets through (`rules/query.py`) in the groups of page 70, each under the first that
    fits. A group lists its first ones, which are the newest unless the filter asks for another order; those that
    `all_of` names, parted by commas, list all they have.
    """
    asked = filters_sessions.passing(tx, relay, q)
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    facts = _Facts(tx, relay)
    groups: dict[str, list[SessionRow]] = {name: [] for name in GROUPS}
    for row in asked[1]:
        groups[facts.group(row)].append(row)
    whole = asked_whole(all_of, GROUPS)
    room = LISTED_MAX
    shown = []
    for name, rows in groups.items():
        most = max(room, GROUP_ROOM)
        most = min(most, ENDED_MAX) if name == "ended" else most
        room -= min(most, len(rows))
        shown.append(_group(facts, name, rows, most, whole=name in whole))
    return Outcome(
        data={
            "groups": shown,
            "all_of": ",".join(whole),
            "count": len(asked[1]),
            "left_out": sum(group["left_out"] for group in shown),
            "q": printed(asked[0]),
            "views": saved_views.listed(tx, relay, "sessions"),
        }
    )


def _group(facts: _Facts, name: str, rows: list[SessionRow], few: int, *, whole: bool) -> dict[str, Any]:
    most = ALL_MAX if whole else few
    return {
        "group": name,
        "sessions": [facts.line(row) for row in rows[:most]],
        "count": len(rows),
        "left_out": max(len(rows) - most, 0),
        "expanded": whole and len(rows) > few,
    }


def session_page(tx: Tx, relay: Relay, *, ref: str) -> Outcome:
    """One session: what it does, its link and names, what waits for it and how that can reach it, and its timeline."""
    row = sessions.by_ref(tx, ref)
    if row is None:
        values = {"session": name_literal(ref), "near": naming.near(tx, ref)}
        return Outcome(refusal=Refusal("session.unknown", "RECV-1", values))
    recent = messages.listed(tx, "(d.recipient_id = ? OR m.sender_id = ?)", [row.id, row.id], RECENT_MESSAGES_MAX)
    return Outcome(
        data={
            "session": {**_Facts(tx, relay).line(row), **_details(tx, relay, row)},
            "tasks": [
                {"key": t.task_key, "title": literal(t.title), "status": t.status} for t in tasks.bound_to(tx, row.id)
            ],
            "messages": [message(tx, relay, mail, row) for mail in recent],
            "messaging": session_controls.view(tx, relay, row),
            **_conversations(tx, row),
            "timeline": happened(events.about(tx, "session", row.ref, TIMELINE_MAX), titles_of(sessions.every(tx))),
        }
    )


def policy_page(tx: Tx, relay: Relay, *, ref: str, wanted: str) -> Outcome:
    """What a laxer policy would change, for the page that asks once more (OWN-5)."""
    row = sessions.by_ref(tx, ref)
    if row is None:
        values = {"session": name_literal(ref), "near": naming.near(tx, ref)}
        return Outcome(refusal=Refusal("session.unknown", "RECV-1", values))
    return Outcome(
        data={
            "session": session_view(row),
            "messaging": session_controls.view(tx, relay, row),
            "wanted": wanted,
        }
    )


def _details(tx: Tx, relay: Relay, row: SessionRow) -> dict[str, Any]:
    now = relay.presence.current(row)
    found = reach(tx, relay, row)
    details: dict[str, Any] = {
        "aliases": [name_line(text) for _, text, _, _ in sessions.aliases(tx, row.id)],
        "reach": {"reason_code": found.reason_code, "text": said(found)},
        "first_seen": rfc3339(row.first_seen_us),
        "permission_mode": now.permission_mode or None,
        "entrypoint": row.process_entry or None,
        "desktop": name_line(row.desktop_id) if row.desktop_id else None,
    }
    holder = sessions.get(tx, row.moved_to) if row.link_state == "moved" else None
    if holder is not None:
        details["moved_to"] = session_view(holder)
    return details


def _conversations(tx: Tx, row: SessionRow) -> dict[str, Any]:
    """With whom it writes, the latest first, and how much of it is open on either side."""
    found = conversations.of_session(tx, row.id)
    shown: list[dict[str, Any]] = []
    for one in found[:CONVERSATIONS_MAX]:
        other = sessions.get(tx, one.other)
        said: dict[str, Any] = {"with": session_view(other)} if other is not None else {}
        for name, states in (("sent", one.sent), ("received", one.received)):
            said[name] = {"count": sum(states.values()), **open_mail(states)}
        shown.append(said | {"last_at": rfc3339(one.last_us)})
    return {"conversations": shown, "conversations_left_out": max(len(found) - CONVERSATIONS_MAX, 0)}


class _Facts:
    """What a list says of sessions, its counts read once for all of them."""

    def __init__(self, tx: Tx, relay: Relay) -> None:
        self._tx = tx
        self._relay = relay
        self._mail = counted.mail_by_session(tx)
        self._comments = counted.comments_by_session(tx)
        self._replies = counted.replies_by_session(tx)
        self._entries: dict[int, int] = {}
        for _, _, session_id, _ in events.inbox(tx):
            if session_id is not None:
                self._entries[session_id] = self._entries.get(session_id, 0) + 1
        self._asking = {asking.id for asking in sessions.asking(tx)}
        self._held = messages.for_review_counts(tx) if relay.messaging.channels else {}
        self._projects = {project.id: project.slug for project in tasks.projects(tx)}

    def needs_you(self, row: SessionRow) -> int:
        """Entries of the Inbox that are about it."""
        entries = self._replies.get(row.id, 0) + self._entries.get(row.id, 0) + self._held.get(row.id, 0)
        return entries + (row.id in self._asking)

    def group(self, row: SessionRow) -> str:
        """The first group that fits."""
        return "needs_you" if self.needs_you(row) else self._relay.presence.current(row).activity

    def line(self, row: SessionRow) -> dict[str, Any]:
        now = self._relay.presence.current(row)
        shown: dict[str, Any] = {
            **session_view(row),
            "kind": row.kind,
            "client": row.client,
            "activity": now.activity,
            "link": now.link_state,
            "unlinked": bool(row.unlinked),
            "being_woken": self._relay.waits.of_row(row.id, self._tx.now) is not None,
            "messages": open_mail(self._mail.get(row.id)),
            "comments": open_mail(self._comments.get(row.id)),
            "needs_you": self.needs_you(row),
            "for_review": self._held.get(row.id, 0),
            "tasks": [task.task_key for task in tasks.bound_to(self._tx, row.id)],
        }
        given = {
            "client_version": row.client_version,
            "folder": literal(row.cwd) if row.cwd else "",
            "project": self._projects.get(row.project_id or 0, ""),
            "ended_reason": row.ended_reason if now.activity == "ended" else "",
            "asks": row.asks if row.id in self._asking else "",
        }
        times = {
            "last_seen": now.last_seen_us,
            "ended_at": row.ended_us if now.activity == "ended" else 0,
            "asks_since": row.asks_since_us if row.id in self._asking else 0,
        }
        shown |= {name: value for name, value in given.items() if value}
        return shown | {name: rfc3339(value) for name, value in times.items() if value}
