"""One running server a module, with something in it to steal, and the routes that the app says it has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from relaybay.api import app
from relaybay.service import clock
from relaybay.service.relay import open_relay
from relaybay.settings import Paths, load
from tests.attacks.rig import Product

VICTIM = "5e55104a-hook-of-the-victim"
"""A hook session: whoever knew it could speak as the victim."""


@dataclass(frozen=True)
class Operation:
    """One route of the app, its path filled with what exists in the world.

    `door` is what it asks for; `reads` tells whether it reads a body of JSON.
    """

    method: str
    path: str
    door: str
    reads: bool

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class World(Product):
    """A server with a project, a task with comments, three sessions and a message that has not been delivered."""

    operations: list[Operation]

    def start(self) -> None:
        super().start()
        if hasattr(self, "message"):
            return
        self._fill()
        # What a server keeps in memory it writes now and then. After a restart there is nothing left to write, so
        # that whatever changes the database from here on was an attack.
        self.stop()
        super().start()
        self.tape.clear()

    def _fill(self) -> None:
        assert self.hook("SessionStart", VICTIM, cwd="/src/shop", source="startup").status == 200
        victim = self.owner.get("/api/v1/sessions").json["sessions"][0]["ref"]
        for name in ("alice", "bob"):
            made = self.owner.post("/api/v1/sessions", {"desktop": f"d-{name}", "title": name})
            assert made.status == 201, made
        self.victim = victim
        made = self.owner.post("/api/v1/tasks", {"project": "shop", "title": "Paint the fence", "body": "Blue."})
        self.task = made.json["key"]
        assert self.owner.post(f"/api/v1/tasks/{self.task}/bind", {"session": "alice"}).status == 200
        comment = self.owner.post(f"/api/v1/tasks/{self.task}/comments", {"body": "Rather green."})
        self.comment = comment.json["id"]
        assert "code" not in self.tool("comment_add", task=self.task, body="Green it is.", session="alice")
        sent = self.tool("message_send", session="alice", to="bob", body="The key is under the mat.")
        self.message = sent["message_id"]


def _filled(path: str, world: World) -> str:
    values = {"ref": world.victim, "key": world.task, "comment_id": world.comment, "message_id": world.message}
    return re.sub(r"<(\w+):\w+>", lambda found: values.get(found[1], "x"), path)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World() as made:
        made.operations = [replace(o, path=_filled(o.path, made)) for o in _operations(tmp_path_factory)]
        yield made


def _operations(tmp_path_factory: pytest.TempPathFactory) -> list[Operation]:
    """Read from the app itself: a route that is added tomorrow is attacked tomorrow."""
    folder: Path = tmp_path_factory.mktemp("app")
    env = {"RELAYBAY_HOME": str(folder)}
    paths = Paths.find(env)
    paths.make()
    relay = open_relay(paths.database, clock.system)
    try:
        parts = app.build(load(paths, env), paths, relay)
        known = parts.routes.operations
        found = [Operation(o.method, o.path, o.door, o.door in ("hooks", "mcp") or o.body is not None) for o in known]
        # The registry is all there is: the router knows no route beside it.
        assert {f"/{route.path}".rstrip("/") for route in parts.app.router.routes} == {
            one.path.rstrip("/") for one in found
        }
    finally:
        relay.close()
    assert len(found) > 60
    return found


@pytest.fixture
def same(world: World) -> Iterator[None]:
    """Nothing in the database may have changed when the test is over, nothing failed, and the server is still there."""
    before, digest = world.rows(), world.digest()
    yield
    assert world.process.poll() is None
    assert world.tcp.get("/healthz").status == 200
    if world.digest() != digest:
        after = world.rows()
        pytest.fail(f"changed: { {name: after[name] for name in after if after[name] != before[name]} }"[:2_000])
    assert "Traceback" not in world.log, world.log[-4_000:]
