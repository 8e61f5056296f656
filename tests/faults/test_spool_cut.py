"""FLT-6: spool files cut at every byte, doubled, mixed with garbage, out of order, and what is no file of ours at all.

The reader's half and the replay on a real store: a whole record is applied once whatever stands around it and however often
the file comes, a torn one is set aside and counted. The command client stands in no agent's way meanwhile.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from relaybay import spool
from relaybay.api.spool import take_all
from relaybay.client import spool_writer
from relaybay.client.event import make_id
from relaybay.service.relay import Relay, open_relay
from tests.conftest import missing
from tests.faults import numbers
from tests.faults.campaign import Campaign
from tests.faults.doors import now_us
from tests.faults.history import History
from tests.faults.real import RealServer
from tests.unit import hook_rig
from tests.unit.hook_rig import BODY, Home

script, home = hook_rig.script, hook_rig.home  # The fixtures of the command client.

WHO = {"x-relaybay-client-pid": "12", "x-relaybay-name": "alice"}
FOLDERS = ("/r", "/srv/ünder", '/a"b\\c\nd', "/" + "x" * 70)


@pytest.fixture(autouse=True)
def _umask():
    """The writer sets its process's umask, which is this one here."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@dataclass(frozen=True)
class Record:
    """One record and the session that it is about, a session of its own."""

    id: str
    hook_id: str
    at_us: int
    data: bytes


def records(chance: random.Random, file: int, most: int = 4) -> list[Record]:
    """What a few hooks left: a record each, in the order of their happening."""
    made = []
    for number in range(chance.randint(1, most)):
        at_us = now_us() - 60_000_000 + number
        hook_id, event_id = f"spooled-{file}-{number}", make_id(at_us)
        body = {"session_id": hook_id, "hook_event_name": "SessionStart", "cwd": chance.choice(FOLDERS)}
        data = spool_writer.record(event_id, at_us, "claude-code", WHO, json.dumps(body).encode())
        made.append(Record(event_id, hook_id, at_us, data))
    return made


class Replayed:
    """A relay and its spool folder; what was applied so far, as the product says and as the store has it."""

    def __init__(self, run: Campaign, folder: Path, told: History) -> None:
        self.run, self.told = run, told
        self.relay: Relay = open_relay(folder / "relaybay.db", now_us)
        self.folder = folder / "spool"
        self.applied: set[str] = set()
        spool.prepare(self.folder)

    @property
    def aside(self) -> Path:
        return self.folder / "spool.bad"

    def put(self, data: bytes) -> None:
        file = self.folder / "spool"
        file.write_bytes(data)
        file.chmod(0o600)

    def take(self, data: bytes, whole: list[Record], torn: bytes) -> None:
        """Takes a file that has these whole records, and this beside them: the new ones are applied, the rest set aside."""
        self.put(data)
        new = [record.id for record in whole if record.id not in self.applied]
        number = self.told.invoke("replay", "spool", events=new)
        assert take_all(self.relay, self.folder) == len(set(new)), (data, whole)
        self.told.ok(number, applied=sorted(set(new)), repeated=0)
        self.applied |= set(new)
        kept = self.aside.read_bytes() if self.aside.exists() else b""
        assert kept.replace(b"\n", b"") == torn.replace(b"\n", b""), (data, kept)
        assert spool.sizes(self.folder).bad_bytes == len(kept)
        self.aside.unlink(missing_ok=True)
        assert not (self.folder / "spool").exists() and not list(self.folder.glob("imp-*")), "it would come again"
        self.run.fired += 1

    def hold(self) -> None:
        """Every record that was ever whole is there, once: its id, and its session."""
        rows = self.relay.store.read(lambda tx: tx.rows("SELECT hook_id FROM session"))
        counted = Counter(str(hook_id) for (hook_id,) in rows)
        assert set(counted.values()) <= {1}
        assert len(counted) == len(self.applied), "a record was lost, or one that was torn was applied"
        kept = self.relay.store.read(lambda tx: tx.rows("SELECT event_id FROM spool_seen"))
        assert {str(event_id) for (event_id,) in kept} == self.applied


def split(data: bytes, made: list[Record]) -> tuple[list[Record], bytes]:
    """What a file cut to these bytes has: its whole records, and the torn one at its end."""
    whole, end = [], 0
    for record in made:
        # The line's end is not needed: the record's own length tells that it is whole.
        if len(data) < end + len(record.data) - 1:
            return whole, data[end:]
        whole.append(record)
        end += len(record.data)
    return whole, b""


@pytest.mark.spec("FLT-6", "SPOOL-1", "SPOOL-3")
def test_a_file_cut_at_every_byte_is_applied_as_far_as_it_is_whole(campaign, folder) -> None:
    with campaign("FLT-6") as run:
        told = run.new_history()
        replayed = Replayed(run, folder, told)
        for file in range(numbers.points("FLT-6")):
            made = records(run.chance, file, 4 if numbers.is_full() else 2)
            data = b"".join(record.data for record in made)
            cuts = list(range(len(data) + 1))
            if file % 4 == 3:
                run.chance.shuffle(cuts)  # The file came whole first, or not: the ids alone decide.
            for cut in cuts:
                replayed.take(data[:cut], *split(data[:cut], made))
            run.points += 1
            run.counts["prefixes"] += len(cuts)
        run.expected = run.fired
        run.accepted = len(replayed.applied)
        replayed.hold()
        replayed.relay.close()
        run.hold(told, folder / "relaybay.db")


def doubled(chance: random.Random, made: list[Record]) -> tuple[bytes, bytes]:
    """The same file twice over, the second time cut: a copy that was put back."""
    data = b"".join(record.data for record in made)
    cut = chance.randrange(len(data))
    return data + data[:cut], split(data[:cut], made)[1]


def garbage(chance: random.Random, made: list[Record]) -> tuple[bytes, bytes]:
    """Foreign bytes between the records, lines and zeros among them."""
    parts, bad = [], b""
    for record in made:
        noise = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 60))) + b"\0" * chance.choice([0, 512])
        noise = noise.replace(b"R1 ", b"R2 ")
        parts += [noise, record.data]
        bad += noise
    return b"".join(parts), bad


def out_of_order(chance: random.Random, made: list[Record]) -> tuple[bytes, bytes]:
    shuffled = list(made)
    chance.shuffle(shuffled)
    return b"".join(record.data for record in shuffled), b""


def torn_within(chance: random.Random, made: list[Record]) -> tuple[bytes, bytes]:
    """Before each whole record a part of another, as a full disk leaves it."""
    data, bad = b"", b""
    for record in made:
        part = record.data[: chance.randrange(2, len(record.data) - 2)]
        data, bad = data + part + record.data, bad + part
    return data, bad


BENT: list[Callable[[random.Random, list[Record]], tuple[bytes, bytes]]] = [doubled, garbage, out_of_order, torn_within]


@pytest.mark.spec("FLT-6", "SPOOL-1", "SPOOL-3")
def test_what_stands_around_a_record_does_not_matter_to_it(campaign, folder) -> None:
    with campaign("FLT-6") as run:
        told = run.new_history()
        replayed = Replayed(run, folder, told)
        for file in range(numbers.points("FLT-6") * len(BENT)):
            made = records(run.chance, file, 12)
            data, bad = BENT[file % len(BENT)](run.chance, made)
            replayed.take(data, made, bad)
            replayed.take(data, made, bad)  # As after a crash between the commit and the file's removal.
            run.points += 1
        run.expected = run.fired
        run.accepted = len(replayed.applied)
        replayed.hold()
        order = replayed.relay.store.read(lambda tx: tx.rows("SELECT first_seen_us FROM session ORDER BY id"))
        assert order == sorted(order), "the events of a file were not applied in the order of their happening"
        replayed.relay.close()
        run.hold(told, folder / "relaybay.db")


# -- what is no file of ours --------------------------------------------------------------------------------------


def symlink(path: Path, other: Path) -> None:
    path.symlink_to(other)


def hard_link(path: Path, other: Path) -> None:
    path.hardlink_to(other)


def pipe(path: Path, other: Path) -> None:
    os.mkfifo(path, 0o600)


def folder_in_its_place(path: Path, other: Path) -> None:
    path.mkdir(mode=0o700)


def of_another_user(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)
    path.chmod(0o600)
    if os.geteuid() != 0:
        missing("root", "needs root to play another user")
    os.chown(path, 65534, 65534)


def open_to_others(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)
    path.chmod(0o644)


STRANGE = [symlink, hard_link, pipe, folder_in_its_place, of_another_user, open_to_others]


@pytest.mark.spec("FLT-6", "SPOOL-5")
@pytest.mark.parametrize("strange", STRANGE, ids=lambda one: one.__name__)
def test_what_is_no_file_of_ours_is_left_alone_and_named(strange, campaign, folder) -> None:
    with campaign("FLT-6") as run:
        replayed = Replayed(run, folder, run.new_history())
        made = records(run.chance, 0)
        other = folder / "other"
        other.write_bytes(b"".join(record.data for record in made))
        other.chmod(0o600)
        before = other.read_bytes()
        place = replayed.folder / "spool"
        strange(place, other)
        for _ in range(3):
            assert take_all(replayed.relay, replayed.folder) == 0
        assert os.path.lexists(place) and other.read_bytes() == before
        assert [fault.partition(":")[0] for fault in spool.sizes(replayed.folder).faults] == ["spool"]
        replayed.hold()
        replayed.relay.close()
        run.points += 1
        run.fired += 1


# -- the command client ---------------------------------------------------------------------------------------------

HOOK_SECONDS_MAX = 5.0


def in_the_way(home: Home, what: str) -> None:
    """Puts something into the place of the spool, its folder or its counter."""
    home.spool.parent.mkdir(mode=0o700, exist_ok=True)
    if what == "folder is a file":
        home.spool.write_bytes(b"")
        return
    home.spool.mkdir(mode=0o700)
    file = home.spool / "spool"
    if what == "torn":
        file.write_bytes(b"\nR1 01ARZ3NDEKTSV4RRFFQ69G5FAV 17 claude-co")
        file.chmod(0o600)
    elif what == "pipe":
        os.mkfifo(file, 0o600)
    elif what == "symlink to nowhere":
        file.symlink_to(home.path / "nowhere")
    elif what == "symlink to a device":
        file.symlink_to("/dev/full")
    elif what == "folder":
        file.mkdir()
    elif what == "sealed":
        file.write_bytes(b"")
        file.chmod(0o400)


WAYS = {
    "torn": 1, "pipe": 0, "symlink to nowhere": 0, "symlink to a device": 0, "folder": 0, "sealed": 0,
    "folder is a file": 0,
}  # fmt: skip


@pytest.mark.spec("FLT-6", "CMD-2", "CMD-4", "SPOOL-5")
@pytest.mark.parametrize("what", WAYS)
def test_the_command_client_stands_in_no_agents_way(home, what, campaign) -> None:
    with campaign("FLT-6") as run:
        in_the_way(home, what)
        assert home.silent(BODY) < HOOK_SECONDS_MAX
        found = spool.take(home.spool) if home.spool.is_dir() else []
        assert sum(len(batch.events) for batch in found) == WAYS[what]
        assert not (home.path / "nowhere").exists()
        run.points += 1
        run.fired += 1


# -- the real server ------------------------------------------------------------------------------------------------


@pytest.mark.spec("FLT-6", "SPOOL-1", "SPOOL-3", "SPOOL-4")
def test_a_server_killed_while_it_takes_a_spool_applies_it_once(campaign) -> None:
    """The same file is put back after each kill, as if its removal had been lost, and posted to the endpoint too."""
    with campaign("FLT-6") as run, RealServer() as server:
        made = [record for file in range(30) for record in records(run.chance, file)]
        data = b"".join(record.data for record in made)
        torn = made[0].data[:40]
        place = server.home / "state" / "spool"
        server.start()
        spool.prepare(place)
        for _ in range(3):
            fresh = place / "new"
            fresh.write_bytes(data + torn)
            fresh.chmod(0o600)
            fresh.rename(place / "spool")
            wait_until_taken(place, run.chance.random() * 1.2)
            assert server.kill()
            server.start()
            run.points += 1
            run.fired += 1
        assert not (place / "spool").exists() and not list(place.glob("imp-*"))
        assert torn.strip() in (place / "spool.bad").read_bytes()
        events: list[Any] = [
            {"id": record.id, "at_us": record.at_us, "client": "claude-code", "body": {"session_id": record.hook_id}}
            for record in made
        ]
        for event in events:
            event["body"] |= {"hook_event_name": "SessionStart", "cwd": "/r"}
        answer = server.door._hooks.post("/hooks/spool", {"events": [*events, {"id": "torn"}]})
        assert answer.json == {"applied": 0, "repeated": len(made), "bad": 1}, answer
        server.stop()
        with closing(sqlite3.connect(server.database)) as connection:
            rows = connection.execute("SELECT hook_id FROM session WHERE hook_id LIKE 'spooled-%'").fetchall()
        assert sorted(rows) == sorted((record.hook_id,) for record in made)
        assert "Traceback" not in server.log, server.log
        run.accepted = len(rows)


def wait_until_taken(place: Path, seconds: float) -> None:
    """Until the server has taken the file, or for so long."""
    until = time.monotonic() + seconds
    while (place / "spool").exists() and time.monotonic() < until:
        time.sleep(0.002)
