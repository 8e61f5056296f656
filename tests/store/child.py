"""What the tests of this folder run as a process of its own: `python -m tests.store.child COMMAND FOLDER`.

Each line on stdout is a word, and is written at once. Nothing here knows what the test expects.
"""

from __future__ import annotations

import resource
import signal
import sys
from itertools import count
from pathlib import Path

from relaybay.errors import StoreError
from relaybay.store.database import Store
from tests.store.conftest import event, kinds, open_store

PAGE = "x" * 4096


def say(*words: object) -> None:
    print(*words, flush=True)


def opened(folder: Path) -> Store:
    """The open store, or the name of what is in the way, and the end."""
    try:
        return open_store(folder)
    except StoreError as error:
        say(type(error).__name__)
        raise SystemExit from None


def hold(folder: Path) -> None:
    """Holds the folder until stdin ends."""
    store = opened(folder)
    say("open")
    sys.stdin.read()
    store.close()


def write(folder: Path) -> None:
    """Writes without end; says each key after its commit was acknowledged."""
    store = opened(folder)
    for number in count():
        say(store.write(lambda tx, number=number: event(tx, f"w{number}")))


def fill(folder: Path) -> None:
    """Writes pages until the store refuses; says how, frees the ballast, writes again."""
    ballast = folder / "ballast"
    ballast.write_bytes(b"\0" * 512 * 1024)
    store = opened(folder)
    said = refusals(store)
    ballast.unlink()
    say(said, *(outcome(store) for _ in range(3)))
    say(len(kinds(store)))
    store.close()


def bounded(folder: Path) -> None:
    """The system takes no byte beyond a size: writes until the store refuses, then says what it does afterwards."""
    store = opened(folder)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400 * 1024, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    said = refusals(store)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    say(said, *(outcome(store) for _ in range(3)))
    say(len(kinds(store)))
    store.close()


def refusals(store: Store) -> str:
    """Writes pages until one is refused; the refusal's name and how many were acknowledged before."""
    for number in count():
        said = outcome(store)
        if said != "done":
            return f"{said} {number}"
    raise AssertionError


def outcome(store: Store) -> str:
    try:
        store.write(lambda tx: event(tx, "page", PAGE))
    except StoreError as error:
        return type(error).__name__
    return "done"


def again(folder: Path) -> None:
    """Opens a store that is there, and writes into it."""
    store = opened(folder)
    say(outcome(store))
    store.close()


if __name__ == "__main__":
    {f.__name__: f for f in (hold, write, fill, bounded, again)}[sys.argv[1]](Path(sys.argv[2]))
