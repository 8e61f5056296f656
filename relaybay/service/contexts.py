"""Hand-overs whose proof is still looked for, in memory (page 20, table CTX). A port, as presence and waits are.

The store has what was delivered and what was proven; here is how far each session's transcript was read, and what it
said so far. A restart loses only that: what is delivered and not proven is looked for again (`load`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from relaybay import frames
from relaybay.domain import Verdict
from relaybay.rules.context import STEPS_ENOUGH, ContextFacts, judge
from relaybay.specs import limit
from relaybay.store import comments, messages, sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx
from relaybay.transcript import Entry, Transcripts

ItemKind = Literal["comment", "message"]
Unproven = tuple[ItemKind, int, str]
"""Kind, key and public id of something handed over and not proven."""
_SECOND = 1_000_000
_KIB = 1_024


@dataclass(slots=True, eq=False)
class Awaited:
    """One item whose proof is looked for. `since`: the transcript's length in bytes when it was handed over.

    `steps` are the ids of model steps after that; `last_step` the one under way before it. `stop`: a Stop event came
    since. `missing_us`: since when it counts as dropped, 0 while it does not.
    """

    kind: ItemKind
    key: int
    public_id: str
    since: int
    last_step: str = ""
    steps: set[str] = field(default_factory=set)
    stop: bool = False
    found: Literal["proof", "unclear", "absent"] = "absent"
    missing_us: int = 0


@dataclass(slots=True, eq=False)
class Watch:
    """One session's transcript and what is looked for in it. `offset`: the byte the next read begins at."""

    hook_id: str
    path: str
    offset: int
    heard_us: int = 0
    file: Literal["read", "none", "foreign"] = "none"
    items: dict[tuple[str, int], Awaited] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look came to for one item: `seen`, `missing` or `no_claim`, with the row that says so."""

    watch: Watch
    item: Awaited
    verdict: Verdict


class Contexts:
    """hook id → Watch, for sessions with something that is not proven yet."""

    def __init__(self, transcripts: Transcripts) -> None:
        self.transcripts = transcripts
        self._watches: dict[str, Watch] = {}
        self._lock = threading.RLock()

    def load(self, tx: Tx) -> None:
        """Fills it at start: what hooks of a present id delivered, and what is neither proven nor given up."""
        back = limit("context_restart_kib") * _KIB
        for hook_id, kind, key, public_id in (*messages.unproven(tx), *comments.unproven(tx)):
            row = sessions.by_hook(tx, hook_id)
            if row is not None:
                self._await(row, [(kind, key, public_id)], tx.now, back)

    def handing(self, row: SessionRow, items: Sequence[Unproven], now: int) -> Callable[[], None]:
        """What notes a hand-over once it is committed, before its answer leaves."""
        back = limit("context_back_kib") * _KIB
        return lambda: self._await(row, items, now, back)

    def _await(self, row: SessionRow, items: Sequence[Unproven], now: int, back: int) -> None:
        if not row.transcript_path or not row.hook_id:
            return
        size = self.transcripts.size(row.transcript_path)
        with self._lock:
            watch = self._watches.get(row.hook_id)
            if watch is None or watch.path != row.transcript_path:
                watch = Watch(row.hook_id, row.transcript_path, max(0, size - back), heard_us=now)
                self._watches[row.hook_id] = watch
            for kind, key, public_id in items:
                # Shown once more: the count of later steps begins anew.
                watch.items.pop((kind, key), None)
                watch.items[kind, key] = Awaited(kind, key, public_id, size)
            while len(watch.items) > limit("context_items_max"):
                del watch.items[next(iter(watch.items))]

    def heard(self, hook_id: str, event_name: str, now: int) -> None:
        """A live event of the session itself came: its transcript is worth a look."""
        watch = self._watches.get(hook_id)
        if watch is None:
            return
        with self._lock:
            watch.heard_us = now
            if event_name == "Stop":
                for item in watch.items.values():
                    item.stop = True

    def looked_for(self, kind: ItemKind, key: int, hook_id: str) -> bool:
        """Whether the proof of what was handed to this id is still looked for, in a transcript that can be read."""
        watch = self._watches.get(hook_id)
        return watch is not None and watch.file == "read" and (kind, key) in watch.items

    def watched(self) -> list[tuple[str, int]]:
        """Transcript by transcript, whether it can be read, and how many proofs are looked for in it."""
        with self._lock:
            return [(watch.file, len(watch.items)) for watch in self._watches.values()]

    def due(self, now: int) -> list[Watch]:
        """Sessions that had an event lately, or whose items are about to count as dropped."""
        lately = limit("context_listen_seconds") * _SECOND
        with self._lock:
            return [watch for watch in self._watches.values() if abs(now - watch.heard_us) <= lately]

    def look(self, watch: Watch, now: int) -> list[Finding]:
        """Reads what a transcript gained, a bounded piece, and judges what is looked for in it."""
        piece = self.transcripts.read(watch.path, watch.hook_id, watch.offset, limit("context_read_kib") * _KIB)
        with self._lock:
            watch.file = piece.file
            if piece.file == "read":
                if piece.size < watch.offset:
                    # Cut or written anew: nothing that was counted by its place holds any more.
                    self._begin_again(watch, piece.size)
                else:
                    watch.offset = piece.next
                    _take_in(watch.items.values(), piece.entries)
            found = [Finding(watch, item, self._judge(watch, item)) for item in watch.items.values()]
            read_up = piece.next >= piece.size
            return [each for each in found if self._holds(each, now, read_up=read_up)]

    def _begin_again(self, watch: Watch, size: int) -> None:
        watch.offset = max(0, size - limit("context_restart_kib") * _KIB)
        for item in watch.items.values():
            item.since, item.steps = size, set()

    def _judge(self, watch: Watch, item: Awaited) -> Verdict:
        steps = min(len(item.steps), STEPS_ENOUGH)
        return judge(ContextFacts(watch.file, item.found, steps, item.stop))  # type: ignore[arg-type]

    def _holds(self, finding: Finding, now: int, *, read_up: bool) -> bool:
        item, outcome = finding.item, finding.verdict.outcome
        if outcome == "missing":
            # What is still to be read, or on its way to the disk, may yet show it.
            item.missing_us = item.missing_us or now
            return read_up and abs(now - item.missing_us) >= limit("context_settle_seconds") * _SECOND
        item.missing_us = 0
        # A file that is not there yet may come; what is foreign or unclear stays so.
        return outcome == "seen" or finding.verdict.spec_id == "CTX-4" or item.found == "unclear"

    def is_current(self, finding: Finding) -> bool:
        """Whether the item is still the hand-over that was looked for, not a later one."""
        watch = self._watches.get(finding.watch.hook_id)
        return watch is finding.watch and watch.items.get((finding.item.kind, finding.item.key)) is finding.item

    def settled(self, findings: Iterable[Finding]) -> None:
        """These are decided: no look for them any more."""
        with self._lock:
            for finding in findings:
                if self.is_current(finding):
                    del finding.watch.items[finding.item.kind, finding.item.key]
            for key in [key for key, watch in self._watches.items() if not watch.items]:
                del self._watches[key]

    def drop(self, watch: Watch) -> None:
        """The session has another transcript or none: what was looked for in this one is not any more."""
        with self._lock:
            if self._watches.get(watch.hook_id) is watch:
                del self._watches[watch.hook_id]


def _take_in(items: Iterable[Awaited], entries: Sequence[Entry]) -> None:
    for entry in entries:
        shown = frames.ids_in(entry.text) if entry.kind in ("shown", "unclear") else set()
        for item in items:
            if item.public_id in shown and item.found != "proof":
                item.found = "proof" if entry.kind == "shown" else "unclear"
            elif entry.kind == "step" and entry.offset < item.since:
                item.last_step = entry.step_id
            elif entry.kind == "step" and entry.step_id != item.last_step:
                item.steps.add(entry.step_id)
