"""What the conformance tests share."""

from __future__ import annotations

import pytest


@pytest.fixture
def executed(record_property):
    """Records the spec ids that the real code returned in this test; the report of `make conformance` counts them."""
    ids: set[str] = set()
    yield ids.add
    record_property("executed", " ".join(sorted(ids)))
