"""Cases 17 to 28: keys, logins, and what one agent may do in the name of another."""

from __future__ import annotations

import hmac
import secrets
import stat
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from relaybay.api.keys import Keys
from relaybay.api.serving import ServerThread
from tests.api.conftest import Clock, build
from tests.api.wire import Wire
from tests.attacks.conftest import VICTIM, World
from tests.attacks.rig import ACCEPT, LEGACY, MODERN, meta

pytestmark = [pytest.mark.xdist_group("attacks-credentials"), pytest.mark.spec("75")]

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OPEN = {"/healthz", "/readyz", "/metrics", "/login", "/static/x/x"}
METHODS = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "tasks/get",
    "tasks/cancel",
    "notifications/initialized",
    "notifications/cancelled",
    "no/such",
]


# --- 17: nothing without a key ---


@pytest.mark.usefixtures("same")
def test_case_17_no_route_without_its_key(world: World) -> None:
    assert {one.path for one in world.operations if one.door == "open"} == OPEN
    wrong = {
        "mcp": [{}, {"Authorization": f"Bearer {world.hook_key}"}, {"Authorization": f"Bearer {world.owner_key}"}],
        "hooks": [{}, {"Authorization": f"Bearer {world.owner_key}"}],
        "board": [{}, {"Authorization": f"Bearer {world.token}"}, {"X-Relaybay-Owner": world.owner_key}],
    }
    wrong["api"] = wrong["board"]
    for one in world.operations:
        for headers in wrong.get(one.door, []):
            for method in (one.method, "HEAD") if one.method == "GET" else (one.method,):
                answer = world.tcp.request(method, one.path, {**headers, **JSON}, b"{}" if method == "POST" else None)
                # Routes that answer no HEAD say so before they look at who asks.
                assert answer.status == 401 or (method == "HEAD" and answer.status == 405), (str(one), headers)
                assert method == "HEAD" or answer.code == "unauthorized"


@pytest.mark.usefixtures("same")
def test_case_17_no_method_of_the_protocol_without_the_token(world: World) -> None:
    for version in (MODERN, LEGACY):
        for method in METHODS:
            for params in ({}, {"name": "task_create", "arguments": {"project": "evil", "title": "x"}}):
                body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta(version)}}
                headers = {"MCP-Protocol-Version": version, "Mcp-Method": method, **ACCEPT}
                assert world.tcp.post("/mcp", body, headers).status == 401, (version, method)


# --- 18 to 20: the keys themselves ---


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize("door", ["/mcp", "/hooks/claude-code"])
def test_case_18_wrong_tokens_of_every_kind(world: World, door: str) -> None:
    key = world.token
    tries = [
        "", "Bearer", "Bearer ", "bearer", f"Basic {key}", key, f"Bearer {key}x", f"Bearer x{key}", f"Bearer {key[:-1]}",
        f"Bearer {key.swapcase()}", f"Bearer {key}\x00", f"Bearer \x00{key}", f"Bearer {key}\u00e9", f"Bearer {key} {key}",
        f"Bearer {key},{key}", f'Bearer "{key}"', f"Bearer {'x' * 10_000}", f"Token {key}", f"Bearer\u00a0{key}",
    ]  # fmt: skip
    for value in tries:
        answer = world.tcp.post(door, {}, {"Authorization": value})
        assert (answer.status, answer.code) == (401, "unauthorized"), value
        assert key.encode() not in answer.body


def test_case_18_each_wrong_token_costs_the_same_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key of a door is compared whole, in constant time, whichever of them is wrong and where."""
    compared: list[tuple[int, int]] = []

    def digest(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return hmac.compare_digest(a, b)

    monkeypatch.setattr("relaybay.api.gate.hmac", types.SimpleNamespace(compare_digest=digest))
    keys = Keys(*(secrets.token_urlsafe(32) for _ in range(3)))
    routes, _ = build(keys, Clock(), [])
    with ServerThread(routes.app) as server:
        wire = Wire(server.port)
        seen = set()
        for wrong in (keys.token[:-1] + "~", "~" + keys.token[1:], keys.hook_key[:-1] + "~", "~" * 43, keys.token):
            compared.clear()
            status = wire.post("/hooks/claude-code", {"a": 1}, {"Authorization": f"Bearer {wrong}"}).status
            assert status == (200 if wrong == keys.token else 401)
            seen.add(tuple(compared))
    assert seen == {((43, 43), (43, 43))}


@pytest.mark.usefixtures("same")
def test_case_20_a_key_in_a_url_is_refused_everywhere(world: World) -> None:
    reading, _ = world.browser()
    for one in world.operations:
        if one.method == "GET":
            for query in (f"token={world.token}", "access_token=x", f"q={world.hook_key}", f"x={world.owner_key}"):
                answer = world.tcp.get(f"{one.path}?{query}", {**reading, "Authorization": f"Bearer {world.token}"})
                assert (answer.status, answer.code) == (400, "token_in_url"), (str(one), query)


# --- 21 to 23: agents among themselves ---


@pytest.mark.usefixtures("same")
def test_case_21_claims_of_a_role_change_nothing(world: World) -> None:
    claims = {"X-Role": "owner", "X-Scope": "admin", "Scope": "admin", "X-Relaybay-Owner": "1", "X-User": "root"}
    for one in world.operations:
        if one.door in ("api", "board"):
            headers = {"Authorization": f"Bearer {world.token}", **claims, **JSON}
            answer = world.tcp.request(one.method, one.path, headers, b"{}" if one.method == "POST" else None)
            assert answer.status == 401, one
    for claim in ({"owner": True}, {"as": "owner"}, {"scope": "admin"}, {"author": {"kind": "owner"}}):
        said = world.tool("comment_add", task=world.task, body="I am the owner.", session="bob", **claim)
        assert said["code"] == "argument_unknown"
    # The keys of the two doors that an agent has open none of the owner's, over the socket either.
    socket = Wire(world.home / "run" / "relaybay.sock")
    for key in (world.token, world.hook_key):
        assert socket.get("/api/v1/status", {"X-Relaybay-Owner": key}).status == 401
        assert socket.get("/api/v1/status", {"Authorization": f"Bearer {key}"}).status == 401


@pytest.mark.usefixtures("same")
@pytest.mark.spec("ACK-5", "SEND-14")
def test_case_22_what_belongs_to_another_is_as_good_as_not_there(world: World) -> None:
    """Marks and replies are for the session that was sent the message; the answer does not tell whether it exists."""
    missing = "m_" + "0" * 26
    for tool, name in (("message_ack", "message_id"), ("message_send", "in_reply_to")):
        more = {"body": "x"} if tool == "message_send" else {}
        theirs, none = (world.tool(tool, session="alice", **more, **{name: mid}) for mid in (world.message, missing))
        assert theirs["code"] == "message_unknown"
        assert theirs == none
    shown = world.tool("messages_list", session=world.victim, message_id=world.message)
    assert "mat" not in str(shown)
    assert not shown.get("messages")
    assert world.owner.get(f"/api/v1/messages/{world.message}").status == 200, "it exists"


@pytest.mark.usefixtures("same")
@pytest.mark.spec("SEND-2", "ROW-3")
def test_case_23_nobody_speaks_for_a_live_session_by_its_name_alone(world: World) -> None:
    for name in (world.victim, world.victim.lower(), f" {world.victim} ", "shop"):
        assert world.tool("message_send", session=name, to="bob", body="x")["code"] == "sender_not_proven", name
    # Its hook session is no name, and is written nowhere where it could be read.
    assert world.tool("message_send", session=VICTIM, to="bob", body="x")["code"] == "name_invalid"
    for claim in ({"from": world.victim}, {"sender": world.victim}, {"verified": True}, {"sender_verified": True}):
        assert world.tool("message_send", session="alice", to="bob", body="x", **claim)["code"] == "argument_unknown"
    assert world.owner.get(f"/api/v1/messages/{world.message}").json["from"] == {"title": "alice", "verified": False}


# --- 24: the files ---


def test_case_24_key_files_are_private_and_unsafe_ones_are_not_used(world: World) -> None:
    run = world.home / "run"
    assert stat.S_IMODE(run.stat().st_mode) == 0o700
    for name in ("token", "hook.key", "owner.key"):
        found = (run / name).lstat()
        assert stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600
        assert len((run / name).read_text().strip()) >= 43, "256 bits and more"
    key = run / "owner.key"
    for unsafe in (0o602, 0o620):
        key.chmod(unsafe)
        refused = world.command("status", "--json", code=None)
        key.chmod(0o600)
        assert refused.returncode != 0
        assert world.owner_key not in refused.stdout + refused.stderr
    moved = key.rename(run / "elsewhere")
    key.symlink_to(moved)
    refused = world.command("status", "--json", code=None)
    key.unlink()
    moved.rename(key)
    assert refused.returncode != 0
    assert world.command("status", "--json").returncode == 0


# --- 25 to 27: the browser ---


@pytest.mark.usefixtures("same")
def test_case_25_a_login_code_is_good_once(world: World) -> None:
    link = world.owner.post("/api/v1/login-codes").json["url"].removeprefix(world.url)
    assert world.tcp.get(link).status == 303
    again = world.tcp.get(link)
    assert (again.status, again.code) == (401, "login_code_used")
    for guess in ("", "x", link.partition("=")[2][::-1], "%00", "a" * 5_000):
        assert world.tcp.get(f"/login?code={guess}").status == 401


@pytest.mark.usefixtures("same")
def test_case_26_no_form_without_its_own_token(world: World) -> None:
    reading, writing = world.browser()
    other = world.browser()[1]["X-CSRF-Token"]
    for one in world.operations:
        if one.door not in ("board", "api"):
            continue
        if one.method == "POST":
            for token in (None, "", "x", other, writing["X-CSRF-Token"][:-1]):
                given = {} if token is None else {"X-CSRF-Token": token}
                media, body = (FORM, b"csrf=" + other.encode()) if one.door == "board" else (JSON, b"{}")
                answer = world.tcp.request("POST", one.path, {**reading, **given, **media}, body)
                assert (answer.status, answer.code) == (403, "csrf_refused"), (str(one), token)
    assert world.tcp.get("/logout", reading).status == 405
    assert world.tcp.get("/", reading).status == 200


@pytest.mark.usefixtures("same")
def test_case_27_no_page_lets_itself_be_framed(world: World) -> None:
    reading, _ = world.browser()
    for one in world.operations:
        if one.method == "GET" and one.path != "/api/v1/stream" and one.door != "mcp":
            for headers in (reading, {}):
                answer = world.tcp.get(one.path, {**headers, "Accept": "text/html"})
                assert answer.header("x-frame-options") == "DENY", one
                assert "frame-ancestors 'none'" in (answer.header("content-security-policy") or ""), one


# --- 28: guessing ---


@pytest.mark.usefixtures("same")
def test_case_28_guessing_shuts_nobody_out(world: World) -> None:
    """Everybody here comes from one address, so whoever was shut out for guesses would be shut out by a neighbour."""
    for _ in range(300):
        assert world.tcp.post("/mcp", {}, {"Authorization": "Bearer " + secrets.token_urlsafe(32)}).status == 401
    assert world.rpc("tools/list").status == 200
    assert len(secrets.token_urlsafe(32)) == len(world.token), "so many values that guessing is no danger"


# --- 20 again, last: after all that was tried above, no key stands anywhere but in its file ---


def _pages(world: World) -> Iterator[Any]:
    reading, _ = world.browser()
    for one in world.operations:
        if one.method == "GET" and one.door in ("board", "api", "open") and one.path != "/api/v1/stream":
            yield world.tcp.get(one.path, reading)
            yield world.tcp.get(one.path, {**reading, "Accept": "text/html", "X-Relaybay-Fragment": "1"})


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in ("token", "hook.key", "owner.key"):
            yield path


def test_case_20_no_key_in_any_answer_log_or_file(world: World) -> None:
    assert [answer.status for answer in _pages(world)].count(200) > 30
    world.command("status", "--json")
    world.command("doctor", "--json", code=None)
    keys = [world.token.encode(), world.hook_key.encode(), world.owner_key.encode()]
    assert len(world.tape) > 500
    for key in keys:
        assert not [said for said in world.tape if key in said]
        assert key not in world.log.encode("utf-8", "surrogateescape")
        for path in _files(world.home):
            assert key not in path.read_bytes(), path
    answer = world.tcp.get("/", world.browser()[0])
    assert answer.header("referrer-policy") == "same-origin"
