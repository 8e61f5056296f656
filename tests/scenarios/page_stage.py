"""A stage on which pages are looked at, too: the values that the board's templates and `.json` twins are made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from relaybay.api.claude_code import event_of
from relaybay.domain import Caller, ClientProcess, HookEvent, Outcome
from relaybay.service import (
    attachments,
    binding,
    comments,
    context_proof,
    export,
    feed,
    figures,
    inbox,
    message_lists,
    projects,
    replay,
    saved_views,
    sessions,
    sweep,
    tasks,
    views,
    views_events,
    views_inbox,
    views_map,
    views_messages,
    views_palette,
    views_projects,
    views_search,
    views_sessions,
    views_tasks,
    wake,
)
from relaybay.service.relay import open_relay
from relaybay.service.waits import WaitEntry
from relaybay.transcript import Transcripts
from tests.scenarios.stage import Stage, _shown
from tests.scenarios.transcript import Step
from tests.unit.transcript_rig import Transcript

_OWNER = Caller(owner=True)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_TABLES = (
    "session",
    "alias",
    "project",
    "task",
    "step",
    "hook_fate",
    "message",
    "delivery",
    "comment",
    "comment_given",
    "inbox",
    "tool_use",
)
_NOT_SHOWN = ("digest=", "handover_id=", "answer=", "seal=")
"""Columns whose values are drawn, or too long to read."""


class PageStage(Stage):
    """The stage with these lines besides:

    * `page NAME name=value…`: what one page shows; `page feed` is every event there was;
    * `rows`: what the store holds now and did not at the last look, columns that are empty or 0 left out;
    * `replay WHO EVENT ago=10m …`: an event out of the spool, that happened so long ago;
    * `sweep`: what happens because time has passed; `restart`: the server ends and starts again;
    * `wake WHO WAIT`, `look WAIT`, `poll WAIT`, `unpoll WAIT`, `after WAIT EVENT`: a wake-up's long poll, by the name of
      its wait; `waits` says how each stands;
    * `transcript WHO WHAT text=…`: the client writes to the session's transcript; `proof`: one look into all of them;
    * more of what the owner does: `add`, `end`, `unlink`, `update`, `read`, `seen`, `release`.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._folder = folder
        self._open()
        self._spooled = 0
        self._waits: dict[str, WaitEntry] = {}
        self._polls: dict[str, int] = {}
        self._transcripts: dict[str, Transcript] = {}
        self._held: list[str] = []

    def _open(self) -> None:
        self.relay.close()
        roots = Transcripts((self._folder / "claude",))
        self.relay = relay = open_relay(self._folder / "relaybay.db", lambda: self._now, roots)
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
            "thread": lambda tx, **said: views_messages.thread(tx, relay, **said),
            "project": lambda tx, **said: views_projects.project_page(tx, relay, **said),
            "palette": lambda tx, **said: views_palette.palette(tx, relay, **said),
            "search": lambda tx, **said: views_search.search_texts(tx, relay, **_numbers(said, "skip", "limit")),
            "export": lambda tx, task: export.task_export(tx, relay, task=task),
            "export_all": lambda tx, project: export.project_export(tx, relay, project=project),
            "views": lambda tx, page: Outcome({"views": saved_views.listed(tx, relay, page)}),
            "file": lambda tx, **said: _without_bytes(attachments.fetch(tx, relay, **said)),
            "find": self._find,
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
            "save": lambda tx, **said: saved_views.save(tx, relay, **said),
            "forget": lambda tx, view_id: saved_views.forget(tx, relay, view_id=view_id),
            "attach": lambda tx, content, **said: attachments.attach(tx, content=content.encode(), **said),
            "detach": attachments.detach,
            "project": lambda tx, **said: projects.project_add(tx, relay, _OWNER, **said),
        }

    def play(self, step: Step) -> str:
        verb, *words = step.words
        known = self._pages if verb == "page" else self._acts
        own = getattr(self, f"_do_{verb}", None)
        if own is None and (verb not in ("page", "owner") or words[0] not in known):
            return super().play(step)
        self._now += 1_000_000
        said = {name: self._ids.lengthen(value) for name, value in step.said.items()}
        if own is not None:
            return self._ids.shorten(own(*words, **said)).replace(str(self._folder), "FOLDER")
        run = self.relay.store.read if verb == "page" else self.relay.store.write
        outcome = run(lambda tx: known[words[0]](tx, *words[1:], **said))
        return self._ids.shorten(_shown(outcome))

    def _do_replay(self, who: str, name: str, **said: str) -> str:
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

    def _do_sweep(self) -> str:
        gone = self.relay.store.read(sweep.gone_clients)
        ended = self.relay.store.write(lambda tx: sweep.end_gone(tx, self.relay, gone))
        silent = self.relay.store.write(lambda tx: sweep.end_silent(tx, self.relay, 12))
        self.relay.store.write(sweep.forget_old)
        return f"gone {len(gone)}, ended {ended}, silent {silent}"

    def _do_rows(self) -> str:
        found = self.relay.store.read(lambda tx: [line for table in _TABLES for line in _held(tx, table)])
        new = [line for line in found if line not in self._held]
        keys = {_key(line) for line in found}
        gone = [f"gone: {key}" for key in dict.fromkeys(map(_key, self._held)) if key not in keys]
        self._held = found
        return "\n".join([*new, *gone])

    def _do_restart(self) -> str:
        self._open()
        return "started again"

    # -- waits -----------------------------------------------------------------------------------------------

    def _do_wake(self, who: str, name: str) -> str:
        entry = self.relay.store.write(
            lambda tx: wake.open_wait(tx, self.relay, f"hook-{who}", f"wait-{name}", ClientProcess())
        )
        self._waits[name] = entry
        if entry.state == "waiting":
            self._polls[name] = self.relay.waits.begin_poll(entry, lambda: None)
        return self._do_waits()

    def _do_look(self, name: str, lives: str = "yes") -> str:
        found = self.relay.store.write(
            lambda tx: wake.look(tx, self.relay, self._waits[name], connection_lives=lives == "yes")
        )
        again = f", again in {(found.again_us - self._now) / 1_000_000} s" if found.again_us else ""
        carried = f"\n{found.done.text}".replace("\n\n", "\n·\n") if found.done else ""
        return f"{found.outcome}{again}{carried}"

    def _do_poll(self, name: str) -> str:
        entry = self._waits[name]
        result = self.relay.waits.poll(entry, self._now)
        if result.kind != "refuse":
            self._polls[name] = self.relay.waits.begin_poll(entry, lambda: None)
        return f"{result.spec_id} {result.kind} {' '.join(result.effects)}"

    def _do_unpoll(self, name: str) -> str:
        self.relay.waits.end_poll(self._waits[name], self._polls[name], self._now)
        return self._do_waits()

    def _do_after(self, name: str, event: str) -> str:
        facts = {"connection_lost": {"current_poll": True}}.get(event)
        self.relay.waits.take(self._waits[name], event, facts)
        return self._do_waits()

    def _do_waits(self) -> str:
        shown = [f"{name}: {one.state} {one.ended_by} {one.poll} {one.poll_open}" for name, one in self._waits.items()]
        return "\n".join([*shown, f"{self.relay.waits.count} wait"])

    # -- transcripts -----------------------------------------------------------------------------------------

    def _hook(self, who: str, name: str, **said: str) -> str:
        script = self._transcripts.get(who)
        return super()._hook(who, name, **({"transcript_path": str(script.path)} if script else {}), **said)

    def _do_transcript(self, who: str, what: str, text: str = "") -> str:
        script = self._transcripts.setdefault(who, Transcript(self._folder / "claude", f"hook-{who}"))
        if what == "interrupted":
            script.interrupted(self._now)
        elif what != "begins":
            getattr(script, what)(*([text.replace("\\n", "\n")] if text else []))
        return f"{script.path.stat().st_size} bytes"

    def _do_proof(self) -> str:
        found = context_proof.look(self.relay)
        broken_off = context_proof.look_for_interruptions(self.relay)
        return f"settled {found}, broken off {broken_off}, watched {self.relay.contexts.watched()}"

    # -- lists -----------------------------------------------------------------------------------------------

    def _find(self, tx: Any, kind: str, q: str) -> Outcome:
        """What a filter lets through, by names alone."""
        name, outcome = {
            "tasks": lambda: ("key", tasks.tasks_list(tx, q=q)),
            "sessions": lambda: ("title", sessions.list_sessions(tx, self.relay, q=q)),
            "messages": lambda: ("message_id", message_lists.list_messages(tx, self.relay, _OWNER, q=q)),
        }[kind]()
        if outcome.refusal is not None:
            return outcome
        return Outcome({"found": " ".join(one[name] for one in outcome.data[kind])})

    def _update(self, tx: Any, task: str, **said: str) -> Outcome:
        numbers = {name: int(said.pop(name)) for name in ("step_done", "step_undone") if name in said}
        return tasks.task_update(tx, self.relay, _OWNER, task=task, change=tasks.Change(**said, **numbers))


def _numbers(said: dict[str, str], *names: str) -> dict[str, Any]:
    return {name: int(value) if name in names else value for name, value in said.items()}


def _without_bytes(outcome: Outcome) -> Outcome:
    if "content" in outcome.data:
        outcome.data["content"] = outcome.data["content"].decode()
    return outcome


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
