"""Reviews: what one approval is good for, what makes it void, and what happens when it races a change of controls."""

from __future__ import annotations

import os
import threading
import time

import pytest

from relaybay.domain import ClientProcess
from relaybay.service import reviews, session_controls
from tests.unit.channel_rig import ChannelRig
from tests.unit.linking_rig import SECOND

CLIENT = ClientProcess(os.getpid(), "0", "", "", "cli", "2.1.0")
ROUNDS, SECONDS_MAX = 1_000, 40


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def two(rig):
    return rig.session("h2")


def refused(outcome) -> str:
    assert outcome.refusal is not None, outcome.data
    return outcome.refusal.answer


# -- tokens --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("REV-1", "REV-2", "REV-6", "DLV-28")
def test_no_list_and_no_look_gives_a_token_or_renews_a_stale_one(rig, two) -> None:
    """Trap P1."""
    mid = rig.script(two.ref)["message_id"]
    looks = (
        lambda tx: reviews.held(tx, rig.relay),
        lambda tx: reviews.held(tx, rig.relay, session=two.ref),
        lambda tx: reviews.show(tx, rig.relay, message_id=mid),
    )
    assert all("token" not in str(rig.do(look)) for look in looks)
    assert refused(rig.decide("approve", mid, "")) == "review.stale"
    token = rig.review(mid)["token"]
    rig.prompt("h2", permission_mode="plan")
    assert all(token not in str(rig.do(look)) for look in looks), "what is stale is shown to nobody any more"
    for event in ("approve", "reject"):
        assert refused(rig.decide(event, mid, token)) == "review.stale"
    assert rig.state_at(mid, two) == ("held", "script")
    fresh = rig.review(mid)["token"]
    assert fresh != token
    assert refused(rig.decide("approve", mid, token)) == "review.stale"
    assert rig.decide("approve", mid, fresh).refusal is None


@pytest.mark.spec("REV-2", "DLV-28", "POLICY-4")
def test_there_and_back_again_is_two_changes(rig, two) -> None:
    """Trap P2; also when an override is set to the value that it has."""
    mid = rig.script(two.ref)["message_id"]
    epoch = rig.need(two).epoch
    for change in (("hold", "accept", "hold"), ("hold",)):
        rig.policy(two, "hold")
        token = rig.review(mid)["token"]
        for policy in change:
            rig.policy(two, policy)
        if rig.state_at(mid, two)[0] == "sent":
            pytest.fail("hold keeps everything")
        assert refused(rig.decide("approve", mid, token)) == "review.stale"
    assert rig.need(two).epoch == epoch + 6


@pytest.mark.spec("REV-4", "REV-7", "POLICY-4", "DLV-44")
def test_one_approval_is_of_one_message_once(rig, two) -> None:
    """Traps P4 and P13."""
    first = rig.script(two.ref, "one")["message_id"]
    token = rig.review(first)["token"]
    assert rig.decide("approve", first, token).refusal is None
    assert refused(rig.decide("approve", first, token)) == "review.not_held"
    second = rig.script(two.ref, "two")
    assert second["state"] == "held"
    carried = rig.carried("h2")
    assert first in carried
    assert second["message_id"] not in carried
    assert refused(rig.decide("approve", second["message_id"], token)) == "review.stale"


@pytest.mark.spec("POLICY-4", "DLV-24", "REV-2")
@pytest.mark.parametrize("change", ["mode", "folder", "override", "floor", "suppressed", "default"])
def test_an_approval_lasts_until_any_of_the_controls_changes(rig, change) -> None:
    folder = rig.project()
    two = rig.session("h2", cwd=folder)
    mid = rig.script(two.ref)["message_id"]
    rig.approve(mid)
    epoch = rig.need(two).epoch
    match change:
        case "mode":
            assert rig.text(rig.tool("h2", cwd=folder, permission_mode="plan")) == ""
        case "folder":
            assert rig.text(rig.tool("h2", cwd=f"{folder}/src", permission_mode="default")) == ""
        case "override":
            rig.policy(two, "auto")
        case "floor":
            rig.project('[messaging]\ninbound = "hold"\n')
        case "suppressed":
            rig.hook("StopFailure", "h2", cwd=folder, permission_mode="default")
        case "default":
            rig.start_again(inbound="hold")
    rig.look_at_controls()
    assert rig.at(mid, two).state == "held"
    assert rig.need(two).epoch == epoch + 1
    assert mid not in rig.carried("h2", "tool", cwd=folder)


@pytest.mark.spec("DLV-29", "REV-4", "POLICY-6", "REV-5", "DLV-27")
def test_nothing_is_approved_under_refuse_and_rejecting_stays_possible(rig, two) -> None:
    """Trap P5."""
    mid = rig.script(two.ref)["message_id"]
    rig.policy(two, "refuse")
    token = rig.review(mid)["token"]
    outcome = rig.decide("approve", mid, token)
    assert refused(outcome) == "review.blocked"
    assert "refuse" in outcome.refusal.values["by"]
    assert rig.decide("reject", mid, token).refusal is None
    assert rig.state_at(mid, two) == ("rejected", "rejected")


@pytest.mark.spec("SUP-3", "DLV-29", "POLICY-3")
def test_accept_is_no_way_around_a_suppressed_row(rig, two) -> None:
    """Trap P7."""
    rig.policy(two, "accept")
    rig.prompt("h2", permission_mode="default")
    rig.hook("StopFailure", "h2", permission_mode="default")
    said = rig.script(two.ref)
    assert (said["state"], said["reason_code"]) == ("held", "waits_for_resume")
    outcome = rig.decide("approve", said["message_id"], rig.review(said["message_id"])["token"])
    assert refused(outcome) == "review.blocked"
    assert said["message_id"] in rig.carried("h2")


@pytest.mark.spec("DLV-27", "RETRY-4", "REV-5", "CATCHUP-8", "DLV-47")
def test_what_was_rejected_never_comes_by_its_request_id_nor_by_catch_up(rig, two) -> None:
    """Trap P6."""
    rig.subscribe(two, "ci.*")
    said = rig.script_publish("ci.a", request_id="r-1")
    mid = said["message_id"]
    rig.decide("reject", mid, rig.review(mid, two)["token"], two)
    again = rig.script_publish("ci.a", request_id="r-1")
    assert (again["message_id"], again["recipients"][0]["state"]) == (mid, "rejected")
    rig.start("h2", "resume", permission_mode="default")
    assert rig.state_at(mid, two) == ("rejected", "rejected")
    assert rig.carried("h2") == ""
    assert refused(rig.decide("approve", mid, "x", two)) == "message.closed"


@pytest.mark.spec("REV-8", "DLV-44")
def test_who_opens_or_decides_on_what_was_handed_over_is_told_so(rig, two) -> None:
    """Trap P12."""
    mid = rig.script(two.ref)["message_id"]
    rig.approve(mid)
    rig.carried("h2")
    outcome = rig.store.write(lambda tx: reviews.open_review(tx, rig.relay, message_id=mid))
    assert refused(outcome) == "review.not_held"
    assert refused(rig.decide("reject", mid, "token")) == "review.not_held"


@pytest.mark.spec("REV-3", "DLV-26", "REV-1")
def test_a_review_names_sender_script_folder_mode_reason_and_the_literal_body(rig, two) -> None:
    rig.session("h1", mode="acceptEdits")
    mid = rig.say("h1", two, "First\x1b[31m line\nand `/compact @file` </x>")["message_id"]
    shown = rig.review(mid)
    assert shown["body"] == '"First\\u001b[31m line\\nand `/compact @file` \\u003c/x\\u003e"'
    assert (shown["folder"], shown["mode"], shown["reason_code"]) == ("/home/ada/shop", "acceptEdits", "cohort")
    assert "script" not in shown["from"]
    deep = "/" + "/".join(f"folder-{n}" for n in range(30))
    rig.session("h7", mode="plan", cwd=deep)
    assert rig.review(rig.say("h7", two)["message_id"])["folder"] == deep, "the end of a path tells which folder it is"
    assert rig.review(rig.script(two.ref)["message_id"])["from"]["script"] is True


# -- hand-over -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("DLV-46", "DLV-25", "DLV-17", "POLICY-9")
def test_what_is_being_handed_over_goes_and_what_comes_back_is_judged_on_the_values_of_now(rig, two) -> None:
    """Traps P9 and R4: the mode changes during a hand-over; given up, the message is held and keeps its place."""
    rig.session("h1")
    first = rig.say("h1", two, "one")["message_id"]
    done = rig.prompt("h2", permission_mode="default")
    assert first in rig.text(done)
    second = rig.say("h1", two, "two")["message_id"]
    assert rig.text(rig.tool("h2", permission_mode="plan")) == ""
    assert [rig.state_at(mid, two) for mid in (first, second)] == [("delivered", ""), ("held", "cohort")]
    rig.not_written(done)
    assert rig.state_at(first, two) == ("held", "cohort")
    carried = rig.carried("h2", "tool", permission_mode="default")
    assert carried.index(first) < carried.index(second)


@pytest.mark.spec("DLV-17", "DLV-31", "CH-5", "DLV-32")
def test_a_session_that_ends_during_a_hand_over_loses_nothing_direct_and_gets_nothing_twice(rig, two) -> None:
    """Trap R5."""
    rig.session("h1")
    rig.broadcasts(two)
    direct = rig.say("h1", two)["message_id"]
    published = rig.publish("h1", broadcast=True)["message_id"]
    done = rig.prompt("h2", permission_mode="default")
    rig.hook("SessionEnd", "h2", reason="logout")
    assert [rig.at(mid, two).state for mid in (direct, published)] == ["delivered"] * 2
    rig.not_written(done)
    assert rig.state_at(direct, two)[0] == "sent"
    assert rig.state_at(published, two) == ("dropped", "session_ended")
    rig.start("h2", "resume", permission_mode="default")
    carried = rig.carried("h2")
    assert direct in carried
    assert published not in carried
    assert rig.carried("h2") == ""


@pytest.mark.spec("DLV-11", "DLV-25", "POLICY-4")
def test_an_approval_is_found_again_by_a_hand_over_that_is_taken_back(rig, two) -> None:
    mid = rig.script(two.ref)["message_id"]
    rig.approve(mid)
    rig.not_written(rig.prompt("h2", permission_mode="default"))
    assert rig.state_at(mid, two)[0] == "sent", "the controls are those it was approved under"
    rig.not_written(rig.tool("h2", permission_mode="default"))
    assert rig.text(rig.tool("h2", permission_mode="plan")) == ""
    assert rig.state_at(mid, two) == ("held", "script")


# -- links and late events -----------------------------------------------------------------------------------------


@pytest.mark.spec("REV-2", "DLV-52")
def test_a_link_that_moves_while_a_review_is_open_makes_it_stale(rig) -> None:
    """Trap K11: after /clear another conversation has the row, and what was approved was approved for the one before."""
    two = rig.session("h2", process=CLIENT)
    mid = rig.script(two.ref)["message_id"]
    token = rig.review(mid)["token"]
    approved = rig.script(two.ref, "Approved before.")["message_id"]
    rig.approve(approved)
    rig.hook("SessionEnd", "h2", reason="clear", process=CLIENT)
    rig.start("h9", "clear", process=CLIENT, permission_mode="default")
    assert rig.need(two).hook_id == "h9"
    assert refused(rig.decide("approve", mid, token)) == "review.stale"
    assert rig.at(approved, two).state == "held"
    assert rig.at(mid, two).state == "held"


@pytest.mark.spec("POLICY-9", "DLV-23")
def test_a_mode_that_an_old_event_reports_late_is_not_listened_to(rig, two) -> None:
    """Traps K12 and K8."""
    rig.session("h1", mode="plan")
    mid = rig.say("h1", two)["message_id"]
    assert rig.state_at(mid, two) == ("held", "cohort")
    epoch = rig.need(two).epoch
    assert rig.text(rig.late("PreToolUse", "h2", ago=60, permission_mode="plan", tool_name="Bash")) == ""
    rig.replay(rig.event("UserPromptSubmit", "h2", permission_mode="plan", at_us=rig.now - 60 * SECOND))
    rig.look_at_controls()
    assert rig.state_at(mid, two) == ("held", "cohort")
    assert (rig.holder("h2").permission_mode, rig.need(two).epoch) == ("default", epoch)
    rig.replay(rig.event("UserPromptSubmit", "h2", permission_mode="plan"))
    assert rig.at(mid, two).state != "delivered", "what is replayed is kept books of, and carries nothing"
    assert mid in rig.carried("h2", "tool", permission_mode="plan")


# -- races ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("DLV-26", "DLV-24", "REV-2", "POLICY-4")
def test_an_approval_and_a_stricter_policy_race_and_nothing_gets_through_under_it(rig, two) -> None:
    """Trap P3, in real threads: whichever comes second counts, and nothing is handed over under the stricter one."""
    mid = rig.script(two.ref)["message_id"]
    rounds, won, began = 0, 0, time.monotonic()
    while rounds < ROUNDS and time.monotonic() < began + SECONDS_MAX:
        rounds += 1
        rig.now += SECOND
        token = rig.review(mid)["token"]
        together = threading.Barrier(2)
        said = []

        def approve(token=token, together=together, said=said) -> None:
            together.wait()
            said.append(rig.decide("approve", mid, token))

        def tighten(together=together, policy=("hold", "refuse")[rounds % 2]) -> None:
            together.wait()
            work = lambda tx: session_controls.set_policy(tx, rig.relay, session=two.ref, wanted=policy)  # noqa: E731
            rig.store.write(work)

        # Who comes to the barrier last goes on first.
        threads = [threading.Thread(target=target) for target in (approve, tighten)[:: 1 if rounds % 4 < 2 else -1]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        won += said[0].refusal is None
        assert rig.at(mid, two).state == "held", "an approval of the epoch before is void"
        assert rig.text(rig.tool("h2", permission_mode="default")) == ""
        rig.policy(two, "auto")
        assert rig.at(mid, two).state == "held"
    assert rounds >= ROUNDS // 10
    assert 0 < won < rounds, "both orders have to have been met"
