"""No server, a hung server: the agent works on as if relaybay were not there, and what it did is told later, once."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from tests.live.client import Session, Turn
from tests.live.product import model_call, shell_call
from tests.live.rig import Bench, Case
from tests.live.stub_api import Say

MARK = "the-boat-needs-a-new-rope"
PROMPT_WORD = "prompt-word-that-nobody-keeps"
OUTPUT_WORD = "output-word-that-nobody-keeps"
FINAL_WORD = "final-word-that-nobody-keeps"
HTTP_HOOK_SECONDS = 2.0
COMMAND_HOOK_SECONDS = 1.5
SLACK_SECONDS = 1.5
"""What the client, its shell and a busy machine take themselves between two requests."""

NO_MCP = ("--strict-mcp-config", "--mcp-config", '{"mcpServers": {}}')
"""How long the client waits for a hung MCP server is its own affair, and not what is measured here."""


def server_down_costs_nothing(bench: Bench) -> None:
    """http hooks, connection refused: the turn goes through at its usual pace and no event is invented for it."""
    bench.serve()
    bench.product.stop()
    alpha = bench.session("alpha")
    turn = _turn_with_a_tool(bench, alpha)
    gap = _seconds_between_requests(bench, alpha)
    bench.measure("turn_seconds", turn.seconds)
    bench.measure("tool_step_seconds", gap)
    assert gap <= HTTP_HOOK_SECONDS, "a refused connection is no time-out"
    assert _spooled_names(bench) == ["SessionStart", "SessionEnd"], "only command hooks spool"


def server_hung_costs_the_hooks_timeout(bench: Bench) -> None:
    """http hooks, a port that takes connections and never answers: each hook costs its own time-out, no more."""
    bench.serve()
    port = bench.product.port
    bench.product.stop()
    alpha = bench.session("alpha")
    with _silent_server(port) as taken:
        turn = _turn_with_a_tool(bench, alpha, *NO_MCP)
    gap = _seconds_between_requests(bench, alpha)
    bench.measure("turn_seconds", turn.seconds)
    bench.measure("tool_step_seconds", gap)
    assert len(taken) >= 4, f"prompt, before and after the tool, stop: {len(taken)} connections"
    # Between two requests stand PreToolUse and PostToolUse; over the whole turn two more, and start and end.
    assert gap <= 2 * HTTP_HOOK_SECONDS + SLACK_SECONDS, bench.report.figures
    limit = 4 * HTTP_HOOK_SECONDS + 2 * COMMAND_HOOK_SECONDS + 2 * SLACK_SECONDS
    assert turn.seconds <= limit, bench.report.figures


def command_hooks_spool_and_replay_once(bench: Bench) -> None:
    """Spooled while the server is away, applied once at its start; a replay hands nothing over."""
    bench.serve("--mode", "command")
    port = bench.product.port
    alpha = bench.session("alpha")
    bench.api.script(alpha.id, [model_call("message_ack"), Say("linked")])
    assert alpha.one_shot("go").finish().result["result"] == "linked"
    assert not bench.product.spooled(), "nothing is spooled while the server answers"
    receipt = bench.product.done("message_send", session="tester", to="alpha", body=MARK)
    assert (receipt["state"], receipt["reason_code"]) == ("sent", "ended"), receipt
    bench.product.stop()

    turn = _turn_with_a_tool(bench, alpha)
    bench.measure("turn_seconds_server_down", turn.seconds)
    kept = bench.product.spooled()
    names = [event["body"]["hook_event_name"] for event in kept]
    assert names == ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"]
    assert len({event["id"] for event in kept}) == len(kept)
    on_disk = bench.product.spool_text()
    for word in (PROMPT_WORD, OUTPUT_WORD, FINAL_WORD):
        assert word not in on_disk, "texts are never spooled"

    bench.product.start(port=port)
    assert not bench.product.spooled(), "imported before the server listens"
    assert bench.product.sent_by("tester", receipt["message_id"])["state"] == "sent", "a replay delivers nothing"
    again = bench.product.post_hook("/hooks/spool", {"events": kept})
    assert (again["applied"], again["repeated"], again["bad"]) == (0, len(kept), 0), again
    assert bench.product.sent_by("tester", receipt["message_id"])["state"] == "sent"

    before = len(bench.api.steps(alpha.id))
    bench.api.script(alpha.id, [model_call("message_ack"), Say("informed")])
    assert alpha.one_shot("what is new").finish().result["result"] == "informed"
    steps = bench.api.steps(alpha.id)
    assert [MARK in step.text for step in steps[:before]] == [False] * before, "nothing came by the dead server"
    assert MARK in steps[before].text, "the live prompt brings it"
    assert bench.product.sent_by("tester", receipt["message_id"])["state"] == "read"


def _turn_with_a_tool(bench: Bench, session: Session, *options: str) -> Turn:
    bench.api.script(session.id, [shell_call(OUTPUT_WORD), Say(FINAL_WORD)])
    turn = session.one_shot(f"do it, {PROMPT_WORD}", *options).finish()
    assert turn.code == 0, turn
    assert turn.result["result"] == FINAL_WORD, turn.result
    assert turn.result["is_error"] is False, turn.result
    assert not bench.api.left(session.id)
    return turn


def _seconds_between_requests(bench: Bench, session: Session) -> float:
    one, two = bench.api.steps(session.id)[-2:]
    return two.at - one.at


def _spooled_names(bench: Bench) -> list[str]:
    return [event["body"]["hook_event_name"] for event in bench.product.spooled()]


@contextlib.contextmanager
def _silent_server(port: int) -> Iterator[list[socket.socket]]:
    """Takes every connection and says nothing; gives the list of what it took."""
    taken: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", port), backlog=64) as server:
        server.settimeout(0.1)
        over = threading.Event()

        def take() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    taken.append(server.accept()[0])

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        try:
            yield taken
        finally:
            over.set()
            thread.join(2)
            for connection in taken:
                connection.close()


CASES: tuple[Case, ...] = (
    server_down_costs_nothing,
    server_hung_costs_the_hooks_timeout,
    command_hooks_spool_and_replay_once,
)
