"""A stage on which pages are looked at, too: the values that the board's templates and `.json` twins are made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from relaybay.api.claude_code import event_of
from relaybay.domain import Caller, HookEvent, Outcome
from relaybay.service import (
    binding,
    comments,
    feed,
    figures,
    inbox,
    projects,
    replay,
    sessions,
    sweep,
    tasks,
    views,
    views_events,
    views_inbox,
    views_map,
    views_messages,
    views_sessions,
    views_tasks,
)
from tests.scenarios.stage import Stage, _shown
from tests.scenarios.transcript import Step

_OWNER = Caller(owner=True)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TABLES = ("session", "alias", "hook_fate", "message", "delivery", "comment", "comment_given", "inbox", "tool_use")
_NOT_SHOWN = ("digest=", "handover_id=", "answer=", "seal=")
"""Columns whose values are drawn, or too long to read."""


class PageStage(Stage):
    """The stage with these lines besides:

    * `page NAME name=value…`: what one page shows; `page feed` is every event there was;
    * `rows`: what the store holds now and did not at the last look, columns that are empty or 0 left out;
    * `replay WHO EVENT ago=10m …`: an event out of the spool, that happened so long ago;
    * `sweep`: what happens because time has passed;
    * more of what the owner does: `add`, `end`, `unlink`, `update`, `read`, `seen`, `release`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._spooled = 0
        self._held: list[str] = []
        relay = self.relay
        self._pages: dict[str, Callable[..., Outcome]] = {
            "around": lambda tx: Outcome(data=views.around(tx)),
            "board": lambda tx, **said: views.board(tx, relay, **said),
            "projects": projects.projects_list,
            "sessions": lambda tx: views_sessions.session_list(tx, relay),
            "session": lambda tx, **said: views_sessions.session_page(tx, relay, **said),
            "listed": lambda tx, **said: sessions.list_sessions(tx, relay, **said),
            "messages": lambda tx, **said: views_messages.message_list(tx, relay, **said),
            "task": lambda tx, **said: views_tasks.task_page(tx, relay, **said),
            "of_comment": lambda tx, **said: views_tasks.task_of_comment(tx, relay, **said),
            "tasks": tasks.tasks_list,
            "inbox": lambda tx, **said: views_inbox.inbox_page(tx, relay, **said),
            "events": lambda tx, **said: views_events.events_page(tx, relay, **said),
            "map": lambda tx, **said: views_map.map_page(tx, relay, **said),
            "figures": lambda tx: figures.figures(tx, relay),
            "doctor": lambda tx: figures.doctor(tx, relay, heard={"codex": self._now}),
            "feed": lambda tx: feed.events_since(tx, cursor=feed.cursor_of(0), limit=200),
        }
        self._acts: dict[str, Callable[..., Outcome]] = {
            "add": lambda tx, **said: sessions.add_desktop(tx, relay, **said),
            "end": lambda tx, ref: sessions.end(tx, relay, ref),
            "unlink": lambda tx, ref: sessions.unlink(tx, relay, ref),
            "update": self._update,
            "release": lambda tx, task: binding.task_unbind(tx, relay, _OWNER, task=task),
            "read": lambda tx, task: comments.replies_read(tx, task=task),
            "seen": inbox.seen,
            "project": lambda tx, **said: projects.project_add(tx, relay, _OWNER, **said),
        }

    def play(self, step: Step) -> str:
        verb, *words = step.words
        known = self._pages if verb == "page" else self._acts
        own = {"rows": self._rows, "replay": self._replay, "sweep": self._sweep}.get(verb)
        if own is None and (verb not in ("page", "owner") or words[0] not in known):
            return super().play(step)
        self._now += 1_000_000
        said = {name: self._ids.lengthen(value) for name, value in step.said.items()}
        if own is not None:
            return self._ids.shorten(own(*words, **said))
        run = self.relay.store.read if verb == "page" else self.relay.store.write
        outcome = run(lambda tx: known[words[0]](tx, **said))
        return self._ids.shorten(_shown(outcome))

    def _replay(self, who: str, name: str, **said: str) -> str:
        ago = said.pop("ago")
        at_us = self._now - int(ago[:-1]) * _UNITS[ago[-1]] * 1_000_000
        event = event_of(
            {"session_id": f"hook-{who}", "hook_event_name": name, "cwd": "/srv/shop", **said}, at_us=at_us
        )
        assert isinstance(event, HookEvent)
        self._spooled += 1
        spooled = [replace(event, replayed=True, event_id=f"spool-{self._spooled}")]
        applied, repeated = self.relay.store.write(lambda tx: replay.apply(tx, self.relay, spooled))
        return f"applied {applied}, seen before {repeated}"

    def _sweep(self) -> str:
        gone = self.relay.store.read(sweep.gone_clients)
        ended = self.relay.store.write(lambda tx: sweep.end_gone(tx, self.relay, gone))
        silent = self.relay.store.write(lambda tx: sweep.end_silent(tx, self.relay, 12))
        self.relay.store.write(sweep.forget_old)
        return f"gone {len(gone)}, ended {ended}, silent {silent}"

    def _rows(self) -> str:
        found = self.relay.store.read(lambda tx: [line for table in _TABLES for line in _held(tx, table)])
        new = [line for line in found if line not in self._held]
        keys = {_key(line) for line in found}
        gone = [f"gone: {key}" for key in dict.fromkeys(map(_key, self._held)) if key not in keys]
        self._held = found
        return "\n".join([*new, *gone])

    def _update(self, tx: Any, task: str, **said: str) -> Outcome:
        numbers = {name: int(said.pop(name)) for name in ("step_done", "step_undone") if name in said}
        return tasks.task_update(tx, self.relay, _OWNER, task=task, change=tasks.Change(**said, **numbers))


def _held(tx: Any, table: str) -> list[str]:
    """A table's rows, each on a line."""
    columns = [column[1] for column in tx.rows(f"PRAGMA table_info({table})")]
    lines = []
    for row in tx.rows(f"SELECT * FROM {table} ORDER BY 1"):
        held = [f"{n}={json.dumps(v, ensure_ascii=False)}" for n, v in zip(columns, row, strict=True) if v]
        lines.append(f"{table}: {' '.join(one for one in held if not one.startswith(_NOT_SHOWN))}")
    return lines


def _key(line: str) -> str:
    """The table and the first column."""
    return " ".join(line.split(" ", 2)[:2])
