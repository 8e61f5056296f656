"""The spool's file side: what the hook appends, the server takes, whole, once, whatever is cut, doubled or killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import posix
import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay import spool
from relaybay.client import event as hook_event
from relaybay.client import spool_writer

WHO = {"x-relaybay-client-pid": "12", "x-relaybay-name": "alice"}


def record(number: int, *, event_id: str | None = None, cwd: str = "/repo") -> tuple[str, bytes]:
    at_us = 1_700_000_000_000_000 + number
    event_id = event_id or hook_event.make_id(at_us)
    body = {"session_id": f"s-{number}", "hook_event_name": "Stop", "cwd": cwd}
    return event_id, spool_writer.record(event_id, at_us, "claude-code", WHO, json.dumps(body).encode())


def write(state: Path, number: int) -> str:
    event_id, data = record(number)
    spool_writer.spool(str(state), event_id, 1_700_000_000_000_000, data)
    return event_id


def raw(folder: Path, data: bytes, name: str = "spool") -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(data)
    path.chmod(0o600)
    return path


@pytest.fixture(autouse=True)
def _umask():
    """The writer sets its process's umask, which is this one here."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.spec("SPOOL-1")
def test_what_is_written_is_taken_in_order_and_once(tmp_path):
    ids = [write(tmp_path, number) for number in (3, 1, 2)]
    folder = tmp_path / "spool"
    (batch,) = spool.take(folder)
    assert [event.id for event in batch.events] == [ids[1], ids[2], ids[0]]
    first = batch.events[0]
    assert (first.at_us, first.client, first.headers) == (1_700_000_000_000_001, "claude-code", WHO)
    assert first.body == {"session_id": "s-1", "hook_event_name": "Stop", "cwd": "/repo"}
    assert batch.path.stat().st_mode & 0o777 == 0o400
    assert spool.sizes(folder).taken_bytes > 0
    batch.done()
    assert (spool.take(folder), spool.sizes(folder)) == ([], spool.Sizes(0, 0, 0, 0, ()))


@pytest.mark.spec("SPOOL-1")
def test_a_batch_that_was_not_applied_comes_again_first(tmp_path):
    folder = tmp_path / "spool"
    first = write(tmp_path, 2)
    (lost,) = spool.take(folder)
    second = write(tmp_path, 1)
    batches = spool.take(folder)
    assert [[event.id for event in batch.events] for batch in batches] == [[first], [second]]
    assert batches[0].path == lost.path
    for batch in batches:
        batch.done()
    assert spool.take(folder) == []


def test_nothing_there_is_nothing_to_take(tmp_path):
    assert spool.take(tmp_path / "spool") == []
    assert spool.sizes(tmp_path / "spool") == spool.Sizes(0, 0, 0, 0, ())


def test_prepare_is_repeatable_and_counts_nothing(tmp_path):
    for _ in range(2):
        spool.prepare(tmp_path / "state" / "spool")
    assert (tmp_path / "state" / "spool").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / "spool" / "dropped").stat().st_size == 1
    assert spool.sizes(tmp_path / "state" / "spool").dropped == 0


# --- cut, doubled, mixed with garbage: FLT-6 on the parser ---------------------------------------------------------


def file_of(seed: int) -> tuple[bytes, list[tuple[str, int, int]]]:
    """A spool file and, per record, (id, where it begins, from where on it is whole)."""
    chance = random.Random(seed)
    data, places = b"", []
    for number in range(chance.randint(1, 4)):
        event_id, one = record(number, cwd="/" + chance.choice(["r", "ünder", "x" * 60, '"\\\n']))
        places.append((event_id, len(data) + 1, len(data) + len(one) - 1))
        data += one
    return data, places


@pytest.mark.spec("SPOOL-3", "FLT-6")
def test_every_prefix_of_200_files_gives_its_whole_records():
    for seed in range(200):
        data, places = file_of(seed)
        whole, _ = spool.parse(data)
        assert [event.id for event in whole] == [event_id for event_id, _, _ in places]
        for cut in range(len(data)):
            events, chunks = spool.parse(data[:cut])
            assert events == [event for event, (_, _, end) in zip(whole, places, strict=True) if cut >= end], (
                seed,
                cut,
            )
            assert len(chunks) == sum(begin < cut < end for _, begin, end in places), (seed, cut)


@pytest.mark.spec("SPOOL-3", "FLT-6")
@given(st.integers(0, 10_000), st.data())
def test_a_record_cut_anywhere_harms_no_neighbour(seed, data):
    file, places = file_of(seed)
    cut = data.draw(st.integers(0, len(file)))
    _, after = record(99)
    events, chunks = spool.parse(file[:cut] + after)
    assert [event.id for event in events[:-1]] == [event_id for event_id, _, end in places if cut >= end]
    assert events[-1].body["session_id"] == "s-99"
    assert len(chunks) <= 1


garbage = st.binary(max_size=80).map(lambda noise: noise.replace(b"R1", b"R2"))


@pytest.mark.spec("SPOOL-3")
@given(st.lists(garbage, max_size=6), st.lists(st.integers(0, 50), max_size=6), st.randoms())
def test_garbage_between_records_is_counted_and_the_rest_is_kept(noises, numbers, chance):
    parts = [(noise, None) for noise in noises] + [record(number)[::-1] for number in numbers]
    chance.shuffle(parts)
    events, chunks = spool.parse(
        b"".join(part if event_id else part.join([b"\n", b"\n"]) or b"\n" for part, event_id in parts)
    )
    assert [event.id for event in events] == [event_id for _, event_id in parts if event_id]
    assert b"\n".join(chunks).replace(b"\n", b"") == b"".join(part for part, event_id in parts if not event_id).replace(
        b"\n", b""
    )


@pytest.mark.spec("SPOOL-3")
@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_without_a_fault(data):
    events, chunks = spool.parse(data)
    assert sum(map(len, chunks)) <= len(data)
    assert events == []


def line(
    payload: bytes, *, length: int | None = None, head: bytes = b"R1 01ARZ3NDEKTSV4RRFFQ69G5FAV 17 claude-code"
) -> bytes:
    return b"%s %d %s\n" % (head, len(payload) if length is None else length, payload)


GOOD = b'{"headers":{},"body":{"session_id":"s","hook_event_name":"Stop"}}'
NO_RECORDS = {
    "wrong length": line(GOOD, length=len(GOOD) - 1),
    "other version": line(GOOD, head=b"R2 01ARZ3NDEKTSV4RRFFQ69G5FAV 17 claude-code"),
    "no id": line(GOOD, head=b"R1 01ARZ3NDEKTSV4RRFFQ69G5FAU 17 claude-code"),
    "negative time": line(GOOD, head=b"R1 01ARZ3NDEKTSV4RRFFQ69G5FAV -1 claude-code"),
    "client is a path": line(GOOD, head=b"R1 01ARZ3NDEKTSV4RRFFQ69G5FAV 17 ../x"),
    "no JSON": line(b'{"headers":}'),
    "array": line(b"[]"),
    "no headers": line(b'{"body":{"session_id":"s","hook_event_name":"Stop"}}'),
    "header is a number": line(GOOD.replace(b"{}", b'{"a":1}')),
    "no session": line(b'{"headers":{},"body":{"hook_event_name":"Stop"}}'),
    "no event name": line(b'{"headers":{},"body":{"session_id":"s"}}'),
    "NaN": line(GOOD.replace(b'"s"', b'"s","n":NaN')),
    "half a pair": line(GOOD.replace(b'"s"', b'"\\ud800"')),
    "deep": line(b'{"headers":' * 50_000 + b"1" + b"}" * 50_000),
    "huge number": line(GOOD.replace(b'"s"', b'"s","n":' + b"9" * 5000)),
    "hole": b"\0" * 4096 + b"\n",
    "carriage return": line(GOOD).replace(b"\n", b"\r\n"),
}


@pytest.mark.spec("SPOOL-3")
@pytest.mark.parametrize("data", NO_RECORDS.values(), ids=NO_RECORDS)
def test_what_is_no_record_is_bad(data):
    assert spool.parse(line(GOOD))[1] == []
    events, chunks = spool.parse(line(GOOD) + data + line(GOOD))
    assert (len(events), chunks) == (2, [data[:-1]])


@pytest.mark.spec("SPOOL-1", "SPOOL-4", "FLT-6")
def test_a_doubled_file_is_applied_once(tmp_path):
    data, places = file_of(7)
    raw(tmp_path / "spool", data + data)
    (batch,) = spool.take(tmp_path / "spool")
    assert [event.id for event in batch.events] == [event_id for event_id, _, _ in places]


@pytest.mark.spec("SPOOL-3")
def test_bad_parts_are_set_aside_once_and_privately(tmp_path):
    folder = tmp_path / "spool"
    event_id, data = record(1)
    for _ in range(2):
        raw(folder, b"\nR1 torn" + data + b"noise\n")
        (batch,) = spool.take(folder)
        assert ([event.id for event in batch.events], batch.bad) == ([event_id], 2)
        (again,) = spool.take(folder)  # Taken again before it was done: nothing may be set aside twice.
        again.done()
    aside = folder / "spool.bad"
    assert aside.read_bytes() == b"R1 torn\nnoise\n" * 2
    assert aside.stat().st_mode & 0o777 == 0o600
    assert spool.sizes(folder).bad_bytes == len(b"R1 torn\nnoise\n") * 2


@pytest.mark.spec("SPOOL-3")
@pytest.mark.parametrize("what", ["full", "symlink", "FIFO"])
def test_where_bad_parts_cannot_be_kept_the_rest_goes_on(tmp_path, what):
    folder = tmp_path / "spool"
    raw(folder, b"noise\n" + record(1)[1])
    victim = tmp_path / "victim"
    victim.write_text("mine")
    if what == "full":
        os.truncate(raw(folder, b"", "spool.bad"), spool.BAD_BYTES_MAX)
    elif what == "symlink":
        (folder / "spool.bad").symlink_to(victim)
    else:
        os.mkfifo(folder / "spool.bad", 0o600)
    (batch,) = spool.take(folder)
    assert (len(batch.events), batch.bad) == (1, 1)
    batch.done()
    assert spool.take(folder) == []
    assert victim.read_text() == "mine"
    assert spool.sizes(folder).bad_bytes <= spool.BAD_BYTES_MAX
    assert len(spool.sizes(folder).faults) == (0 if what == "full" else 1)


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.spec("SPOOL-5")
@pytest.mark.parametrize("name", ["spool", "imp-00000000000000000001-1"])
@pytest.mark.parametrize("what", ["symlink", "hard link", "open", "FIFO", "folder", "other owner", "too big"])
def test_a_file_that_is_none_of_ours_is_left_alone(tmp_path, name, what):
    folder = tmp_path / "spool"
    spool.prepare(folder)
    victim = tmp_path / "victim"
    victim.write_bytes(record(1)[1])
    victim.chmod(0o600)
    path = folder / name
    if what == "symlink":
        path.symlink_to(victim)
    elif what == "hard link":
        path.hardlink_to(victim)
    elif what == "FIFO":
        os.mkfifo(path, 0o600)
    elif what == "folder":
        path.mkdir(mode=0o700)
    else:
        raw(folder, record(1)[1], name)
    if what == "open":
        path.chmod(0o640)
    if what == "too big":
        os.truncate(path, spool.FILE_BYTES_MAX + 1)
    if what == "other owner":
        if os.geteuid() != 0:
            pytest.skip("needs root to play another user")
        os.chown(path, 65534, 65534)
    other = raw(folder, record(2)[1], "spool" if name != "spool" else "imp-00000000000000000002-1")
    (batch,) = spool.take(folder)
    batch.done()
    assert [event.body["session_id"] for event in batch.events] == ["s-2"]
    assert not other.exists()
    assert os.path.lexists(path)
    assert victim.stat().st_mode & 0o777 == 0o600
    (fault,) = spool.sizes(folder).faults
    assert fault.startswith(f"{name}: ")


@pytest.mark.spec("SPOOL-5")
@pytest.mark.parametrize("what", ["symlink", "open", "file", "other owner"])
def test_a_folder_that_is_none_of_ours_is_refused(tmp_path, what):
    real = tmp_path / "real"
    raw(real, record(1)[1])
    folder = tmp_path / "spool"
    if what == "symlink":
        folder.symlink_to(real)
    elif what == "file":
        folder.write_text("")
    else:
        raw(folder, record(1)[1])
    if what == "open":
        folder.chmod(0o701)
    if what == "other owner":
        if os.geteuid() != 0:
            pytest.skip("needs root to play another user")
        os.chown(folder, 65534, 65534)
    with pytest.raises(spool.SpoolRefused):
        spool.take(folder)
    with pytest.raises((spool.SpoolRefused, FileExistsError)):
        spool.prepare(folder)
    assert len(spool.sizes(folder).faults) == 1
    assert (real / "spool").exists()


# --- while it is being written -------------------------------------------------------------------------------------


@pytest.mark.spec("SPOOL-4")
@pytest.mark.parametrize("reader", ["has taken", "has taken and removed", "has renamed", "has only removed"])
def test_a_writer_that_meets_the_reader_loses_nothing(tmp_path, monkeypatch, reader):
    """The reader comes between a writer's opening and its write, the one moment that could lose an event."""
    folder = tmp_path / "spool"
    write(tmp_path, 1)
    seen = []
    real_write = posix.write

    def late_write(fd: int, data: bytes) -> int:
        monkeypatch.setattr(posix, "write", real_write)
        if reader == "has renamed":
            (folder / "spool").rename(folder / "imp-00000000000000000001-1")
        elif reader == "has only removed":
            (folder / "spool").unlink()
        else:
            for batch in spool.take(folder):
                seen.extend(batch.events)
                if reader == "has taken and removed":
                    batch.done()
        return real_write(fd, data)

    monkeypatch.setattr(posix, "write", late_write)
    late = write(tmp_path, 2)
    assert late not in [event.id for event in seen]
    left = [event.id for batch in spool.take(folder) for event in batch.events]
    assert late in left
    assert spool.sizes(folder).dropped == 0


@pytest.mark.spec("SPOOL-4", "CMD-4")
def test_a_writer_that_never_catches_up_counts_a_drop(tmp_path, monkeypatch):
    real_append = spool_writer.append
    monkeypatch.setattr(spool_writer, "append", lambda name, *more: real_append(name, *more) and name != "spool")
    write(tmp_path, 1)
    assert spool.sizes(tmp_path / "spool").dropped == 1
    assert "spool_sealed" in (tmp_path / "hook.log").read_text()


def append_many(state: str, seed: int, count: int, acks: int, pause_s: float) -> None:
    """A process that spools and tells each id: `?` before the write, `!` after."""
    chance = random.Random(seed)
    for number in range(count):
        event_id, data = record(seed * 100_000 + number, cwd="/" + "x" * chance.choice([1, 200, 3000]))
        os.write(acks, b"?" + event_id.encode() + b"\n")
        spool_writer.spool(state, event_id, 1_700_000_000_000_000, data)
        os.write(acks, b"!" + event_id.encode() + b"\n")
        time.sleep(pause_s)


def race(
    state: Path, *, writers: int, count: int, kill: bool
) -> tuple[set[str], set[str], list[spool.SpooledEvent], int]:
    """Writers against a reader that takes all the time. Returns (tried, acknowledged, taken, bad)."""
    context = multiprocessing.get_context("fork")
    told = state / "acks"
    acks = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    chance = random.Random(1)
    processes: list[multiprocessing.process.BaseProcess] = []
    events: list[spool.SpooledEvent] = []
    bad, seed, end = 0, 0, time.monotonic() + (5 if kill else 60)
    while True:
        processes = [process for process in processes if process.is_alive()]
        while len(processes) < writers and (seed < writers or kill) and time.monotonic() < end:
            seed += 1
            processes.append(
                context.Process(target=append_many, args=(str(state), seed, count, acks, 0.002 if kill else 0))
            )
            processes[-1].start()
        if kill and processes and chance.random() < 0.3:
            chance.choice(processes).kill()
        over = not processes
        for batch in spool.take(state / "spool"):
            events += batch.events
            bad += batch.bad
            batch.done()
        if over:
            break
        time.sleep(0.002)
    os.close(acks)
    lines = told.read_text().split()
    return {x[1:] for x in lines if x[0] == "?"}, {x[1:] for x in lines if x[0] == "!"}, events, bad


@pytest.mark.spec("SPOOL-1", "SPOOL-4")
def test_concurrent_appends_are_neither_lost_nor_doubled(tmp_path):
    tried, acknowledged, events, bad = race(tmp_path, writers=4, count=2500, kill=False)
    assert len(acknowledged) == len(tried) == 10_000
    assert ({event.id for event in events}, bad) == (acknowledged, 0)
    # A record may stand in two files when the seal was met; then it is the same record under the same id.
    assert len({(event.id, json.dumps(event.body)) for event in events}) == 10_000
    assert spool.sizes(tmp_path / "spool") == spool.Sizes(0, 0, 0, 0, ())


@pytest.mark.spec("SPOOL-3", "SPOOL-4")
def test_killed_writers_lose_nothing_that_was_acknowledged(tmp_path):
    tried, acknowledged, events, _ = race(tmp_path, writers=4, count=100_000, kill=True)
    taken = {event.id for event in events}
    assert len(acknowledged) > 100
    assert spool.sizes(tmp_path / "spool").dropped == 0  # Else the reader was starved and the cap was met.
    assert acknowledged <= taken <= tried
