"""What the stateful tests share."""

from __future__ import annotations

import pytest

from tests.stateful.machine import close_machinery


@pytest.fixture(scope="session", autouse=True)
def _store_of_this_process():
    yield
    close_machinery()
