"""Who is one cohort on a real board, what each policy and a suppressed row make of a message, and what is said of it."""

from __future__ import annotations

import json

import pytest

from relaybay.domain import ClientProcess
from relaybay.service import context_proof
from relaybay.settings import Messaging
from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


# -- cohorts -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("COHORT-3", "POLICY-8", "POLICY-9")
def test_a_folder_is_what_it_is_behind_its_links_and_an_unknown_one_is_no_cohort(rig) -> None:
    """Trap P11: both ways."""
    folder = rig.project()
    (rig.folder / "link").symlink_to(folder)
    (rig.folder / "shop" / "src").mkdir()
    rig.session("h1", cwd=str(rig.folder / "link"))
    same, inner = rig.session("h2", cwd=folder), rig.session("h3", cwd=f"{folder}/src")
    assert rig.say("h1", same)["state"] == "sent"
    assert rig.say("h1", inner)["reason_code"] == "cohort"
    rig.session("h4", cwd="")
    nowhere = rig.session("h5", cwd="")
    assert rig.say("h4", nowhere)["reason_code"] == "cohort"


@pytest.mark.spec("COHORT-2", "COHORT-4", "POLICY-9")
@pytest.mark.parametrize(
    ("one", "other", "state"),
    [
        ("default", "default", "sent"),
        ("plan", "plan", "sent"),
        ("plan", "default", "held"),
        ("default", "plan", "held"),
        ("acceptEdits", "acceptEdits", "held"),
        ("auto", "auto", "held"),
        ("dontAsk", "dontAsk", "held"),
        ("bypassPermissions", "bypassPermissions", "held"),
        ("manual", "manual", "held"),
    ],
)
def test_both_plan_or_neither_and_both_ask(rig, one, other, state) -> None:
    rig.session("h1", mode=one)
    assert rig.say("h1", rig.session("h2", mode=other))["state"] == state


@pytest.mark.spec("COHORT-5", "COHORT-7")
def test_neither_the_machines_user_nor_title_name_group_or_subscription_is_compared(rig) -> None:
    """The client's process, its host and namespace among them: who may call at all is the gate's to say."""
    rig.session("h1", process=ClientProcess(11, "1", "pid:[1]", "one", "cli", "2.1"), session_title="Alice")
    two = rig.session("h2", process=ClientProcess(22, "2", "pid:[2]", "other", "cli", "2.2"), session_title="Bob")
    rig.name(two, "other-name")
    rig.subscribe(two, "a.**")
    rig.broadcasts(two)
    assert rig.say("h1", two)["state"] == "sent"


@pytest.mark.spec("COHORT-6", "CH-7")
def test_the_audience_changes_nothing_and_neither_does_the_door(rig) -> None:
    """One sender of the cohort and one that is not, a script: each by every audience."""
    rig.session("h1")
    rig.session("h3", mode="plan")
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    rig.broadcasts(two)

    def states(hook: str) -> list[str]:
        sent = [rig.say(hook, two, "one")["state"]]
        for how in ({"topic": "ci.a"}, {"broadcast": True}):
            sent += [one["state"] for one in rig.publish(hook, body=str(how), **how)["recipients"]]
        return sent

    assert states("h1") == ["sent"] * 3
    assert states("h3") == ["held"] * 3
    direct = rig.script(two.ref, "one")["state"]
    others = [
        rig.script_publish(**how, body=str(how))["recipients"][0]["state"]
        for how in ({"topic": "ci.a"}, {"topic": None, "broadcast": True})
    ]
    assert [direct, *others] == ["held"] * 3


@pytest.mark.spec("COHORT-1", "COHORT-4", "DLV-24")
def test_the_senders_values_are_those_of_its_sending_and_the_receivers_those_of_now(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    mid = rig.say("h1", two)["message_id"]
    rig.prompt("h1", permission_mode="bypassPermissions")
    rig.look_at_controls()
    assert rig.at(mid, two).state == "sent"
    assert rig.say("h1", two, "Now it asks for nothing.")["state"] == "held"
    rig.prompt("h2", permission_mode="plan")
    assert rig.state_at(mid, two) == ("held", "cohort")


@pytest.mark.spec("CH-6", "POLICY-6", "POLICY-5")
@pytest.mark.parametrize(("policy", "states"), [("accept", "ss"), ("auto", "sh"), ("hold", "hh"), ("refuse", "rr")])
def test_each_policy_over_a_session_of_the_cohort_and_a_script(tmp_path, policy, states) -> None:
    rig = ChannelRig(tmp_path, Messaging(channels=True, inbound=policy))
    rig.session("h1")
    two = rig.session("h2")
    assert rig.say("h1", two)["state"][0] + rig.script(two.ref)["state"][0] == states
    rig.relay.close()


# -- what is said of it --------------------------------------------------------------------------------------------


@pytest.mark.spec("RECV-9", "RECV-10", "ADM-2", "DLV-22")
def test_a_receipt_says_why_it_is_kept_back_and_what_would_change_it(rig) -> None:
    """A direct send that the recipient does not let in is no error of the call: it is recorded, and makes no edge."""
    rig.session("h1", mode="plan")
    two = rig.session("h2")
    said = rig.say("h1", two)
    assert (said["state"], said["reason_code"]) == ("held", "cohort")
    assert "owner" in said["text"]
    edges = len(rig.events("session.message"))
    rig.policy(two, "refuse")
    said = rig.say("h1", two, "Another.")
    assert (said["state"], said["reason_code"]) == ("refused", "policy")
    assert "policy is refuse" in said["text"]
    assert "laxer policy" in said["text"]
    assert len(rig.events("session.message")) == edges
    assert json.loads(rig.events("message.refused")[-1])["reason"] == "policy"


@pytest.mark.spec("ANS-9")
def test_the_start_line_counts_what_is_held_and_carries_nothing_of_it(rig) -> None:
    two = rig.session("h2")
    for n in range(3):
        rig.script(two.ref, f"secret {n}")
    line = rig.start("h2", "resume", permission_mode="default").line
    assert "Held for the owner's review: messages 3." in line
    assert "secret" not in line


@pytest.mark.spec("CTX-5", "SUP-1", "SUP-3", "SUP-2", "SUP-4")
def test_a_turn_that_was_broken_off_suppresses_its_row_until_the_user_writes(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.prompt("h2", permission_mode="default")
    mid = rig.say("h1", two)["message_id"]
    rig.now += 1_000_000
    assert rig.store.write(lambda tx: context_proof.break_off(tx, rig.relay, two.id, "h2", rig.now))
    assert rig.state_at(mid, two) == ("held", "waits_for_resume")
    assert [rig.say("h2", rig.holder("h1"))["state"]] == ["sent"], "its own sends are not refused"
    rig.reopen()
    rig.hook("SessionEnd", "h2", reason="logout")
    rig.start("h2", "resume", permission_mode="default")
    assert rig.need(two).suppressed == 1, "kept over end, resume and a restart of the server"
    assert rig.text(rig.prompt("h2", prompt_kind="machine", prompt_id="p-7", permission_mode="default")) == ""
    assert mid in rig.text(rig.prompt("h2", permission_mode="default"))


@pytest.mark.spec("SUP-3")
def test_the_owners_comments_go_on_and_wake_a_suppressed_session_where_messages_do_not(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    task = rig.task(two)
    rig.prompt("h2", permission_mode="default")
    rig.hook("StopFailure", "h2", permission_mode="default")
    mid = rig.say("h1", two)["message_id"]
    entry = rig.wait("h2")
    rig.now += 3_000_000
    assert rig.look(entry).outcome == "waiting"
    comment = rig.say_on(task)
    rig.now += 6_000_000
    done = rig.look(entry).done
    assert done is not None
    assert comment in done.text
    assert mid not in done.text


@pytest.mark.spec("CH-7")
def test_the_owners_comments_are_subject_to_no_policy(rig) -> None:
    two = rig.session("h2")
    rig.policy(two, "refuse")
    comment = rig.say_on(rig.task(two))
    rig.now += 6_000_000
    assert comment in rig.carried("h2")
