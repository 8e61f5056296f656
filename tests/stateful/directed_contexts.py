"""Directed runs over table CTX: proof that a text reached a session, or that it did not, from every state of the item."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.stateful.directed_mail import card, comment_states, hand_over, states
from tests.stateful.world import World

Run = Callable[[World], None]


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world."""
    for at in ("prompt", "tool", "stop", "wake"):
        yield f"seen in the context, handed over at {at}", _seen(at)
        yield f"never seen in a context, handed over at {at}", _missed(at)
    for event in ("seen", "missing"):
        yield f"{event} when it is too late", _too_late(event)
        yield f"{event} of a row that is gone", _row_gone(event)
    yield from (
        ("a restart looks again", restart_looks_again), ("another conversation takes the proof off", other_session),
        ("a turn broken off", broken_off), ("no transcript, no claim", no_claim), ("shown late", shown_late),
        ("seen after all", seen_after_all),
    )  # fmt: skip


def marks(w: World) -> list[tuple[str, bool, int, str]]:
    """State, whether it is proven, re-offers and reason of each delivery, then of each comment."""
    rows: list[dict[str, Any]] = [*w.seen.tables["delivery"], *w.seen.owner_comments.values()]
    return [(row["state"], bool(row["in_context_us"]), row["reoffers"], row["reason_code"]) for row in rows]


def _give(w: World, at: str, h: int = 0) -> None:
    """Hands over what waits: at an event, or by a wake-up."""
    if at != "wake":
        hand_over(w, at, h)
        return
    w.hook("Stop", h)
    w.open_wait(h)
    w.tick(3)
    w.settle()


def _seen(at: str) -> Run:
    def run(w: World) -> None:
        key = card(w, 0)
        if at == "wake":
            w.open_wait(0)
        else:
            w.comment(key)
        w.mail(2, 0)
        _give(w, at)
        if at == "wake":
            w.comment(key)
        assert states(w) == ["delivered"]
        w.take_up(how="shows it at once" if at == "wake" else "shows")
        w.look_into_transcripts()
        assert marks(w)[0] == ("delivered", True, 0, "")
        w.model_steps(0)
        w.look_long()
        assert marks(w)[0] == ("delivered", True, 0, ""), "once and for all"
        # A Stop shows it once more, and its proof is not asked for again.
        hand_over(w, "stop", 0)
        w.take_up()
        w.look_long()
        w.ack(w.caller("", witness=0))
        assert states(w) == ["read"]

    return run


def _missed(at: str) -> Run:
    """CTX-2: offered again twice, then said to be missing. No Stop block comes back by it."""

    def run(w: World) -> None:
        key = card(w, 0)
        w.mail(2, 0)
        w.comment(key)
        expected = [("sent", False, 1, ""), ("sent", False, 2, ""), ("delivered", False, 2, "not_in_context")]
        for n, after in enumerate(expected):
            _give(w, at if n == 0 else "tool")
            w.miss(0)
            assert marks(w) == [after, after], (at, n)
        hand_over(w, "stop", 0)
        w.miss(0)
        assert {mark[0] for mark in marks(w)} == {"delivered"}, "no third time"

    return run


def _too_late(event: str) -> Run:
    """DLV-13, CMT-21: read, or waiting again, when the transcript is looked into."""

    def run(w: World) -> None:
        key = card(w, 0)

        def tell() -> None:
            if event == "seen":
                w.take_up()
            else:
                w.take_up(how="drops")
                w.model_steps(0)

        w.mail(2, 0)
        w.comment(key)
        hand_over(w, "tool", 0)
        tell()
        w.ack(w.caller("", witness=0))
        w.comment_ack(w.caller("", witness=0), w.cid(0))
        w.look_long()
        assert marks(w) == [("read", False, 0, "")] * 2
        # The server takes the answer for lost, and then hears of it all the same.
        w.mail(2, 0)
        w.comment(key)
        hand_over(w, "tool", 0)
        text = w.given[-1].done.text
        w.not_written()
        if event == "seen":
            w.script(0).shown(text)
        w.model_steps(0)
        w.look_long()
        assert [mark for mark in marks(w) if mark[0] == "sent"] == [("sent", False, 0, "")] * 2
        # Bound to another: it waits for that one, whatever the first one's transcript says.
        hand_over(w, "tool", 0)
        tell()
        w.bind(key, "S-2")
        w.look_long()
        assert comment_states(w)[-1] == "sent"

    return run


def _row_gone(event: str) -> Run:
    """LINK-8: another row has the id and its transcript; the item is orphaned."""

    def run(w: World) -> None:
        w.linked(0, 2)
        w.create_task(w.caller("Heir"))
        w.mail(2, 0)
        hand_over(w, "tool", 0)
        if event == "seen":
            w.take_up()
        else:
            w.take_up(how="drops")
            w.model_steps(0)
        w.hook("SessionEnd", 0, process=True)
        w.create_task(w.caller("Heir", claims=0))
        assert states(w) == ["orphaned"]
        w.hook("SessionStart", 0, source="resume", process=True)
        w.look_long()
        assert states(w) == ["orphaned"]

    return run


def restart_looks_again(w: World) -> None:
    """What is delivered and not proven is looked for after a restart too, in what was written before it."""
    w.linked(0, 2)
    w.mail(2, 0, 2)
    hand_over(w, "tool", 0)
    w.take_up()
    w.restart(kill=True)
    w.hook("Notification", 0)
    w.look_long()
    assert marks(w) == [("delivered", True, 0, "")] * 2


def seen_after_all(w: World) -> None:
    """Given up, and then a Stop shows it once more and the model sees it."""
    w.linked(0, 2)
    w.mail(2, 0)
    for _ in range(3):
        hand_over(w, "tool", 0)
        w.miss(0)
    assert marks(w) == [("delivered", False, 2, "not_in_context")]
    hand_over(w, "stop", 0)
    w.take_up()
    w.look_into_transcripts()
    assert marks(w) == [("delivered", True, 2, "")]


def other_session(w: World) -> None:
    """DLV-49: proven for one conversation is not proven for the next behind the same row."""
    w.linked(0, 2)
    w.mail(2, 0)
    hand_over(w, "tool", 0)
    w.take_up()
    w.look_into_transcripts()
    assert marks(w) == [("delivered", True, 0, "")]
    w.hook("SessionStart", 1, source="clear", process=True)
    assert marks(w) == [("sent", False, 0, "")]
    hand_over(w, "tool", 1)
    w.take_up()
    w.look_into_transcripts()
    assert marks(w) == [("delivered", True, 0, "")]


def broken_off(w: World) -> None:
    """CTX-5, ACT-7: the session idles, so that a wait may wake it; and a Stop budget is not given back."""
    w.linked(0, 2)
    w.mail(2, 0)
    hand_over(w, "prompt", 0)
    assert w.interrupt(0) == 1
    assert w.interrupt(0) == 0, "it idles already"
    hand_over(w, "tool", 0)
    w.ack(w.caller("", witness=0))
    hand_over(w, "prompt", 0)
    assert w.interrupt(0) == 0, "nothing waits for it"
    w.mail(2, 0)
    w.unlink("S-1")
    assert w.interrupt(0) == 0


def no_claim(w: World) -> None:
    """CTX-3: without a transcript, and with one that was cut, nothing is said either way."""
    w.linked(0, 5, 2)
    w.mail(2, 0)
    w.mail(2, 5)
    for h in (0, 5):
        hand_over(w, "tool", h)
    w.take_up(how="cuts")
    w.take_up(how="cuts")
    w.look_long()
    assert {mark[1:] for mark in marks(w)} == {(False, 0, "")}


def shown_late(w: World) -> None:
    """The line of a text may come after the step that was under way, and after a restart of the count."""
    w.linked(0, 2)
    w.mail(2, 0)
    w.model_steps(0, 1)
    hand_over(w, "tool", 0)
    w.model_steps(0, 1)
    w.look_into_transcripts()
    w.take_up()
    w.look_long()
    assert marks(w) == [("delivered", True, 0, "")]
