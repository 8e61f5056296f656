"""Cases 1 to 16: who may reach the server at all."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from tests.api.wire import read_head
from tests.attacks.conftest import World
from tests.attacks.rig import Product

pytestmark = [pytest.mark.xdist_group("attacks-reach"), pytest.mark.spec("75")]

JSON = {"Content-Type": "application/json"}
EVIL = "http://evil.example"


def everything(world: World) -> list[tuple[str, str]]:
    """Method and path of each route, and of what is none."""
    known = [(one.method, one.path) for one in world.operations]
    return [*known, ("GET", "/api"), ("GET", "/nowhere"), ("HEAD", "/"), ("OPTIONS", "/api/v1/tasks")]


def with_every_key(world: World) -> dict[str, str]:
    """An attacker who got a browser to send all that it has."""
    return {"Authorization": f"Bearer {world.token}", **world.browser()[1], **JSON}


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize("host", ["evil.example", "rebind.example:{port}"])
def test_case_1_and_2_foreign_hosts_and_rebinding_reach_no_route(world: World, host: str) -> None:
    headers = with_every_key(world)
    for method, path in everything(world):
        body = b"{}" if method == "POST" else None
        answer = world.tcp.request(method, path, headers, body, host=host.format(port=world.port))
        assert answer.status == 421, (method, path)
        assert method == "HEAD" or answer.code == "host_refused"


@pytest.mark.usefixtures("same")
def test_case_3_no_host_an_empty_one_or_two(world: World) -> None:
    own = f"127.0.0.1:{world.port}"
    for more in ({"host": None}, {"host": " "}):
        assert world.tcp.get("/healthz", **more).status == 400
    assert world.tcp.get("/healthz", [("Host", own)]).status == 400
    assert world.tcp.get("/healthz", [("Host", "evil.example")]).status == 400


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:{port}.evil.com",
        "localhost.evil.com:{port}",
        "127.1:{port}",
        "2130706433:{port}",
        "0x7f.1:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "127.0.0.1:{port}@evil.example",
        "127.0.0.1:{port}#",
        "127.0.0.1:0{port}",
    ],
)
def test_case_4_hosts_that_look_like_ours(world: World, host: str) -> None:
    assert world.tcp.get("/healthz", host=host.format(port=world.port)).status == 421


@pytest.mark.usefixtures("same")
def test_case_5_hosts_without_the_port_or_with_another(world: World) -> None:
    for host in ("127.0.0.1", "localhost", "[::1]", "127.0.0.1:80", f"127.0.0.1:{world.port + 1}", "127.0.0.1:"):
        assert world.tcp.get("/healthz", host=host).status == 421, host


@pytest.mark.usefixtures("same")
def test_case_6_a_second_authority_in_the_request_line(world: World) -> None:
    own = f"http://127.0.0.1:{world.port}/healthz"
    # Two of these were no target to the library under the server: it closed without a word and logged a trace.
    for target in ("http://evil.example/healthz", own, "*", "evil.example:443", "evil.example/healthz", "healthz"):
        head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\n\r\n"
        assert world.tcp.raw(head.encode()).status in (400, 421), target


@pytest.mark.usefixtures("same")
def test_case_7_headers_of_a_proxy_change_nothing(world: World) -> None:
    marks = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-For": "6.6.6.6",
        "X-Real-Ip": "6.6.6.6",
        "Forwarded": "for=6.6.6.6;host=evil.example",
        "X-Original-URL": "/api/v1/tasks",
        "X-Rewrite-URL": "/api/v1/tasks",
    }
    assert world.tcp.get("/healthz", marks).json == world.tcp.get("/healthz").json
    own = f"127.0.0.1:{world.port}"
    ours = dict.fromkeys(("X-Forwarded-Host", "X-Forwarded-Server", "X-Host"), own)
    assert world.tcp.get("/healthz", ours, host="evil.example").status == 421
    assert "6.6.6.6" not in world.log
    assert "evil.example" not in world.log


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:3000", "https://localhost:{port}", "file://", ""])
def test_case_8_to_10_foreign_origins_reach_no_route(world: World, origin: str) -> None:
    headers = {**with_every_key(world), "Origin": origin.format(port=world.port)}
    for method, path in everything(world):
        answer = world.tcp.request(method, path, headers, b"{}" if method == "POST" else None)
        assert answer.status == 403, (method, path)
        assert method == "HEAD" or answer.code == "origin_refused"
        assert not [name for name, _ in answer.headers if name.startswith("access-control")]


@pytest.mark.usefixtures("same")
def test_case_11_there_is_no_websocket(world: World) -> None:
    key = secrets.token_urlsafe(16)
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13"}
    for origin in ({}, {"Origin": "null"}, {"Origin": EVIL}, {"Origin": f"http://localhost:{world.port}"}):
        for path in ("/", "/mcp", "/api/v1/stream", "/ws"):
            answer = world.tcp.get(path, {**with_every_key(world), **upgrade, **origin})
            assert answer.status == 403, (path, origin)


@pytest.mark.usefixtures("same")
def test_case_12_a_foreign_pages_event_source_gets_no_byte(world: World) -> None:
    reading, _ = world.browser()
    for foreign in ({"Origin": EVIL}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        answer = world.tcp.get("/api/v1/stream", {**reading, **foreign, "Accept": "text/event-stream"})
        assert answer.status == 403
        assert b"event:" not in answer.body
    # The own page's is answered: what was refused above was refused for where it came from.
    with world.tcp.connect() as connection:
        lines = [
            f"Host: 127.0.0.1:{world.port}",
            f"Cookie: {reading['Cookie']}",
            f"Origin: http://127.0.0.1:{world.port}",
        ]
        connection.sendall("\r\n".join(["GET /api/v1/stream HTTP/1.1", *lines, "", ""]).encode())
        with connection.makefile("rb") as file:
            assert read_head(file)[0] == 200


@pytest.mark.usefixtures("same")
@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("application/x-www-form-urlencoded", b"body=x"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="body"\r\n\r\nx\r\n--x--\r\n',
        ),
        ("text/plain", b'{"body": "x"}'),
    ],
)
def test_case_13_forms_of_foreign_pages(world: World, media: str, body: bytes) -> None:
    _, writing = world.browser()
    headers = {"Authorization": f"Bearer {world.token}", **writing, "Content-Type": media}
    for one in world.operations:
        if one.method != "POST":
            continue
        assert world.tcp.request("POST", one.path, {**headers, "Origin": EVIL}, body).status == 403
        if one.door not in ("board", "open") or not media.startswith("application/"):
            answer = world.tcp.request("POST", one.path, headers, body)
            if media.startswith("multipart/") and one.path.endswith("/files"):
                # The one form that brings a file. It came with the owner's own token here, and without a file.
                assert answer.status == 422, one
                continue
            assert (answer.status, answer.code) == (415, "content_type_refused"), one


@pytest.mark.usefixtures("same")
def test_case_14_a_preflight_is_allowed_nothing(world: World) -> None:
    for one in world.operations:
        asked = {"Access-Control-Request-Method": one.method, "Access-Control-Request-Headers": "authorization"}
        answer = world.tcp.request("OPTIONS", one.path, {"Origin": EVIL, **asked})
        assert answer.status == 403, one
        assert not [name for name, _ in answer.headers if name.startswith("access-control") or name == "allow"]


@pytest.mark.usefixtures("same")
def test_case_15_pictures_and_scripts_of_other_pages(world: World) -> None:
    reading, _ = world.browser()
    shown = {one.path for one in world.operations if one.method == "GET"}
    for one in world.operations:
        if one.method == "POST" and one.path not in shown:
            assert world.tcp.get(one.path, reading).status == 405, one
    answers = [
        world.tcp.get("/api/v1/tasks", reading),
        world.tcp.get("/board.json", reading),
        world.tcp.get("/healthz"),
    ]
    for answer in answers:
        assert answer.status == 200
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("cross-origin-resource-policy") == "same-origin"
    assert world.tcp.get("/api/v1/tasks", {**reading, "Sec-Fetch-Site": "cross-site"}).status == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_case_16_it_does_not_start_on_an_open_address(host: str) -> None:
    product = Product(env={"RELAYBAY_SERVER_HOST": host})
    done: Any = product.command("up", "--foreground", "--port", "0", "--json", code=None)
    assert done.returncode != 0
    assert "url" not in done.stdout
    assert "127.0.0.1" in done.stdout + done.stderr
    assert not (product.home / "run" / "server.json").exists()
    product.remove()
