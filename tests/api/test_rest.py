"""The JSON API over the doors it has: every route on a real store, what it refuses, and that answers fit its document."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from tests.api.mcp_rig import Served, good, serve, stop
from tests.api.wire import Wire


@pytest.fixture
def served(tmp_path, socket_path) -> Iterator[Served]:
    one = serve(tmp_path, socket_path=socket_path)
    yield one
    stop(one)


def checked(served: Served, method: str, path: str, value: Any, status: int = 200) -> Any:
    """The value, after holding it against what the OpenAPI document says of this operation's answer."""
    described = served.document
    schema = described["paths"][path][method.lower()]["responses"][str(status)]["content"]["application/json"]["schema"]
    whole = {**schema, "components": described["components"]}
    jsonschema.Draft202012Validator(whole).validate(value)
    return value


@pytest.mark.spec("ROW-6", "LINK-20", "75")
def test_the_owner_adds_names_ends_and_unlinks_sessions(served) -> None:
    made = served.owner.post("/api/v1/sessions", {"desktop": "d-1", "title": "Shop", "alias": "shop", "cwd": "/tmp"})
    assert made.status == 201
    ref = checked(served, "POST", "/api/v1/sessions", made.json, 201)["ref"]
    assert served.get(f"sessions/{ref}")["title"] == "Shop"
    assert served.get("sessions/shop")["ref"] == ref
    renamed = served.post(f"sessions/{ref}/rename", title="Till")
    assert renamed["title"] == "Till" and "Shop" in renamed["aliases"]
    listed = checked(served, "GET", "/api/v1/sessions", served.get("sessions"))
    assert [one["ref"] for one in listed["sessions"]] == [ref]
    assert served.get("sessions?live=1")["sessions"] == []
    assert served.post(f"sessions/{ref}/unlink")["link"] == "none"
    assert served.owner.get("/api/v1/sessions/nobody").status == 404
    taken = served.owner.post("/api/v1/sessions", {"desktop": "d-1", "title": "Other"})
    assert taken.status >= 400 and taken.json["spec_id"] == "ROW-6"


@pytest.mark.spec("CMT-1", "CMT-2", "CMT-12", "CMT-10", "75")
def test_projects_tasks_and_comments(served) -> None:
    project = served.post("projects", slug="shop", title="The shop")
    assert project["slug"] == "shop"
    checked(served, "GET", "/api/v1/projects", served.get("projects"))
    made = served.owner.post("/api/v1/tasks", {"project": "shop", "title": "Paint", "body": "*blue*"})
    key = checked(served, "POST", "/api/v1/tasks", made.json, 201)["key"]
    assert (made.status, key) == (201, "shop-1")
    changed = served.post(f"tasks/{key}", status="doing", step_add="buy")
    assert changed["status"] == "doing" and [s["n"] for s in changed["steps"]] == [1]
    assert served.post(f"tasks/{key}", step_done=1.0)["steps"][0]["done"] is True
    session = served.post("sessions", desktop="d", title="Painter")["ref"]
    assert served.post(f"tasks/{key}/bind", session="Painter")["session"]["ref"] == session
    listed = checked(served, "GET", "/api/v1/tasks", served.get("tasks?project=shop&status=doing&session=Painter"))
    assert [one["key"] for one in listed["tasks"]] == [key]
    comment = served.post(f"tasks/{key}/comments", body="hurry", step=1)
    assert comment["state"] == "sent" and comment["step"] == 1
    shown = checked(served, "GET", "/api/v1/tasks/{key}", served.get(f"tasks/{key}"))
    assert [one["id"] for one in shown["comments"]] == [comment["id"]]
    checked(served, "GET", "/api/v1/comments", served.get(f"comments?task={key}&unread_only=1&limit=5"))
    # On the command line a comment stands at once; in a browser it can be taken back.
    late = served.owner.post(f"/api/v1/comments/{comment['id']}/withdraw", {})
    assert (late.code, late.json["spec_id"]) == ("too_late", "CMT-19")
    browser = served.browser()
    fresh = good(browser.post(f"/api/v1/tasks/{key}/comments", {"body": "oops"}))
    assert good(browser.post(f"/api/v1/comments/{fresh['id']}/withdraw", {}))["text"]
    assert served.post(f"tasks/{key}/replies/read")["read"] == 0
    assert "session" not in served.post(f"tasks/{key}/unbind")


@pytest.mark.spec("CMT-11", "CMT-10")
def test_an_agents_reply_stands_in_the_inbox_until_the_owner_has_read_it(served) -> None:
    served.post("tasks", project="shop", title="Paint")
    reply = served.call("auto", "comment_add", task="shop-1", body="done?", session="painter")
    inbox = checked(served, "GET", "/api/v1/inbox", served.get("inbox"))
    assert [(one["ref"], one["action"]) for one in inbox["entries"]] == [(reply["id"], "replies_read")]
    assert served.post("tasks/shop-1/replies/read")["read"] == 1
    assert served.get("inbox")["count"] == 0
    nothing = served.owner.post("/api/v1/inbox/seen", {"kind": "reply_too_deep", "ref": "m_x"})
    assert nothing.code == "argument_invalid"


@pytest.mark.spec("75", "TEXT-5")
def test_messages_are_seen_with_their_marks(served) -> None:
    served.post("sessions", desktop="d", title="b")
    sent = served.call("auto", "message_send", session="a", to="b", body="<hi>")
    listed = checked(served, "GET", "/api/v1/messages", served.get("messages"))
    assert [one["message_id"] for one in listed["messages"]] == [sent["message_id"]]
    one = checked(served, "GET", "/api/v1/messages/{message_id}", served.get(f"messages/{sent['message_id']}"))
    assert one["body"] == '"\\u003chi\\u003e"' and one["state"] == "sent"
    assert served.get("messages?session=a&box=in")["messages"] == []
    assert len(served.get("messages?session=a&box=out")["messages"]) == 1
    assert served.owner.get("/api/v1/messages/m_nothing").status == 404
    # Looking is no reading, and gives nothing to anybody.
    assert served.call("auto", "message_ack", session="b")["acknowledged"] == []


REFUSED = [
    ("GET", "sessions?live=yes", None, 422, "argument_invalid"),
    ("GET", "sessions?alive=1", None, 422, "argument_unknown"),
    ("GET", "tasks?limit=0", None, 422, "argument_invalid"),
    ("GET", "tasks?limit=1_0", None, 422, "argument_invalid"),
    ("GET", "tasks?status=open", None, 422, "argument_invalid"),
    ("GET", "tasks?project=none", None, 404, "project_unknown"),
    ("GET", "tasks/none-1", None, 404, "task_unknown"),
    ("GET", "messages?box=IN", None, 422, "argument_invalid"),
    ("GET", "comments", None, 422, "argument_invalid"),
    ("GET", "events?cursor=x", None, 422, "cursor_invalid"),
    ("GET", "events?wait_s=26", None, 422, "argument_invalid"),
    ("POST", "tasks", {"project": "p", "title": "t", "state": "x"}, 422, "argument_unknown"),
    ("POST", "tasks", {"project": "p", "title": 1}, 422, "argument_invalid"),
    ("POST", "tasks", {"project": "Not A Slug", "title": "t"}, 422, "project_unknown"),
    ("POST", "tasks", ["x"], 400, "body_not_object"),
    ("POST", "tasks/none-1/comments", {"body": "x"}, 404, "task_unknown"),
    ("POST", "tasks/none-1/bind", {"session": "x"}, 404, "task_unknown"),
    ("GET", "nothing", None, 404, "not_found"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), REFUSED)
@pytest.mark.spec("75")
def test_what_is_refused_is_a_problem_with_its_code(served, method, path, body, status, code) -> None:
    url = f"/api/v1/{path}"
    answer = served.owner.get(url) if method == "GET" else served.owner.post(url, body)
    assert (answer.status, answer.code) == (status, code), answer.body
    assert answer.json["detail"] and answer.json["spec_id"]


@pytest.mark.spec("75", "CH-10")
def test_only_the_owner_passes_the_door(served) -> None:
    bearer = Wire(served.server.port, {"Authorization": f"Bearer {served.keys.token}"})
    operations = [one for one in served.routes.operations if one.path.startswith("/api/")]
    assert len(operations) >= 29
    for one in operations:
        assert one.door == "api", one.path
        path = one.path.replace("<key:str>", "x-1").replace("<ref:str>", "S-1")
        path = path.replace("<comment_id:str>", "c_1").replace("<message_id:str>", "m_1")
        answer = bearer.get(path) if one.method == "GET" else bearer.post(path, {})
        assert answer.status == 401, path
    shell = Wire(served.owner.address, {**served.owner.headers, "X-Relaybay-Agent-Shell": "1"})
    assert shell.get("/api/v1/status").code == "owner_only"


@pytest.mark.spec("75")
def test_status_login_and_the_document(served) -> None:
    status = checked(served, "GET", "/api/v1/status", served.get("status"))
    assert status["url"] == served.server.url and status["mcp_url"] == f"{served.server.url}/mcp"
    assert status["database"] == str(served.paths.database)
    link = checked(served, "POST", "/api/v1/login-codes", served.post("login-codes"), 201)["url"]
    code = link.removeprefix(f"{served.server.url}/login?code=")
    assert served.gate.logins.redeem(code) and not served.gate.logins.redeem(code)
    described = served.get("openapi.json")
    assert described["openapi"] == "3.1.0" and "/api/v1/tasks/{key}" in described["paths"]
    for text in (json.dumps(status), json.dumps(described)):
        assert all(secret not in text for secret in (served.keys.token, served.keys.hook_key, served.keys.owner_key))


@pytest.mark.spec("75")
def test_a_rotation_shuts_the_old_keys_out_at_once(served) -> None:
    old = {"Authorization": f"Bearer {served.keys.token}", "Accept": "application/json, text/event-stream"}
    wire = Wire(served.server.port, old)
    assert wire.post("/mcp", {}).status != 401
    said = served.post("token/rotate")
    new = served.paths.token.read_text().strip()
    assert new != served.keys.token and new not in json.dumps(said)
    assert wire.post("/mcp", {}).status == 401
    assert Wire(served.server.port, {**old, "Authorization": f"Bearer {new}"}).post("/mcp", {}).status != 401
    assert served.get("status")["v"] == 1


@pytest.mark.spec("75")
def test_the_doctors_facts(served) -> None:
    facts = checked(served, "GET", "/api/v1/doctor", served.get("doctor"))
    assert facts["integrity"] == "ok" and facts["mcp_seen"] is False and facts["last_events"] == {}
    served.seen.last["claude-code"] = {"Stop": 1_700_000_000_000_000, "PreToolUse": 1_700_000_001_000_000}
    served.call("auto", "tasks_list")
    facts = served.get("doctor")
    assert facts["last_events"] == {"claude-code": "2023-11-14T22:13:21.000000Z"}
    assert facts["mcp_seen"] is True and facts["mcp_last_seen_at"].endswith("Z")


# --- the feed ---


@pytest.mark.spec("75")
def test_the_feed_waits_for_what_was_asked_for(served) -> None:
    cursor = served.get("events")["cursor"]
    begun = time.monotonic()
    assert served.get(f"events?cursor={cursor}&wait_s=1")["events"] == []
    assert 0.9 < time.monotonic() - begun < 15
    later = threading.Timer(0.4, lambda: served.post("projects", slug="shop"))
    after = threading.Timer(0.8, lambda: served.post("tasks", project="shop", title="t"))
    begun = time.monotonic()
    for timer in (later, after):
        timer.start()
    found = checked(served, "GET", "/api/v1/events", served.get(f"events?cursor={cursor}&wait_s=20&types=task.*,x"))
    assert [one["type"] for one in found["events"]] == ["task.created"]
    assert 0.7 < time.monotonic() - begun < 15
    assert served.get(f"events?cursor={found['cursor']}")["events"] == []
    both = served.get(f"events?cursor={cursor}&types=task.created&types=project.added")["events"]
    assert [one["type"] for one in both] == ["project.added", "task.created"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.spec("75")
def test_a_long_poll_of_a_tool_ends_when_something_happens(served, mode: str) -> None:
    cursor = served.call(mode, "events_since")["cursor"]
    timer = threading.Timer(0.4, lambda: served.post("tasks", project="shop", title="t"))
    timer.start()
    begun = time.monotonic()
    found = served.call(mode, "events_since", cursor=cursor, wait_s=20, types=["task.created"])
    assert [one["data"]["task"] for one in found["events"]] == ["shop-1"]
    assert 0.3 < time.monotonic() - begun < 15
    assert served.commits.count == 0


@pytest.mark.spec("75")
def test_a_long_poll_does_not_hold_the_servers_end_up(tmp_path, socket_path) -> None:
    one = serve(tmp_path, socket_path=socket_path)
    cursor = one.get("events")["cursor"]
    answers: list[Any] = []
    waiting = threading.Thread(target=lambda: answers.append(one.get(f"events?cursor={cursor}&wait_s=25")))
    waiting.start()
    wait_for(lambda: one.commits.count == 1)
    begun = time.monotonic()
    stop(one)
    waiting.join(5)
    assert time.monotonic() - begun < 15
    assert answers and answers[0]["events"] == []


def wait_for(condition, seconds: float = 5) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)


# --- stream and metrics ---


def pieces(served: Served, count: int, act=lambda: None) -> list[str]:
    """The first `count` pieces of the stream; `act` runs after the first."""
    with served.owner.connect() as connection:
        key = served.keys.owner_key
        connection.sendall(
            f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nX-Relaybay-Owner: {key}\r\n\r\n".encode()
        )
        data = b""
        acted = False
        while data.count(b"\n\n") < count:
            data += connection.recv(4096)
            if b"hello" in data and not acted:
                acted = True
                act()
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"text/event-stream" in head and b"no-store" in head
    text = b"".join(line for line in body.splitlines(keepends=True) if not line.endswith(b"\r\n")).decode()
    return text.split("\n\n")[:count]


@pytest.mark.spec("70")
def test_the_stream_names_what_changed_and_no_text(served) -> None:
    def act() -> None:
        served.post("tasks", project="shop", title="a secret title")

    hello, changed = pieces(served, 2, act)
    assert "event: hello" in hello
    names = json.loads(changed.partition("data: ")[2])["names"]
    assert {"task.created", "task:shop-1"} <= set(names) and "secret" not in changed
    wait_for(lambda: served.commits.count == 0)


@pytest.mark.spec("70")
def test_a_silent_stream_pings(tmp_path, socket_path) -> None:
    one = serve(tmp_path, socket_path=socket_path, ping_seconds=0.1)
    try:
        assert pieces(one, 3)[1:] == [": ping", ": ping"]
    finally:
        stop(one)


@pytest.mark.spec("70", "75")
def test_a_stream_ends_with_its_login(tmp_path, socket_path) -> None:
    """It went on naming tasks and sessions to whoever had logged out, and other tabs took themselves for live."""
    one = serve(tmp_path, socket_path=socket_path, ping_seconds=0.2)
    try:
        cookie = one.gate.logins.redeem(one.gate.logins.mint_code())
        head = f"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1:{one.server.port}\r\nCookie: relaybay_session={cookie}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", one.server.port), timeout=20) as connection:
            connection.sendall(head.encode())
            data = b""
            while b"event: hello" not in data:
                data += connection.recv(4096)
            one.gate.logins.end(cookie)
            one.post("projects", slug="secret")
            while part := connection.recv(4096):
                data += part
                if data.endswith(b"0\r\n\r\n"):
                    break
        assert b"event: changed" not in data and data.endswith(b"0\r\n\r\n")
    finally:
        stop(one)


@pytest.mark.spec("70")
def test_the_stream_says_a_thing_once_and_ends_with_the_server(tmp_path, socket_path) -> None:
    one = serve(tmp_path, socket_path=socket_path, ping_seconds=0.3)
    try:
        told = pieces(one, 4, lambda: one.post("tasks", project="shop", title="t"))
        assert [piece.startswith("event: changed") for piece in told[1:]].count(True) == 1
        with one.owner.connect() as connection:
            head = f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\nX-Relaybay-Owner: {one.keys.owner_key}\r\n\r\n"
            connection.sendall(head.encode())
            wait_for(lambda: one.commits.count >= 1)
            begun = time.monotonic()
            one.server.stop()
            assert time.monotonic() - begun < 10
            data = b""
            while part := connection.recv(4096):
                data += part
            assert data.endswith(b"0\r\n\r\n"), data[-40:]
    finally:
        stop(one)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:{port}"])
@pytest.mark.spec("75")
def test_tools_are_served_over_the_unix_socket_too(served, host: str) -> None:
    """What a client over stdio is connected through."""
    headers = {"Authorization": f"Bearer {served.keys.token}", "Accept": "application/json, text/event-stream"}
    wire = Wire(
        served.owner.address, {**headers, "Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25"}
    )
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    answer = wire.request("POST", "/mcp", body=body, host=host.format(port=served.server.port))
    assert answer.status == 200, answer.body
    assert b"task_bind_session" in answer.body


@pytest.mark.spec("70")
def test_metrics_are_numbers_alone(served) -> None:
    served.post("sessions", desktop="d", title="a secret title")
    served.call("auto", "message_send", session="a", to="a secret title", body="b")
    found = Wire(served.server.port).get("/metrics")
    assert found.status == 200 and found.header("content-type").startswith("text/plain; version=0.0.4")
    text = found.body.decode()
    assert 'relaybay_deliveries{state="sent"} 1' in text
    assert 'relaybay_tool_calls_total{tool="message_send",outcome="done"} 1' in text
    assert "secret" not in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0


@pytest.mark.spec("40", "70", "75")
def test_lists_take_the_filter_of_the_board(served) -> None:
    served.post("projects", slug="shop", title="The shop")
    keys = [
        served.owner.post("/api/v1/tasks", {"project": "shop", "title": t}).json["key"] for t in ("Paint it", "Sand it")
    ]
    served.post("sessions", desktop="d-7", title="Desk seven")
    assert [one["key"] for one in served.get("tasks?q=paint")["tasks"]] == keys[:1]
    assert [one["key"] for one in served.get("tasks?q=it%20sort:old&limit=1")["tasks"]] == keys[:1]
    assert served.get("messages?q=is:undelivered%20from:%22Desk%20seven%22")["messages"] == []
    assert [one["title"] for one in served.get("sessions?q=seven%20state:unknown")["sessions"]] == ["Desk seven"]
    for path in ("tasks?q=is:x", "messages?q=paint", "sessions?q=%22a", "messages?q=from:nobody-at-all"):
        refused = served.owner.get(f"/api/v1/{path}")
        assert (refused.status, refused.json["code"]) == (422, "argument_invalid"), path
        assert "At character " in refused.json["detail"]
