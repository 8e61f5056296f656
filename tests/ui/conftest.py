from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ui.board_rig import Board


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    rig = Board(tmp_path)
    try:
        yield rig.log_in()
    finally:
        rig.close()
