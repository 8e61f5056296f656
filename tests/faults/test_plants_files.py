"""Bugs planted for the campaigns of disks, clocks, spools and damaged files (FLT-4, 5, 6, 8): each is found by its campaign.

As in `test_plants.py`; these are found by the campaign's own looks as well as by the checker.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from relaybay import spool
from relaybay.rules import rates
from relaybay.store import database, seals
from relaybay.store.comments import CommentRow
from tests.faults import checker
from tests.faults.campaign import Campaign
from tests.faults.damaged import copy, cut_anywhere, judge
from tests.faults.test_damage import made
from tests.faults.test_disk import StarvedForks
from tests.faults.test_spool_cut import Replayed, records, split
from tests.faults.weather import WEATHERS, Weathered

TRIES_MAX = 40


@pytest.fixture
def caught(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Counts a plant, and that it was found; called when it was."""
    record_property("count:planted bugs", 1)

    def found(by: str) -> None:
        print(f"found by {by}")
        record_property("count:planted bugs caught", 1)

    return found


def quiet(campaign: str, folder: Path) -> Campaign:
    """A run whose figures are nobody's: they would be those of a broken product."""
    return Campaign(campaign, lambda _name, _value: None, folder)


# -- FLT-4 --------------------------------------------------------------------------------------------------------


def starved(plant: str, fault: str, folder: Path, found: Callable[[Any, Any], str]) -> str:
    """Plays points with the plant until one shows it; how."""
    run = quiet("FLT-4", folder)
    with StarvedForks() as forks:
        for number in range(TRIES_MAX):
            place = folder / f"p{number}"
            place.mkdir()
            told = run.new_history()
            k = run.chance.randrange(10, 120)
            inject = fault.format(k=k, end=k + 12)
            seed = run.chance.randrange(2**31)
            done = forks.play("starve", place, told.path, seed, inject=inject, plant=plant)
            forks.play("recover", place, told.path, seed + 1)
            how = found(done, checker.check(told.path, place / "relaybay.db"))
            if how:
                return how
    return ""


@pytest.mark.spec("FLT-4")
def test_a_full_disk_that_is_answered_as_done_is_found(folder, caught) -> None:
    def found(done: Any, verdict: Any) -> str:
        rules = verdict.rules & {"lost", "one_id", "counters", "replay"}
        return " and ".join(sorted(rules)) if done.well else ""

    fault = "pwrite64:error=ENOSPC:when={k}..{end}"
    how = starved("full_disk_answered_as_done", fault, folder, found)
    assert how, "not found"
    caught(how)


@pytest.mark.spec("FLT-4")
def test_a_server_that_goes_on_after_a_failed_sync_is_found(folder, caught) -> None:
    def found(done: Any, _verdict: Any) -> str:
        words = "promises something after a failed write or sync"
        return words if words in done.complaints else ""

    how = starved("goes_on_after_a_failed_sync", "pwrite64:error=EIO:when={k}..{end}", folder, found)
    assert how, "not found"
    caught(how)


# -- FLT-5 --------------------------------------------------------------------------------------------------------


def under_all_weathers(folder: Path, run: Campaign, words: str) -> str:
    """Runs every weather until one shows a fault in these words; what was wrong then, or all that was."""
    all_said = ""
    for number in range(2 * len(WEATHERS)):
        place = folder / f"w{number}"
        place.mkdir()
        told = run.new_history()
        weathered = Weathered(place, told, run.chance.randrange(2**31), number)
        try:
            weathered.run()
        except AssertionError as error:
            weathered.relay.store.close()
            if words in str(error):
                return words
            all_said += f"{error}\n"
            continue
        verdict = checker.check(told.path, place / "relaybay.db", clock_steady=False)
        if words in verdict.words:
            return words
        all_said += verdict.words
    return all_said


@pytest.mark.spec("FLT-5", "CMT-3")
def test_a_comment_that_waits_for_the_clock_is_found(folder, caught, monkeypatch) -> None:
    monkeypatch.setattr(CommentRow, "held_back", lambda self, now: now < self.grace_until_us)
    words = "held back by the clock"
    how = under_all_weathers(folder, quiet("FLT-5", folder), words)
    assert how == words, f"not found: {how}"
    caught(how)


@pytest.mark.spec("FLT-5", "SEND-12")
def test_a_sender_that_waits_for_the_clock_is_found(folder, caught, monkeypatch) -> None:
    allowed = rates.seconds_until_allowed

    def all_in_the_window(times: Any, now: int, count_max: int, window_seconds: int) -> int:
        return allowed([min(at, now) for at in times], now, count_max, window_seconds)

    monkeypatch.setattr(rates, "seconds_until_allowed", all_in_the_window)
    words = "kept out for longer than the window"
    how = under_all_weathers(folder, quiet("FLT-5", folder), words)
    assert how == words, f"not found: {how}"
    caught(how)


# -- FLT-6 --------------------------------------------------------------------------------------------------------


def cut_all_over(folder: Path, run: Campaign) -> None:
    replayed = Replayed(run, folder, run.new_history())
    try:
        for file in range(3):
            whole = records(run.chance, file, 2)
            data = b"".join(record.data for record in whole)
            for cut in range(0, len(data), 3):
                replayed.take(data[:cut], *split(data[:cut], whole))
            replayed.take(data + data, whole, b"")
        replayed.hold()
    finally:
        replayed.relay.close()


@pytest.mark.spec("FLT-6", "SPOOL-3")
def test_torn_records_that_are_thrown_away_are_found(folder, caught, monkeypatch) -> None:
    monkeypatch.setattr(spool, "_set_aside", lambda _folder, _chunks: None)
    with pytest.raises(AssertionError):
        cut_all_over(folder, quiet("FLT-6", folder))
    caught("what is set aside")


@pytest.mark.spec("FLT-6", "SPOOL-1")
def test_records_that_get_new_ids_are_found(folder, caught, monkeypatch) -> None:
    parse = spool.parse
    numbers = iter(range(1, 1 << 30))

    def renamed(data: bytes) -> Any:
        events, chunks = parse(data)
        return [replace(event, id=f"{next(numbers):026d}") for event in events], chunks

    monkeypatch.setattr(spool, "parse", renamed)
    with pytest.raises(AssertionError):
        cut_all_over(folder, quiet("FLT-6", folder))
    caught("how often a record was applied")


# -- FLT-8 --------------------------------------------------------------------------------------------------------


def damaged_until_found(folder: Path, file: str, damage: Callable[..., bytes], words: str) -> str:
    """Damages files in this way until the campaign's look finds that the product said nothing."""
    base = made(folder / "base", "killed", 1)
    chance = random.Random(2)
    for number in range(TRIES_MAX):
        place = copy(base, folder / f"d{number}")
        (place / file).write_bytes(damage((place / file).read_bytes(), chance, b""))
        try:
            judge(base, place)
        except AssertionError as error:
            if words in str(error):
                return str(error)[:60]
    return ""


@pytest.mark.spec("FLT-8")
def test_texts_whose_seals_are_not_looked_at_are_found(folder, caught, monkeypatch) -> None:
    def changed_body(data: bytes, chance: random.Random, other: bytes) -> bytes:
        """A letter of a text that was sent, wherever the log has it."""
        changed = bytearray(data)
        at = data.find(b"%s")
        while at >= 0:
            changed[at] = ord("&")
            at = data.find(b"%s", at + 1)
        return bytes(changed)

    whole = seals.whole
    base = made(folder / "b", "closed", 3)
    monkeypatch.setattr(seals, "whole", lambda *_: True)
    monkeypatch.setattr(seals, "problems", lambda _query: [])
    place = copy(base, folder / "closed")
    file = place / "relaybay.db"
    file.write_bytes(changed_body(file.read_bytes(), random.Random(1), b""))
    with pytest.raises(AssertionError, match="says:") as found:
        judge(base, place)
    monkeypatch.setattr(seals, "whole", whole)
    with pytest.raises(AssertionError, match="changed without a word"):
        judge(base, place)
    caught(str(found.value)[:60])


@pytest.mark.spec("FLT-8")
def test_a_mark_that_is_not_looked_at_is_found(folder, caught, monkeypatch) -> None:
    monkeypatch.setattr(database, "promised", lambda _path: None)
    how = damaged_until_found(folder, "relaybay.db-wal", cut_anywhere, "without a word")
    assert how, "not found"
    caught(how)
