"""Looks into transcripts, off the request path: proof that a text arrived (CTX-1, 2), and turns broken off (CTX-5).

Called by a timer in a thread of its own: it reads files, and writes what follows in one transaction a session.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

from relaybay.rules import activity
from relaybay.rules.context import TurnFacts, judge_turn
from relaybay.service import controls, steps
from relaybay.service.contexts import Finding, Watch
from relaybay.service.handover import HandOver
from relaybay.service.presence import Live
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import comments, messages, sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_KIB = 1_024


def note(tx: Tx, relay: Relay, row: SessionRow, done: HandOver | None) -> None:
    """Remembers a hand-over, to look for its proof once it is committed."""
    if done is not None and done.unproven:
        tx.after(relay.contexts.handing(row, done.unproven, tx.now))


def look(relay: Relay) -> int:
    """One round over the sessions that had an event lately; how many items it settled."""
    settled = 0
    for watch in relay.contexts.due(relay.clock()):
        if not _still_its(relay, watch):
            relay.contexts.drop(watch)
            continue
        findings = relay.contexts.look(watch, relay.clock())
        if findings:
            relay.store.write(partial(_settle, relay, findings))
            relay.contexts.settled(findings)
            settled += len(findings)
    return settled


def _still_its(relay: Relay, watch: Watch) -> bool:
    live = relay.presence.by_hook(watch.hook_id)
    return live is not None and live.row.transcript_path == watch.path


def _settle(relay: Relay, findings: Sequence[Finding], tx: Tx) -> None:
    """Marks what was seen, offers again what was dropped; of the rest no claim is made."""
    for finding in findings:
        outcome = finding.verdict.outcome
        if outcome != "no_claim" and relay.contexts.is_current(finding):
            _mark(tx, relay, finding, "context_seen" if outcome == "seen" else "context_missing")


def _mark(tx: Tx, relay: Relay, finding: Finding, event: Literal["context_seen", "context_missing"]) -> None:
    most = limit("reoffers_max")
    if finding.item.kind == "comment":
        comment = comments.by_key(tx, finding.item.key)
        if comment is not None and comment.delivered_hook_id in ("", finding.watch.hook_id):
            steps.comment(tx, comment, event, {"reoffers_left": comment.reoffers < most})
        return
    mail = messages.by_key(tx, finding.item.key)
    if mail is not None and mail.delivered_hook_id in ("", finding.watch.hook_id):
        controls.back(tx, relay, mail, event, {"reoffers_left": mail.reoffers < most})


def look_for_interruptions(relay: Relay) -> int:
    """CTX-5: one round over the sessions that work while something waits for them; how many turns were broken off."""
    found = 0
    for live in relay.presence.working():
        row = live.row
        if not row.hook_id or not relay.mailbox.of(row.id).anything:
            continue
        size = relay.contexts.transcripts.size(row.transcript_path)
        if not size or size == live.transcript_size:
            continue
        live.transcript_size = size
        most = limit("context_read_kib") * _KIB
        piece = relay.contexts.transcripts.read(row.transcript_path, row.hook_id, max(0, size - most), most)
        times = [entry.at_us for entry in piece.entries if entry.kind == "interrupted"]
        if times and _entry(live, times[-1]) == "after_the_prompt":
            found += relay.store.write(partial(_break_off, relay, live, times[-1]))
    return found


def _break_off(relay: Relay, live: Live, at_us: int, tx: Tx) -> bool:
    return break_off(tx, relay, live.row.id, live.row.hook_id, at_us)


def _entry(live: Live, at_us: int) -> Literal["before_the_prompt", "after_the_prompt"]:
    # When the prompt came is known while the server runs; after a restart, the last event must do: it is no earlier.
    return "after_the_prompt" if at_us > (live.prompted_us or live.last_event_us) else "before_the_prompt"


def break_off(tx: Tx, relay: Relay, session_id: int, hook_id: str | None, at_us: int) -> bool:
    """CTX-5, ACT-7: the user broke the turn off at `at_us`, and no hook told. Whether the session is idle by it."""
    row, live = sessions.get(tx, session_id), relay.presence.by_row(session_id)
    if row is None or live is None or row.hook_id != hook_id:
        return False
    row = relay.presence.write_back(tx, row)
    facts = TurnFacts(_entry(live, at_us), row.link_state == "exact", row.activity == "working")
    if judge_turn(facts).outcome != "broken_off":
        return False
    seen = activity.ActivityFacts(
        event="broken_off",
        subagent=False,
        older=False,
        replayed=False,
        unseen=False,
        folder_guess=False,
        before=row.activity,  # type: ignore[arg-type]
    )
    # What it asked for went with the turn.
    row = sessions.change(tx, row.id, activity=activity.judge(seen).outcome, asks="", asks_since_us=0)
    controls.suppress(tx, relay, row, "broken_off")
    return True
