"""PERF-12: the board with 50 sessions and 10,000 messages: weight, time to the first byte, event to DOM in ten tabs.

The store is filled before the server starts, by the same use cases as ever. First bytes are timed over a connection
that is kept, beside a bare Sanic answer. From the call that changes a card's title to its text in each of ten tabs of a
real browser, which share one stream, beside the same in ten tabs of a page that does nothing else (`board_floor.py`).
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from bench import wire
from bench.board_floor import board_floor
from bench.figures import Figure, Samples, ms, timed
from bench.load import count
from bench.servers import environment_of, floor, folder, process
from relaybay.domain import Caller, Outcome
from relaybay.rules import names
from relaybay.service import binding, handover, messages, naming, tasks
from relaybay.service.relay import Relay, open_relay
from relaybay.settings import Paths
from relaybay.store import sessions
from tests.browser.chrome import chromium

SESSIONS, MESSAGES, CARDS = 50, 10_000, 40
SENDS_AT_ONCE = 10
"""SEND-12: what a sender may send in a minute; then the clock is moved."""
TABS = 10
PAGES = ("/", "/inbox", "/sessions", "/messages")
FIRST_PAGE_BYTES, TTFB_P95_MS, DOM_P95_MS = 60_000, 50, 150
_START, _MINUTE = 1_790_000_000_000_000, 61_000_000
_COLUMNS = ("inbox", "todo", "doing", "review", "done")
_OWNER = Caller(owner=True)
_CHROMIUM = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
_WATCH = """window.seen = {};
addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  const text = document.querySelector(window.watched ?? "#watched")?.textContent.trim();
  if (text && !(text in window.seen)) window.seen[text] = performance.timeOrigin + performance.now();
}).observe(document.body, { subtree: true, childList: true, characterData: true }));"""


def _must(outcome: Outcome) -> dict[str, Any]:
    if outcome.refusal is not None:
        raise wire.Unexpected(repr(outcome.refusal))
    return outcome.data


def _fill(home: Path) -> str:
    """Sessions, messages and cards, nine of ten messages handed over; the key of one card."""
    paths = Paths.find({"RELAYBAY_HOME": str(home)})
    paths.make()
    now = [_START]
    relay = open_relay(paths.database, lambda: now[0])
    try:
        rows = relay.store.write(_sessions)
        keys = relay.store.write(lambda tx: _cards(tx, relay, rows))
        for _ in range(MESSAGES // (SESSIONS * SENDS_AT_ONCE)):
            now[0] += _MINUTE
            relay.store.write(lambda tx: _mail(tx, relay, rows))
            relay.store.write(lambda tx: _hand_over(tx, rows[: SESSIONS * 9 // 10]))
    finally:
        relay.close()
    return keys[0]


def _sessions(tx: Any) -> list[Any]:
    made = []
    for n in range(SESSIONS):
        title = f"agent-{n}"
        row = sessions.add(
            tx, title=title, title_key=names.key(title), kind="hook", link_state="exact", title_given=1,
            hook_id=f"bench-{n}", activity=("working", "idle")[n % 2], last_seen_us=tx.now, last_event_us=tx.now,
        )  # fmt: skip
        made.append(naming.claim_name(tx, row))
    return made


def _cards(tx: Any, relay: Relay, rows: list[Any]) -> list[str]:
    made = []
    for n in range(CARDS):
        given = {"project": "shop", "title": f"A task with a title of the usual length {n}", "status": _COLUMNS[n % 5]}
        key = _must(tasks.task_create(tx, relay, _OWNER, **given))["key"]
        _must(binding.task_bind_session(tx, relay, _OWNER, task=key, session=rows[n].ref))
        made.append(key)
    return made


def _mail(tx: Any, relay: Relay, rows: list[Any]) -> None:
    for n, row in enumerate(rows):
        for k in range(SENDS_AT_ONCE):
            to = rows[(n + k + 1) % SESSIONS].title
            caller = Caller(hook_session=row.hook_id)
            _must(messages.send(tx, relay, caller, to=to, body=f"Please look at change {k} before you go on. " * 4))


def _hand_over(tx: Any, rows: list[Any]) -> None:
    for row in rows:
        while True:
            now = sessions.need(tx, row.id)
            if handover.hand_over(tx, now, "tool", handover.offers(tx, now, "tool")) is None:
                break


class _Server:
    """relaybay over the filled store, and a browser's login to it."""

    def __init__(self, home: Path, line: dict[str, Any]) -> None:
        self.url, self.home = str(line["url"]), home
        self.port = int(self.url.rpartition(":")[2])
        self.login = str(line["board_url"])
        self._owner = http.client.HTTPConnection("localhost")
        self._owner.sock = socket.socket(socket.AF_UNIX)
        self._owner.sock.connect(str(home / "run" / "relaybay.sock"))
        self._key = (home / "run" / "owner.key").read_text(encoding="ascii").strip()

    def owner(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """One call of the owner's."""
        headers = {"Content-Type": "application/json", "X-Relaybay-Owner": self._key}
        self._owner.request("POST", path, json.dumps(body), headers)
        response = self._owner.getresponse()
        text = response.read()
        if response.status >= 300:
            raise wire.Unexpected(text[:400].decode("utf-8", "replace"))
        found: dict[str, Any] = json.loads(text)
        return found

    def cookie(self) -> str:
        """A login's cookie, by a one-time address."""
        with wire.connect(self.port) as connection:
            path = self.login.removeprefix(self.url)
            connection.sendall(_get(self.port, path))
            head = wire.receive(connection).decode("latin-1")
        found = re.search(r"set-cookie: (relaybay_session=[^;]+)", head, re.IGNORECASE)
        if found is None:
            raise wire.Unexpected(head)
        return found[1]


@contextmanager
def _serving(home: Path) -> Iterator[_Server]:
    command = [sys.executable, "-m", "relaybay", "up", "--foreground", "--port", "0", "--json"]
    with process(command, environment_of(home)) as (_, line):
        yield _Server(home, line)


def _get(port: int, path: str, cookie: str = "") -> bytes:
    more = f"cookie: {cookie}\r\n" if cookie else ""
    head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\naccept: text/html\r\naccept-encoding: gzip\r\n{more}\r\n"
    return head.encode("ascii")


def _first_byte(connection: socket.socket, request: bytes) -> tuple[float, int]:
    """Microseconds to the first byte of the answer, and the bytes of all of it."""
    start = time.perf_counter_ns()
    connection.sendall(request)
    data = connection.recv(1)
    took = (time.perf_counter_ns() - start) / 1000
    while not wire.is_whole(data):
        data += connection.recv(1 << 18)
    if wire.status(data) != 200:
        raise wire.Unexpected(data[:300].decode("utf-8", "replace"))
    return took, len(data)


def _pages(server: _Server, cookie: str, bare_port: int, times: int) -> list[Figure]:
    bytes_of: dict[str, int] = {}
    us: dict[str, list[float]] = {path: [] for path in PAGES}
    least: list[float] = []
    bare = wire.post(bare_port, "/json", {})
    with wire.connect(server.port) as connection, wire.connect(bare_port) as floor_connection:
        for number in range(times):
            for path in PAGES:
                took, size = _first_byte(connection, _get(server.port, path, cookie))
                bytes_of[path] = size
                if number:  # The first of each fills caches.
                    us[path].append(took)
            least += timed(lambda: wire.exchange(floor_connection, bare), len(PAGES)).us
    base = Samples.of(least)
    size = bytes_of["/"]
    weight = Figure("PERF-12", "board, the first page", f"{size / 1000:.1f} kB", "≤ 60 KB", size <= FIRST_PAGE_BYTES)
    return [weight, *(_ttfb(path, Samples.of(us[path]), base) for path in PAGES)]


def _p95(samples: Samples, most_ms: float, what: str) -> Figure:
    p95 = samples.percentile(95)
    value = f"p50 {ms(samples.median)}, p95 {ms(p95)}, n = {len(samples.us):,}, ± {samples.spread:.0%}"
    return Figure("PERF-12", what, value, f"p95 ≤ {most_ms:g} ms", p95 <= most_ms * 1000)


def _ttfb(path: str, samples: Samples, base: Samples) -> Figure:
    figure = _p95(samples, TTFB_P95_MS, f"first byte of {path}, {SESSIONS} sessions, {MESSAGES:,} messages")
    return replace(figure, floor=f"bare Sanic answer p50 {ms(base.median)}", ratio=samples.median / base.median)


def _tabs(browser: Any, url: str, watched: str, cookie: str, ready: str) -> list[Any]:
    context = browser.new_context()
    if cookie:
        name, _, value = cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": url}])
    context.add_init_script(f"window.watched = {json.dumps(watched)}; {_WATCH}")
    pages = [context.new_page() for _ in range(TABS)]
    for page in pages:
        page.goto(url)
        page.wait_for_function(ready)
    return pages


def _event_to_dom(pages: list[Any], change: Callable[[str], object], times: int, word: str) -> list[float]:
    """Microseconds from just before `change` until its text stands in each tab."""
    found: list[float] = []
    for number in range(times):
        text = f"{word} {number}"
        began = time.time() * 1000
        change(text)
        for page in pages:
            page.wait_for_function("(text) => text in window.seen", arg=text)
            found.append((page.evaluate("(text) => window.seen[text]", text) - began) * 1000)
        # Longer than the pause that a page keeps between two fetches: one event at a time is measured.
        time.sleep(0.6)
    return found


def _live(server: _Server, cookie: str, key: str, fragment_bytes: int, times: int) -> Figure:
    with ExitStack() as stack:
        driver = stack.enter_context(sync_playwright())
        browser = driver.chromium.launch(executable_path=chromium(), args=list(_CHROMIUM))
        stack.callback(browser.close)
        bare = stack.enter_context(board_floor(fragment_bytes))
        live = "() => /^live/i.test(document.getElementById('lamp').textContent.trim())"
        ours = _tabs(browser, f"{server.url}/", f"#card-{key} h3", cookie, live)
        least = _tabs(browser, f"{bare.url}/", "#watched", "", "() => document.title === 'ready'")
        time.sleep(1)
        _event_to_dom(ours, lambda text: server.owner(f"/api/v1/tasks/{key}", {"title": text}), 3, "warm")
        _event_to_dom(least, bare.tell, 3, "warm")
        dom: list[float] = []
        base: list[float] = []
        for turn in range(4):
            change = lambda text: server.owner(f"/api/v1/tasks/{key}", {"title": text})  # noqa: E731
            dom += _event_to_dom(ours, change, times // 4, f"ours {turn}")
            base += _event_to_dom(least, bare.tell, times // 4, f"bare {turn}")
        streams = _listeners(server)
    samples, floor_samples = Samples.of(dom), Samples.of(base)
    figure = _p95(samples, DOM_P95_MS, f"event to DOM, {TABS} tabs on {streams} stream{'s' * (streams != 1)}")
    value = f"bare page p50 {ms(floor_samples.median)}, p95 {ms(floor_samples.percentile(95))}"
    return replace(
        figure,
        floor=value,
        ratio=samples.median / floor_samples.median,
        met=bool(figure.met) and streams == 1,
    )


def _listeners(server: _Server) -> int:
    with wire.connect(server.port) as connection:
        text = wire.exchange(connection, _get(server.port, "/metrics")).decode()
    found = re.search(r"^relaybay_listeners (\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def run(full: bool) -> list[Figure]:
    times = count(100, full=1_000, is_full=full)
    events = count(40, full=200, is_full=full)
    with ExitStack() as stack:
        home = stack.enter_context(folder())
        key = _fill(home)
        server = stack.enter_context(_serving(home))
        bare_port = stack.enter_context(floor("sanic"))
        cookie = server.cookie()
        figures = _pages(server, cookie, bare_port, times)
        with wire.connect(server.port) as connection:
            fragment = len(wire.exchange(connection, _get(server.port, "/?fragment=columns", cookie)))
        return [*figures, _live(server, cookie, key, fragment, events)]
