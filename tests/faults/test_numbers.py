"""The sizes of the campaigns: read as they are asked for, and the same campaigns as `ids.toml` has."""

from __future__ import annotations

import pytest

from tests.conformance import ids
from tests.faults import numbers


def test_the_campaigns_are_those_of_the_ids() -> None:
    listed = {one.id: bool(one.later) for one in ids.read().values() if one.table == "FLT"}
    assert listed == {size.id: bool(size.later) for size in numbers.sizes().values()}


def test_the_smaller_number_unless_the_full_one_is_asked_for(monkeypatch) -> None:
    monkeypatch.delenv("RELAYBAY_FAULTS_SCALE", raising=False)
    monkeypatch.delenv("RELAYBAY_CAMPAIGN", raising=False)
    assert (numbers.points("FLT-2"), numbers.accepted_min("FLT-1")) == (200, 0)
    monkeypatch.setenv("RELAYBAY_CAMPAIGN", "1")
    assert (numbers.points("FLT-2"), numbers.accepted_min("FLT-1")) == (10_000, 200_000)
    monkeypatch.setenv("RELAYBAY_FAULTS_SCALE", "0.00001")
    assert numbers.points("FLT-2") == 1, "never none"


def test_a_campaign_that_is_not_due_has_no_points() -> None:
    with pytest.raises(AssertionError, match="not due"):
        numbers.points("FLT-10")


def test_no_campaign_is_smaller_in_full() -> None:
    assert all(0 < size.ci <= size.full for size in numbers.sizes().values())
