"""The JSON API against its own document: whatever the document allows is answered as it says, and nothing is a 500."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks

from tests.api.mcp_rig import Served, serve, stop

# Beyond its schema a request can still be refused for what it says: a blank title, a name that is taken.
_LEFT_OUT = [checks.positive_data_acceptance]


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    one = serve(tmp_path_factory.mktemp("relay"))
    yield one
    stop(one)


@pytest.fixture(scope="module")
def browser(served) -> dict[str, str]:
    return served.browser().headers


@pytest.fixture(scope="module")
def api(served):
    found = schemathesis.openapi.from_dict(served.document)
    found.config.update(base_url=served.server.url)
    # A rotation would shut out whoever else uses this server.
    return found.exclude(path="/api/v1/token/rotate")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.spec("70", "75")
def test_the_document_is_kept(api, browser, mode) -> None:
    """Random requests of every operation: allowed ones, and ones that the document forbids."""
    tried = 0
    for found in api.get_all_operations():
        operation = found.ok()
        try:
            requests = operation.as_strategy(generation_mode=mode)
        except Unsatisfiable:
            continue

        @settings(max_examples=6, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(case=requests)
        def keeps(case) -> None:
            case.call_and_validate(headers=browser, excluded_checks=_LEFT_OUT)

        try:
            keeps()
        except Unsatisfiable:
            continue  # Nothing about this operation could be wrong.
        tried += 1
    assert tried >= (26 if mode is GenerationMode.POSITIVE else 10)
