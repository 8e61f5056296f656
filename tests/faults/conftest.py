"""What the campaigns share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.campaign import Campaign


@pytest.fixture
def campaign(tmp_path: Path, record_property: Callable[[str, object], None]) -> Callable[[str], Campaign]:
    """`with campaign("FLT-2") as run:`"""
    return lambda name: Campaign(name, record_property, tmp_path)
