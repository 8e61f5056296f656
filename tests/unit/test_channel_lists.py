"""The list of channels for people: topics, broadcasts, and with whom a chosen session wrote (OWN-6)."""

from __future__ import annotations

import pytest

from relaybay.domain import Outcome
from relaybay.service import channel_lists
from relaybay.settings import Messaging
from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


def listed(rig: ChannelRig, session: str = "") -> Outcome:
    return rig.store.read(lambda tx: channel_lists.channels(tx, rig.relay, session=session))


@pytest.mark.spec("OWN-6")
def test_topics_stand_by_last_activity_and_say_how_a_session_receives_each(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.subscribe(two, "ci.*", "releases", "nightly")
    rig.publish("h1", "ci.failures")
    rig.publish("h1", "releases")
    rig.publish("h1", "docs.changed")
    rig.publish("h1", "ci.failures", "And again.")
    found = listed(rig).data
    assert [(one["topic"], one["count"]) for one in found["topics"]] == [
        ("ci.failures", 2),
        ("docs.changed", 1),
        ("releases", 1),
    ]
    assert all("received" not in one for one in found["topics"]), "nobody was chosen"
    chosen = listed(rig, f"@{two.name}").data
    assert {one["topic"]: one["received"] for one in chosen["topics"]} == {
        "ci.failures": "pattern",
        "docs.changed": "not",
        "releases": "exact",
        "nightly": "exact",
    }
    assert chosen["session"]["ref"] == two.ref
    assert [one["count"] for one in chosen["topics"] if one["topic"] == "nightly"] == [0]


@pytest.mark.spec("OWN-6")
def test_broadcasts_are_counted_and_say_whether_they_are_received(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    assert listed(rig).data["broadcasts"] == {"count": 0}
    rig.publish("h1", broadcast=True)
    assert listed(rig, two.ref).data["broadcasts"]["received"] is False
    rig.broadcasts(two)
    found = listed(rig, two.ref).data["broadcasts"]
    assert (found["count"], found["received"]) == (1, True)


@pytest.mark.spec("OWN-6")
def test_direct_conversations_are_by_the_other_session_whoever_wrote(rig) -> None:
    one, two, three = rig.session("h1"), rig.session("h2"), rig.session("h3")
    rig.say("h1", three, "First.")
    rig.say("h1", two, "Second.")
    rig.say("h2", one, "Third.")
    rig.say("h2", three, "Not of the first session.")
    rig.script(one.name, "A script is no session.")
    found = listed(rig, one.ref).data["conversations"]
    assert [(peer["ref"], peer["count"]) for peer in found] == [(two.ref, 2), (three.ref, 1)]
    assert listed(rig).data["conversations"] == []


@pytest.mark.spec("OWN-6", "SET-1")
def test_refuses_an_unknown_session_and_with_the_switch_off(rig, tmp_path) -> None:
    refused = listed(rig, "nobody").refusal
    assert refused is not None and refused.answer == "session.unknown"
    off = ChannelRig(tmp_path / "off", Messaging())
    refused = listed(off).refusal
    off.relay.close()
    assert refused is not None and refused.answer == "channels.off"
