"""Bounds that stand twice, since pure rules and strict models cannot read the tables, are the same in both places."""

from __future__ import annotations

import pytest

from relaybay.api import channel_models, models
from relaybay.rules import catch_up, policy, script_text, topics
from relaybay.settings import Messaging, keys
from relaybay.specs import limit


@pytest.mark.spec("CATCHUP-3", "TOPIC-15", "CH-4", "NAME-6")
def test_the_rules_defaults_are_the_tables() -> None:
    assert limit("catch_up_topics_max") == catch_up.TOPICS_MAX
    assert limit("patterns_per_session_max") == topics.PATTERNS_MAX
    assert limit("topic_bytes_max") == topics.TOPIC_BYTES_MAX
    assert limit("publication_bytes_max") == script_text.BODY_BYTES_MAX


@pytest.mark.spec("READ-4", "CLI-4")
def test_the_models_bounds_are_the_tables() -> None:
    assert limit("topic_page_max") == models.TOPIC_PAGE_MAX
    assert limit("log_lines_max") == channel_models._LOG_MAX


@pytest.mark.spec("SET-2", "SET-3", "SET-4", "SET-5")
def test_the_configuration_knows_the_rules_policies_and_the_defaults_of_a_relay_without_one() -> None:
    assert keys.POLICIES == policy.STRICTNESS
    defaults = {name.partition(".")[2]: key.default for name, key in keys.KEYS.items() if name.startswith("messaging.")}
    assert Messaging(**defaults) == Messaging()
