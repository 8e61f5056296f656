"""What the owner does with rows: list, show, add a desktop app's session, rename, end, unlink (pages 10, 75)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules import names
from relaybay.rules.text import check_text, name_line, name_literal
from relaybay.service import filters_sessions, links, naming, reach, session_controls
from relaybay.service.arguments import invalid, one_session
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import messages, sessions, tasks
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_LIVE = ("exact", "guessed")


def view(tx: Tx, relay: Relay, row: SessionRow) -> dict[str, Any]:
    """One row as lists and the JSON API give it; never with its hook id."""
    now = relay.presence.current(row)
    counts = messages.counts(tx, row.id)
    found = reach.reach(tx, relay, now)
    said: dict[str, Any] = {
        "ref": now.ref,
        "title": name_line(now.title),
        "kind": now.kind,
        "client": now.client,
        "activity": now.activity,
        "link": _link(now.link_state),
        "live": now.link_state in _LIVE,
        "unseen": now.link_state.endswith("_unseen"),
        "unread_messages": counts.get("sent", 0) + counts.get("delivered", 0),
        "tasks": [task.task_key for task in tasks.bound_to(tx, row.id)],
        "reach": found.reason_code,
        "text": reach.said(found),
    }
    optional = {
        "name": now.name,
        "cwd": now.cwd,
        "client_version": now.client_version,
        "desktop_id": now.desktop_id,
        "permission_mode": now.permission_mode,
        "ended_reason": now.ended_reason,
    }
    said |= {name: value for name, value in optional.items() if value}
    times = {"first_seen_at": now.first_seen_us, "last_seen_at": now.last_seen_us, "ended_at": now.ended_us}
    said |= {name: rfc3339(value) for name, value in times.items() if value}
    if now.moved_to is not None:
        said["moved_to"] = f"S-{now.moved_to}"
    aliases = [name_line(text) for _, text, _, _ in sessions.aliases(tx, row.id)]
    if aliases:
        said["aliases"] = aliases
    return said


def _link(state: str) -> str:
    """A row's link in page 10's words."""
    if state.startswith("ended"):
        return "ended"
    return state.removesuffix("_unseen")


def list_sessions(tx: Tx, relay: Relay, *, live: bool = False, q: str = "") -> Outcome:
    """All rows, newest first, or those whose link is live, or that a filter lets through (`rules/query.py`)."""
    found = filters_sessions.passing(tx, relay, q)
    if isinstance(found, Refusal):
        return Outcome(refusal=found)
    rows = [row for row in found[1] if not live or row.link_state in _LIVE]
    return Outcome({"sessions": [view(tx, relay, row) for row in rows]})


def show_session(tx: Tx, relay: Relay, ref: str) -> Outcome:
    """One row; with channels on also its messaging, as its panel has it (OWN-1)."""
    row = one_session(tx, ref)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    said = view(tx, relay, row)
    return Outcome(said | {"messaging": session_controls.view(tx, relay, row)} if relay.messaging.channels else said)


def add_desktop(tx: Tx, relay: Relay, *, desktop: str, title: str, alias: str = "", cwd: str = "") -> Outcome:
    """ROW-6: a desktop app's session, without a link."""
    for given in (title, desktop):
        if not names.is_given(given):
            return Outcome(refusal=Refusal("session.name_blank", "ROW-6"))
    if any(names.key(row.desktop_id or "") == names.key(desktop) for row in naming.resolve(tx, desktop)):
        return Outcome(refusal=Refusal("session.desktop_taken", "ROW-6", {"desktop": name_literal(desktop)}))
    for given in filter(names.is_given, (title, alias, desktop)):
        refusal = _check(tx, given, known=bool(naming.resolve(tx, given)))
        if refusal is not None:
            return Outcome(refusal=refusal)
    if cwd and (check_text(cwd) is not None or not Path(cwd).is_absolute()):
        return Outcome(refusal=invalid("cwd", "why.folder"))
    # Canonical, as hooks report it: ROW-1 finds a row by its folder.
    folder = str(Path(cwd).resolve()) if cwd else ""
    shown, desktop_id = naming.free_title(tx, names.one_line(title)), names.one_line(desktop)
    project = tasks.project_of(tx, folder) if folder else None
    row = sessions.add(
        tx,
        title=shown,
        title_key=names.key(shown),
        kind="desktop",
        client="other",
        desktop_id=desktop_id,
        cwd=folder,
        title_given=1,
        project_id=project.id if project else None,
    )
    if names.is_given(alias):
        naming.keep_alias(tx, row, alias, "owner")
    if names.key(desktop_id) != desktop_id.encode().lower().decode():
        # As bytes, and so does the database, which folds ASCII only; any other id is found as an alias.
        sessions.add_alias(tx, row.id, desktop_id, names.key(desktop_id), "owner")
    tx.emit("session.added", session=row.ref, title=name_line(row.title))
    return Outcome(view(tx, relay, row))


def _check(tx: Tx, name: str, *, known: bool) -> Refusal | None:
    verdict = naming.check(tx, name, known=known)
    if not verdict.refused:
        return None
    values: dict[str, Any] = {"name": name_literal(name), "chars": len(name), "chars_max": limit("name_chars_max")}
    return Refusal(verdict.answer, verdict.spec_id, values)


def rename(tx: Tx, relay: Relay, ref: str, title: str) -> Outcome:
    """A new title; the old one stays as an alias (page 75). A name that another session goes by is refused, unless
    that one has ended: its names are free.
    """
    row = one_session(tx, ref)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    if not names.is_given(title):
        return Outcome(refusal=Refusal("session.name_blank", "75"))
    held = naming.resolve(tx, title)
    others = [other for other in held if other.id != row.id]
    refusal = _check(tx, title, known=bool(held))
    holder = next((other for other in others if not _gives_up(other, names.key(title))), None)
    if refusal is None and holder is not None:
        refusal = Refusal("session.title_taken", "75", {"name": name_literal(title), "holder": holder.ref})
    if refusal is not None:
        return Outcome(refusal=refusal)
    for other in others:
        _free(tx, other, title)
    return Outcome(view(tx, relay, naming.rename(tx, row, title)))


def _gives_up(row: SessionRow, key: str) -> bool:
    """Whether a row lets another have this name: it has ended, and the name is no id of its own."""
    return row.activity == "ended" and key not in (names.key(row.ref), names.key(row.desktop_id or ""))


def _free(tx: Tx, row: SessionRow, name: str) -> None:
    """Takes a name from a session that has ended: an alias goes, a title is numbered."""
    for alias_id, _, key, _ in sessions.aliases(tx, row.id):
        if key == names.key(name):
            sessions.drop_alias(tx, alias_id)
    if row.title_key == names.key(name):
        numbered = naming.free_title(tx, row.title)
        sessions.change(tx, row.id, title=numbered, title_key=names.key(numbered))
        tx.emit("session.renamed", session=row.ref, title=name_line(numbered), old_title=name_line(row.title))


def end(tx: Tx, relay: Relay, ref: str) -> Outcome:
    """The owner says a session is over; its names are free, its mail waits for a return."""
    row = one_session(tx, ref)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    row = relay.presence.write_back(tx, row)
    folder_guess = row.link_state == "guessed" and row.kind != "hook"
    _, row = links.take(tx, relay, row, "owner_end", {"folder_guess": folder_guess}, reason="owner")
    return Outcome({**view(tx, relay, row), "text": word("session.ended", session=row.ref).text})


def unlink(tx: Tx, relay: Relay, ref: str) -> Outcome:
    """LINK-20: the way out of every wrong link. The row counts as never linked; its id is taken off (HL-7)."""
    row = one_session(tx, ref)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    row = relay.presence.write_back(tx, row)
    _, row = links.take(tx, relay, row, "unlink")
    row = sessions.change(tx, row.id, unlinked=1, moved_to=None, link_named=0)
    return Outcome({**view(tx, relay, row), "text": word("session.unlinked", session=row.ref).text})
