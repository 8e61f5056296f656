"""One life after another with channels on: what reaches a session, what the owner has to let through, what never comes."""

from __future__ import annotations

import pytest

from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


@pytest.mark.spec("POLICY-8", "COHORT-4", "DLV-20", "ADM-8")
def test_one_cohort_reaches_itself(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    receipt = rig.say("h1", two)
    assert (receipt["state"], receipt["reason_code"]) == ("sent", "idle")
    assert receipt["message_id"] in rig.text(rig.prompt("h2", permission_mode="default"))


@pytest.mark.spec("POLICY-7", "DLV-21", "RECV-9", "REV-1", "REV-4", "DLV-26", "CH-7")
def test_a_scripts_message_is_held_until_the_owner_approves_it(rig) -> None:
    two = rig.session("h2")
    receipt = rig.script(two.name)
    assert (receipt["state"], receipt["reason_code"]) == ("held", "script")
    assert rig.text(rig.prompt("h2", permission_mode="default")) == ""
    rig.stop("h2", permission_mode="default")
    rig.approve(receipt["message_id"])
    assert "Build failed." in rig.text(rig.prompt("h2", permission_mode="default"))


@pytest.mark.spec("REV-2", "REV-6", "DLV-28", "POLICY-4")
def test_an_approval_over_old_controls_does_nothing(rig) -> None:
    two = rig.session("h2")
    mid = rig.script(two.name)["message_id"]
    token = rig.review(mid)["token"]
    rig.prompt("h2", permission_mode="plan")
    refused = rig.decide("approve", mid, token)
    assert refused.refusal is not None and refused.refusal.answer == "review.stale"
    assert rig.at(mid, two).state == "held"


@pytest.mark.spec("PUB-5", "PUB-9", "CH-1", "TOPIC-22")
def test_a_publication_reaches_who_subscribes_and_nobody_else(rig) -> None:
    rig.session("h1")
    two, three = rig.session("h2"), rig.session("h3")
    rig.subscribe(two, "ci.**", "ci.*")
    receipt = rig.publish("h1", "ci.failures")
    assert [one["ref"] for one in receipt["recipients"]] == [two.ref]
    assert "audience: topic ci.failures" in rig.text(rig.tool("h2", permission_mode="default"))
    assert rig.text(rig.prompt("h3", permission_mode="default")) == ""
    rig.broadcasts(three)
    assert [one["ref"] for one in rig.publish("h1", broadcast=True)["recipients"]] == [three.ref]


@pytest.mark.spec("CATCHUP-1", "CATCHUP-2", "CATCHUP-7", "DLV-31", "DLV-41", "CH-5")
def test_a_session_that_comes_back_catches_up_with_its_prompt_and_is_not_woken(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    mid = rig.publish("h1", "ci.failures")["message_id"]
    rig.hook("SessionEnd", "h2", reason="logout")
    assert rig.at(mid, two).state == "dropped"
    later = rig.publish("h1", "ci.failures", "And again.")["message_id"]
    rig.start("h2", "resume", permission_mode="default")
    assert rig.at(later, two).passive == 1
    assert rig.at(mid, two).state == "dropped"
    assert rig.text(rig.tool("h2", permission_mode="default")) == ""
    assert later in rig.text(rig.prompt("h2", permission_mode="default"))


@pytest.mark.spec("SUP-1", "SUP-2", "SUP-3", "POLICY-3")
def test_a_turn_that_failed_keeps_everything_back_until_the_user_writes(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.policy(two, "accept")
    rig.prompt("h2", permission_mode="default")
    rig.hook("StopFailure", "h2", permission_mode="default")
    receipt = rig.say("h1", two)
    assert (receipt["state"], receipt["reason_code"]) == ("held", "waits_for_resume")
    assert rig.text(rig.prompt("h2", prompt_kind="machine", prompt_id="p9", permission_mode="default")) == ""
    assert receipt["message_id"] in rig.text(rig.prompt("h2", permission_mode="default"))
