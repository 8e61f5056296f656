"""The owner's rules on a relay: what sets them off, who has the message meanwhile, how it comes back."""

from __future__ import annotations

import threading

import pytest

from relaybay.service import hooks, steps
from relaybay.settings import Messaging
from tests.unit.automation_rig import AutomationRig
from tests.unit.linking_rig import SECOND

MINUTE = 60 * SECOND

NOTIFY = """
[[automation]]
name = "notify"
session = "*"
on = "message_received"
[automation.run]
command = ["/bin/notify"]
"""
TAKE = """
[[automation]]
name = "take"
session = "@desk"
on = "message_received"
consume = true
[automation.run]
command = ["/bin/take"]
"""


def rule(name: str, *lines: str, session: str = "*") -> str:
    given = "\n".join(lines)
    return f'[[automation]]\nname = "{name}"\nsession = "{session}"\non = "message_received"\n{given}\n'


RUN = '[automation.run]\ncommand = ["/bin/true"]'


@pytest.fixture
def rig(tmp_path):
    made = AutomationRig(tmp_path)
    yield made
    made.check()
    made.relay.close()


def prompt(rig, hook: str) -> str:
    return rig.text(rig.prompt(hook, permission_mode="default"))


# -- what sets a rule off ---------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-1", "AUTO-3")
def test_a_rule_hears_of_a_message_that_was_let_in_and_leaves_it_to_its_session(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY)
    mid = rig.say("h1", two)["message_id"]
    begun = rig.one()
    said = rig.told(begun)
    assert (said["message_id"], said["text"], said["consumed"]) == (mid, "Please look.", False)
    assert (said["admission"], said["catch_up"], said["to"]["ref"]) == ("sent", False, two.ref)
    assert rig.at(mid, two).state == "sent"
    rig.finish(begun)
    assert rig.ends() == [("done", "")] and "Please look." in prompt(rig, "h2")


@pytest.mark.spec("AUTO-5", "AUTO-9")
def test_held_and_then_released_are_two_events_and_only_the_second_may_be_taken(rig) -> None:
    two = rig.named("h2", "desk")
    rig.rules(TAKE + rule("watch", 'admissions = ["sent", "held"]', RUN))
    mid = rig.script("desk")["message_id"]
    assert rig.at(mid, two).state == "held" and [one["automation"] for one in rig.log()] == ["watch"]
    rig.play()
    rig.approve(mid)
    assert rig.at(mid, two).state == "taken" and rig.at(mid, two).taken_by == "take"
    assert [(one["automation"], one["admission"]) for one in rig.log()] == [
        ("watch", "held"),
        ("take", "sent"),
        ("watch", "sent"),
    ]


@pytest.mark.spec("AUTO-5", "DLV-23")
def test_what_a_laxer_policy_releases_sets_rules_off_as_well_and_once_only(rig) -> None:
    two = rig.session("h2")
    rig.rules(NOTIFY)
    mid = rig.script(two.name)["message_id"]
    assert rig.log() == []
    for wanted in ("accept", "hold", "accept"):
        rig.policy(two, wanted)
    assert rig.at(mid, two).state == "sent" and len(rig.log()) == 1


@pytest.mark.spec("AUTO-1", "CATCHUP-1")
def test_catch_up_is_marked_as_such(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.publish("h1", "ci.failures")
    rig.rules(NOTIFY)
    rig.subscribe(two, "ci.**")
    prompt(rig, "h2")
    assert rig.told(rig.one())["catch_up"] is True


@pytest.mark.spec("AUTO-1", "DLV-22")
def test_what_was_not_let_in_sets_nothing_off(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY)
    rig.policy(two, "refuse")
    assert rig.say("h1", two)["state"] == "refused" and rig.log() == []


@pytest.mark.spec("SET-1")
def test_without_the_switch_no_rule_is_heard_of(tmp_path) -> None:
    rig = AutomationRig(tmp_path, Messaging())
    rig.linked("h1"), rig.linked("h2")
    rig.rules(NOTIFY)
    rig.say("h1", rig.holder("h2"))
    rig.now += MINUTE
    assert rig.store.read(lambda tx: tx.value("SELECT count(*) FROM automation_firing")) == 0
    rig.relay.close()


# -- take, keep, give back ----------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-7", "AUTO-8", "AUTO-10", "DLV-35", "DLV-36", "DLV-39")
def test_the_first_rule_by_name_takes_a_message_and_keeps_it(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE.replace('"take"', '"b-take"') + TAKE.replace('"take"', '"a-take"') + NOTIFY)
    receipt = rig.say("h1", two)
    mid = receipt["message_id"]
    assert receipt["state"] == "taken" and rig.at(mid, two).taken_by == "a-take"
    assert "Please look." not in prompt(rig, "h2")
    begun = rig.begin().begun
    told = {one.rule: rig.told(one)["consumed"] for one in begun}
    assert told == {"a-take": True, "b-take": False, "notify": False}
    for one in begun:
        rig.finish(one)
    kept = rig.at(mid, two)
    assert (kept.state, kept.reason_code, kept.taken_by) == ("consumed", "consumed", "a-take")
    assert "Please look." not in prompt(rig, "h2")


@pytest.mark.spec("AUTO-10", "DLV-36")
def test_a_kept_topic_message_counts_as_seen(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.subscribe(two, "ci.**")
    rig.rules(TAKE)
    rig.publish("h1", "ci.failures")
    assert rig.play() == 1
    rig.rules(NOTIFY)
    assert prompt(rig, "h2") == "" and rig.log("notify") == []


@pytest.mark.spec("AUTO-11", "DLV-37", "DLV-45")
@pytest.mark.parametrize("reason", ["exit_status", "timeout", "not_started", "server_stop"])
def test_what_a_rule_did_not_get_through_with_reaches_its_session_and_is_never_taken_again(rig, reason) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    mid = rig.say("h1", two)["message_id"]
    rig.finish(rig.one(), reason, "3")
    assert (rig.at(mid, two).state, rig.at(mid, two).taken_by) == ("sent", "take")
    rig.policy(two, "hold")
    rig.policy(two, "accept")
    assert rig.at(mid, two).state == "sent" and rig.ends() == [("failed", reason)]
    assert "Please look." in prompt(rig, "h2")


@pytest.mark.spec("AUTO-11", "DLV-38", "DLV-40")
def test_what_comes_back_is_judged_by_the_policy_of_now(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    mid = rig.say("h1", two)["message_id"]
    begun = rig.one()
    rig.policy(two, "hold")
    assert rig.at(mid, two).state == "taken"
    rig.finish(begun, "timeout", "60")
    assert (rig.at(mid, two).state, rig.at(mid, two).reason_code) == ("held", "policy")


@pytest.mark.spec("AUTO-11", "DLV-37")
@pytest.mark.parametrize("killed", [False, True])
def test_a_server_start_gives_back_what_was_taken_and_begins_nothing_twice(rig, killed) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE + NOTIFY)
    one = rig.say("h1", two)["message_id"]
    begun = rig.begin().begun
    other = rig.say("h1", two, "Another one.")["message_id"]
    rig.restart(killed=killed)
    assert [rig.at(mid, two).state for mid in (one, other)] == ["sent", "sent"]
    assert {(entry["automation"], entry["state"]) for entry in rig.log()} == {
        ("take", "given_back"),
        ("notify", "failed"),
        ("notify", "waiting"),
    }
    for late in begun:
        rig.finish(late)
    assert [rig.at(mid, two).state for mid in (one, other)] == ["sent", "sent"], "a late end changes nothing"
    assert rig.play() == 1 and "Another one." in prompt(rig, "h2")


@pytest.mark.spec("AUTO-11")
@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "rule_gone"), (NOTIFY.replace("/bin/notify", "/bin/other"), "rule_changed"), ("x = ", "file_unusable")],
)
def test_what_waits_for_a_rule_that_stands_there_no_more_is_over(rig, text, reason) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY)
    rig.say("h1", two)
    rig.restart(text)
    assert rig.ends() == [("dropped", reason)] and rig.begin().begun == ()


@pytest.mark.spec("AUTO-11", "DLV-45")
def test_what_was_taken_once_is_taken_by_no_other_rule_either(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    mid = rig.say("h1", two)["message_id"]
    rig.finish(rig.one(), "timeout", "60")
    rig.policy(two, "hold")
    rig.restart(TAKE.replace('"take"', '"a-new-one"'))
    rig.policy(two, "accept")
    assert (rig.at(mid, two).state, rig.at(mid, two).taken_by) == ("sent", "take")
    assert rig.told(rig.one())["consumed"] is False, "it hears of the release, and no more"


@pytest.mark.spec("DLV-33", "DLV-34", "DLV-54", "AUTO-11")
@pytest.mark.parametrize("event", ["recipient_row_gone", "own_message"])
def test_what_happens_to_a_taken_message_otherwise_ends_its_firing(rig, event) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    mid = rig.say("h1", two)["message_id"]
    begun = rig.one()
    rig.store.write(lambda tx: steps.delivery(tx, rig.at(mid, two), event))
    rig.finish(begun)
    assert rig.ends() == [
        ("dropped", "message_gone") if event == "recipient_row_gone" else ("given_back", "taken_from_it")
    ]
    states = rig.store.read(lambda tx: tx.rows("SELECT state FROM delivery"))
    assert states == [("orphaned" if event == "recipient_row_gone" else "read",)]


@pytest.mark.spec("AUTO-11", "DLV-37")
def test_a_delivery_that_is_taken_without_any_firing_comes_back_at_the_start(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    mid = rig.say("h1", two)["message_id"]
    rig.store.write(lambda tx: tx.run("DELETE FROM automation_firing"))
    rig.restart()
    assert rig.at(mid, two).state == "sent"


@pytest.mark.spec("SET-1")
def test_switched_off_what_was_taken_stays_taken_until_the_switch_is_on_again(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    mid = rig.say("h1", two)["message_id"]
    rig.messaging = Messaging()
    rig.restart()
    assert rig.at(mid, two).state == "taken"
    rig.messaging = Messaging(channels=True)
    rig.restart()
    assert rig.at(mid, two).state == "sent"


@pytest.mark.spec("DLV-37", "DLV-31", "AUTO-11")
def test_the_end_of_the_session_takes_the_message_from_its_rule(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.subscribe(two, "ci.**")
    rig.rules(TAKE)
    direct = rig.say("h1", two)["message_id"]
    topic = rig.publish("h1", "ci.failures")["message_id"]
    begun = rig.one()
    rig.hook("SessionEnd", "h2", reason="prompt_input_exit")
    assert (rig.at(direct, two).state, rig.at(topic, two).state) == ("sent", "dropped")
    rig.finish(begun)
    rig.play()
    assert rig.ends() == [("given_back", "taken_from_it")] * 2
    assert (rig.at(direct, two).state, rig.at(topic, two).state) == ("sent", "dropped")


@pytest.mark.spec("DLV-35", "DLV-39", "AUTO-8")
def test_no_hook_hands_over_what_a_rule_takes_in_the_same_moment(rig) -> None:
    """Hooks of the recipient run beside sends, for as long as it takes: what is taken was in no answer."""
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    prompt(rig, "h2")
    answers: list[str] = []
    ended = threading.Event()

    def tools() -> None:
        # Past the rig's own looks, which ask for a store that stands still.
        while not ended.is_set():
            event = rig.event("PostToolUse", "h2", permission_mode="default", tool_name="Bash", tool_use_id="toolu_b")
            said = hooks.from_memory(rig.relay, event) or rig.store.write(
                lambda tx, e=event: hooks.handle(tx, rig.relay, e)
            )
            answers.append(rig.text(said))

    thread = threading.Thread(target=tools)
    thread.start()
    try:
        mids = []
        for n in range(60):
            rig.now += 61 * SECOND
            receipt = rig.say("h1", two, f"Number {n}.")
            mids.append(receipt["message_id"])
            if n % 3 == 2:
                # The queue never fills up, and every third message comes back, for the hooks to carry.
                rig.now += 3600 * SECOND
                for failed in (False, True, False):
                    rig.finish(rig.one(), "timeout" if failed else "", "1")
    finally:
        ended.set()
        thread.join(10)
    rig.stop("h2", permission_mode="default")
    handed = "".join([*answers, prompt(rig, "h2")])
    states = [rig.at(mid, two).state for mid in mids]
    assert states == ["consumed", "delivered", "consumed"] * 20
    assert [mid in handed for mid in mids] == [False, True, False] * 20


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-8")
def test_twelve_firings_an_hour_and_sixteen_that_wait(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY)
    for n in range(12):
        rig.say("h1", two, f"Number {n}.")
        rig.now += 61 * SECOND
        assert rig.play() == 1
    for n in range(12, 30):
        rig.say("h1", two, f"Number {n}.")
        prompt(rig, "h2")
        rig.stop("h2", permission_mode="default")
    ready = rig.begin()
    assert ready.begun == () and ready.seconds is not None and 0 < ready.seconds < 3600
    assert rig.ends().count(("dropped", "queue_full")) == 2
    rig.restart()
    assert rig.begin().begun == (), "a restart forgets no limit"
    rig.now += 3600 * SECOND
    assert rig.play() == 12


@pytest.mark.spec("AUTO-8")
def test_a_rule_whose_queue_is_full_takes_no_message(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(TAKE)
    mids = []
    for n in range(17):
        rig.now += 7 * SECOND
        mids.append(rig.say("h1", two, f"Number {n}.")["message_id"])
    assert [rig.at(mid, two).state for mid in mids] == ["taken"] * 16 + ["sent"]


@pytest.mark.spec("AUTO-8")
def test_a_cool_down_is_waited_for(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY.replace("\non = ", "\ncool_down_seconds = 300\non = "))
    rig.say("h1", two, "One.")
    rig.say("h1", two, "Two.")
    assert rig.play() == 1
    assert rig.begin().seconds == 300
    rig.now += 300 * SECOND
    assert rig.play() == 1


@pytest.mark.spec("AUTO-8")
def test_a_rule_does_one_thing_at_a_time_and_rules_do_not_wait_for_each_other(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY + rule("other", RUN))
    rig.say("h1", two, "One.")
    rig.say("h1", two, "Two.")
    begun = rig.begin().begun
    assert {one.rule for one in begun} == {"notify", "other"} and rig.begin().begun == ()
    rig.finish(begun[0])
    assert [one.rule for one in rig.begin().begun] == [begun[0].rule]


@pytest.mark.spec("HIST-1")
def test_the_log_is_kept_as_long_as_the_history(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY)
    rig.say("h1", two)
    rig.play()
    rig.now += 30 * 24 * 3600 * SECOND
    rig.restart()
    assert len(rig.log()) == 1
    rig.now += MINUTE
    rig.restart()
    assert rig.log() == []


@pytest.mark.spec("AUTO-11")
def test_a_message_that_the_history_has_lost_ends_its_firing(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(NOTIFY)
    rig.say("h1", two)

    def lose(tx) -> None:
        tx.run("DELETE FROM message")
        tx.touch(two.id)

    rig.store.write(lose)
    assert rig.play() == 0 and rig.ends() == [("dropped", "message_gone")]
