"""The opt-in wake-up: an idle terminal starts a turn because a message came, and no waiting hooks pile up."""

from __future__ import annotations

import time

from tests.live.client import Session, Terminal
from tests.live.product import model_call
from tests.live.rig import Bench, Case
from tests.live.stub_api import Gate, Say

MARK = "the-ferry-leaves-earlier-today"
WAKE_SECONDS_MAX = 2.0
SETTLE_SECONDS = 2.0
SWEEP_SECONDS_MAX = 25.0


def message_wakes_idle_terminal(bench: Bench) -> None:
    """From send to the request that holds the text in under two seconds, one turn, nothing typed."""
    alpha, terminal = _idle_terminal(bench)
    try:
        bench.api.script(alpha.id, [Say("i am awake")])
        sent_at = time.monotonic()
        receipt = bench.product.done("message_send", session="tester", to="alpha", body=MARK)
        assert receipt["reason_code"] == "being_woken", receipt
        woken = bench.api.wait_for(alpha.id, lambda request: MARK in request.text, 10)
        bench.measure("wake_seconds", woken.at - sent_at)
        assert woken.at - sent_at <= WAKE_SECONDS_MAX, bench.report.figures
        assert receipt["message_id"] in woken.text
        listed = bench.product.sent_by("tester", receipt["message_id"])
        assert listed["state"] == "delivered", listed
        bench.product.until_in_context("tester", receipt["message_id"])
        time.sleep(SETTLE_SECONDS)
        steps = bench.api.steps(alpha.id)
        assert len(steps) == 3, f"the wake-up's turn is one request, not {len(steps) - 2}"
        assert steps[-1].text.count(MARK) == 1
    finally:
        bench.note(terminal.screen())
        terminal.close()


def broken_off_turn_is_seen(bench: Bench) -> None:
    """No hook tells of Esc; with something waiting, the transcript does, within one round of the sweep."""
    bench.serve()
    alpha = bench.session("alpha")
    thinking = Gate(Say("never said"))
    bench.api.script(alpha.id, [model_call("message_ack"), thinking])
    terminal = alpha.terminal()
    try:
        terminal.wait_ready()
        terminal.type("go")
        thinking.wait()
        receipt = bench.product.done("message_send", session="tester", to="alpha", body=MARK)
        assert receipt["reason_code"] == "working", receipt
        terminal.press("Escape")
        pressed = time.monotonic()
        while bench.product.sent_by("tester", receipt["message_id"])["reason_code"] == "working":
            assert time.monotonic() - pressed < SWEEP_SECONDS_MAX, "the interruption was not seen"
            time.sleep(0.25)
        bench.measure("broken_off_seconds", time.monotonic() - pressed)
        listed = bench.product.sent_by("tester", receipt["message_id"])
        assert (listed["state"], listed["reason_code"]) == ("sent", "idle"), listed
    finally:
        bench.note(terminal.screen())
        thinking.open()
        terminal.close()


def one_waiting_hook_per_session(bench: Bench) -> None:
    """Each Stop starts a waiter; after three turns one is left, and none after the session ends."""
    alpha, terminal = _idle_terminal(bench)
    try:
        assert len(_waiters(bench, terminal)) == 1
        for number in (2, 3):
            bench.api.script(alpha.id, [Say(f"end of turn {number}")])
            terminal.wait_ready()
            terminal.type(f"turn {number}")
            _until_left(bench, alpha, 0)
            time.sleep(SETTLE_SECONDS)
            assert len(_waiters(bench, terminal)) == 1, f"after turn {number}"
        terminal.type("/exit")
        deadline = time.monotonic() + 10
        while terminal.is_running() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not terminal.is_running(), "the client left at /exit"
        assert not _waiters(bench, terminal)
    finally:
        terminal.close()


def _idle_terminal(bench: Bench) -> tuple[Session, Terminal]:
    """A linked session at its prompt, its first turn over, with a wake-up waiting."""
    bench.serve("--wake")
    alpha = bench.session("alpha")
    bench.api.script(alpha.id, [model_call("message_ack"), Say("first turn over")])
    terminal = alpha.terminal()
    try:
        terminal.wait_ready()
        terminal.type("go")
        _until_left(bench, alpha, 0)
        time.sleep(SETTLE_SECONDS)
    except BaseException:
        bench.note(terminal.screen())
        terminal.close()
        raise
    return alpha, terminal


def _until_left(bench: Bench, session: Session, count: int) -> None:
    deadline = time.monotonic() + 20
    while bench.api.left(session.id) > count:
        assert time.monotonic() < deadline, f"{bench.api.left(session.id)} steps not taken"
        time.sleep(0.05)


def _waiters(bench: Bench, terminal: Terminal) -> list[int]:
    # The copy of the hook program that setup installed lies below the product's folder.
    return terminal.started_from(bench.product.folder)


CASES: tuple[Case, ...] = (message_wakes_idle_terminal, broken_off_turn_is_seen, one_waiting_hook_per_session)
