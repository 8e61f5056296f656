"""Runs what the owner's rules do (page 50, Automations): commands in threads of their own, never on the writer's.

A command is an argument list without a shell, in the folder of `automations.toml`, with the message on stdin and
nothing of what it prints kept. It has a process group, which is killed when its time is over, or the server's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Final

from sanic import Sanic

from relaybay.api.commits import News
from relaybay.errors import StoreError
from relaybay.service import automation_ends, automation_rules, automation_runs
from relaybay.service.automation_runs import Begun, Ready
from relaybay.service.automation_sends import Failed
from relaybay.service.relay import Relay
from relaybay.settings import Paths

_log = logging.getLogger(__name__)
_AT_ONCE: Final = 4
_LOOK_SECONDS: Final = 60.0
_TIDY_SECONDS: Final = 3600.0
_STOP_SECONDS: Final = 1.0
_AFTER_KILL_SECONDS: Final = 5.0


def read_rules(relay: Relay, paths: Paths) -> None:
    """Reads the rules, once, and gives back what an earlier server had taken. To be called before anything is let in:
    what was spooled meanwhile sets rules off like anything else.
    """
    if not relay.messaging.channels or relay.automations.file:
        return
    relay.automations = automation_rules.read_book(paths.automations)
    for problem in relay.automations.problems:
        _log.warning("no automation fires: %s", problem)
    relay.store.write(lambda tx: automation_ends.at_start(tx, relay))


def register_automations(app: Sanic, relay: Relay, paths: Paths) -> None:  # type: ignore[type-arg]
    """Carries out what the rules do while the app runs."""
    read_rules(relay, paths)
    if not relay.automations.rules:
        return
    runner = Runner(relay, paths.config_folder)

    @app.after_server_start
    async def _begin(_: Sanic) -> None:  # type: ignore[type-arg]
        runner.start()

    @app.before_server_stop
    async def _end(_: Sanic) -> None:  # type: ignore[type-arg]
        await asyncio.to_thread(runner.stop)


class Runner:
    """One thread that looks what may begin, and one for each firing that runs, four at most."""

    def __init__(self, relay: Relay, folder: Path) -> None:
        self._relay = relay
        self._folder = folder
        self._ring = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._workers: set[threading.Thread] = set()
        self._unrecorded: dict[int, Failed | None] = {}
        self._tidied = time.monotonic()
        self._looking = threading.Thread(target=self._look, name="automations", daemon=True)
        relay.listeners.append(self._heard)

    def start(self) -> None:
        """Begins with what waits already."""
        self._ring.set()
        self._looking.start()

    def stop(self) -> None:
        """Nothing more begins; what runs is killed, and its message goes back."""
        self._stopping.set()
        self._ring.set()
        with self._lock:
            for process in self._processes:
                _kill(process)
            workers = [*self._workers, *([self._looking] if self._looking.is_alive() else [])]
        until = time.monotonic() + _STOP_SECONDS
        for worker in workers:
            worker.join(max(until - time.monotonic(), 0))

    def _heard(self, news: News) -> None:
        # In the writer's thread: quick. What begins is heard too, and there is nothing more to do about that.
        if any(type_ == "automation.queued" for type_, _ in news.events):
            self._ring.set()

    def _look(self) -> None:
        seconds: float | None = None
        while not self._stopping.is_set():
            self._ring.wait(_LOOK_SECONDS if seconds is None else min(seconds, _LOOK_SECONDS))
            self._ring.clear()
            if self._stopping.is_set():
                return
            try:
                self._tidy()
                seconds = self._begin()
            except StoreError as error:
                _log.warning("automations wait: %s", error)
                seconds = None
            except Exception:  # noqa: BLE001 - the thread goes on: other rules wait.
                _log.exception("automations failed to begin")
                seconds = None

    def _tidy(self) -> None:
        """Ends that a full disk kept from being recorded, and what the log need not keep any longer."""
        for key, failed in [*self._unrecorded.items()]:
            self._finish(key, failed)
            del self._unrecorded[key]
        if time.monotonic() - self._tidied > _TIDY_SECONDS:
            self._relay.store.write(lambda tx: automation_ends.forget_old(tx, self._relay))
            self._tidied = time.monotonic()

    def _finish(self, key: int, failed: Failed | None) -> None:
        self._relay.store.write(lambda tx: automation_runs.finish(tx, self._relay, key, failed))

    def _begin(self) -> float | None:
        with self._lock:
            free = _AT_ONCE - len(self._workers)
        if free <= 0:
            return None  # Whoever ends rings.
        ready: Ready = self._relay.store.write(lambda tx: automation_runs.begin(tx, self._relay, free))
        for begun in ready.begun:
            worker = threading.Thread(target=self._work, args=(begun,), name=f"automation {begun.rule}", daemon=True)
            with self._lock:
                self._workers.add(worker)
            worker.start()
        return ready.seconds

    def _work(self, begun: Begun) -> None:
        failed: Failed | None = None
        try:
            if begun.run is not None:
                failed = self._run(begun)
            self._finish(begun.id, failed)
        except StoreError as error:
            # The firing stays `running`: a later look, or the next start, ends it.
            _log.warning("automation %s: its end is not recorded: %s", begun.rule, error)
            self._unrecorded[begun.id] = failed
        except Exception:  # noqa: BLE001 - told, and the firing ended.
            # A fault of ours must not keep the message, nor hold up the rule's queue.
            _log.exception("automation %s failed", begun.rule)
            self._unrecorded[begun.id] = Failed("internal")
        finally:
            with self._lock:
                self._workers.discard(threading.current_thread())
            self._ring.set()

    def _run(self, begun: Begun) -> Failed | None:
        """The owner's command. None when it ended with 0."""
        assert begun.run is not None
        try:
            process = subprocess.Popen(  # noqa: S603 - the owner's own words, from a file only the owner may write.
                begun.run.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                env={**os.environ, "RELAYBAY_AUTOMATION": begun.rule},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return Failed("not_started", str(getattr(error, "strerror", None) or error))
        with self._lock:
            self._processes.add(process)
            if self._stopping.is_set():
                _kill(process)
        try:
            process.communicate(begun.message, timeout=begun.run.timeout_seconds)
        except subprocess.TimeoutExpired:
            _kill(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_AFTER_KILL_SECONDS)
            return Failed("timeout", str(begun.run.timeout_seconds))
        finally:
            with self._lock:
                self._processes.discard(process)
        if process.returncode == 0:
            return None
        return Failed("server_stop") if self._stopping.is_set() else Failed("exit_status", str(process.returncode))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The command with everything it started, unless that made a group of its own."""
    if process.returncode is not None:
        return  # Its number may be another's by now.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
