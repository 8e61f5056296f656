"""What the owner's rules send, and what keeps them from it."""

from __future__ import annotations

import pytest

from relaybay.service import messages
from tests.unit.automation_rig import AutomationRig
from tests.unit.linking_rig import SECOND


def rule(name: str, *lines: str, session: str = "@desk") -> str:
    given = "\n".join(lines)
    return f'[[automation]]\nname = "{name}"\nsession = "{session}"\non = "message_received"\n{given}\n'


REPLY = rule("answer", "consume = true", "[automation.reply]", 'text = "The desk is closed."')


def send(to: str, text: str = "Passed on.") -> str:
    return f'[automation.send]\nto = "{to}"\ntext = "{text}"'


def publish(topic: str, text: str = "Seen.") -> str:
    return f'[automation.publish]\ntopic = "{topic}"\ntext = "{text}"'


BROADCAST = '[automation.broadcast]\ntext = "To all."'


@pytest.fixture
def rig(tmp_path):
    made = AutomationRig(tmp_path)
    yield made
    made.check()
    made.relay.close()


def prompt(rig, hook: str) -> str:
    text = rig.text(rig.prompt(hook, permission_mode="default"))
    rig.stop(hook, permission_mode="default")
    return text


@pytest.mark.spec("AUTO-14", "AUTO-10", "ANS-9")
def test_a_reply_goes_to_the_sender_as_the_sessions_own_and_says_which_rule_wrote_it(rig) -> None:
    one = rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(REPLY)
    mid = rig.say("h1", two)["message_id"]
    assert rig.play() == 1
    text = prompt(rig, "h1")
    assert "The desk is closed." in text and "automation" in text and "answer" in text
    (sent,) = rig.store.read(lambda tx: tx.dicts("SELECT * FROM message WHERE automation <> ''"))
    assert (sent["automation"], sent["sender_id"], sent["sender_verified"]) == ("answer", two.id, 1)
    assert (sent["parent_mid"], sent["depth"]) == (mid, 1)
    assert rig.at(mid, two).state == "consumed" and rig.at(sent["mid"], one).state == "delivered"


@pytest.mark.spec("AUTO-14")
def test_a_script_gets_no_reply_and_its_message_is_left_to_the_session(rig) -> None:
    two = rig.named("h2", "desk")
    rig.policy(two, "accept")
    rig.rules(REPLY)
    mid = rig.script("desk")["message_id"]
    assert rig.at(mid, two).state == "sent" and rig.ends() == [("dropped", "no_reply_target")]


@pytest.mark.spec("AUTO-8", "AUTO-14")
def test_of_two_rules_that_would_answer_one_does(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(REPLY + REPLY.replace("answer", "answer-too"))
    rig.say("h1", two)
    rig.play()
    assert rig.ends("answer-too") == [("dropped", "not_consumed")] and rig.ends("answer") == [("done", "")]


@pytest.mark.spec("AUTO-15")
def test_a_message_goes_to_the_session_that_the_rule_declares(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.named("h3", "api")
    rig.rules(rule("pass-on", send("@api")))
    rig.say("h1", two)
    rig.play()
    assert "Passed on." in prompt(rig, "h3") and "Please look." in prompt(rig, "h2")


@pytest.mark.spec("AUTO-15", "AUTO-11")
@pytest.mark.parametrize(
    ("to", "reason"), [("@nobody", "recipient_unknown"), ("@desk", "to_self"), ("S-99", "recipient_unknown")]
)
def test_a_target_that_is_not_there_ends_the_firing_and_gives_the_message_back(rig, to, reason) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(rule("pass-on", "consume = true", send(to), publish("ci.seen")))
    mid = rig.say("h1", two)["message_id"]
    rig.play()
    assert rig.ends() == [("failed", reason)] and rig.at(mid, two).state == "sent"
    assert rig.events("message.published") == [], "what stands after it is not done"


@pytest.mark.spec("AUTO-16", "AUTO-17", "PUB-5")
def test_publications_reach_who_subscribes_and_who_takes_broadcasts(rig) -> None:
    rig.session("h1")
    two, three, four = rig.named("h2", "desk"), rig.session("h3"), rig.session("h4")
    rig.subscribe(three, "ci.**")
    rig.broadcasts(four)
    rig.rules(rule("tell", publish("ci.seen"), BROADCAST))
    rig.say("h1", two)
    rig.play()
    assert rig.log()[0]["sent"] == 2
    assert "Seen." in prompt(rig, "h3") and "To all." in prompt(rig, "h4")


@pytest.mark.spec("AUTO-16", "PUB-2", "RATE-16")
def test_publications_of_rules_count_in_the_sessions_window_and_are_kept_to_it(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(rule("tell", "firings_per_hour = 600", publish("ci.seen")))
    for n in range(16):
        rig.publish("h2", "ci.own", f"Number {n}.")
        rig.now -= 7 * SECOND
    rig.say("h1", two)
    rig.play()
    assert rig.ends() == [("failed", "rate_limited")]


@pytest.mark.spec("AUTO-15", "SEND-12", "RATE-16")
def test_messages_of_rules_count_in_the_sessions_window_and_are_kept_to_it(rig) -> None:
    rig.session("h1")
    two, three = rig.named("h2", "desk"), rig.named("h3", "api")
    rig.rules(rule("pass-on", send("@api")))
    rig.say("h1", two)
    rig.play()
    for n in range(9):
        rig.say("h2", three, f"Number {n}.")
        rig.now -= 7 * SECOND
    refused = rig.no(lambda tx: messages.send(tx, rig.relay, rig.caller("h2"), body="Ten.", to=three.ref))
    assert refused == ("rate_limited", "SEND-12")
    rig.say("h1", two, "Another.")
    rig.play()
    assert rig.ends()[-1] == ("failed", "rate_limited")


@pytest.mark.spec("AUTO-15", "ADM-3")
def test_a_text_that_was_just_sent_is_refused_as_the_sessions_own_would_be(rig) -> None:
    rig.session("h1")
    two, _ = rig.named("h2", "desk"), rig.named("h3", "api")
    rig.rules(rule("pass-on", "consume = true", send("@api")))
    first = rig.say("h1", two)["message_id"]
    second = rig.say("h1", two, "Another.")["message_id"]
    rig.play()
    assert [one["reason"] for one in rig.log() if one["state"] == "failed"] == [
        "the recipient did not let the message in [duplicate]"
    ]
    assert [rig.at(mid, two).state for mid in (first, second)] == ["consumed", "sent"]


@pytest.mark.spec("AUTO-15", "POLICY-8", "COHORT-4")
def test_what_a_rule_sends_is_judged_as_the_session_that_it_sends_for(rig) -> None:
    rig.session("h1")
    two, three = rig.named("h2", "desk"), rig.named("h3", "api", mode="plan")
    rig.rules(rule("pass-on", send("@api")))
    rig.say("h1", two)
    rig.play()
    held = rig.store.read(lambda tx: tx.rows("SELECT state FROM delivery WHERE recipient_id = ?", three.id))
    assert held == [("held",)] and rig.ends() == [("done", "")]


@pytest.mark.spec("AUTO-15", "SUP-3")
def test_rules_work_while_their_session_is_suppressed(rig) -> None:
    rig.session("h1")
    two, _ = rig.named("h2", "desk"), rig.named("h3", "api")
    rig.hook("UserPromptSubmit", "h2", permission_mode="default")
    rig.hook("StopFailure", "h2", permission_mode="default")
    rig.rules(rule("pass-on", 'admissions = ["held"]', send("@api")))
    mid = rig.say("h1", two)["message_id"]
    assert rig.at(mid, two).reason_code == "waits_for_resume"
    rig.play()
    assert rig.ends() == [("done", "")] and "Passed on." in prompt(rig, "h3")


# -- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-6")
def test_two_rules_that_answer_each_other_stop_after_one_message(rig) -> None:
    rig.session("h1")
    two, _ = rig.named("h2", "desk"), rig.named("h3", "api")
    rig.rules(rule("to-api", send("@api", "To you.")) + rule("to-desk", send("@desk", "And back."), session="@api"))
    rig.say("h1", two)
    assert rig.play() == 1 and len(rig.log()) == 1


@pytest.mark.spec("AUTO-6", "ADM-3")
def test_rules_that_ask_for_it_answer_each_other_until_their_texts_repeat(rig) -> None:
    rig.session("h1")
    two, _ = rig.named("h2", "desk"), rig.named("h3", "api")
    more = ("from_automations = true", "firings_per_hour = 600")
    rig.rules(
        rule("to-api", *more, send("@api", "To you."))
        + rule("to-desk", *more, send("@desk", "And back."), session="@api")
    )
    rig.say("h1", two)
    assert rig.play() == 3 and rig.ends() == [("done", ""), ("done", ""), ("failed", "refused")]


@pytest.mark.spec("AUTO-15", "AUTO-6")
def test_automations_start_twenty_turns_of_a_session_in_an_hour_and_no_more(rig) -> None:
    rig.session("h1")
    two, _ = rig.named("h2", "desk"), rig.named("h3", "api")
    rig.rules(rule("pass-on", "firings_per_hour = 600", send("@api")))
    for n in range(21):
        rig.now += 61 * SECOND
        rig.say("h1", two, f"Number {n}.")
        rig.play()
        prompt(rig, "h2"), prompt(rig, "h3")
    assert rig.ends() == [("done", "")] * 20 + [("failed", "too_many_turns")]
    rig.now += 3600 * SECOND
    rig.say("h1", two, "Later.")
    rig.play()
    assert rig.ends()[-1] == ("done", "")


@pytest.mark.spec("AUTO-16", "PUB-6")
def test_whom_automations_have_given_enough_turns_is_left_out_of_their_publications(rig) -> None:
    rig.session("h1")
    two, three, four = rig.named("h2", "desk"), rig.session("h3"), rig.session("h4")
    rig.subscribe(three, "ci.**")
    rig.rules(rule("tell", "firings_per_hour = 600", publish("ci.seen")))
    for n in range(20):
        rig.now += 61 * SECOND
        rig.say("h1", two, f"Number {n}.")
        assert rig.play() == 1
        prompt(rig, "h2"), prompt(rig, "h3")
    rig.subscribe(four, "ci.**")
    rig.now += 61 * SECOND
    rig.say("h1", two, "Once more.")
    rig.play()
    last = rig.events("message.published")[-1]
    assert (last["recipients"], last["skipped"]) == (1, 1)
    assert "Seen." in prompt(rig, "h4")
    # Its own prompt catches up with the topic: that starts no turn.
    assert "Seen." in prompt(rig, "h3") and rig.at(last["message_id"], three).passive
    assert rig.publish("h1", "ci.own")["skipped"] == 0, "a session's own publication asks for no such thing"


# -- what is told of it -----------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-1")
def test_hostile_text_reaches_a_command_as_one_line_of_ascii(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.rules(rule("run", '[automation.run]\ncommand = ["/bin/true"]', session="*"))
    hostile = '"}\n{"text": "\u202egnp\x1b]0;x\x07 \u2028 $(touch /tmp/x) `id` \U0001f600'
    rig.say("h1", two, hostile)
    begun = rig.one()
    assert begun.message.count(b"\n") == 1 and begun.message.isascii() and b"\x1b" not in begun.message
    # Every kind of line break is one (TEXT-1), and nothing else is changed.
    assert rig.told(begun)["text"] == hostile.replace("\u2028", "\n")


@pytest.mark.spec("CH-9", "AUTO-1")
def test_events_and_the_log_say_who_and_why_and_hold_no_text(rig) -> None:
    rig.session("h1")
    two = rig.named("h2", "desk")
    rig.rules(REPLY)
    rig.say("h1", two, "A secret word.")
    rig.play()
    feed = rig.store.read(lambda tx: tx.rows("SELECT type, data FROM event"))
    assert {"automation.queued", "automation.fired", "automation.done", "message.taken", "message.consumed"} <= {
        type_ for type_, _ in feed
    }
    said = str(feed) + str(rig.log())
    assert "secret" not in said and "The desk is closed." not in said
