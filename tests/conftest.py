"""What every kind of test shares."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests.conformance import record
from tests.conformance.record import pytest_collection_modifyitems, pytest_configure, pytest_sessionfinish
from tests.scenarios import transcript

__all__ = ["missing", "pytest_addoption", "pytest_collection_modifyitems", "pytest_configure", "pytest_sessionfinish"]

# Times are figures of bench/, never of a test: a busy machine must not fail one. The build server draws the same
# examples each time, so that a landing does not hang on luck; everybody else draws new ones.
settings.register_profile(
    "quick",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
)
settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    # Here, since pytest knows the options of the topmost conftest only, wherever it is started.
    record.pytest_addoption(parser)
    transcript.pytest_addoption(parser)


def missing(part: str, reason: str) -> NoReturn:
    """Skip the test because ``part`` is missing here; fail it where ``RELAYBAY_REQUIRE`` (comma list) names the part.

    So a laptop without the real client passes, and the build server that must have it can't pass by skipping.
    """
    required = {name.strip() for name in os.environ.get("RELAYBAY_REQUIRE", "").split(",")}
    if part in required:
        pytest.fail(f"{part} is required here: {reason}", pytrace=False)
    pytest.skip(f"{part}: {reason}")
