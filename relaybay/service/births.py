"""How rows come to be by hook events (page 10, ROW), and what the client's own name of a session does (ROW-5)."""

from __future__ import annotations

from typing import Literal

from relaybay.domain import HookEvent, Verdict
from relaybay.rules import hook_link, names, rows
from relaybay.rules.text import name_line
from relaybay.service import links, naming, turns
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import sessions, tasks
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx


def facts(tx: Tx, event: HookEvent, row: SessionRow | None) -> hook_link.HookLinkFacts:
    """What table ROW and HL ask of one event."""
    held = row is not None
    return hook_link.HookLinkFacts(
        holder=hook_link.holder_of(row.link_state, row.kind) if row else "no_row",
        fate="never" if held else sessions.fate(tx, event.hook_id),  # type: ignore[arg-type]
        event=hook_link.event_of(event.name, event.source),
        replayed=event.replayed,
        subagent=bool(event.agent_id),
        older=row is not None and turns.older(row.last_event_us, event, tx.now),
        clear_pair=not held and _cleared_row(tx, event) is not None,
        one_folder_row=not held and len(sessions.folder_candidates(tx, event.cwd)) == 1,
    )


def _cleared_row(tx: Tx, event: HookEvent) -> SessionRow | None:
    """The row of the event's client process that HL-3 gives the new id to: of several the one heard last."""
    if event.source != "clear" or not event.process.known:
        return None
    rows = sessions.of_process(tx, event.process)
    for row in sorted(rows, key=lambda row: (row.last_event_us, row.id), reverse=True):
        if hook_link.pairs_after_clear(
            row.link_state, row.ended_reason, row.ended_us, event.at_us, limit("clear_pair_seconds")
        ):
            return row
    return None


def unheld(tx: Tx, relay: Relay, event: HookEvent, verdict: Verdict) -> SessionRow | None:
    """Carries out what becomes of an id that no row holds."""
    match verdict.outcome:
        case "same_row_new_id":
            naming.free_of(tx, event.hook_id)
            row = _cleared_row(tx, event)
            assert row is not None
            _, row = links.take(tx, relay, row, "replaced_by_clear", hook_id=event.hook_id, at_us=event.at_us)
            return row
        case "guess_folder_row":
            naming.free_of(tx, event.hook_id)
            row = sessions.folder_candidates(tx, event.cwd)[0]
            _, row = links.take(tx, relay, row, "guess", hook_id=event.hook_id)
            return row
        case "new_row" | "new_row_unseen":
            return _new_row(tx, relay, event, replayed=verdict.outcome == "new_row_unseen")
    return None


def _new_row(tx: Tx, relay: Relay, event: HookEvent, *, replayed: bool) -> SessionRow:
    naming.free_of(tx, event.hook_id)
    title = naming.folder_title(tx, event.cwd)
    project = tasks.project_of(tx, event.cwd) if event.cwd else None
    row = sessions.add(
        tx,
        title=title,
        title_key=names.key(title),
        kind="hook",
        client=event.client,
        cwd=event.cwd,
        project_id=project.id if project else None,
    )
    born = "born_by_replay" if replayed else "born"
    _, row = links.take(tx, relay, row, born, {"fork": event.source == "fork"}, hook_id=event.hook_id)
    tx.emit("session.started", session=row.ref, title=name_line(row.title), client=row.client)
    return row


def note_title(tx: Tx, row: SessionRow, event: HookEvent) -> SessionRow:
    """ROW-5: the client's own name becomes the title if nobody gave one, else an alias if no row has it."""
    shown = names.one_line(event.session_title)
    if not shown:
        return row
    held = naming.resolve(tx, shown)
    held_by: Literal["nobody", "this_row", "other_row"] = "nobody"
    if held:
        held_by = "this_row" if any(r.id == row.id for r in held) else "other_row"
    valid = names.is_given(shown) and not naming.check(tx, shown, known=bool(held)).refused
    verdict = rows.judge_title(
        rows.TitleFacts(
            given="valid" if valid else "invalid",
            subagent=bool(event.agent_id),
            folder_guess=row.link_state == "guessed" and row.kind != "hook",
            titled=bool(row.title_given) or row.kind != "hook",
            held_by=held_by,
        )
    )
    match verdict.outcome:
        case "title" | "title_numbered":
            return _first_title(tx, row, naming.free_title(tx, shown))
        case "alias":
            naming.keep_alias(tx, row, shown, "client")
    return row


def _first_title(tx: Tx, row: SessionRow, title: str) -> SessionRow:
    renamed = sessions.change(tx, row.id, title=title, title_key=names.key(title), title_given=1)
    tx.emit("session.renamed", session=row.ref, title=name_line(title), old_title=name_line(row.title))
    return renamed
