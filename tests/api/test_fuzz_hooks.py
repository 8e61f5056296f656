"""The hook endpoints under events of every kind of the client, mutated, and under bytes that are none.

The shapes are those in which the client posts its events, some written down by hand and some recorded (`recorded/`).
Whatever comes: 200, or a refusal with a known code; the hook
answer has the client's own members; nothing failed on the way; and what the database promises holds.
"""

from __future__ import annotations

import copy
import itertools
import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaybay import specs
from relaybay.domain import Caller
from relaybay.service import messages
from tests.api.hooks_rig import HOOK, HookServer
from tests.api.wire import Response

CODES = {answer.code for answer in specs.answers().values() if answer.code}
IDS = [f"fuzz-{n}-5e55104a" for n in range(4)]
SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))

_BASH = {"command": "make test", "description": "Runs the tests"}
_CALL = {"tool_name": "Bash", "tool_input": _BASH, "tool_use_id": "toolu_01", "effort": {"level": "medium"}}
_MCP = {
    "tool_name": "mcp__relaybay__message_send",
    "tool_input": {"to": "web", "body": "x"},
    "tool_use_id": "toolu_02",
    "mcp_server": {"name": "relaybay", "source": "user"},
}
_LAST = {"last_assistant_message": "Done.", "background_tasks": [], "session_crons": []}
_HELPER = {"agent_id": "a5116d64", "agent_type": "general-purpose"}

# Every event that the client posts, with the members that make it up beside those that all have.
EVENTS: list[dict[str, Any]] = [
    *({"hook_event_name": "SessionStart", "source": s} for s in ("startup", "resume", "clear", "compact", "fork")),
    {"hook_event_name": "SessionStart", "source": "startup", "model": "some-model", "session_title": "web"},
    *(
        {"hook_event_name": "SessionEnd", "reason": r}
        for r in ("exit", "clear", "logout", "other", "prompt_input_exit")
    ),
    {"hook_event_name": "UserPromptSubmit", "prompt": "Please go on.", "prompt_id": "p-1"},
    {"hook_event_name": "UserPromptSubmit", "prompt": "<task-notification>\n<x>", "prompt_id": "p-2"},
    {"hook_event_name": "UserPromptSubmit", "prompt": "<channel source='a'>", "prompt_id": "p-3", "source": "channel"},
    {"hook_event_name": "UserPromptExpansion", "prompt": "/x", "expansion": "y"},
    {"hook_event_name": "PreToolUse", **_CALL},
    {"hook_event_name": "PreToolUse", **_MCP},
    {"hook_event_name": "PostToolUse", **_CALL, "tool_response": {"stdout": "ok", "stderr": ""}, "duration_ms": 3},
    {"hook_event_name": "PostToolUse", **_MCP, "tool_response": [{"type": "text", "text": "sent"}]},
    {
        "hook_event_name": "PostToolUse",
        "tool_name": "SendMessage",
        "tool_input": {"to": "web", "message": "x"},
        "tool_response": {"success": True},
        "tool_use_id": "toolu_03",
    },
    {"hook_event_name": "PostToolUse", **_CALL, **_HELPER, "tool_response": "as text"},
    {"hook_event_name": "PostToolUseFailure", **_CALL, "error": "no such file", "is_interrupt": False},
    {"hook_event_name": "PostToolBatch", "tool_calls": [_CALL, _MCP]},
    {"hook_event_name": "Stop", "stop_hook_active": False, **_LAST},
    {"hook_event_name": "Stop", "stop_hook_active": True, **_LAST},
    {"hook_event_name": "StopFailure", "error": "overloaded"},
    {"hook_event_name": "SubagentStart", **_HELPER},
    {"hook_event_name": "SubagentStop", **_HELPER, "stop_hook_active": False, "agent_transcript_path": "/x.jsonl"},
    {"hook_event_name": "Notification", "message": "waiting", "notification_type": "idle_prompt"},
    {"hook_event_name": "Notification", "message": "May I?", "notification_type": "permission_prompt"},
    {"hook_event_name": "PermissionRequest", **_CALL, "permission_suggestions": [{"type": "setMode"}]},
    {"hook_event_name": "PermissionDenied", **_CALL, "reason": "no"},
    {"hook_event_name": "PreCompact", "trigger": "manual", "custom_instructions": None},
    {"hook_event_name": "PostCompact", "trigger": "auto", "compact_summary": "x"},
    *(
        {"hook_event_name": name}
        for name in [
            "Setup",
            "TeammateIdle",
            "TaskCreated",
            "TaskCompleted",
            "Elicitation",
            "ElicitationResult",
            "ConfigChange",
            "WorktreeCreate",
            "WorktreeRemove",
            "InstructionsLoaded",
            "CwdChanged",
            "FileChanged",
            "DirectoryAdded",
            "MessageDisplay",
            "PreModelSwitch",
            "PostModelSwitch",
            "PreSkillShellCommand",
            "AnEventOfTomorrow",
        ]
    ),
]
RECORDED = {
    path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for path in sorted((Path(__file__).parent / "recorded").glob("*.jsonl"))
}
SHAPES = EVENTS + [event for events in RECORDED.values() for event in events]
COMMON = {"transcript_path": "/home/ada/.claude/projects/-src-shop/x.jsonl", "cwd": "/src/shop", "prompt_id": "p-1"}

STRANGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=[]), max_size=30),
    st.sampled_from(["", " ", "\x00", "\ud800", "x" * 5_000, "\u202e", "/", "../..", "S-1", "@web", "'; --", IDS[0]]),
    st.recursive(
        st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
    ),
)
NAMES = st.sampled_from(sorted({name for event in SHAPES for name in event} | set(COMMON) | {"session_id"}))


@st.composite
def events(draw: st.DrawFn, *, mutated: bool = True) -> dict[str, Any]:
    """One event as the client has it, with up to three things about it changed."""
    event = {**COMMON, **copy.deepcopy(draw(st.sampled_from(SHAPES))), "session_id": draw(st.sampled_from(IDS))}
    for _ in range(draw(st.integers(0, 3)) if mutated else 0):
        name = draw(NAMES)
        change = draw(st.sampled_from(["drop", "replace", "replace", "inside", "add", "rename"]))
        if change == "drop":
            event.pop(name, None)
        elif change == "add":
            event[draw(st.text(max_size=12))] = draw(STRANGE)
        elif change == "rename" and name in event:
            event[name.upper()] = event.pop(name)
        elif change == "inside" and isinstance(event.get(name), dict) and event[name]:
            event[name][draw(st.sampled_from(sorted(event[name])))] = draw(STRANGE)
        else:
            event[name] = draw(STRANGE)
    return event


HEADERS = st.dictionaries(
    st.sampled_from(
        [
            f"X-Relaybay-{name}"
            for name in (
                [
                    "Event-Id",
                    "Event-At",
                    "Client-Pid",
                    "Client-Started",
                    "Pid-Ns",
                    "Entrypoint",
                    "Client-Version",
                    "Start",
                    "Name",
                ]
            )
        ]
    ),
    st.sampled_from(
        [
            "",
            "0",
            "1",
            "-1",
            "99999999999999999999",
            "1_0",
            "²",
            "1796052000000000",
            "e-1",
            "cli",
            "x" * 3_000,
            "é",
            "a b",
        ]
    ),
    max_size=4,
)


PEERS = itertools.count()


class Failures(logging.Handler):
    """What was logged as an error. An event that fails is answered `{}` all the same, so the log has to tell."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(self.format(record))


class Fuzzed(HookServer):
    failures: Failures

    def holds(self) -> None:
        """What no sequence of events may break."""
        assert not self.failures.seen, self.failures.seen[0]

        def look(tx: Any) -> dict[str, list[Any]]:
            # A sound database says "ok" to the check of its pages, and nothing to all else.
            return {q: [row for row in tx.dicts(q) if list(row.values()) != ["ok"]] for q in BROKEN}

        found = {question: rows for question, rows in self.relay.store.read(look).items() if rows}
        assert not found, found

    def judged(self, answer: Response, allowed: tuple[int, ...]) -> None:
        assert answer.status in allowed, answer
        if answer.status == 200 and answer.header("content-type") == "application/json":
            said = answer.json
            assert set(said) <= {"hookSpecificOutput", "decision", "reason", "applied", "repeated", "bad"}, said
            if "hookSpecificOutput" in said:
                assert set(said["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
            assert said.get("decision", "block") == "block"
        elif answer.status >= 400:
            assert answer.code in CODES, answer


BROKEN = (
    "PRAGMA foreign_key_check",
    "PRAGMA quick_check(1)",
    "SELECT hook_id FROM session WHERE hook_id IS NOT NULL GROUP BY hook_id HAVING count(*) > 1",
    "SELECT id FROM session WHERE (link_state = 'exact') <> (name IS NOT NULL)",
    "SELECT id FROM session WHERE activity <> 'ended' AND link_state IN ('ended_exact', 'ended_guessed')",
    "SELECT m.id FROM message m LEFT JOIN delivery d ON d.message_id = m.id GROUP BY m.id HAVING count(d.id) <> 1",
    "SELECT id FROM delivery WHERE state = 'delivered' AND (delivered_hook_id = '' OR handover_id = '')",
    "SELECT id FROM delivery WHERE recipient_id IS NULL AND state NOT IN ('orphaned', 'read')",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Fuzzed]:
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    made, made_failures = Fuzzed(folder), Failures()
    made.failures = made_failures
    logging.getLogger().addHandler(made_failures)
    made.start()
    made.spool.mkdir(mode=0o700)
    yield made
    made.server.stop()
    made.relay.close()
    logging.getLogger().removeHandler(made_failures)
    shutil.rmtree(folder)


def encoded(event: Any) -> bytes:
    return json.dumps(event).encode()


@pytest.mark.spec("75", "20", "INV-3", "INV-11")
def test_events_in_any_order_and_shape(server: Fuzzed) -> None:
    """Also with mail for the sessions between the events, so that there is something to hand over."""
    for own in IDS[:2]:
        server.linked(own)

    @settings(SETTINGS, max_examples=120)
    @given(steps=st.lists(st.tuples(st.none() | st.integers(0, 5), events(), HEADERS), min_size=1, max_size=8), tcp=...)
    def play(steps: list[tuple[int | None, dict[str, Any], dict[str, str]]], tcp: bool) -> None:
        for mail_to, event, headers in steps:
            if mail_to is not None:
                rows = server.relay.store.read(lambda tx: tx.dicts("SELECT id FROM session ORDER BY id"))
                _mail(server, f"S-{rows[mail_to % len(rows)]['id']}")
            wire = server.tcp if tcp else server.wire
            answer = wire.request("POST", HOOK, {"Content-Type": "application/json", **headers}, encoded(event))
            server.judged(answer, (200, 400))
            for other in IDS:
                assert other == event.get("session_id") or other.encode() not in answer.body, (other, event)
        server.holds()

    play()
    states = server.relay.store.read(lambda tx: tx.dicts("SELECT state, count(*) AS n FROM delivery GROUP BY state"))
    assert {row["state"] for row in states} >= {"sent", "delivered"}, "nothing was handed over at all"


def _mail(server: Fuzzed, ref: str) -> None:
    # A peer for each: the eleventh message of one within a minute would be refused.
    caller = Caller(session=f"peer {next(PEERS)}")
    server.write(lambda tx: messages.send(tx, server.relay, caller, body="Please look.", to=ref))


@pytest.mark.parametrize("client", RECORDED)
@pytest.mark.spec("75", "HL-1", "HL-2", "HL-4", "HL-6")
def test_a_recorded_run_leaves_its_sessions_behind(server: Fuzzed, client: str) -> None:
    """Every event is answered as the client expects, and of all its runs two sessions are left: it and its fork."""
    for event in RECORDED[client]:
        named = {**event, "session_id": f"{client} {event['session_id']}"}
        answer = server.wire.request("POST", HOOK, {"Content-Type": "application/json"}, encoded(named))
        server.judged(answer, (200,))
    server.holds()
    rows = server.relay.store.read(lambda tx: tx.dicts("SELECT * FROM session WHERE hook_id LIKE ?", f"{client} %"))
    assert sorted(row["hook_id"] for row in rows) == [f"{client} session-1", f"{client} session-2"]
    assert {row["activity"] for row in rows} == {"ended"}
    assert {row["link_state"] for row in rows} == {"ended_guessed"}


@settings(SETTINGS, max_examples=150)
@given(event=events(mutated=False), data=st.data())
@pytest.mark.spec("75")
def test_bytes_that_were_an_event(server: Fuzzed, event: dict[str, Any], data: st.DataObject) -> None:
    body = bytearray(encoded(event))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body)))
        kind = data.draw(st.sampled_from(["cut", "put", "double", "flip"]))
        if kind == "cut":
            del body[at:]
        elif kind == "put":
            body[at:at] = data.draw(
                st.sampled_from([b"\x00", b"\xff", b"NaN", b"{", b"[" * 2_000, b"1e400", b'"a":1,'])
            )
        elif kind == "double":
            body += body[at:]
        elif at < len(body):
            body[at] ^= 1 << data.draw(st.integers(0, 7))
    path = data.draw(st.sampled_from([HOOK, f"{HOOK}/wait?wait_id=fuzz-bytes&timeout_s=0.01", "/hooks/spool"]))
    answer = server.wire.request("POST", path, {"Content-Type": "application/json"}, bytes(body))
    server.judged(answer, (200, 204, 400, 409, 413, 422))
    server.holds()


@settings(SETTINGS, max_examples=80)
@given(
    event=events(),
    query=st.fixed_dictionaries(
        {},
        optional={
            "wait_id": st.sampled_from(
                ["fuzz-0001", "fuzz-0002", "short", "", "x" * 65, "a b c d e", "%00%00%00%00", "é" * 8]
            ),
            "timeout_s": st.sampled_from(["0.01", "0", "-1", "50.1", "NaN", "inf", "1e-9", "x", "", "0x1"]),
            "more": st.just("1"),
        },
    ),
)
@pytest.mark.spec("75", "20")
def test_waits_of_any_shape(server: Fuzzed, event: dict[str, Any], query: dict[str, str]) -> None:
    short = {"timeout_s": "0.01", **query}
    asked = "&".join(f"{name}={value.replace(' ', '%20')}" for name, value in short.items())
    body = encoded({**event, "hook_event_name": "Stop"})
    answer = server.wire.request("POST", f"{HOOK}/wait?{asked}", {"Content-Type": "application/json"}, body)
    server.judged(answer, (200, 204, 400, 409, 422))
    server.holds()


SPOOLED = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["f-1", "f-2", "f-3", "", "x" * 65, "é"]) | STRANGE,
        "at_us": st.sampled_from([0, 1, 1_796_052_000_000_000, 2**62, 2**62 + 1, -1, True, 1.5]) | STRANGE,
        "client": st.sampled_from(["claude-code", "other", ""]) | STRANGE,
        "body": events() | STRANGE,
        "headers": STRANGE,
    },
)


@settings(SETTINGS, max_examples=80)
@given(batch=st.lists(SPOOLED | STRANGE, max_size=6) | STRANGE, twice=st.booleans())
@pytest.mark.spec("75", "SPOOL-1")
def test_spools_of_any_shape(server: Fuzzed, batch: Any, twice: bool) -> None:
    for again in range(1 + twice):
        answer = server.wire.post("/hooks/spool", {"events": batch})
        server.judged(answer, (200, 422))
        assert (answer.status == 200) == isinstance(batch, list)
        if answer.status == 200:
            counts = answer.json
            assert sum(counts.values()) == len(batch)
            assert not again or counts["applied"] == 0, "what was applied once is not applied again"
    server.holds()


@pytest.mark.spec("75")
def test_bodies_at_their_bound(server: Fuzzed) -> None:
    """8 MiB are taken, and not a byte more; whatever the event is."""
    for event in EVENTS:
        body = encoded({**COMMON, **event, "session_id": IDS[0]})
        full = body[:-1] + b" " * ((8 << 20) - len(body)) + b"}"
        if event in EVENTS[::12]:
            server.judged(server.wire.request("POST", HOOK, {"Content-Type": "application/json"}, full), (200,))
            over = server.wire.request("POST", HOOK, {"Content-Type": "application/json"}, full + b" ")
            assert (over.status, over.code) == (413, "body_too_large")
    server.holds()
