"""What is kept in memory of sessions, ids and waits, up to its bounds and not beyond them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from relaybay.service import links
from relaybay.service import presence as presences
from relaybay.service.presence import Presence
from relaybay.service.waits import WaitEntry, Waits
from relaybay.specs import limit
from relaybay.store import sessions, tool_uses
from tests.unit.linking_rig import SECOND, START, Rig

HOUR = limit("tool_use_minutes_max") * 60 * SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = Rig(tmp_path)
    yield made
    made.relay.close()


# -- tool-use and event ids ----------------------------------------------------------------------------------------


def test_a_tool_use_id_is_good_for_its_hour_and_is_forgotten_after_it() -> None:
    assert HOUR == 3_600 * SECOND
    presence = Presence()
    presence.witness("toolu_1", "h1", START)
    assert presence.witnessed("toolu_1", START + HOUR) == "h1"
    assert presence.witnessed("toolu_1", START + HOUR + 1) is None
    presence.witness("toolu_2", "h2", START + HOUR)
    assert presence.witnessed("toolu_1", START) == "h1"
    presence.witness("toolu_2", "h3", START + HOUR + 1)
    assert presence.witnessed("toolu_1", START) is None, "forgotten with the next one that came"
    assert presence.witnessed("toolu_2", START + HOUR + 1) == "h3"


def test_only_so_many_ids_are_kept_the_newest_ones() -> None:
    presence = Presence()
    uses = [f"toolu_{n}" for n in range(limit("tool_use_ids_max") + 1)]
    for use in uses[:-1]:
        presence.witness(use, "h", START)
    assert presence.witnessed(uses[0], START) == "h"
    presence.witness(uses[-1], "h", START)
    assert [presence.witnessed(use, START) for use in (uses[0], uses[1], uses[-1])] == [None, "h", "h"]


def test_only_so_many_event_ids_are_kept_the_newest_ones(monkeypatch) -> None:
    monkeypatch.setattr(presences, "limit", {"event_ids_max": 3}.__getitem__)
    presence = Presence()
    for event in ("a", "b", "c"):
        presence.hear(event)
    assert presence.heard("a")
    presence.hear("d")
    assert [presence.heard(event) for event in "abcd"] == [False, True, True, True]


def test_what_a_restart_reads_again_is_of_the_last_hour(rig) -> None:
    for use, ago in (("toolu_old", HOUR + 1), ("toolu_new", HOUR)):
        rig.now = START - ago
        rig.store.write(lambda tx, u=use: tool_uses.keep_witnessed(tx, u, "h1"))
    rig.now = START
    presence = Presence()
    rig.store.read(presence.load)
    assert presence.witnessed("toolu_new", START) == "h1"
    assert presence.witnessed("toolu_old", START - HOUR) is None


# -- events in hand, and what waits to be written ------------------------------------------------------------------


def test_an_id_is_in_hand_until_its_last_event_is_let_go() -> None:
    presence = Presence()
    for _ in range(3):
        presence.take_in_hand("h1")
    presence.take_in_hand("h2")
    for left in (True, True, False):
        presence.let_go("h1")
        assert presence.in_hand("h1") is left
    assert presence.in_hand("h2")


def test_what_changed_is_due_after_its_seconds_or_when_the_clock_was_set_back(rig) -> None:
    rig.row("shop", "hook", "exact", "h1")
    live = rig.relay.presence.by_hook("h1")
    seconds = limit("presence_seconds") * SECOND
    assert rig.relay.presence.due(rig.now + 10 * seconds) == [], "nothing changed"
    assert rig.relay.presence.change(live, activity="working")
    for passed, due in ((0, False), (seconds - 1, False), (seconds, True), (-1, True)):
        assert rig.relay.presence.due(live.written_us + passed) == [live.row.id] * due, passed
    assert rig.relay.presence.dirty() == [live.row.id]
    rig.relay.flush(rig.relay.presence.dirty())
    assert rig.relay.presence.dirty() == []
    assert rig.store.read(lambda tx: sessions.need(tx, live.row.id)).activity == "working"


def test_what_memory_is_ahead_of_the_store_counts_until_the_link_is_another(rig) -> None:
    row = rig.row("shop", "hook", "exact", "h1", activity="idle", last_event_us=START)
    live = rig.relay.presence.by_hook("h1")
    rig.relay.presence.change(live, activity="working")
    assert rig.relay.presence.current(rig.need(row)).activity == "working"
    assert rig.relay.presence.current(replace(rig.need(row), last_event_us=START + 1)).activity == "idle"
    rig.store.write(lambda tx: links.take(tx, rig.relay, sessions.need(tx, row.id), "silent", reason="silent"))
    assert rig.relay.presence.dirty() == []
    assert rig.relay.presence.current(rig.need(row)).activity == live.activity == "ended"


def test_a_row_that_goes_is_found_by_no_id(rig) -> None:
    row = rig.row("shop", "hook", "exact", "h1")
    rig.store.write(lambda tx: (sessions.remove(tx, row.id), tx.touch(row.id)))
    assert rig.relay.presence.by_hook("h1") is None and rig.relay.presence.by_row(row.id) is None


# -- waits ---------------------------------------------------------------------------------------------------------

GRACE = limit("wait_regrace_seconds") * SECOND


def opened(waits: Waits, number: int = 1, at_us: int = START) -> WaitEntry:
    entry = WaitEntry(f"w{number}-{at_us}", number, f"h{number}", at_us)
    waits.open(entry, link_exact_live=True)
    assert entry.state == "waiting"
    return entry


def test_a_wait_stands_without_a_poll_for_its_grace_and_no_longer() -> None:
    waits = Waits()
    entry = opened(waits)
    assert waits.of_row(1, START + GRACE) is entry
    assert waits.of_row(1, START + GRACE + 1) is None and entry.state == "ended"
    entry = opened(waits)
    poll = waits.begin_poll(entry, lambda: None)
    assert waits.of_row(1, START + 99 * GRACE) is entry, "its poll is open"
    waits.end_poll(entry, poll + 1, START)
    assert entry.poll_open, "that was another connection's"
    waits.end_poll(entry, poll, START + GRACE)
    assert waits.of_row(1, START + 2 * GRACE) is entry
    assert waits.poll(entry, START + 2 * GRACE).state == "waiting"
    assert waits.poll(entry, START + 2 * GRACE + 1).state == "ended" and waits.count == 0


def test_a_newer_wait_of_a_row_takes_its_place_and_each_poll_is_told() -> None:
    waits = Waits()
    told: list[str] = []
    first = opened(waits)
    waits.begin_poll(first, lambda: told.append("first poll"))
    waits.begin_poll(first, lambda: told.append("second poll"))
    assert told == ["first poll"]
    second, other = opened(waits, 1, START + 1), opened(waits, 2)
    assert (first.state, second.state, told[1:]) == ("superseded", "waiting", ["second poll"])
    assert (waits.count, waits.of_row(1, START) is second) == (2, True)
    ending = waits.ending(1)
    third = opened(waits, 1, START + 2)
    ending()
    assert third.state == "waiting", "what ends the one before leaves a later one"
    waits.end(2)
    assert (other.state, waits.count, waits.of_row(2, START)) == ("ended", 1, None)
    waits.end_all()
    assert (third.state, waits.count) == ("ended", 0)


def test_waits_that_are_over_are_forgotten_after_twice_their_time() -> None:
    kept = 2 * limit("wait_minutes") * 60 * SECOND
    waits = Waits()
    old, waiting = opened(waits, 1), opened(waits, 2, START + 1)
    waits.end(1)
    opened(waits, 3, START + kept)
    assert waits.get(old.wait_id) is old
    opened(waits, 4, START + kept + 1)
    assert waits.get(old.wait_id) is None
    opened(waits, 5, START + kept + 2)
    assert waits.get(waiting.wait_id) is waiting, "it is not over"
    waits.end(2)
    opened(waits, 6, START + kept + 2)
    assert waits.get(waiting.wait_id) is None


def test_a_poll_is_told_of_what_moves_its_wait_except_by_its_own_looks() -> None:
    waits = Waits()
    told: list[str] = []
    entry = opened(waits)
    waits.begin_poll(entry, lambda: told.append(entry.state))
    facts = {"item_there": True, "poll_open": True, "idle": False, "connection_lives": True}
    assert waits.take(entry, "look", facts).state == "waiting"
    assert waits.poll(entry, START).state == "waiting"
    assert told == [], "nothing moved"
    assert waits.take(entry, "look", {**facts, "idle": True}).state == "fired"
    assert told == [], "who looks knows it"
    other = opened(waits, 2)
    waits.begin_poll(other, lambda: told.append(other.state))
    waits.end(2)
    assert told == ["ended"]
