"""The gate over real sockets. Numbers in names are those of the attack list's cases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from sanic import HTTPResponse

from relaybay.api.gate import Gate
from relaybay.api.key_rotation import follow
from relaybay.api.keys import KeyFolder, Keys
from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from tests.api.conftest import Clock, Rig
from tests.api.wire import Wire, read_response

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def every_route(rig: Rig) -> list[tuple[str, str]]:
    """Read from the app, so that a new route cannot be forgotten."""
    found = []
    for route in rig.server.app.router.routes:
        path = "/" + route.path.replace("<key:str>", "k-1")
        found += [(method, path) for method in sorted(route.methods)]
    assert len(found) >= 14
    return found


# --- reach ---


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "rebind.example:{port}",
        "127.0.0.1:{port}.evil.com",
        "localhost.evil.com",
        "127.1:{port}",
        "2130706433:{port}",
        "0x7f.1:{port}",
        "[::ffff:127.0.0.1]:{port}",
        "127.0.0.1",
        "localhost",
        "127.0.0.1:1",
        "127.0.0.1:{port}x",
        "127.0.0.1:{port},evil.example",
    ],
)
@pytest.mark.spec("75")
def test_1_2_4_5_foreign_hosts_are_refused(rig: Rig, host: str) -> None:
    answer = rig.tcp.get("/healthz", host=host.format(port=rig.server.port))
    assert (answer.status, answer.code) == (421, "host_refused")
    assert rig.calls == []


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LocalHost"])
def test_own_hosts_pass(rig: Rig, name: str) -> None:
    assert rig.tcp.get("/healthz", host=f"{name}:{rig.server.port}").status == 200


def test_3_host_missing_empty_or_twice(rig: Rig) -> None:
    own = f"127.0.0.1:{rig.server.port}"
    assert rig.tcp.get("/healthz", host=None).status == 400
    assert rig.tcp.get("/healthz", host=" ").status == 400
    assert rig.tcp.get("/healthz", [("Host", own)]).status == 400
    assert rig.calls == []


def test_6_absolute_form(rig: Rig) -> None:
    own = f"127.0.0.1:{rig.server.port}"
    answer = rig.tcp.raw(f"GET http://evil.example/healthz HTTP/1.1\r\nHost: {own}\r\n\r\n".encode())
    assert (answer.status, answer.code) == (400, "request_malformed")
    assert rig.tcp.raw(f"OPTIONS * HTTP/1.1\r\nHost: {own}\r\n\r\n".encode()).status == 400


def test_7_forwarding_headers_change_nothing(rig: Rig) -> None:
    forwarded = {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example", "X-Original-URL": "/evil"}
    assert rig.tcp.get("/healthz", forwarded).status == 200
    own = {"X-Forwarded-Host": f"127.0.0.1:{rig.server.port}", "Forwarded": f"host=127.0.0.1:{rig.server.port}"}
    assert rig.tcp.get("/healthz", own, host="evil.example").status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:3000", "https://localhost:{port}", ""]
)
@pytest.mark.spec("75")
def test_8_9_10_14_foreign_origins_on_every_route(rig: Rig, origin: str) -> None:
    origin = origin.format(port=rig.server.port)
    for method, path in [*every_route(rig), ("OPTIONS", "/api/v1/things"), ("GET", "/nowhere")]:
        headers = {"Origin": origin, **rig.bearer, **rig.login()[1], **JSON}
        answer = rig.tcp.request(method, path, headers, b"{}" if method == "POST" else None)
        assert answer.status == 403, (method, path)
        if method != "HEAD":
            assert answer.code == "origin_refused"
        assert not [name for name, _ in answer.headers if name.startswith("access-control") or name == "allow"]
    assert rig.calls == []


def test_own_origins_pass_but_not_beside_a_foreign_one(rig: Rig) -> None:
    own = f"http://localhost:{rig.server.port}"
    assert rig.tcp.get("/healthz", {"Origin": own}).status == 200
    assert rig.tcp.get("/healthz", [("Origin", own), ("Origin", "http://evil.example")]).status == 403


@pytest.mark.parametrize(
    ("site", "status"), [("cross-site", 403), ("same-site", 403), ("none", 200), ("same-origin", 200)]
)
def test_12_sec_fetch_site(rig: Rig, site: str, status: int) -> None:
    assert rig.tcp.get("/healthz", {"Sec-Fetch-Site": site}).status == status


def test_11_no_websocket(rig: Rig) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}
    for extra in ({}, {"Origin": "null"}, {"Origin": "http://evil.example"}):
        assert rig.tcp.get("/healthz", {**upgrade, **extra}).status == 403


@pytest.mark.spec("75")
def test_20_secrets_in_the_url(rig: Rig) -> None:
    for query in ("token=x", "ACCESS_TOKEN=x", f"q={rig.keys.token}", f"q={rig.keys.hook_key}"):
        answer = rig.tcp.get(f"/healthz?{query}", rig.bearer)
        assert (answer.status, answer.code) == (400, "token_in_url")
        assert rig.keys.token.encode() not in answer.body
    encoded = "%" + format(ord(rig.keys.token[0]), "x") + rig.keys.token[1:]
    assert rig.tcp.get(f"/{encoded}").code == "token_in_url"
    assert rig.tcp.get("/healthz?q=harmless").status == 200


# --- shape ---


@pytest.mark.parametrize("path", ["/hooks/claude-code", "/mcp", "/api/v1/things"])
@pytest.mark.parametrize(
    "media",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/jsonp",
        None,
    ],
)
@pytest.mark.spec("75")
def test_13_content_types(rig: Rig, path: str, media: str | None) -> None:
    headers = {**rig.bearer, **rig.login()[1], **({"Content-Type": media} if media else {})}
    answer = rig.tcp.request("POST", path, headers, b'{"text": "a"}')
    assert (answer.status, answer.code) == (415, "content_type_refused")
    assert rig.calls == []


def test_13_two_content_types_and_utf8(rig: Rig) -> None:
    two = [("Content-Type", "application/json"), ("Content-Type", "text/plain"), *rig.bearer.items()]
    assert rig.tcp.request("POST", "/mcp", two, b"{}").status == 415
    utf8 = {**rig.bearer, "Content-Type": 'Application/JSON; charset="UTF-8"'}
    assert rig.tcp.request("POST", "/mcp", utf8, b"{}").status == 200


def test_13_board_forms_are_forms_or_json(rig: Rig) -> None:
    _, writing = rig.login()
    for media, status in (("application/x-www-form-urlencoded", 200), ("application/json", 200), ("text/plain", 415)):
        answer = rig.tcp.request("POST", "/tasks/k-1/comments", {**writing, "Content-Type": media}, b"{}")
        assert answer.status == status


@pytest.mark.spec("75")
def test_37_body_limits_declared_and_chunked(rig: Rig) -> None:
    mib = 1 << 20
    for path, most, headers in (("/mcp", mib, rig.bearer), ("/hooks/claude-code", 8 * mib, rig.hook_bearer)):
        fits = json.dumps({"a": "x" * (most - 9)}).encode()
        assert len(fits) == most
        answer = rig.tcp.request("POST", path, {**headers, **JSON}, fits)
        assert (answer.status, answer.json["bytes"]) == (200, most)
        answer = rig.tcp.request("POST", path, {**headers, **JSON}, fits + b" ")
        assert (answer.status, answer.code) == (413, "body_too_large")
        assert str(most) in answer.json["detail"]
        chunk = b"%x\r\n%s\r\n0\r\n\r\n"
        chunked = {**headers, **JSON, "Transfer-Encoding": "chunked", "Host": f"127.0.0.1:{rig.server.port}"}
        head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{n}: {v}\r\n" for n, v in chunked.items()) + "\r\n"
        assert rig.tcp.raw(head.encode() + chunk % (len(fits), fits)).status == 200
        answer = rig.tcp.raw(head.encode() + chunk % (len(fits) + 1, fits + b" "))
        assert (answer.status, answer.code) == (413, "body_too_large")


def test_37_a_large_body_is_refused_before_it_is_sent(rig: Rig) -> None:
    head = {**rig.bearer, **JSON, "Content-Length": str(1 << 30), "Host": f"localhost:{rig.server.port}"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    assert rig.tcp.raw(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode()).code == "body_too_large"


def test_37_size_and_media_are_judged_before_the_credentials(rig: Rig) -> None:
    """The order of the gate is part of what it promises: a refusal does not depend on who asks."""
    large = b"x" * ((1 << 20) + 1)
    assert rig.tcp.request("POST", "/mcp", JSON, large).code == "body_too_large"
    assert rig.tcp.request("POST", "/mcp", {"Content-Type": "text/plain"}, b"{}").code == "content_type_refused"
    assert (
        rig.tcp.request("POST", "/mcp", {"Origin": "null", "Content-Type": "text/plain"}, large).code
        == "origin_refused"
    )


def test_37_compressed_bodies(rig: Rig) -> None:
    answer = rig.tcp.request("POST", "/mcp", {**rig.bearer, **JSON, "Content-Encoding": "gzip"}, b"x")
    assert (answer.status, answer.code) == (415, "content_type_refused")


def test_38_a_body_that_trickles_is_cut(rig: Rig) -> None:
    own = f"Host: 127.0.0.1:{rig.server.port}\r\nAuthorization: Bearer {rig.keys.token}\r\n"
    head = f"POST /mcp HTTP/1.1\r\n{own}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    begun = time.monotonic()
    with rig.tcp.connect() as connection:
        connection.sendall(head.encode() + b"{")
        answer = read_response(connection)
    assert (answer.status, answer.code) == (408, "request_timeout")
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    "data",
    [
        b"POST /mcp HTTP/1.1\r\nHost: {h}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nHost: {h}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nHost: {h}\r\nContent-Length: -2\r\n\r\n{}",
        b"GET /healthz HTTP/1.1\r\nHost: {h}\r\n folded\r\n\r\n",
        b"GET /healthz\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: {h}\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: gzip, chunked\r\n\r\n{}",
    ],
)
def test_33_35_malformed_requests(rig: Rig, data: bytes) -> None:
    answer = rig.tcp.raw(data.replace(b"{h}", f"127.0.0.1:{rig.server.port}".encode()))
    assert (answer.status, answer.code) == (400, "request_malformed")
    assert answer.header("connection") == "close"
    assert rig.tcp.get("/healthz").status == 200


def test_33_large_and_strange_headers(rig: Rig) -> None:
    answer = rig.tcp.get("/healthz", {"X-Big": "x" * 65536})
    assert (answer.status, answer.code) == (431, "headers_too_large")
    assert rig.tcp.get("/healthz", {f"X-{n}": "1" for n in range(3000)}).status == 431
    assert rig.tcp.get("/healthz", {"X-Odd": "\udcff\udcfe", "Cookie": "\udcff=\udcfe"}).status == 200
    assert rig.tcp.get("/healthz", {"Origin": "\udcff"}).status == 403
    assert rig.tcp.get("/healthz", host="\udcff").status == 421
    assert rig.tcp.get("/" + "x" * 8000).status == 404


# --- credentials ---


@pytest.mark.spec("75")
def test_17_every_route_without_credentials(rig: Rig) -> None:
    public = {"/healthz", "/login", "/static/app.js", "/api/v1/fail"}
    for method, path in every_route(rig):
        answer = rig.tcp.request(method, path)
        if path in public:
            assert answer.status != 401 or path == "/login"
            continue
        assert answer.status == 401, (method, path)
        if method != "HEAD":
            assert answer.code == "unauthorized"
    assert all(call.split()[1] in public for call in rig.calls)


def test_17_a_route_without_a_door_keeps_the_server_from_starting(keys: Keys) -> None:
    app = make_app()
    Gate(keys, now_us=Clock()).install(app)

    async def forgotten(request):
        return HTTPResponse("open")

    app.add_route(forgotten, "/forgotten")
    with pytest.raises(AssertionError, match="forgotten"):
        ServerThread(app).start()


@pytest.mark.spec("75")
def test_each_key_opens_its_own_door(rig: Rig) -> None:
    wrong = {"Authorization": f"Bearer {rig.keys.owner_key}"}
    expected = {
        "/mcp": {"token": 200, "hook": 401, "wrong": 401},
        "/hooks/claude-code": {"token": 200, "hook": 200, "wrong": 401},
        "/api/v1/things": {"token": 401, "hook": 401, "wrong": 401},
    }
    for path, statuses in expected.items():
        for name, headers in (("token", rig.bearer), ("hook", rig.hook_bearer), ("wrong", wrong)):
            value = {"text": "a"}
            assert rig.tcp.post(path, value, headers).status == statuses[name], (path, name)
    assert rig.tcp.get("/", rig.bearer).status == 401


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic {t}",
        "Bearer {t}x",
        "Bearer x{t}",
        "Bearer {t}\x00",
        "Bearer ü{t}",
        "{t}",
        "Bearer {t} {t}",
    ],
)
def test_18_wrong_tokens(rig: Rig, value: str) -> None:
    answer = rig.tcp.post("/mcp", {}, {"Authorization": value.format(t=rig.keys.token)})
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.header("www-authenticate") == "Bearer"
    assert rig.calls == []


def test_18_two_authorization_headers(rig: Rig) -> None:
    two = [*rig.bearer.items(), ("Authorization", "Bearer x"), *JSON.items()]
    assert rig.tcp.request("POST", "/mcp", two, b"{}").status == 401


def test_19_a_rotated_token_is_refused_within_a_second(tmp_path) -> None:
    folder = KeyFolder(tmp_path / "run")
    app = make_app()
    routes = Routes(app)
    keys = folder.load()
    gate = Gate(keys, now_us=Clock())

    async def ok(request):
        return HTTPResponse(b"{}")

    routes.op("POST", "/mcp", "mcp", ok, door="mcp")
    gate.install(app)
    follow(app, folder, gate.use, seconds=0.2)
    with ServerThread(app) as server:
        wire = Wire(server.port)
        old = {"Authorization": f"Bearer {keys.token}"}
        assert wire.post("/mcp", {}, old).status == 200
        new = folder.rotate("token")
        time.sleep(0.8)
        assert wire.post("/mcp", {}, old).status == 401
        assert wire.post("/mcp", {}, {"Authorization": f"Bearer {new}"}).status == 200
        (tmp_path / "run" / "token").chmod(0o644)
        time.sleep(0.5)
        assert wire.post("/mcp", {}, {"Authorization": f"Bearer {new}"}).status == 200


@pytest.mark.spec("75")
def test_the_unix_socket_is_the_same_user(rig: Rig) -> None:
    answer = rig.unix.post("/hooks/claude-code", {"a": 1})
    assert answer.status == 200
    assert rig.unix.post("/mcp", {}).status == 401
    assert rig.unix.post("/mcp", {}, rig.bearer).json == {"kind": "agent", "same_user": True, "bytes": 2, "path": {}}
    assert rig.unix.get("/", rig.owner).status == 401
    assert rig.unix.get("/healthz", host=None).status == 200


@pytest.mark.spec("75", "CH-10")
def test_the_owners_key_opens_the_api_over_the_socket_alone(rig: Rig) -> None:
    assert rig.unix.post("/api/v1/things", {"text": "a"}, rig.owner).status == 201
    assert rig.unix.get("/api/v1/things", rig.owner).json["kind"] == "owner"
    for headers in ({}, {"X-Relaybay-Owner": rig.keys.token}, rig.bearer, rig.login()[1]):
        answer = rig.unix.post("/api/v1/things", {"text": "a"}, headers)
        assert (answer.status, answer.code) == (401, "unauthorized")
    shell = {**rig.owner, "X-Relaybay-Agent-Shell": "1"}
    answer = rig.unix.post("/api/v1/things", {"text": "a"}, shell)
    assert (answer.status, answer.code, answer.json["spec_id"]) == (403, "owner_only", "CH-10")
    assert rig.tcp.post("/api/v1/things", {"text": "a"}, rig.owner).status == 401
    assert rig.calls == ["make", "GET /api/v1/things"]


@pytest.mark.skipif(os.geteuid() != 0, reason="another user can only be had by root")
def test_another_users_process_is_refused_on_the_socket(rig: Rig) -> None:
    path = rig.unix.address
    path.parent.chmod(0o755)
    path.chmod(0o666)
    script = (
        "import os,socket,sys; os.setgid(65534); os.setuid(65534); s=socket.socket(socket.AF_UNIX);"
        "s.connect(sys.argv[1]); s.sendall(b'POST /hooks/claude-code HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(9999).decode())"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=20, check=True
    )
    assert run.stdout.startswith("HTTP/1.1 403"), run
    assert '"peer_refused"' in run.stdout


# --- login, CSRF ---


@pytest.mark.spec("75")
def test_25_a_login_code_is_good_once_and_for_ten_minutes(rig: Rig) -> None:
    code = rig.gate.logins.mint_code()
    answer = rig.tcp.get(f"/login?code={code}")
    assert (answer.status, answer.header("location")) == (303, "/")
    cookie = answer.header("set-cookie")
    assert cookie is not None and "HttpOnly" in cookie and "SameSite=Strict" in cookie and "Path=/" in cookie
    assert rig.tcp.get("/", {"Cookie": cookie.split(";")[0]}).status == 200
    for spent in (code, "", "x"):
        answer = rig.tcp.get(f"/login?code={spent}")
        assert (answer.status, answer.code, answer.header("set-cookie")) == (401, "login_code_used", None)
    code = rig.gate.logins.mint_code()
    assert rig.tcp.request("HEAD", f"/login?code={code}").status == 405
    rig.clock.us += 600_000_001
    assert rig.tcp.get(f"/login?code={code}").status == 401
    code = rig.gate.logins.mint_code()
    rig.clock.us += 600_000_000
    assert rig.tcp.get(f"/login?code={code}").status == 303


def test_25_codes_and_logins_are_bounded_and_age(rig: Rig) -> None:
    codes = [rig.gate.logins.mint_code() for _ in range(33)]
    assert rig.gate.logins.redeem(codes[0]) is None
    assert rig.gate.logins.redeem(codes[1]) is not None
    logins = [rig.gate.logins.redeem(rig.gate.logins.mint_code()) for _ in range(65)]
    assert not rig.gate.logins.knows(logins[0])
    assert rig.gate.logins.knows(logins[1])
    rig.clock.us += 31 * 24 * 3600 * 1_000_000
    assert not rig.gate.logins.knows(logins[1])


@pytest.mark.spec("75")
def test_26_writes_need_the_logins_own_csrf_token(rig: Rig) -> None:
    reading, writing = rig.login()
    _, other = rig.login()
    refused = [
        reading,
        {**reading, "X-CSRF-Token": other["X-CSRF-Token"]},
        {**reading, "X-CSRF-Token": ""},
        {**reading, "X-CSRF-Token": "ü"},
    ]
    for headers in refused:
        for method, path in (
            ("POST", "/api/v1/things"),
            ("DELETE", "/api/v1/things/1"),
            ("POST", "/tasks/k-1/comments"),
        ):
            body = b'{"text": "a"}' if method == "POST" else None
            answer = rig.tcp.request(method, path, {**headers, **(JSON if body else {})}, body)
            assert (answer.status, answer.code) == (403, "csrf_refused"), path
    assert rig.calls == []
    assert rig.tcp.post("/api/v1/things", {"text": "a"}, writing).status == 201
    assert rig.tcp.request("DELETE", "/api/v1/things/1", writing).status == 200
    assert rig.tcp.get("/api/v1/things", reading).status == 200


def test_26_the_form_field_counts_like_the_header(rig: Rig) -> None:
    reading, writing = rig.login()
    token = writing["X-CSRF-Token"]
    path = "/tasks/k-1/comments"
    for body, status in (
        (f"body=x&csrf={token}", 200),
        ("body=x&csrf=", 403),
        (f"csrf={token}&csrf=x", 403),
        (b"\xff&csrf=", 403),
    ):
        data = body if isinstance(body, bytes) else body.encode()
        assert rig.tcp.request("POST", path, {**reading, **FORM}, data).status == status
    json_body = json.dumps({"csrf": token}).encode()
    assert rig.tcp.request("POST", path, {**reading, **JSON}, json_body).status == 403


def test_26_logout_is_a_post_and_ends_the_login(rig: Rig) -> None:
    reading, writing = rig.login()
    assert rig.tcp.get("/logout", reading).status == 405
    assert rig.tcp.request("POST", "/logout", writing).status == 303
    assert rig.tcp.get("/", reading).status == 401


def test_a_foreign_cookie_of_the_same_name_does_not_shut_out(rig: Rig) -> None:
    reading, _ = rig.login()
    assert rig.tcp.get("/", {"Cookie": "relaybay_session=evil; " + reading["Cookie"]}).status == 200
    assert rig.tcp.get("/", {"Cookie": "relaybay_session=evil"}).status == 401


def test_a_browser_without_a_login_gets_a_page(rig: Rig) -> None:
    answer = rig.tcp.get("/", {"Accept": "text/html"})
    assert (answer.status, answer.header("content-type")) == (401, "text/html; charset=utf-8")
    assert b"relaybay open" in answer.body
    answer = rig.tcp.get("/")
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert "relaybay open" in answer.json["detail"]


# --- answers ---


@pytest.mark.spec("75")
def test_27_security_headers_on_every_response(rig: Rig) -> None:
    answers = [
        rig.tcp.get("/healthz"),
        rig.tcp.get("/nowhere"),
        rig.tcp.get("/"),
        rig.tcp.get("/api/v1/fail"),
        rig.tcp.request("PUT", "/healthz"),
        rig.tcp.get("/healthz", host="evil.example"),
        rig.tcp.raw(b"nonsense\r\n\r\n"),
        rig.unix.post("/hooks/claude-code", None),
    ]
    for answer in answers:
        policy = answer.header("content-security-policy") or ""
        assert "frame-ancestors 'none'" in policy and "unsafe" not in policy and "default-src 'none'" in policy
        assert answer.header("x-frame-options") == "DENY"
        assert answer.header("x-content-type-options") == "nosniff"
        # Under no-referrer browsers send forms with "Origin: null", and the gate would refuse the board's own.
        assert answer.header("referrer-policy") == "same-origin"
        assert answer.header("cross-origin-resource-policy") == "same-origin"
        assert answer.header("cache-control") == "no-store"
    for answer in (rig.unix.post("/hooks/claude-code", {}), rig.tcp.post("/mcp", {}, rig.bearer)):
        assert answer.status == 200
        assert answer.header("content-security-policy") == "default-src 'none'; frame-ancestors 'none'"
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("referrer-policy") == "no-referrer"
        assert answer.header("cache-control") == "no-store"
    assert rig.tcp.get("/static/app.js").header("cache-control") == "public, max-age=60"
    assert rig.tcp.get("/static/app.js", host="x").header("cache-control") == "no-store"


def test_a_refusal_has_the_five_members_and_no_secret(rig: Rig) -> None:
    answer = rig.tcp.post("/mcp", {}, {"Authorization": "Bearer wrong-and-secret"})
    assert set(answer.json) == {"type", "title", "status", "detail", "code", "spec_id"}
    assert answer.json["status"] == answer.status == 401
    assert answer.json["spec_id"] == "75"
    assert b"wrong-and-secret" not in answer.body


def test_an_exception_is_internal_and_says_nothing_of_itself(rig: Rig, caplog) -> None:
    answer = rig.tcp.get("/api/v1/fail?q=private")
    assert (answer.status, answer.code) == (500, "internal")
    assert b"secret inside" not in answer.body
    assert "secret inside" in caplog.text
    assert "private" not in caplog.text


def test_15_wrong_methods_name_the_right_ones(rig: Rig) -> None:
    expected = {
        "/healthz": "GET, HEAD",
        "/tasks/k-1/comments": "POST",
        "/api/v1/things": "GET, HEAD, POST",
        "/api/v1/things/k-1": "DELETE, GET, HEAD",
        "/login": "GET",
    }
    for path, allow in expected.items():
        answer = rig.tcp.request("PUT", path)
        assert (answer.status, answer.code, answer.header("allow")) == (405, "method_not_allowed", allow)
    assert rig.tcp.request("NONE", "/healthz").status == 405
    assert rig.tcp.request("NONE", "/healthz", host="evil.example").status == 421
    assert rig.tcp.get("/nowhere").code == "not_found"


def test_head_is_get_without_a_body(rig: Rig) -> None:
    get, head = rig.tcp.get("/healthz"), rig.tcp.request("HEAD", "/healthz")
    assert (head.status, head.header("content-length")) == (200, get.header("content-length"))


def test_a_connection_stays_usable_after_refusals(rig: Rig) -> None:
    own = f"Host: 127.0.0.1:{rig.server.port}\r\n"
    with rig.tcp.connect() as connection:
        for _ in range(3):
            body = b'{"x": 1}'
            connection.sendall(
                f"POST /mcp HTTP/1.1\r\n{own}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            assert read_response(connection).status == 401
            connection.sendall(f"GET /healthz HTTP/1.1\r\n{own}\r\n".encode())
            assert read_response(connection).status == 200
