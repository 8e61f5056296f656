"""`relaybay demo`, as a person runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import relaybay

TREE = str(Path(relaybay.__file__).parent.parent)


@pytest.fixture
def demo():
    """Starts the demo; its throw-away store goes into a folder that is looked at."""
    with tempfile.TemporaryDirectory(prefix="rb") as folder:
        env = {"PATH": os.environ["PATH"], "HOME": folder, "TMPDIR": folder, "PYTHONPATH": TREE}

        def start(*words):
            return subprocess.Popen(
                [sys.executable, "-m", "relaybay", "demo", *words], env=env, stdout=subprocess.PIPE, text=True
            )

        yield start
        assert list(Path(folder).iterdir()) == [], "the throw-away store is thrown away"


@pytest.mark.spec("70")
def test_once_plays_every_step_and_ends(demo):
    with demo("--once") as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    steps = [line for line in said.splitlines() if line[:3].strip().isdigit()]
    assert [int(line[:3]) for line in steps] == list(range(1, len(steps) + 1))
    for word in ("the hook's answer carries the message", "delivered, at", "Stop is blocked once", "passes"):
        assert word in said
    assert "Ctrl-C" not in said


@pytest.mark.spec("70")
def test_the_open_demo_says_how_to_end_it_beside_its_link_and_at_the_end(demo):
    with demo() as process:
        first = process.stdout.readline()
        assert "/login?code=" in first and "Ctrl-C" in first
        last = next(line for line in process.stdout if "press Ctrl-C to end" in line)
        assert last.split()[0].isdigit()
        url = first.split()[1].partition("/login")[0]
        with pytest.raises(urllib.error.HTTPError) as answer:  # No cookie; but somebody is there.
            urllib.request.urlopen(url, timeout=5)
        answer.value.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        process.stdout.close()
