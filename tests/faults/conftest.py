"""What the campaigns share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.campaign import Campaign


@pytest.fixture
def campaign(tmp_path: Path, record_property: Callable[[str, object], None]) -> Callable[[str], Campaign]:
    """`with campaign("FLT-2") as run:`"""
    return lambda name: Campaign(name, record_property, tmp_path)


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder in memory where there is one: what survives the death of a process does not hang on the disk, and a
    thousand syncs of a busy disk would be all that the campaign waits for. A test that failed leaves it to be looked at.
    """
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    made = Path(tempfile.mkdtemp(prefix="relaybay-faults-", dir="/dev/shm"))
    failed = request.session.testsfailed
    yield made
    if request.session.testsfailed == failed:
        shutil.rmtree(made)
