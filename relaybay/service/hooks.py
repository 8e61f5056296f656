"""One hook event, in the order of page 20: find the row (ROW, HL) → activity → select → pack → mark → answer.

A hot event with nothing waiting is answered from memory (`from_memory`) and opens no transaction. Everything else is
`handle`, one transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from relaybay.domain import HookEvent
from relaybay.machines.base import step
from relaybay.machines.turn import Turn
from relaybay.rules import activity, answer, hook_link, names, prompt
from relaybay.service import births, handover, links, start_line
from relaybay.service.handover import HandOver
from relaybay.service.relay import Relay
from relaybay.store import sessions, tasks
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


def from_memory(relay: Relay, event: HookEvent) -> HookAnswer | None:
    """Answers a hot event that changes nothing in the store and carries nothing; None when it needs a transaction."""
    live = relay.presence.by_hook(event.hook_id)
    if live is None or event.replayed or event.name in _NEVER_FROM_MEMORY:
        return None
    row = live.row
    if row.link_state not in ("exact", "guessed") or event.send_message_to or _news(row, event):
        return None
    if event.agent_id:
        relay.presence.change(live, last_seen_us=event.at_us)
        return NOTHING
    waiting = relay.mailbox.of(row.id)
    carries = answer.event_of(event.name)
    if row.link_state == "exact" and (
        (carries == "stop" and waiting.anything) or (carries in ("prompt", "tool") and waiting.sent)
    ):
        return None
    turn, _ = _turn(row, event, eligible=False)
    relay.presence.change(live, **turn, **_life(replace(row, **turn), event, blocked=False))
    if event.name in _OWN_EVENTS:
        relay.waits.end(row.id)
    elif event.name == "Stop":
        live.stopped_us = event.at_us
        relay.waits.look_again([row.id])
    return NOTHING


def _news(row: SessionRow, event: HookEvent) -> bool:
    """Whether an event tells something of the row that is to be stored now: folder, name, process, transcript."""
    return bool(
        (event.cwd and event.cwd != row.cwd)
        or (event.session_title and names.key(event.session_title) != row.title_key)
        or (event.process.known and event.process != row.process)
        or (event.transcript_path and event.transcript_path != row.transcript_path)
        or event.at_us < row.last_event_us
    )


def handle(tx: Tx, relay: Relay, event: HookEvent) -> HookAnswer:
    """One event, in one transaction. A well-formed event is never refused; a replayed one is only kept books of."""
    row = sessions.by_hook(tx, event.hook_id)
    if row is not None:
        row = relay.presence.write_back(tx, row)
    before = row
    row, spec_ids = _find(tx, relay, event, row)
    if row is None:
        return HookAnswer(spec_ids=spec_ids)
    subagent = bool(event.agent_id)
    if not subagent:
        row = births.note_title(tx, row, event)
        row = _note(tx, row, event)
    said, row, ids = _answer(tx, relay, event, row)
    blocked = said.done is not None and said.done.at == "stop"
    if subagent:
        row = sessions.change(tx, row.id, last_seen_us=_later(row.last_seen_us, event))
    else:
        facts = _life(row, event, blocked=blocked, unseen=row.link_state.endswith("_unseen"), before=before)
        row = sessions.change(tx, row.id, **facts)
    _tell_waits(tx, relay, row, event, blocked=blocked)
    _edge(tx, row, event)
    return replace(said, spec_ids=(*spec_ids, *ids))


def _find(tx: Tx, relay: Relay, event: HookEvent, row: SessionRow | None) -> tuple[SessionRow | None, tuple[str, ...]]:
    """ROW and HL: the row that the event speaks of, its link as the event leaves it."""
    verdict = hook_link.judge(births.facts(tx, event, row))
    if row is None:
        return births.unheld(tx, relay, event, verdict), (verdict.spec_id,)
    folder_guess = row.link_state == "guessed" and row.kind != "hook"
    result, row = links.take(
        tx,
        relay,
        row,
        verdict.outcome,
        {
            "folder_guess": folder_guess,
            "older_than_last": event.at_us < row.last_event_us,
            "reason_clear": event.reason == "clear",
        },
        reason=event.reason,
        at_us=event.at_us,
    )
    return row, (verdict.spec_id, result.spec_id)


def _note(tx: Tx, row: SessionRow, event: HookEvent) -> SessionRow:
    """What an event tells of its session: folder and project, permission mode, process, transcript."""
    columns: dict[str, Any] = {}
    if event.at_us >= row.last_event_us:
        if event.cwd and event.cwd != row.cwd:
            project = tasks.project_of(tx, event.cwd)
            columns |= {"cwd": event.cwd, "project_id": project.id if project else None}
        if event.permission_mode and event.permission_mode != row.permission_mode:
            columns["permission_mode"] = event.permission_mode
        if event.transcript_path and event.transcript_path != row.transcript_path:
            columns["transcript_path"] = event.transcript_path
    if event.process.known and not event.replayed and event.process != row.process:
        columns |= {
            "process_pid": event.process.pid,
            "process_started": event.process.started,
            "process_ns": event.process.pid_ns,
            "process_host": event.process.host,
            "process_entry": event.process.entrypoint,
            "client_version": event.process.version or row.client_version,
        }
    return sessions.change(tx, row.id, **columns) if columns else row


def _turn(row: SessionRow, event: HookEvent, *, eligible: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """PROMPT and STOP: what the event does to the turn, as columns (`block` beside them), and the rows met."""
    if event.name == "UserPromptSubmit":
        ignored = event.replayed or bool(event.agent_id)
        opens = False
        spec_ids: tuple[str, ...] = ()
        if not ignored:
            kind = event.prompt_kind or "local"
            whose = prompt.judge(prompt.PromptFacts(kind, prompt.prompt_id_of(event.prompt_id, row.turn_prompt_id)))
            opens, spec_ids = whose.outcome != "inside_turn", (whose.spec_id,)
        result = step(Turn, row.turn_state, "prompt", {"ignored": ignored, "opens_turn": opens})
        columns: dict[str, Any] = {"turn_state": result.state}
        if opens:
            columns |= {"turn_prompt_id": event.prompt_id, "turn_serial": row.turn_serial + 1}
        return columns, (*spec_ids, result.spec_id)
    if event.name == "Stop":
        result = step(
            Turn,
            row.turn_state,
            "stop",
            {
                "ignored": event.replayed or bool(event.agent_id),
                "link_exact_live": row.link_state == "exact",
                "continuation": event.stop_hook_active,
                "eligible": eligible,
            },
        )
        return {"turn_state": result.state, **({"block": True} if "block" in result.effects else {})}, (result.spec_id,)
    return {}, ()


def _life(
    row: SessionRow, event: HookEvent, *, blocked: bool, unseen: bool = False, before: SessionRow | None = None
) -> dict[str, Any]:
    """ACT, and when the row was last seen, as columns. `before` is the row before the event (a folder guess then)."""
    was = before or row
    verdict = activity.judge(
        activity.ActivityFacts(
            event=activity.event_of(event.name, event.source, blocked=blocked),
            subagent=False,
            older=event.at_us < row.last_event_us,
            replayed=event.replayed,
            unseen=unseen,
            folder_guess=was.link_state == "guessed" and was.kind != "hook",
            before=was.activity,  # type: ignore[arg-type]
        )
    )
    columns: dict[str, Any] = {"last_event_us": max(row.last_event_us, event.at_us)}
    if not event.replayed:
        columns["last_seen_us"] = _later(row.last_seen_us, event)
        if event.permission_mode:
            columns["permission_mode"] = event.permission_mode
    if verdict.outcome != "unchanged":
        columns["activity"] = verdict.outcome
    return columns


def _later(seen_us: int, event: HookEvent) -> int:
    return seen_us if event.replayed else max(seen_us, event.at_us)


def _answer(tx: Tx, relay: Relay, event: HookEvent, row: SessionRow) -> tuple[HookAnswer, SessionRow, tuple[str, ...]]:
    """ANSWER: what the event may carry, packed and marked; the turn's budget with it."""
    link: Any = "exact" if row.link_state == "exact" else "no_row"
    if row.link_state == "guessed":
        link = "guessed" if row.kind == "hook" else "folder_guess"
    verdict = answer.judge(answer.AnswerFacts(answer.event_of(event.name), event.replayed, bool(event.agent_id), link))
    spec_ids: tuple[str, ...] = (verdict.spec_id,)
    found = handover.offers(tx, row, "stop") if verdict.outcome == "stop" else []
    turn, turn_ids = _turn(row, event, eligible=bool(found))
    block = turn.pop("block", False)
    if turn and not event.agent_id and not event.replayed:
        row = sessions.change(tx, row.id, **turn)
    spec_ids = (*spec_ids, *turn_ids)
    match verdict.outcome:
        case "start_line" | "start_line_guessed" | "start_line_folder_guess":
            return HookAnswer(line=start_line.compose(tx, relay, row, event, verdict.outcome)), row, spec_ids
        case "pack_at_prompt":
            return (
                HookAnswer(done=handover.hand_over(tx, row, "prompt", handover.offers(tx, row, "prompt"))),
                row,
                spec_ids,
            )
        case "pack_at_tool":
            return HookAnswer(done=handover.hand_over(tx, row, "tool", handover.offers(tx, row, "tool"))), row, spec_ids
        case "stop" if block:
            return HookAnswer(done=handover.hand_over(tx, row, "stop", found)), row, spec_ids
    return NOTHING, row, spec_ids


def _tell_waits(tx: Tx, relay: Relay, row: SessionRow, event: HookEvent, *, blocked: bool) -> None:
    if event.agent_id or event.replayed:
        return
    if event.name in _OWN_EVENTS:
        tx.after(lambda: relay.waits.end(row.id))
    elif event.name == "Stop" and not blocked:

        def stopped() -> None:
            live = relay.presence.by_row(row.id)
            if live is not None:
                live.stopped_us = event.at_us
            relay.waits.look_again([row.id])

        tx.after(stopped)


def _edge(tx: Tx, row: SessionRow, event: HookEvent) -> None:
    """The client's own SendMessage: one edge on the Map from the caller's row, no row made, no text (page 30)."""
    if not event.send_message_to or event.name != "PostToolUse" or event.agent_id:
        return
    found = sessions.by_name(tx, names.key(event.send_message_to))
    to: dict[str, Any] = {"to": names.one_line(event.send_message_to)}
    if len(found) == 1:
        to = {"to": found[0].title, "to_ref": found[0].ref}
    tx.emit("session.message", by="client", **{"from": row.title, "from_ref": row.ref}, **to, task=None)
