"""One hook event, in the order of page 20: find the row (ROW, HL) → activity → select → pack → mark → answer.

A hot event with nothing waiting is answered from memory (`from_memory`) and opens no transaction. Everything else is
`handle`, one transaction. Both come to the same: what the first leaves out is what could not change anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from relaybay.domain import ClientProcess, HookEvent
from relaybay.rules import answer, asking, hook_link, names
from relaybay.rules.text import name_line
from relaybay.service import (
    births,
    catch_up,
    context_proof,
    controls,
    handover,
    links,
    naming,
    start_line,
    starts,
    turns,
)
from relaybay.service.handover import HandOver
from relaybay.service.presence import Live
from relaybay.service.relay import Relay
from relaybay.store import sessions, tasks, tool_uses
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

#: Events that end an open wait of their session (WAIT-4), subagents' apart.
_OWN_EVENTS = {
    "UserPromptSubmit",
    "SessionStart",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SessionEnd",
}
_NEVER_FROM_MEMORY = {"SessionStart", "SessionEnd"}
_RELAYBAY_TOOLS = ("mcp__relaybay__", "mcp__plugin_relaybay_relaybay__")


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one event is answered: nothing, one line at SessionStart, or a hand-over. `spec_ids` are the rows met."""

    line: str = ""
    done: HandOver | None = None
    spec_ids: tuple[str, ...] = ()


NOTHING = HookAnswer()


def witness(relay: Relay, event: HookEvent) -> None:
    """Remembers the tool-use id of a live call of a relaybay tool, a subagent's too (PROOF-2, HL-6)."""
    if (
        event.name == "PreToolUse"
        and not event.replayed
        and event.tool_use_id
        and event.tool_name.startswith(_RELAYBAY_TOOLS)
    ):
        relay.presence.witness(event.tool_use_id, event.hook_id, relay.clock())
        # Nobody waits for this write: memory answers the call that follows; the store answers it after a restart.
        relay.store.submit(lambda tx: tool_uses.keep_witnessed(tx, event.tool_use_id, event.hook_id))


def from_memory(relay: Relay, event: HookEvent) -> HookAnswer | None:
    """Answers a hot event that changes nothing in the store and carries nothing; None when it needs a transaction."""
    presence = relay.presence
    live = presence.by_hook(event.hook_id)
    if live is None or event.replayed or event.name in _NEVER_FROM_MEMORY or presence.in_hand(event.hook_id):
        return None
    row = live.row
    if row.link_state not in ("exact", "guessed"):
        return None
    if event.agent_id:
        seen_us = max(live.last_seen_us, event.at_us)
        return NOTHING if presence.change(live, judged_by=row, last_seen_us=seen_us) else None
    if event.send_message_to or event.at_us < live.last_event_us or _tells_news(row, event):
        return None
    if relay.messaging.channels and _changes_controls(live, event):
        return None
    if _asks(row, event, late=False) != row.asks:
        return None
    waiting = relay.mailbox.of(row.id)
    carries = answer.event_of(event.name)
    if row.link_state == "exact" and (
        (carries == "stop" and waiting.anything)
        or (carries == "prompt" and waiting.at_prompt)
        or (carries == "tool" and (waiting.sent or waiting.passive))
    ):
        return None
    turn, _, _ = turns.turn(live, event, eligible=False)
    life, _ = turns.life(live, event, event.at_us, folder_guess=_folder_guess(row))
    if not presence.change(live, judged_by=row, **turn, **life):
        return None
    if event.name in _OWN_EVENTS:
        relay.waits.end(row.id)
    elif event.name == "Stop":
        relay.waits.look_again((row.id,))
    _heard(relay, live, event)
    return NOTHING


def _heard(relay: Relay, live: Live, event: HookEvent) -> None:
    """What memory alone keeps of a live event: when the turn's prompt and Stop came, that the transcript grew."""
    if event.name == "Stop":
        live.stopped_us = event.at_us
    elif event.name == "UserPromptSubmit":
        live.prompted_us = event.at_us
    relay.contexts.heard(event.hook_id, event.name, event.at_us)


def _folder_guess(row: SessionRow) -> bool:
    return row.link_state == "guessed" and row.kind != "hook"


def _tells_news(row: SessionRow, event: HookEvent) -> bool:
    """Whether an event tells something of the row that is to be stored now: folder, name, process, transcript."""
    return bool(
        (event.cwd and event.cwd != row.cwd)
        or (event.session_title and names.key(event.session_title) != row.title_key)
        or (event.transcript_path and event.transcript_path != row.transcript_path)
        or (event.process.known and not _same_process(event.process, row.process))
        or (event.client != row.client and not _folder_guess(row))
    )


def _changes_controls(live: Live, event: HookEvent) -> bool:
    """Whether an event grows the row's control epoch, or may (page 50): another mode, a turn that failed, or the prompt
    that lifts a suppression.
    """
    other_mode = bool(event.permission_mode) and event.permission_mode != live.permission_mode
    lifts = bool(live.row.suppressed) and event.name == "UserPromptSubmit"
    return other_mode or lifts or event.name == "StopFailure"


def _same_process(told: ClientProcess, known: ClientProcess) -> bool:
    """A version that an event leaves out is no other version."""
    return told == known or (not told.version and replace(told, version=known.version) == known)


def handle(tx: Tx, relay: Relay, event: HookEvent) -> HookAnswer:
    """One event, in one transaction. A well-formed event is never refused; a replayed one is only kept books of."""
    row = sessions.by_hook(tx, event.hook_id)
    if row is not None:
        row = relay.presence.write_back(tx, row)
    guessed = row is not None and _folder_guess(row)
    row, spec_ids = _find(tx, relay, event, row)
    if row is None:
        return HookAnswer(spec_ids=spec_ids)
    if event.agent_id:
        # HL-6, ANS-8: a sign of life of the session, and nothing else.
        sessions.change(tx, row.id, last_seen_us=max(row.last_seen_us, event.at_us))
        return HookAnswer(spec_ids=(*spec_ids, "ANS-8"))
    if row.hook_id is not None:
        # A folder guess that this event dropped (HL-11) is told nothing more.
        row = _note(tx, births.note_title(tx, row, event), event)
    late = turns.older(row.last_event_us, event, tx.now)
    row = _note_controls(tx, relay, row, event, late=late)
    said, row, ids = _answer(tx, relay, event, row)
    blocked = said.done is not None and said.done.at == "stop"
    unseen = row.link_state.endswith("_unseen")
    life, met = turns.life(row, event, tx.now, blocked=blocked, folder_guess=guessed, unseen=unseen)
    row = sessions.change(tx, row.id, **life)
    if event.replayed and row.hook_id is not None:
        # It gives nothing, but the mode and the folder that it tells are the row's from now on: what waits is judged.
        row = controls.look(tx, relay, row)
    row = _note_asks(tx, row, event, late=late)
    _tell_memory(tx, relay, row, event)
    # After the event itself: a Stop that hands over is no later step of its own hand-over (CTX-2).
    context_proof.note(tx, relay, row, said.done)
    _edge(tx, row, event)
    return replace(said, spec_ids=(*spec_ids, *ids, met))


def _find(tx: Tx, relay: Relay, event: HookEvent, row: SessionRow | None) -> tuple[SessionRow | None, tuple[str, ...]]:
    """ROW and HL: the row that the event speaks of, its link as the event leaves it."""
    verdict = hook_link.judge(births.facts(tx, event, row))
    if row is None:
        return births.unheld(tx, relay, event, verdict), (verdict.spec_id,)
    if verdict.spec_id == "HL-5" and row.ended_reason == "process_gone" and not event.process.known:
        # HL-5 mends HL-9: the process that is known was another, or HL-9 would end the link again.
        row = sessions.change(tx, row.id, **links.NO_PROCESS)
    result, row = links.take(
        tx,
        relay,
        row,
        verdict.outcome,
        {
            "folder_guess": _folder_guess(row),
            "older_than_last": turns.older(row.last_event_us, event, tx.now),
            "reason_clear": event.reason == "clear",
        },
        reason=event.reason,
        at_us=event.at_us,
    )
    return row, (verdict.spec_id, result.spec_id)


def _note(tx: Tx, row: SessionRow, event: HookEvent) -> SessionRow:
    """What an event tells of its session: folder and project, client and process, transcript. A late one tells what
    was, and is not listened to.
    """
    if turns.older(row.last_event_us, event, tx.now):
        return row
    columns: dict[str, Any] = {}
    if event.cwd and event.cwd != row.cwd:
        project = tasks.project_of(tx, event.cwd)
        columns |= {"cwd": event.cwd, "project_id": project.id if project else None}
    if event.transcript_path and event.transcript_path != row.transcript_path:
        columns["transcript_path"] = event.transcript_path
    if event.client != row.client and not _folder_guess(row):
        columns["client"] = event.client
    if event.process.known and not _same_process(event.process, row.process):
        columns |= {
            "process_pid": event.process.pid,
            "process_started": event.process.started,
            "process_ns": event.process.pid_ns,
            "process_host": event.process.host,
            "process_entry": event.process.entrypoint,
            "client_version": event.process.version or row.client_version,
        }
    return sessions.change(tx, row.id, **columns) if columns else row


def _asks(row: SessionRow, event: HookEvent, *, late: bool) -> str:
    """What the session asks the owner for after this event (page 40, Inbox)."""
    return asking.after(
        asking.AskFacts(
            row.asks, event.name, event.notification_type, row.link_state == "exact", event.replayed, late=late
        )
    )


def _note_asks(tx: Tx, row: SessionRow, event: HookEvent, *, late: bool) -> SessionRow:
    asks = _asks(row, event, late=late)
    if asks == row.asks:
        return row
    if asks:
        tx.emit("session.asks", session=row.ref, title=name_line(row.title), what=asks)
    return sessions.change(tx, row.id, asks=asks, asks_since_us=event.at_us if asks else 0)


def _note_controls(tx: Tx, relay: Relay, row: SessionRow, event: HookEvent, *, late: bool) -> SessionRow:
    """Page 20's order: activity and controls first, then what waits is judged anew, then a prompt catches up. A
    replayed event sets and lifts no suppression and catches up with nothing, and a late one tells nothing at all.
    """
    if not relay.messaging.channels or event.replayed or row.hook_id is None:
        return row
    if event.permission_mode and event.permission_mode != row.permission_mode and not late:
        row = sessions.change(tx, row.id, permission_mode=event.permission_mode)
    row = controls.look(tx, relay, row)
    if late or _folder_guess(row):
        return row
    if event.name == "StopFailure":
        row = controls.suppress(tx, relay, row, "stop_failure")
    elif event.name == "UserPromptSubmit":
        row = controls.suppress(tx, relay, row, "local_input" if event.prompt_kind == "local" else "machine_input")
    elif event.name == "SessionStart":
        row = starts.begin(tx, relay, row, event)
    if event.name in ("UserPromptSubmit", "SessionStart") and row.link_state == "exact":
        catch_up.catch_up(tx, relay, row)
    return row


def _answer(tx: Tx, relay: Relay, event: HookEvent, row: SessionRow) -> tuple[HookAnswer, SessionRow, tuple[str, ...]]:
    """ANSWER: what the event may carry, packed and marked; the turn's budget with it."""
    link: Any = "exact" if row.link_state == "exact" else "no_row"
    if row.link_state == "guessed":
        link = "guessed" if row.kind == "hook" else "folder_guess"
    verdict = answer.judge(answer.AnswerFacts(answer.event_of(event.name), event.replayed, subagent=False, link=link))
    found = handover.offers(tx, relay, row, "stop") if verdict.outcome == "stop" else []
    turn, block, met = turns.turn(row, event, eligible=bool(found))
    if turn and not event.replayed:
        row = sessions.change(tx, row.id, **turn)
    spec_ids = (verdict.spec_id, *met)
    if verdict.outcome in ("start_line", "start_line_guessed", "start_line_folder_guess"):
        line = start_line.compose(tx, relay, row, event, verdict.outcome)  # type: ignore[arg-type]
        return HookAnswer(line=line), row, spec_ids
    if verdict.outcome in ("pack_at_prompt", "pack_at_tool"):
        at: handover.At = "prompt" if verdict.outcome == "pack_at_prompt" else "tool"
        return HookAnswer(done=handover.hand_over(tx, row, at, handover.offers(tx, relay, row, at))), row, spec_ids
    if block:
        done = handover.hand_over(tx, row, "stop", found)
        assert done is not None, "an item that may go out alone fits an empty answer (SEND-11)"
        return HookAnswer(done=done), row, spec_ids
    return NOTHING, row, spec_ids


def _tell_memory(tx: Tx, relay: Relay, row: SessionRow, event: HookEvent) -> None:
    """WAIT-4 and 10, and CTX, once the commit is on disk. A wait opened after this event is not this event's to end."""
    if event.replayed:
        return
    if event.name in _OWN_EVENTS:
        tx.after(relay.waits.ending(row.id))

    def heard() -> None:
        live = relay.presence.by_row(row.id)
        if live is not None:
            _heard(relay, live, event)

    tx.after(heard)
    if event.name == "Stop":
        tx.after(lambda: relay.waits.look_again((row.id,)))


def _edge(tx: Tx, row: SessionRow, event: HookEvent) -> None:
    """The client's own SendMessage: one edge on the Map from the caller's row, no row made, no text (page 30)."""
    to = event.send_message_to
    if not to or event.name != "PostToolUse":
        return
    found = sessions.by_name(tx, names.key(to))
    held = sessions.by_hook(tx, to.strip())
    if held is not None:
        found = [held]
    elif naming.is_hook_id(tx, to):
        # It stands on no row any more, and an event shows no hook id.
        return
    shown: dict[str, Any] = {"to": name_line(names.one_line(to))}
    if len(found) == 1:
        shown = {"to": name_line(found[0].title), "to_ref": found[0].ref}
    said = {"from": name_line(row.title), "from_ref": row.ref, **shown, "task": None}
    tx.emit("session.message", by="client", **said)
