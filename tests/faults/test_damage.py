"""FLT-8: the database, its log and the backup are damaged: bits flip, pages are empty, files are cut, swapped, another's.

Each damaged file is refused with instructions, by the start or by the deep check, or is proven whole by its digests; a text
is the one that was stored, or is said not to be. A refused file is never written to.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from relaybay.cli.backup import check_backup
from relaybay.cli.exits import Failure
from relaybay.service.relay import open_relay
from relaybay.store import sqlite
from relaybay.store.mark import file_of
from tests.faults import numbers
from tests.faults.damaged import DAMAGES, Base, Damage, copy, judge, rows_of
from tests.faults.doors import now_us
from tests.faults.history import History
from tests.faults.real import RealServer
from tests.faults.script import Script

#: Of the damaged files, the share of each kind; the rest goes through the whole program.
SHARES = {"closed": 0.35, "killed": 0.35, "backup": 0.28}


def made(folder: Path, name: str, seed: int) -> Base:
    """A database with some talk in it: closed well, or as a kill leaves it with all of its log."""
    folder.mkdir()
    target = folder / name
    target.mkdir()
    relay = open_relay(folder / "relaybay.db", now_us)
    script = Script(relay, History(folder / "history"), seed)
    script.begin()
    script.go()
    if name == "killed":
        keep(folder, target)
        relay.close()
    else:
        relay.close()
        keep(folder, target)
    trial = copy(Base(name, target, {}, folder), folder / "trial")
    rows = rows_of(trial / "relaybay.db")
    shutil.rmtree(trial)
    return Base(name, target, rows, folder)


def keep(folder: Path, target: Path) -> None:
    for name in ("relaybay.db", "relaybay.db-wal", file_of(Path("relaybay.db")).name):
        if (folder / name).exists():
            shutil.copy2(folder / name, target)


def drawn(chance: random.Random) -> Damage:
    return chance.choices(list(DAMAGES), list(DAMAGES.values()))[0]


def damage(file: Path, other: Path, chance: random.Random) -> str:
    """Damages a file in place; what was done to it."""
    data = file.read_bytes()
    swap = other.read_bytes() if other.exists() else b"\0" * len(data)
    for _ in range(100):
        how = drawn(chance)
        changed = how(data, chance, swap)
        if changed != data:
            file.write_bytes(changed)
            return how.__name__
    raise AssertionError("nothing could be damaged")


def noted(place: str, seed: int, error: BaseException) -> None:
    error.add_note(f"{place}, seed {seed}")


@pytest.mark.spec("FLT-8", "INV-1")
@pytest.mark.parametrize("name", ["closed", "killed"])
def test_a_damaged_database_is_refused_or_says_nothing_wrong(name, campaign, folder) -> None:
    with campaign("FLT-8") as run:
        base = made(folder / "base", name, run.chance.randrange(2**31))
        other = made(folder / "another", name, run.chance.randrange(2**31))
        whole = copy(base, folder / "whole")
        assert judge(base, whole).where == "equal", "what is not damaged is not refused"
        for number in range(max(20, round(numbers.points("FLT-8") * SHARES[name]))):
            seed = run.chance.randrange(2**31)
            chance = random.Random(seed)
            place = copy(base, folder / f"d{number}")
            file = chance.choice(base.files)
            how = damage(place / file, other.folder / file, chance)
            try:
                run.counts[judge(base, place).where] += 1
            except Exception as error:
                if how != "page_of_another" or not isinstance(error, AssertionError):
                    noted(f"{name}: {file}, {how}", seed, error)
                    raise
                # Another relaybay's page, at the same place of the same table, has seals of its own that hold. Known.
                run.counts["another database's page passed"] += 1
            run.points += 1
            run.fired += 1
            shutil.rmtree(place)
        assert run.counts["refused at the start"] and run.counts["refused by the deep check"], run.counts


@pytest.mark.spec("FLT-8")
def test_a_damaged_backup_is_refused_or_is_proven_whole(campaign, folder) -> None:
    with campaign("FLT-8") as run:
        base = made(folder / "base", "killed", run.chance.randrange(2**31))
        other = made(folder / "another", "killed", run.chance.randrange(2**31))
        backup, swap = folder / "backup.db", folder / "swap.db"
        sqlite.back_up(base.folder / "relaybay.db", backup)
        sqlite.back_up(other.folder / "relaybay.db", swap)
        rows = rows_of(backup)
        check_backup(backup)
        codes: set[str] = set()
        for number in range(max(20, round(numbers.points("FLT-8") * SHARES["backup"]))):
            seed = run.chance.randrange(2**31)
            chance = random.Random(seed)
            place = folder / f"b{number}.db"
            shutil.copy2(backup, place)
            how = damage(place, swap, chance)
            before = place.read_bytes()
            try:
                codes |= {judge_backup(place, rows, another=how == "another_file")}
            except Exception as error:
                noted(how, seed, error)
                raise
            assert place.read_bytes() == before, "a backup was written to"
            run.points += 1
            run.fired += 1
            for file in folder.glob(f"b{number}.db*"):
                file.unlink()
        run.counts["kinds of answers"] = len(codes)
        assert "backup_damaged" in codes and codes <= {"", "backup_damaged", "not_a_backup", "schema_newer"}, codes


def judge_backup(place: Path, rows: dict, *, another: bool) -> str:
    """The code of the refusal, or nothing for a backup whose content is the one that was copied."""
    try:
        check_backup(place)
    except Failure as refused:
        named = str(place) in refused.text or refused.code == "schema_newer"
        return refused.code if named else refused.text
    # Another's whole backup is one: only whoever made it knows that.
    assert another or rows_of(place) == rows, "a changed backup was taken for a whole one"
    return ""


# -- the whole program --------------------------------------------------------------------------------------------

REFUSALS = {"store_damaged", "store_unavailable", "schema_newer"}


@pytest.mark.spec("FLT-8")
def test_the_whole_program_refuses_a_damaged_file_in_words_or_shows_no_wrong_text(campaign, folder) -> None:
    with campaign("FLT-8") as run:
        base = made(folder / "base", "killed", run.chance.randrange(2**31))
        other = made(folder / "another", "killed", run.chance.randrange(2**31))
        rest = 1 - sum(SHARES.values())
        for number in range(max(4, round(numbers.points("FLT-8") * rest))):
            seed = run.chance.randrange(2**31)
            chance = random.Random(seed)
            with RealServer() as server:
                data = server.home / "data"
                server.home.mkdir(mode=0o700)
                copy(base, data)
                data.chmod(0o700)
                file = chance.choice(base.files)
                how = damage(data / file, other.folder / file, chance)
                try:
                    run.counts[whole_program(server, data)] += 1
                except Exception as error:
                    noted(f"{file}, {how}, {number}", seed, error)
                    raise
            run.points += 1
            run.fired += 1


def whole_program(server: RealServer, data: Path) -> str:
    """Starts the server on a damaged folder: it ends with a code, or serves, and then nothing fails without a name."""
    before = {path.name: path.read_bytes() for path in data.iterdir() if path.suffix in (".db", ".db-wal")}
    process = server.popen()
    assert process.stdout is not None
    line = json.loads(process.stdout.readline())
    if "error" in line:
        assert process.wait(30) != 0
        process.stdout.close()
        assert line["error"]["code"] in REFUSALS, line
        assert "Traceback" not in server.log, server.log
        after = {path.name: path.read_bytes() for path in data.iterdir() if path.name in before}
        assert after == before, "a damaged file was written to"
        return "refused at the start"
    process.kill()
    process.wait()
    process.stdout.close()
    server.start()
    said = [server.door._owner.get(path) for path in pages()]
    assert {answer.status for answer in said} <= {200, 503}, said
    server.stop()
    assert "Traceback" not in server.log, server.log
    return "served"


def pages() -> Iterator[str]:
    yield "/api/v1/messages"
    yield "/api/v1/sessions"
    yield "/api/v1/tasks"
    yield "/api/v1/doctor"
