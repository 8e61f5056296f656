from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.board_rig import OPEN, Board


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    rig = Board(tmp_path)
    try:
        yield rig.log_in()
    finally:
        rig.close()


@pytest.fixture
def channels(tmp_path: Path) -> Iterator[Board]:
    """A board with channels on, whose sessions let everybody through unless a test says otherwise."""
    rig = Board(tmp_path, OPEN)
    try:
        yield rig.log_in()
    finally:
        rig.close()
