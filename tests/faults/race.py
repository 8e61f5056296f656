"""Races for one folder, without a whole server around the store: `python -m tests.faults.race FOLDER TIMES SEED PLANT`.

Each race forks two children that open the store at once. The winner writes one event and holds the folder until both have
said how it went; then it is killed, or closes, as the seed draws. One line of JSON a race: what the two came to, and
whether the folder was left by a kill.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import NoReturn

from relaybay.errors import StoreError
from relaybay.store.database import Store
from tests.faults.doors import now_us
from tests.faults.plants import PLANTS


def contender(folder: Path, start: int, say: int, end: int, plant: str) -> NoReturn:
    """Opens the store when the gate opens, says what it came to, and ends when it is told to."""
    status = 1
    try:
        if plant:
            PLANTS[plant]()
        os.read(start, 1)
        try:
            store = Store(folder / "relaybay.db", now_us)
        except StoreError as error:
            os.write(say, f"{type(error).__name__}\n".encode())
        else:
            store.write(lambda tx: tx.emit("raced"))
            os.write(say, b"open\n")
            os.read(end, 1)
            store.close()
        status = 0
    finally:
        os._exit(status)


def race(folder: Path, plant: str, *, kill: bool) -> list[str]:
    """One race of two: what each came to."""
    gate, end = os.pipe(), os.pipe()
    hearing, saying = zip(*(os.pipe() for _ in range(2)), strict=True)
    pids = []
    for say in saying:
        pid = os.fork()
        if pid == 0:
            os.close(gate[1])
            os.close(end[1])
            contender(folder, gate[0], say, end[0], plant)
        pids.append(pid)
    os.write(gate[1], b"gg")
    said = [os.read(ear, 100).decode().strip() for ear in hearing]
    for pid, word in zip(pids, said, strict=True):
        if kill and word == "open":
            os.kill(pid, signal.SIGKILL)
    os.close(end[1])
    for pid in pids:
        os.waitpid(pid, 0)
    for fd in (*hearing, *saying, *gate, end[0]):
        os.close(fd)
    return said


def main(folder: str, times: str, seed: str, plant: str = "") -> None:
    chance, stale = random.Random(int(seed)), False
    for _ in range(int(times)):
        kill = chance.random() < 0.5
        print(json.dumps({"said": race(Path(folder), plant, kill=kill), "stale": stale}), flush=True)
        stale = kill


if __name__ == "__main__":
    main(*sys.argv[1:])
