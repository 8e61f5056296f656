"""The composition root: settings, clock, store → one Sanic app, run until it is told to stop."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sanic import HTTPResponse, Request, Sanic

from relaybay import __version__
from relaybay.api import metrics, rest, stream
from relaybay.api.automation_runner import read_rules, register_automations
from relaybay.api.commits import Commits
from relaybay.api.gate import Gate
from relaybay.api.hooks import HooksSeen, register_hooks
from relaybay.api.key_rotation import follow
from relaybay.api.keys import KeyFolder
from relaybay.api.listeners import Listening
from relaybay.api.login_file import FILE, LoginFile
from relaybay.api.mcp import McpSurface, register_mcp
from relaybay.api.routes import Routes, reply
from relaybay.api.serving import make_app, serve
from relaybay.api.spool import register_spool, take_all
from relaybay.api.wait import register_wait
from relaybay.errors import StoreFull, StoreReadOnly
from relaybay.service import clock, context_proof, controls, history, search_index, sweep
from relaybay.service.house import Doctor, House, Told
from relaybay.service.relay import Relay, open_relay
from relaybay.settings import Paths, Settings, load
from relaybay.specs import limit
from relaybay.spool import SpoolRefused
from relaybay.transcript import Transcripts
from relaybay.ui import pages

log = logging.getLogger(__name__)
#: What went wrong while the server was down is found soon, and not before the server answers.
_FIRST_SEARCH_LOOK_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Parts:
    """What one server is made of."""

    app: Sanic  # type: ignore[type-arg]
    relay: Relay
    gate: Gate
    routes: Routes


def build(settings: Settings, paths: Paths, relay: Relay, doctor: Doctor | None = None) -> Parts:
    """The app with every route; nothing listens yet. `doctor` looks at the machine, for `/health`."""
    app = make_app()
    routes = Routes(app)
    folder = KeyFolder(paths.run)
    gate = Gate(folder.load(), now_us=relay.clock, page=pages.refused, login_file=LoginFile(folder.folder / FILE))
    follow(app, folder, gate.use)
    commits = Commits()
    commits.follow(app, relay)
    seen = register_hooks(routes, relay)
    register_wait(routes, relay, minutes=settings.wake_minutes)
    register_spool(routes, relay, paths.spool)
    surface = register_mcp(routes, relay, commits)
    rest.register_rest(routes, relay, gate, commits, folder=folder, seen=seen, surface=surface, paths=paths)
    stream.register_stream(routes, commits, gate.stands)
    metrics.register_metrics(routes, relay, surface, commits)
    house = House(paths, settings, _written(paths), _told(app, relay, seen, surface, commits), doctor)
    pages.register_board(routes, relay, gate, house)
    _register_health(routes, relay)
    _sweep(app, relay, settings)
    register_automations(app, relay, paths)
    gate.install(app)
    return Parts(app, relay, gate, routes)


def _written(paths: Paths) -> Callable[[], Settings]:
    """Reads the configuration anew, from where this start read it. A folder that is gone has no project's file."""
    try:
        folder: Path | None = Path.cwd()
    except OSError:
        folder = None
    return lambda: load(paths, os.environ, folder)


def _told(app: Sanic, relay: Relay, seen: HooksSeen, surface: McpSurface, commits: Commits) -> Callable[[], Told]:  # type: ignore[type-arg]
    started_us = relay.clock()

    def told() -> Told:
        url = app.ctx.listening.url if hasattr(app.ctx, "listening") else ""
        heard = {client: dict(events) for client, events in seen.last.items()}
        return Told(url, started_us, heard, surface.last_seen_us, commits.count)

    return told


def _register_health(routes: Routes, relay: Relay) -> None:
    async def healthz(_: Request) -> HTTPResponse:
        return reply({"status": "ok", "version": __version__})

    async def readyz(_: Request) -> HTTPResponse:
        await asyncio.wrap_future(relay.store.submit_read(lambda tx: tx.value("SELECT 1")))
        return reply({"status": "ready"})

    routes.op("GET", "/healthz", "healthz", healthz, door="open")
    routes.op("GET", "/readyz", "readyz", readyz, door="open")


def _sweep(app: Sanic, relay: Relay, settings: Settings) -> None:  # type: ignore[type-arg]
    """The timers: presence written back, gone clients, silent sessions, old ids, and what transcripts tell."""
    running: list[asyncio.Task[None]] = []

    @app.after_server_start
    async def _begin(_: Sanic) -> None:  # type: ignore[type-arg]
        running.append(asyncio.create_task(_every(1, _presence(relay)), name="presence"))
        look = limit("context_look_ms") / 1_000
        running.append(asyncio.create_task(_every(look, lambda: context_proof.look(relay)), name="context"))
        often = limit("interruption_sweep_seconds")
        sweeping = _every(often, lambda: context_proof.look_for_interruptions(relay))
        running.append(asyncio.create_task(sweeping, name="interruptions"))
        mending = _every(
            limit("search_look_minutes") * 60, lambda: search_index.mend(relay.store), first=_FIRST_SEARCH_LOOK_SECONDS
        )
        running.append(asyncio.create_task(mending, name="search"))
        if relay.messaging.channels:
            often = limit("controls_look_seconds")
            running.append(asyncio.create_task(_every(often, _controls(relay)), name="controls"))
            minutes = limit("prune_minutes")
            pruning = _every(minutes * 60, lambda: relay.store.write(lambda tx: history.prune(tx, relay)), first=0)
            running.append(asyncio.create_task(pruning, name="history"))
        seconds = limit("process_sweep_seconds")
        running.append(asyncio.create_task(_every(seconds, _gone(relay, settings)), name="sweep"))

    @app.before_server_stop
    async def _end(_: Sanic) -> None:  # type: ignore[type-arg]
        while running:
            running.pop().cancel()


def _presence(relay: Relay) -> Callable[[], None]:
    def work() -> None:
        relay.flush(relay.presence.due(relay.clock()))
        sweep.end_orphaned_waits(relay)

    return work


def _controls(relay: Relay) -> Callable[[], None]:
    """Projects' files that changed, heard of by rows whose session is silent; and what `/clear` left behind (CH-5)."""

    def work() -> None:
        relay.store.write(lambda tx: controls.look_at_all(tx, relay))
        relay.store.write(lambda tx: sweep.drop_published(tx, relay))

    return work


def _gone(relay: Relay, settings: Settings) -> Callable[[], None]:
    def work() -> None:
        gone = relay.store.read(sweep.gone_clients)
        if gone:
            relay.store.write(lambda tx: sweep.end_gone(tx, relay, gone))
        relay.store.write(lambda tx: sweep.end_silent(tx, relay, settings.sessions_silent_hours))
        relay.store.write(sweep.forget_old)

    return work


async def _every(seconds: float, work: Callable[[], object], *, first: float | None = None) -> None:
    """`work` again and again; for the first time after so many seconds."""
    pause = seconds if first is None else first
    while True:
        await asyncio.sleep(pause)
        pause = seconds
        try:
            await asyncio.to_thread(work)
        except Exception:
            log.exception("a sweep failed")


def start_line(parts: Parts, paths: Paths, listening: Listening) -> dict[str, Any]:
    """What `relaybay up --json` prints, less `v` (page 70, Interface)."""
    return {
        "url": listening.url,
        "mcp_url": f"{listening.url}/mcp",
        "board_url": f"{listening.url}/login?code={parts.gate.logins.mint_code()}",
        "token_file": str(paths.token),
        "database": str(paths.database),
        "pid": os.getpid(),
    }


def _import_spool(relay: Relay, folder: Path) -> None:
    """What was spooled while no server ran. A spool that SPOOL-5 refuses is left alone: `doctor` names it."""
    try:
        take_all(relay, folder)
    except SpoolRefused as refused:
        log.warning("the spool was not imported: %s", refused)


def _private(folder: Path) -> None:
    """Shuts a folder of ours that stands open to others."""
    found = folder.stat()
    if found.st_uid == os.getuid() and found.st_mode & 0o077:
        folder.chmod(0o700)


def _write_server_json(path: Path, listening: Listening) -> None:
    said = {"pid": os.getpid(), "port": listening.port, "url": listening.url, "version": __version__}
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    temporary = path.with_suffix(".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(said, file)
    temporary.replace(path)


def run(
    settings: Settings,
    paths: Paths,
    *,
    port: int | None,
    ready: Callable[[dict[str, Any]], None],
    doctor: Doctor | None = None,
) -> None:
    """Serves until SIGTERM. `port` overrides the setting, 0 takes a free one; `ready` gets the start line's values,
    `doctor` looks at the machine for the page of that name.

    Raises the store's errors, `BindRefused`, `KeyFileRefused`. What was accepted before the end is on disk.
    """
    try:
        _run(settings, paths, port, ready, doctor)
    except OSError as error:
        named = {errno.ENOSPC: StoreFull, errno.EDQUOT: StoreFull, errno.EROFS: StoreReadOnly}.get(error.errno or 0)
        if named is None:
            raise
        raise named(f"{error.filename or paths.run}: {error.strerror}") from error


def _run(
    settings: Settings,
    paths: Paths,
    port: int | None,
    ready: Callable[[dict[str, Any]], None],
    doctor: Doctor | None,
) -> None:
    paths.make()
    for folder in (paths.data, paths.state, paths.run):
        _private(folder)
    time = clock.from_file(settings.clock_file) if settings.clock_file else clock.system
    relay = open_relay(paths.database, time, Transcripts(settings.claude_code_folders), settings.messaging)
    try:
        relay.store.write(lambda tx: controls.look_at_all(tx, relay, anew=True))
        read_rules(relay, paths)
        _import_spool(relay, paths.spool)
        (paths.run / "down").unlink(missing_ok=True)
        parts = build(settings, paths, relay, doctor)

        def told(listening: Listening) -> None:
            _write_server_json(paths.server_json, listening)
            ready(start_line(parts, paths, listening))

        try:
            serve(
                parts.app,
                host=settings.server_host,
                port=settings.server_port if port is None else port,
                socket_path=paths.socket,
                ready=told,
            )
        finally:
            paths.server_json.unlink(missing_ok=True)
    finally:
        relay.close()
