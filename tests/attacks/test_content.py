"""Cases 42 to 54: what texts of others do to a page, a terminal, a log or a reader. Nothing."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import nodes

from relaybay.cli.shell import AGENT_VARIABLES
from relaybay.ui.assets import Assets
from relaybay.ui.render import Renderer
from tests.api.wire import read_head
from tests.attacks.conftest import World
from tests.attacks.payloads import PAYLOADS
from tests.attacks.rig import ROOT
from tests.ui.board_rig import Document

pytestmark = [pytest.mark.xdist_group("attacks-content"), pytest.mark.spec("75")]

LIFE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z [A-Z]+ [\w.-]+: .*")
HIDDEN = "a\u200bb\u2060c\U000e0041d\u202ee\ufe0ff"
ACTIVE = {"img", "iframe", "object", "embed", "base", "style", "math", "mglyph", "video", "audio", "source", "frame"}
PIECES = [PAYLOADS[start : start + 12] for start in range(0, len(PAYLOADS), 12)]


@pytest.fixture(scope="module")
def pages(world: World) -> dict[str, Document]:
    """Every page of a board on which every text is hostile, by its address."""
    assert len(PAYLOADS) >= 200
    addresses = ["/", "/inbox", "/sessions", "/messages", "/projects", "/nowhere", "/tasks/none-1", "/sessions/S-999"]
    for number, piece in enumerate(PIECES):
        title = piece[number % len(piece)][:200]
        row = world.owner.post(
            "/api/v1/sessions",
            {"desktop": f"e-{number}", "title": f"{number} {title}"[:200].strip(), "cwd": f"/src/{title}"},
        ).json
        body = "\n\n".join(piece)
        made = world.owner.post("/api/v1/tasks", {"project": "shop", "title": title, "body": body}).json
        key = made["key"]
        assert world.owner.post(f"/api/v1/tasks/{key}/bind", {"session": row["ref"]}).status == 200
        for text in piece[:3]:
            assert world.owner.post(f"/api/v1/tasks/{key}", {"step_add": text[:200]}).status == 200
        assert world.owner.post(f"/api/v1/tasks/{key}/comments", {"body": body}).status in (200, 201)
        assert "code" not in world.tool("comment_add", task=key, body=body, session=row["ref"])
        assert "code" not in world.tool("message_send", session=row["ref"], to="bob", body=body[:3_000], task=key)
        world.hook("SessionStart", f"hook-{number}", source="startup", cwd=f"/src/{title}", session_title=title)
        world.hook("PreToolUse", f"hook-{number}", tool_name=title, tool_use_id=title, tool_input={"x": body})
        addresses += [f"/tasks/{key}", f"/sessions/{row['ref']}"]
    addresses += [
        "/messages?session=bob",
        f"/messages?message={PAYLOADS[2].replace(' ', '%20')}",
        "/?project=%3Cscript%3E",
    ]
    reading, _ = world.browser()
    found = {}
    for address in addresses:
        answer = world.tcp.get(address, {**reading, "Accept": "text/html"})
        assert answer.status in (200, 400, 404, 422), (address, answer)
        policy = answer.header("content-security-policy") or ""
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        if (answer.header("content-type") or "").startswith("text/html"):
            found[address] = Document(answer.body.decode())
    assert len(found) >= 2 * len(PIECES) + 5
    return found


def test_case_42_hostile_texts_are_shown_as_texts(pages: dict[str, Document]) -> None:
    shown = "".join(page.raw for page in pages.values())
    for mark in ("alert(1)", "evil.example", "onerror=", "7*7"):
        assert mark in shown, "what is not shown cannot be shown as text"
    for address, page in pages.items():
        assert not {element.tag for element in page.elements} & ACTIVE, address
        assert len(page.all("title")) == len(page.all("main")) == 1, address
        assert not [e for e in page.all("meta") if "http-equiv" in e.attributes], address
        for element in page.elements:
            where = (address, element.tag, element.attributes)
            assert not [name for name in element.attributes if name.startswith("on") or name in ("style", "srcdoc")], (
                where
            )
            for name in ("href", "src", "action", "formaction", "data"):
                target = element.attributes.get(name, "/")
                assert re.match(r"https?://|/(?!/)|#|\?", target) or target == "", where
                if name != "href":
                    assert not target.startswith("http"), where


@pytest.mark.usefixtures("same")
def test_case_43_templates_escape_everything_and_fill_in_nothing_of_others(pages: dict[str, Document]) -> None:
    assert "{{7*7}}" in "".join(page.raw for page in pages.values())
    environment = Renderer(Assets())._env
    assert environment.autoescape is True
    names = environment.list_templates()
    assert len(names) > 10
    for name in names:
        source = (ROOT / "relaybay" / "ui" / "templates" / name).read_text()
        tree = environment.parse(source)
        assert not [one for one in tree.find_all(nodes.Filter) if one.name in ("safe", "tojson", "xmlattr")], name
        assert not list(tree.find_all((nodes.ScopedEvalContextModifier, nodes.MarkSafe))), name
        assert "autoescape" not in source, name


def test_case_44_no_page_has_a_script_or_a_style_of_its_own(pages: dict[str, Document]) -> None:
    for address, page in pages.items():
        for script in page.all("script"):
            assert script["src"].startswith("/static/") and not script.text, address
        for link in page.all("link"):
            assert link["href"].startswith("/static/"), address
        assert not page.all("style"), address


def test_case_45_nothing_of_a_body_gets_into_the_event_stream(world: World) -> None:
    reading, _ = world.browser()
    evil = 'x\r\ndata: {"names": ["evil"]}\r\n\r\nevent: evil\ndata: evil\n\n\u2028: evil'
    with world.tcp.connect() as connection:
        lines = ["GET /api/v1/stream HTTP/1.1", f"Host: 127.0.0.1:{world.port}", f"Cookie: {reading['Cookie']}"]
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        with connection.makefile("rb") as file:
            assert read_head(file)[0] == 200
            assert world.owner.post(f"/api/v1/tasks/{world.task}/comments", {"body": evil}).status in (200, 201)
            read = b""
            while b"comment.added" not in read:
                size = int(file.readline(), 16)
                read += file.read(size)
                file.readline()
    said = read.decode().splitlines()
    assert "evil" not in "\n".join(said)
    for line in said:
        assert line == "" or line.startswith((":", "retry: ", "event: hello", "event: changed", "data: {"))
    assert [json.loads(line[6:]) for line in said if line.startswith("data: ")]


def test_case_47_only_web_addresses_become_links(pages: dict[str, Document]) -> None:
    foreign = [(address, one) for address, page in pages.items() for one in page.all("a") if "://" in one["href"]]
    assert foreign
    for address, link in foreign:
        assert link["href"].startswith(("http://", "https://")), address
        assert {"noopener", "noreferrer"} <= set(link["rel"].split()), address


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


RUNNER = ROOT / "relaybay" / "api" / "automation_runner.py"
"""The one place that starts a program: a command of the owner's own, from a file that only the owner writes."""


def test_case_47_the_server_starts_no_program_but_the_owners_commands() -> None:
    looked = 0
    for room in ("api", "ui", "service", "store", "rules", "machines"):
        for path in (ROOT / "relaybay" / room).rglob("*.py"):
            looked += 1
            starts = {"subprocess"} if path != RUNNER else set()
            assert not (starts | {"webbrowser", "pty", "multiprocessing"}) & set(_imports(path)), path
            assert not re.search(r"\bos\.(system|popen|exec|spawn|startfile)|\beval\(|\bexec\(", path.read_text()), path
    assert looked > 80
    calls = [node for node in ast.walk(ast.parse(RUNNER.read_text())) if isinstance(node, ast.Call)]
    started = [node for node in calls if ast.unparse(node.func).startswith("subprocess.")]
    assert len(started) == 1 and ast.unparse(started[0].func) == "subprocess.Popen", "one way to start one"
    named = {keyword.arg: ast.unparse(keyword.value) for keyword in started[0].keywords}
    assert "shell" not in named and None not in named, "no shell reads what an agent wrote"
    assert named["stdin"] == "subprocess.PIPE", "the message comes on stdin, and as no argument"
    assert not isinstance(started[0].args[0], ast.JoinedStr | ast.BinOp), (
        "the argument list is the owner's, as it stands"
    )


@pytest.mark.parametrize("tty", [False, True])
def test_case_50_a_terminal_gets_no_control_character(world: World, tty: bool) -> None:
    evil = "\x1b[2J \x1b]8;;http://evil.example\x07x\x1b]8;;\x07 \x1b]52;c;ZXZpbA==\x07 \x9b31m \x08\x08 \x7f \r over"
    key = world.owner.post("/api/v1/tasks", {"project": "shop", "title": "t " + evil, "body": evil}).json["key"]
    world.tool("comment_add", task=key, body=evil, session=f"n{evil[:40]}")
    words = ["task", "show", key]
    shown = _on_a_terminal(words, world.env) if tty else world.command(*words).stdout.encode()
    # A terminal's own line ends, and the colours that the table itself has, are no text of anybody.
    rest = re.sub(rb"\x1b\[[0-9;]*m|\r\n", b"", shown).decode()
    assert "u{1b}" in rest or "\\u001b" in rest
    assert not [c for c in rest if unicodedata.category(c) == "Cc" and c not in "\n\t"], rest
    assert not [c for c in rest if unicodedata.category(c) in ("Cf", "Zl", "Zp")]


def _on_a_terminal(words: list[str], env: dict[str, str]) -> bytes:
    ours, theirs = pty.openpty()
    env = {name: value for name, value in {**env, "TERM": "xterm-256color"}.items() if name not in AGENT_VARIABLES}
    words = [sys.executable, "-m", "relaybay", *words]
    shown = b""
    with subprocess.Popen(words, cwd=ROOT, env=env, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # How a terminal says that its other end is closed.
            while piece := os.read(ours, 1 << 16):
                shown += piece
        assert process.wait(20) == 0
    os.close(ours)
    return shown


def test_case_51_each_record_of_the_log_is_one_line(world: World) -> None:
    forged = "2030-01-01T00:00:00.000Z CRITICAL root: forged"
    breaks = ("\r\n", "\n", "\r", "\u2028", "\u2029", "\u0085", "\x0b", "\x1c", "%0d%0a")
    for cut in breaks:
        text = f"x{cut}{forged}"
        world.hook("SessionStart", text, cwd=text, session_title=text, source=text, transcript_path=text)
        world.hook(text, "hook-of-log", tool_name=text)
        world.tool("message_send", session=text, to=text, body=text)
        world.rpc(text, {"name": text, "arguments": {text: text}})
        world.owner.post("/api/v1/tasks", {"project": text, "title": text, text: text})
        plain = text.replace("\r", "").replace("\n", "")
        for headers in (
            {"User-Agent": plain},
            {"X-Relaybay-Client-Version": plain},
            {plain.replace(" ", "")[:40]: "x"},
        ):
            world.hooks.post("/hooks/claude-code", {"session_id": "h", "hook_event_name": "Stop"}, headers)
        world.tcp.get(f"/tasks/{plain}".replace(" ", "%20"))
        world.tcp.raw(f"{plain} / HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert "forged" not in world.log
    for line in world.log.splitlines():
        assert LIFE.fullmatch(line), line


@pytest.mark.spec("TEXT-4", "TEXT-5")
def test_case_52_hidden_characters_are_seen(world: World) -> None:
    sent = world.tool("message_send", session="alice", to="bob", body=f"Do it. {HIDDEN}")
    reading, _ = world.browser()
    page = Document(world.tcp.get(f"/messages?message={sent['message_id']}", reading).body.decode())
    marks = {element.text for element in page.all("span", class_="hidden-char")}
    assert {"U+200B", "U+2060", "U+E0041", "U+202E"} <= marks
    listed = world.tool("messages_list", session="bob", message_id=sent["message_id"])
    assert "\\udb40\\udc41" in listed["messages"][0]["body"]
    for text in (page.raw, json.dumps(listed, ensure_ascii=False)):
        assert not [c for c in text if unicodedata.category(c) in ("Cf", "Zl", "Zp")]


@pytest.mark.spec("TEXT-3", "ROW-3", "SEND-4")
def test_case_53_names_that_are_huge_or_pretend(world: World) -> None:
    """Names are not forced into ASCII, as people write theirs in all scripts; they are short, shown escaped, and marked."""
    for name, code in (
        ("x" * 1_000_000, "argument_invalid"),
        ("x" * 201, "name_invalid"),
        ("e\u0301\u0300" * 100, "name_invalid"),
        ("\u202e" * 201, "sender_required"),
    ):
        for argument in ("session", "session_title"):
            said = world.tool("message_send", to="bob", body="x", **{argument: name})
            assert said["code"] == code, (argument, name[:10])
    for name in ("bo\u202eb", "b\u200bob", "BOB", "\u2003bob "):
        # What hides or only looks different is the same name: nobody else can be called so.
        assert world.tool("message_send", session="alice", to=name, body=f"to {name!r}")["recipient"]["title"] == "bob"
    # A letter of another script is another name, and a name that nothing proves is marked as that.
    assert world.tool("message_send", session="alice", to="b\u043eb", body="x")["code"] == "recipient_unknown"
    sent = world.tool("message_send", session="\u0430lice", to="bob", body="I am alice.")
    assert sent["sender_verified"] is False
    assert world.owner.get(f"/api/v1/messages/{sent['message_id']}").json["from"]["verified"] is False


@pytest.mark.spec("SEND-12", "SEND-13")
def test_case_54_a_message_that_asks_to_be_forwarded_comes_to_an_end(world: World) -> None:
    """No sender is unknown here, so the depth of a chain and the rate of a sender stop it."""
    one, other, parent, codes = "worm 1", "worm 2", "", []
    world.owner.post("/api/v1/sessions", {"desktop": "w-1", "title": one})
    world.owner.post("/api/v1/sessions", {"desktop": "w-2", "title": other})
    for hop in range(50):
        given = {"in_reply_to": parent} if parent else {"to": other}
        said = world.tool("message_send", session=one, body=f"Forward this. {hop}", **given)
        codes.append(said.get("code", "sent"))
        parent = said.get("message_id", parent)
        one, other = other, one
    assert codes.index("reply_too_deep") == codes.count("sent") <= 9
    assert set(codes) == {"sent", "reply_too_deep", "message_unknown"}, "whoever was not sent it cannot answer it"
    flood = [
        world.tool("message_send", session="flooder", to="bob", body=f"{n}").get("code", "sent") for n in range(15)
    ]
    assert flood.count("sent") == 10 and set(flood[10:]) == {"rate_limited"}
