"""Directed runs over the link machine: every event at a row in every state in which somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.stateful.places import HOLDING, PLACES, link_of, put, write_as
from tests.stateful.scenery import FOLDERS
from tests.stateful.world import World

Run = Callable[[World], None]
_NOT_OCCUPIED = ("none", "guessed_unseen", "exact_unseen", "guessed folder", "ended_guessed", "ended_exact", "moved")


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world."""
    for name, of in (
        ("live event", live_event), ("live start", live_start), ("resume", resume), ("subagent", subagent),
        ("replayed event", replayed_event), ("session end", session_end), ("end by clear", end_by_clear),
        ("late end", late_end), ("replayed end", replayed_end), ("replayed end by clear", replayed_end_by_clear),
        ("late replayed end", late_replayed_end), ("process gone", process_gone),
    ):  # fmt: skip
        for place in HOLDING:
            yield f"{name} at {place}", _at(of, place)
    for place in PLACES:
        yield f"owner ends {place}", _at(owner_end, place)
        yield f"owner unlinks {place}", _at(unlink, place)
        for b in ("guessed hook", "guessed folder", "exact"):
            yield f"{place} takes the id of {b}", _take(place, b)
    for place in _NOT_OCCUPIED:
        for b in ("ended_guessed", "ended_exact", "ended desktop"):
            yield f"{place} takes the id of {b}", _take(place, b)
    for place in ("none", "guessed_unseen", "exact_unseen", "guessed folder"):
        yield f"{place} takes an unknown id", _take_unknown(place)
    for place in ("guessed_unseen", "exact_unseen"):
        yield f"an id unseen on {place} is taken", _take_from_unseen(place)
    for place in ("guessed hook", "guessed folder", "exact", "ended_guessed", "ended_exact"):
        yield f"/clear at {place}", _at(clear, place)
    yield from (
        ("links itself", links_itself), ("folder guess split", split), ("folder guess named", named_guess),
        ("forks", forks), ("silent rows", silent), ("unlinked and back", unlinked_and_back),
    )  # fmt: skip


def _at(of: Callable[[World, str, str], None], place: str) -> Run:
    def run(w: World) -> None:
        w.create_task()
        of(w, place, put(w, place, 0))

    return run


def live_event(w: World, place: str, ref: str) -> None:
    w.hook("PreToolUse", 0, tool_name="Bash", cwd=FOLDERS[1])
    assert link_of(w, ref) in ("guessed", "exact")


def live_start(w: World, place: str, ref: str) -> None:
    w.hook("SessionStart", 0, source="startup", process=True)
    assert link_of(w, ref) in ("guessed", "exact")


def resume(w: World, place: str, ref: str) -> None:
    w.hook("SessionStart", 0, source="compact")
    w.hook("SessionStart", 0, source="resume")


def subagent(w: World, place: str, ref: str) -> None:
    before = link_of(w, ref)
    w.hook("SessionEnd", 0, agent_id="sub")
    w.hook("PreToolUse", 0, agent_id="sub", tool_name="Bash")
    assert link_of(w, ref) == before


def replayed_event(w: World, place: str, ref: str) -> None:
    before = link_of(w, ref)
    w.spool("Stop", 0, ago=1)
    w.spool("UserPromptSubmit", 0, ago=1, prompt_kind="local")
    w.replay()
    assert link_of(w, ref) == before


def _ends(w: World, place: str, ref: str) -> None:
    if place == "guessed folder":
        assert link_of(w, ref) == "none"
    elif not place.endswith("unseen"):
        assert link_of(w, ref).startswith("ended")


def session_end(w: World, place: str, ref: str) -> None:
    w.hook("SessionEnd", 0, reason="other")
    _ends(w, place, ref)
    w.hook("SessionEnd", 0, reason="other")


def end_by_clear(w: World, place: str, ref: str) -> None:
    w.hook("SessionEnd", 0, reason="clear")
    _ends(w, place, ref)


def late_end(w: World, place: str, ref: str) -> None:
    if place == "exact_unseen":
        w.spool("Stop", 0)
        w.replay()
    before = link_of(w, ref)
    w.tick(10)
    w.hook("SessionEnd", 0, reason="other", ago=3_600)
    assert link_of(w, ref) == before


def replayed_end(w: World, place: str, ref: str) -> None:
    w.spool("SessionEnd", 0)
    w.replay()
    _ends(w, place, ref)
    w.replay()


def replayed_end_by_clear(w: World, place: str, ref: str) -> None:
    w.spool("SessionEnd", 0, reason="clear")
    w.replay()
    _ends(w, place, ref)


def late_replayed_end(w: World, place: str, ref: str) -> None:
    before = link_of(w, ref)
    if place == "exact_unseen":
        w.spool("Stop", 0)
        w.replay()
    w.tick(30)
    w.spool("SessionEnd", 0, ago=60 + 30)
    w.replay()
    assert link_of(w, ref) == before


def process_gone(w: World, place: str, ref: str) -> None:
    if place == "exact_unseen":
        w.spool("SessionStart", 0, source="startup", process=True)
        w.replay()
    w.die(0)
    _ends(w, place, ref)


def owner_end(w: World, place: str, ref: str) -> None:
    w.end_session(ref)
    w.end_session(ref)


def unlink(w: World, place: str, ref: str) -> None:
    w.unlink(ref)
    assert link_of(w, ref) == "none"
    w.unlink(ref)


def clear(w: World, place: str, ref: str) -> None:
    strong = "exact" if place.endswith("exact") else "guessed"
    if place.startswith("ended"):
        w.hook("SessionStart", 0, source="resume", process=True)
        w.hook("SessionEnd", 0, reason="clear", process=True)
    w.hook("SessionStart", 1, source="clear", process=True, cwd=FOLDERS[0])
    assert link_of(w, ref) == strong
    w.hook("SessionEnd", 0, reason="clear")
    assert link_of(w, ref) == strong


def _take(place: str, of_b: str) -> Run:
    def run(w: World) -> None:
        a = put(w, place, 0, spare=5)
        if of_b == "ended desktop":
            w.add_desktop("Desk", FOLDERS[0])
            w.hook("SessionStart", 2, source="startup", process=True)
            w.create_task(w.caller("Desk", witness=2))
            w.hook("SessionEnd", 2, process=True)
        else:
            put(w, of_b, 2, title="Bob")
        dead = of_b.startswith("ended")
        w.create_task(w.caller(a, claims=2) if dead else w.caller(a, witness=2))

    return run


def _take_unknown(place: str) -> Run:
    def run(w: World) -> None:
        a = put(w, place, 0)
        write_as(w, a, claims=4)
        assert link_of(w, a) == "exact_unseen"

    return run


def _take_from_unseen(place: str) -> Run:
    def run(w: World) -> None:
        b = put(w, place, 0, title="Bob")
        a = put(w, "none", 1)
        write_as(w, a, claims=0)
        assert (link_of(w, a), link_of(w, b)) == ("exact_unseen", "none")

    return run


def links_itself(w: World) -> None:
    w.linked(0, 2)
    w.create_task(w.caller("Zoe", witness=0))
    w.update_task(w.caller("Zoe", witness=0), w.task(0))


def split(w: World) -> None:
    ref = put(w, "guessed folder", 0)
    w.update_task(w.caller("", witness=0), w.task(0))
    w.create_task()
    w.update_task(w.caller("", witness=0), w.task(0))
    assert link_of(w, ref) == "none"


def named_guess(w: World) -> None:
    ref = put(w, "guessed folder", 0)
    w.create_task(w.caller("Zoe", witness=0))
    assert link_of(w, ref) == "none"


def forks(w: World) -> None:
    w.hook("SessionStart", 0, source="fork")
    w.spool("SessionStart", 1, source="fork")
    w.replay()


def silent(w: World) -> None:
    w.hook("SessionStart", 0, source="startup")
    w.hook("SessionStart", 1, source="startup")
    w.ack(w.caller("", witness=1))
    w.add_desktop("Desk", FOLDERS[0])
    w.hook("SessionStart", 2, source="startup")
    w.spool("SessionStart", 3, source="startup")
    w.replay()
    w.create_task(w.caller("Alice", claims=4))
    w.silence()
    states = sorted(row["link_state"] for row in w.seen.tables["session"])
    assert states == ["ended_exact", "ended_guessed", "exact_unseen", "guessed_unseen", "none"]


def unlinked_and_back(w: World) -> None:
    w.linked(0)
    ref = w.ref(0)
    w.unlink(ref)
    w.hook("SessionStart", 0, source="resume", process=True)
    assert link_of(w, ref) == "none" and w.row_of(0) is not None
