"""The rig with the real client, without the product."""

from __future__ import annotations

import pytest

from tests.live.conftest import RunCase

pytestmark = pytest.mark.live


def test_nothing_leaves_the_namespace(live: RunCase) -> None:
    live("nothing_leaves_the_namespace")


def test_one_shot_follows_its_script(live: RunCase) -> None:
    live("one_shot_follows_its_script")


def test_terminal_follows_its_script(live: RunCase) -> None:
    live("terminal_follows_its_script")
