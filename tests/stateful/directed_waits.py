"""Directed runs over the wake-up's waits: every way in, every way out, and every event after the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from relaybay.domain import ClientProcess
from relaybay.service import handover, hooks, wake
from relaybay.service.waits import WaitEntry
from tests.stateful.promises import Step
from tests.stateful.scenery import HOOKS
from tests.stateful.world import World

Run = Callable[[World], None]
OVER = ("fired", "superseded", "ended", "timed_out")


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world."""
    yield from (
        ("fired", fired), ("not written", not_written), ("connection gone at the look", gone_at_look),
        ("no link, no wait", no_link), ("superseded", superseded), ("ended by its session", ended),
        ("not ended by others", not_ended), ("timed out", timed_out), ("polls", polls), ("no poll follows", no_poll),
        ("connection lost", lost), ("client gone", client_gone), ("server stops", server_stops),
        ("delivered items never wake", delivered_never_wakes), ("a fresh comment wakes later", fresh_comment),
        ("no Stop event came", no_stop_event), ("two ends in one commit", two_ends),
        ("ended by a start that woke it", start_and_look), ("superseded in the same commit", open_and_event),
        ("timed out before the commit", timed_out_before_commit),
    )  # fmt: skip
    for how in OVER:
        yield f"everything after {how}", _after(how)
        yield f"{how} while the system is asked", _asked(how)
    for how in ("ended", "timed_out"):
        yield f"{how} within a look", _within_look(how)


def waiting(w: World, *, process: bool = False):
    """A linked, idle session with an open wait, and another session that can write to it."""
    if not w.seen.sessions:
        w.linked(0, 2)
    w.hook("Stop", 0)
    entry = w.open_wait(0, process=process)
    assert w.look(-1) == "waiting"
    return entry


def fired(w: World) -> None:
    entry = waiting(w)
    w.mail(2, 0)
    w.settle()
    assert entry.state == "fired"
    w.poll(0)
    w.look(-1)
    w.hook("UserPromptSubmit", 0, prompt_kind="machine", prompt_id="p9")


def not_written(w: World) -> None:
    entry = waiting(w)
    w.mail(2, 0)
    assert w.look(0, written=False) == "fired"
    assert entry.state == "ended"
    assert w.seen.tables["delivery"][0]["state"] == "sent"
    w.poll(0)
    w.look(-1)
    waiting_again = w.open_wait(0)
    w.settle()
    assert waiting_again.state == "fired"


def gone_at_look(w: World) -> None:
    entry = waiting(w)
    w.mail(2, 0)
    w.look(0, lives=False)
    assert entry.state == "ended"
    assert w.seen.tables["delivery"][0]["state"] == "sent"


def no_link(w: World) -> None:
    w.hook("SessionStart", 0, source="startup")
    assert w.open_wait(0).state == "ended"
    assert w.open_wait(3).state == "ended"
    w.settle()


def superseded(w: World) -> None:
    first = waiting(w)
    second = w.open_wait(0)
    assert (first.state, second.state) == ("superseded", "waiting")
    w.settle()
    w.poll(0)
    w.settle()
    w.mail(2, 0)
    w.settle()
    assert (first.state, second.state) == ("superseded", "fired")


def ended(w: World) -> None:
    for name in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "SessionStart", "SessionEnd"):
        entry = waiting(w)
        w.hook(name, 0, prompt_kind="local", source="resume")
        assert entry.state == "ended", name
        w.settle()
    # From memory and in a transaction, and by the owner.
    w.hook("SessionStart", 0, source="resume")
    entry = waiting(w)
    w.unlink("S-1")
    assert entry.state == "ended"
    w.settle()
    w.hook("SessionStart", 0, source="resume")
    w.ack(w.caller("", witness=0))
    w.hook("Stop", 0)
    entry = w.open_wait(0)
    w.hook("SessionEnd", 0)
    w.create_task(w.caller("Zoe", claims=0))
    assert entry.state == "ended"
    w.settle()


def not_ended(w: World) -> None:
    entry = waiting(w)
    w.hook("Notification", 0)
    w.hook("PreToolUse", 0, agent_id="sub")
    w.hook("Stop", 0)
    w.spool("UserPromptSubmit", 0, prompt_kind="local")
    w.replay()
    assert entry.state == "waiting"


def timed_out(w: World) -> None:
    entry = waiting(w)
    w.wait_a_while(1_501)
    w.look(0)
    assert entry.state == "timed_out"
    w.poll(0)
    w.look(-1)


def polls(w: World) -> None:
    entry = waiting(w)
    w.poll(0)
    assert len(w.polls) == 2
    assert w.look(0) == "superseded_poll"
    w.poll_time_over(0)
    w.poll(0)
    w.poll_time_over(-1)
    w.wait_a_while(2)
    w.poll(0)
    assert entry.state == "waiting"
    w.mail(2, 0)
    w.settle()
    assert entry.state == "fired"


def no_poll(w: World) -> None:
    entry = waiting(w)
    w.poll_time_over(0)
    w.wait_a_while(6)
    w.poll(0)
    assert entry.state == "ended"
    entry = waiting(w)
    w.poll_time_over(-1)
    w.wait_a_while(6)
    w.mail(2, 0)
    w.settle()
    assert entry.state == "ended"


def lost(w: World) -> None:
    entry = waiting(w)
    w.poll(0)
    w.drop(0)
    assert entry.state == "waiting"
    w.drop(0)
    assert entry.state == "ended"


def client_gone(w: World) -> None:
    entry = waiting(w, process=True)
    w.die(0)
    assert entry.state == "ended"
    w.settle()


def server_stops(w: World) -> None:
    entry = waiting(w)
    w.restart()
    assert entry.state == "ended"
    w.hook("Stop", 0)
    entry = w.open_wait(0)
    w.restart(kill=True)
    assert entry.state == "waiting", "a killed server tells nobody"


def delivered_never_wakes(w: World) -> None:
    w.linked(0, 2)
    w.mail(2, 0)
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    w.hook("Stop", 0)
    w.hook("Stop", 0)
    entry = w.open_wait(0)
    w.settle()
    assert entry.state == "waiting"


def fresh_comment(w: World) -> None:
    entry = waiting(w)
    w.create_task()
    w.bind(w.task(0), "S-1")
    w.comment(w.task(0), board=True)
    w.settle()
    assert entry.state == "waiting"
    w.wait_a_while(5)
    w.settle()
    assert entry.state == "fired"


def no_stop_event(w: World) -> None:
    w.linked(0, 2)
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    entry = w.open_wait(0)
    w.mail(2, 0)
    w.settle()
    assert entry.state == "waiting"
    w.wait_a_while(2)
    w.settle()
    assert entry.state == "fired"


def two_ends(w: World) -> None:
    entry = waiting(w)
    w.mail(2, 0)
    w.together(
        ("UserPromptSubmit", 0, {"prompt_kind": "local"}),
        ("PreToolUse", 0, {"tool_name": "Bash"}),
        ("SessionEnd", 0, {}),
    )
    assert entry.state == "ended"
    w.settle()


def start_and_look(w: World) -> None:
    """A SessionStart and the look that fires share a commit: the wait fired first, and stays so."""
    entry = waiting(w)
    w.mail(2, 0)
    start = w.event("SessionStart", 0, source="compact")
    w.promises.live(start)
    _, found = w.one_commit(
        lambda: w.store.submit(lambda tx: hooks.handle(tx, w.relay, start)),
        lambda: w.store.submit(lambda tx: wake.look(tx, w.relay, entry, connection_lives=True)),
    )
    assert entry.state == "fired" and found.done is not None
    w.given.append(w.promises.handed(found.done))
    w.hold(Step(handed=[found.done]))


def open_and_event(w: World) -> None:
    """An event ends the wait that there was when it came, and not the newer one that was opened meanwhile."""
    entry = waiting(w)
    end = w.event("SessionStart", 0, source="compact")
    w.promises.live(end)
    _, newer = w.one_commit(
        lambda: w.store.submit(lambda tx: hooks.handle(tx, w.relay, end)),
        lambda: w.store.submit(lambda tx: wake.open_wait(tx, w.relay, HOOKS[0], "newerwait", ClientProcess())),
    )
    assert (entry.state, newer.state) == ("superseded", "waiting")
    w.hold(Step())
    w.settle()


def timed_out_before_commit(w: World) -> None:
    entry = waiting(w)
    end = w.event("SessionStart", 0, source="compact")
    w.promises.live(end)
    w.one_commit(
        lambda: w.store.submit(lambda tx: hooks.handle(tx, w.relay, end)),
        before_it=lambda: w.relay.waits.take(entry, "time_over"),
    )
    assert entry.state == "timed_out"
    w.hold(Step())


def _over(w: World, how: str, entry: WaitEntry) -> None:
    """The wait of the first session comes to this end; its polls have not heard of it yet."""
    if how == "fired":
        w.mail(2, 0)
        w.poll(-1)
        assert w.look(-1) == "fired"
    elif how == "superseded":
        w.open_wait(0)
    elif how == "ended":
        w.hook("UserPromptSubmit", 0, prompt_kind="local")
    else:
        w.relay.waits.take(entry, "time_over")
    assert entry.state == how


def _after(how: str) -> Run:
    """WAIT-13: whatever its connections do then changes nothing."""

    def run(w: World) -> None:
        entry = waiting(w)
        _over(w, how, entry)
        w.poll_time_over(0)
        w.poll(0)
        w.polls[-1].kick()
        w.drop(-1)
        w.wait_a_while(6)
        w.poll(0)
        w.look(-1)
        w.wait_a_while(1_600)
        w.poll(0)
        w.look(-1)
        assert entry.state == how

    return run


def _asked(how: str) -> Run:
    """WAIT-6: the wait comes to its end while the system is asked for its client's process."""

    def run(w: World) -> None:
        entry = waiting(w, process=True)

        def meanwhile() -> None:
            w.while_asking = None
            _over(w, how, entry)

        w.while_asking = meanwhile
        w.die(0)
        assert entry.state == how

    return run


def _within_look(how: str) -> Run:
    """The event loop ends a wait while the writer looks whether it fires: nothing is marked, nothing handed over."""

    def run(w: World) -> None:
        entry = waiting(w)
        w.mail(2, 0)
        real = handover.offers

        def meanwhile(*args: Any) -> Any:
            w.relay.waits.take(entry, "own_event" if how == "ended" else "time_over")
            return real(*args)

        with mock.patch.object(handover, "offers", meanwhile):
            w.look(0)
        assert entry.state == how
        assert w.seen.tables["delivery"][0]["state"] == "sent"

    return run
