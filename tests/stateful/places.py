"""Rows put into each state of the link machine by what really leads there."""

from __future__ import annotations

from tests.stateful.scenery import FOLDERS
from tests.stateful.world import World

#: The states, and for `guessed` and the two ended ones whose row it is.
PLACES = (
    "none", "guessed_unseen", "exact_unseen", "guessed hook", "guessed folder", "exact", "ended_guessed", "ended_exact",
    "moved",
)  # fmt: skip
HOLDING = tuple(place for place in PLACES if place not in ("none", "moved"))


def put(w: World, place: str, h: int, *, title: str = "Alice", spare: int = 5) -> str:
    """Makes a row whose link is there, over hook id number `h`; gives its ref. `spare` is an id that may be used up."""
    match place:
        case "none":
            w.create_task(w.caller(title))
            return _ref(w, title)
        case "guessed_unseen":
            w.spool("SessionStart", h, source="startup", process=True)
            w.replay()
        case "exact_unseen":
            w.create_task(w.caller(title, claims=h))
        case "guessed hook":
            w.hook("SessionStart", h, source="startup", process=True)
        case "guessed folder":
            w.add_desktop(title, FOLDERS[h % 2])
            w.hook("SessionStart", h, source="startup", process=True)
        case "exact":
            w.linked(h)
        case "ended_guessed":
            w.hook("SessionStart", h, source="startup", process=True)
            w.hook("SessionEnd", h, process=True)
        case "ended_exact":
            w.linked(h)
            w.hook("SessionEnd", h, process=True)
        case "moved":
            return _moved(w, spare, title)
    row = w.row_of(h)
    assert row is not None and row["link_state"] == place.split(maxsplit=1)[0], (place, row)
    return f"S-{row['id']}"


def _moved(w: World, h: int, title: str) -> str:
    """An agent's row whose ended, exact link went to another row (LINK-9)."""
    w.hook("SessionStart", h, source="startup")
    w.create_task(w.caller(title, witness=h))
    w.hook("SessionEnd", h)
    w.create_task(w.caller(f"{title} again", claims=h))
    ref = _ref(w, title)
    assert w.seen.sessions[int(ref[2:])]["link_state"] == "moved"
    return ref


def _ref(w: World, title: str) -> str:
    return next(f"S-{row['id']}" for row in w.seen.tables["session"] if row["title"] == title)


def link_of(w: World, ref: str) -> str:
    """The row's link state, or `gone`."""
    row = w.seen.sessions.get(int(ref[2:]))
    return "gone" if row is None else str(row["link_state"])


def write_as(w: World, ref: str, *, claims: int | None = None, witness: int | None = None):
    """An other write in a row's name."""
    return w.create_task(w.caller(ref, claims=claims, witness=witness))
