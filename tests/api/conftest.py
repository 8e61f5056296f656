from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field
from sanic import HTTPResponse, Request

from relaybay.api.bodies import read_object
from relaybay.api.body_reading import BodyLimits
from relaybay.api.gate import Gate
from relaybay.api.keys import Keys
from relaybay.api.problems import problem
from relaybay.api.routes import Routes, reply
from relaybay.api.serving import ServerThread, make_app
from tests.api.wire import Wire


@pytest.fixture
def keys() -> Keys:
    return Keys(*(secrets.token_urlsafe(32) for _ in range(3)))


@pytest.fixture
def socket_path() -> Iterator[Path]:
    # pytest's own folders are too deep for a socket's name.
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    yield folder / "relaybay.sock"
    shutil.rmtree(folder)


class Clock:
    def __init__(self) -> None:
        self.us = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.us


class Made(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str
    count: int = Field(default=1, ge=1, le=9)


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")
    limit: int = Field(default=10, ge=1, le=50)
    tag: list[str] = Field(default_factory=list)


class Thing(BaseModel):
    id: str
    text: str
    count: int


@dataclass
class Rig:
    """A server with one route per door, whose handlers say who called and count the calls."""

    server: ServerThread
    gate: Gate
    keys: Keys
    clock: Clock
    calls: list[str]
    routes: Routes
    tcp: Wire
    unix: Wire

    def login(self) -> tuple[dict[str, str], dict[str, str]]:
        """Headers of a browser with a login: for reading, and for writing."""
        cookie = self.gate.logins.redeem(self.gate.logins.mint_code())
        assert cookie is not None
        reading = {"Cookie": f"relaybay_session={cookie}"}
        return reading, {**reading, "X-CSRF-Token": self.gate.logins.csrf_token(cookie)}

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys.token}"}

    @property
    def hook_bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys.hook_key}"}

    @property
    def owner(self) -> dict[str, str]:
        return {"X-Relaybay-Owner": self.keys.owner_key}


def build(keys: Keys, clock: Clock, calls: list[str]) -> tuple[Routes, Gate]:
    app = make_app()
    routes = Routes(app)

    def unauthorized_page(request: Request, answer: object) -> HTTPResponse:
        return HTTPResponse("<p>relaybay open</p>", status=401, content_type="text/html; charset=utf-8")

    gate = Gate(keys, now_us=clock, page=unauthorized_page, limits=BodyLimits(body_seconds_max=1.0))

    async def echo(request: Request, **path: str) -> HTTPResponse:
        calls.append(f"{request.method} {request.path}")
        caller = request.ctx.caller
        return reply({"kind": caller.kind, "same_user": caller.same_user, "bytes": len(request.body), "path": path})

    async def make(request: Request, body: Made) -> HTTPResponse:
        calls.append("make")
        return reply(Thing(id="1", text=body.text, count=body.count), 201)

    async def find(request: Request, key: str, query: Asked) -> HTTPResponse:
        return reply({"key": key, "limit": query.limit, "tag": query.tag})

    async def event(request: Request) -> HTTPResponse:
        read = read_object(request, unique_keys=False)
        return reply({"bytes": len(request.body)}) if isinstance(read, dict) else problem(read)

    async def login(request: Request) -> HTTPResponse:
        return gate.log_in(request.args.get("code", ""))

    async def fail(request: Request) -> HTTPResponse:
        raise RuntimeError("secret inside")

    async def log_out(request: Request) -> HTTPResponse:
        return gate.log_out(request)

    routes.op("GET", "/healthz", "healthz", echo, door="open")
    routes.op("GET", "/login", "login", login, door="open", head=False)
    routes.op("GET", "/static/app.js", "static", echo, door="open", cache="public, max-age=60")
    routes.op("GET", "/", "board", echo, door="board")
    routes.op("POST", "/tasks/<key:str>/comments", "board_comment", echo, door="board")
    routes.op("POST", "/logout", "log_out", log_out, door="board")
    routes.op("GET", "/api/v1/things", "list_things", echo, door="api", responses={200: Thing})
    link = {"Find": {"operationId": "find_thing", "parameters": {"key": "$response.body#/id"}}}
    routes.op("POST", "/api/v1/things", "make_thing", make, door="api", body=Made, responses={201: Thing}, links=link)
    routes.op("GET", "/api/v1/things/<key:str>", "find_thing", find, door="api", query=Asked, responses={200: Thing})
    routes.op("DELETE", "/api/v1/things/<key:str>", "drop_thing", echo, door="api", responses={204: None})
    routes.op("GET", "/api/v1/fail", "fail", fail, door="open", documented=False)
    routes.op("POST", "/hooks/claude-code", "hook", event, door="hooks")
    routes.op("POST", "/mcp", "mcp", echo, door="mcp")
    gate.install(app)
    return routes, gate


@pytest.fixture
def rig(keys: Keys, socket_path: Path) -> Iterator[Rig]:
    clock, calls = Clock(), []
    routes, gate = build(keys, clock, calls)
    with ServerThread(routes.app, socket_path=socket_path) as server:
        yield Rig(server, gate, keys, clock, calls, routes, Wire(server.port), Wire(socket_path))
