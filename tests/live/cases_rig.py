"""The rig's own proof, without the product: when these fail, nothing else here means anything."""

from __future__ import annotations

import errno
import socket

from tests.live.rig import Bench, Case
from tests.live.stub_api import Call, Gate, Say


def nothing_leaves_the_namespace(bench: Bench) -> None:
    """Any address but loopback has no route, over either protocol."""
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_STREAM) as handle:
            handle.settimeout(2)
            assert handle.connect_ex((address, 443)) in (errno.ENETUNREACH, errno.EADDRNOTAVAIL), address


def one_shot_follows_its_script(bench: Bench) -> None:
    """A tool call, its result in the next request, a gate in the middle of the turn, a resumed second turn."""
    session = bench.session("alpha")
    call = Call("Bash", {"command": "echo hello-from-the-shell", "description": "say hello"})
    gate = Gate(Say("first turn over"))
    bench.api.script(session.id, [call, gate])
    run = session.one_shot("go")
    request = gate.wait()
    assert run.process.poll() is None, "the client runs while the model thinks"
    assert "hello-from-the-shell" in request.tool_result(call.id)
    gate.open()
    turn = run.finish()
    assert turn.code == 0, turn
    assert turn.result["result"] == "first turn over"
    assert turn.result["session_id"] == session.id
    bench.measure("turn_seconds", turn.seconds)

    bench.api.script(session.id, [Say("second turn over")])
    again = session.one_shot("again").finish()
    assert again.result["result"] == "second turn over"
    assert again.result["session_id"] == session.id, "a resumed session keeps its id"
    assert len(bench.api.steps(session.id)) == 3
    assert not bench.api.left(session.id)


def terminal_follows_its_script(bench: Bench) -> None:
    """The interactive client comes up without onboarding, takes a typed prompt and shows the model's answer."""
    session = bench.session("alpha")
    call = Call("Bash", {"command": "echo hello-from-the-shell", "description": "say hello"})
    bench.api.script(session.id, [call, Say("the-answer-on-the-screen")])
    terminal = session.terminal()
    try:
        terminal.wait_ready()
        terminal.type("go")
        second = bench.api.wait_for(session.id, lambda request: request.has_result(call.id), 20)
        assert "hello-from-the-shell" in second.tool_result(call.id)
        terminal.wait_ready()
        assert "the-answer-on-the-screen" in terminal.screen()
    except AssertionError:
        bench.note(terminal.screen())
        raise
    finally:
        terminal.close()


CASES: tuple[Case, ...] = (
    nothing_leaves_the_namespace,
    one_shot_follows_its_script,
    terminal_follows_its_script,
)
