"""Draws the README's pictures: the demo's play and a working day around it, photographed in the system's Chromium.

    python -m tools.screenshots [FOLDER]     writes docs/screenshots/*.png anew

Everything on them came in through the doors that real sessions use: hook events, MCP calls, the owner's own commands.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from relaybay.api import app
from relaybay.api.serving import ServerThread
from relaybay.demo import Play, Session, play
from relaybay.service import clock
from relaybay.service.relay import open_relay
from relaybay.settings import Paths, load
from tests.browser.chrome import FLAGS, chromium, what_is_missing

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
BYTES_MAX: Final = 150_000
#: Name → address, and the colours it is shown in.
PICTURES: Final = {
    "board": ("/", "light"),
    "task": ("/tasks/demo-1", "light"),
    "messages": ("/messages", "dark"),
    "map": ("/map", "light"),
}
_SIZE: Final = {"width": 1280, "height": 800}
_CARDS: Final = (
    ("demo", "Release notes for 1.4", "todo", ""),
    ("demo", "The printer drops trailing comments", "todo", "reviewer"),
    ("demo", "Cache the token table", "review", "reviewer"),
    ("shop", "Receipts add up to a cent too much", "doing", "coordinator"),
    ("shop", "Try the new payment form on a phone", "inbox", ""),
    ("shop", "Move the price list out of the code", "done", "builder"),
)


async def day(stage: Play, folder: Path) -> None:
    """What else goes on: a third session, mail that waits, cards in every column, a question to the owner."""
    builder, tester, lead = (Session(stage, folder / name, name) for name in ("builder", "tester", "release"))
    for session in (builder, tester, lead):
        session.folder.mkdir()
        session.event("SessionStart", source="startup")
        session.prompt()
        await session.call("message_ack")
    for project, title, status, bound in _CARDS:
        task = stage.owner("/api/v1/tasks", {"project": project, "title": title, "status": status})
        if bound:
            stage.owner(f"/api/v1/tasks/{task['key']}/bind", {"session": bound})
    for step in ("Read both remarks", "Write the test that shows it"):
        await builder.call("task_update", task="demo-1", step_add=step)
    await builder.call("task_update", task="demo-1", step_done=1)
    await builder.call("message_send", to="tester", body="The build is green again; please run the long suite.")
    tester.event("PostToolUse", tool_name="Bash", tool_use_id="toolu_long", tool_input={})
    await tester.call("message_send", to="reviewer", body="Two tests fail since the parser change. Shall I wait?")
    await lead.call("message_send", to="builder", body="Please cut the release branch when demo-1 is done.")
    await builder.call("comment_add", task="demo-1", body="Shall the old flag still be in `--help`?")
    tester.event("Stop", stop_hook_active=False)


def photograph(url: str, login: str, folder: Path) -> list[Path]:
    """The pictures, each written into `folder`."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a development extra.

    made = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        context = browser.new_context(viewport=_SIZE)
        page = context.new_page()
        page.goto(login)
        for name, (path, colours) in PICTURES.items():
            page.emulate_media(color_scheme=colours, reduced_motion="reduce")
            page.goto(url + path)
            page.wait_for_function("() => /^live/i.test(document.getElementById('lamp').textContent.trim())")
            made.append(folder / f"{name}.png")
            page.screenshot(path=made[-1])
        browser.close()
    return made


def main(arguments: list[str]) -> int:
    """Draws all of them; the exit code."""
    missing = what_is_missing()
    if missing:
        sys.exit(f"screenshots: {missing}")
    target = Path(arguments[0]) if arguments else FOLDER
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="relaybay-demo-") as name:
        folder = Path(name)
        paths = Paths.find({"RELAYBAY_HOME": str(folder / "home")})
        paths.make()
        settings = load(paths, {"RELAYBAY_MESSAGING_CHANNELS": "true", "RELAYBAY_MESSAGING_INBOUND": "accept"})
        relay = open_relay(paths.database, clock.system, messaging=settings.messaging)
        try:
            parts = app.build(settings, paths, relay)
            with ServerThread(parts.app, socket_path=paths.socket) as running:
                stage: Any = Play(paths, running.url)
                asyncio.run(play(stage, folder, lambda _: None))
                asyncio.run(day(stage, folder))
                login = app.start_line(parts, paths, running.listening)["board_url"]
                made = photograph(running.url, login, target)
        finally:
            relay.close()
    for path in made:
        size = path.stat().st_size
        sys.stdout.write(f"{path.name}: {size:,} bytes\n")
        if size > BYTES_MAX:
            sys.exit(f"screenshots: {path.name} is larger than {BYTES_MAX:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
