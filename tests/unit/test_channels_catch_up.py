"""Catch-up on a real board: the newest of each topic, at most sixteen, passive, and never the session's own."""

from __future__ import annotations

import pytest

from relaybay.service import session_controls
from relaybay.specs import limit
from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def two(rig):
    row = rig.session("h2")
    rig.policy(row, "accept")
    rig.subscribe(row, "ci.**")
    return row


def away(rig, hook: str = "h2") -> None:
    rig.hook("SessionEnd", hook, reason="logout")


def back(rig, hook: str = "h2", **more) -> None:
    rig.start(hook, "resume", permission_mode="default", **more)


def passive(rig, row) -> list[str]:
    found = rig.store.read(
        lambda tx: tx.rows(
            "SELECT m.topic FROM delivery d JOIN message m ON m.id = d.message_id WHERE d.recipient_id = ?"
            " AND d.passive = 1 AND d.state = 'sent' ORDER BY d.id",
            row.id,
        )
    )
    return [topic for (topic,) in found]


# -- what is offered -----------------------------------------------------------------------------------------------


@pytest.mark.spec("CATCHUP-2", "CATCHUP-3", "CATCHUP-4", "CATCHUP-9")
def test_a_session_that_comes_back_gets_the_newest_of_at_most_sixteen_topics(rig, two) -> None:
    """Trap H11: however much was published meanwhile. Broadcasts are not caught up, and an older one never comes."""
    rig.broadcasts(two)
    away(rig)
    for n in range(20):
        rig.script_publish(f"ci.t{n}", f"old {n}", f"label-{n}")
    for n in range(20):
        rig.script_publish(f"ci.t{n}", f"new {n}", f"label-{n}")
    rig.script_publish(None, "to all", broadcast=True)
    back(rig)
    assert passive(rig, two) == [f"ci.t{n}" for n in range(4, 20)], "the sixteen newest, the oldest first"
    text = rig.carried("h2")
    while more := rig.carried("h2"):
        assert len(passive(rig, two)) <= 16, "what is left comes at later prompts, never more than sixteen at once"
        text += more
    assert '"old' not in text
    assert "to all" not in text


@pytest.mark.spec("CATCHUP-5", "POLICY-4", "POLICY-7", "DLV-21")
def test_a_row_whose_controls_never_changed_has_approved_nothing_it_has_not_seen(rig) -> None:
    """At epoch 0 too: what is caught up is judged like what arrives."""
    two = rig.session("h2")
    assert rig.need(two).epoch == 0
    rig.subscribe(two, "ci.*")
    away(rig)
    mid = rig.script_publish("ci.a")["message_id"]
    back(rig)
    assert rig.state_at(mid, two) == ("held", "script")
    assert rig.carried("h2") == ""


@pytest.mark.spec("CATCHUP-2", "CATCHUP-4")
def test_nobody_catches_up_with_what_it_published_itself(rig, two) -> None:
    """Trap H1: the newest of somebody else's is offered in its place."""
    rig.session("h1")
    away(rig)
    theirs = rig.publish("h1", "ci.a")["message_id"]
    back(rig)
    rig.publish("h2", "ci.a", "my own, newer")
    rig.publish("h2", "ci.b", "my own")
    away(rig)
    back(rig)
    assert passive(rig, two) == ["ci.a"]
    assert theirs in rig.carried("h2")


@pytest.mark.spec("CATCHUP-8", "CATCHUP-4")
@pytest.mark.parametrize("how", ["delivered", "rejected"])
def test_a_cursor_never_goes_back(rig, how) -> None:
    """Trap H9: an older message is decided on late; the newer one has been seen, and stays so."""
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    rig.session("h1")
    older = rig.script_publish("ci.a", "older")["message_id"]
    newer = rig.publish("h1", "ci.a", "newer")["message_id"]
    assert newer in rig.carried("h2")
    cursor = lambda: rig.store.read(lambda tx: tx.value("SELECT seen_id FROM topic_cursor"))  # noqa: E731
    seen = cursor()
    if how == "delivered":
        rig.approve(older)
        assert older in rig.carried("h2")
    else:
        rig.decide("reject", older, rig.review(older)["token"])
    assert cursor() == seen
    away(rig)
    back(rig)
    assert passive(rig, two) == []


@pytest.mark.spec("CATCHUP-1", "CATCHUP-7")
@pytest.mark.parametrize("when", ["subscribing", "prompt", "start"])
def test_it_is_looked_for_at_a_start_a_prompt_and_a_new_subscription(rig, when) -> None:
    two = rig.session("h2")
    rig.policy(two, "accept")
    if when == "prompt":
        rig.subscribe(two, "ci.*")
        away(rig)
    mid = rig.script_publish("ci.a")["message_id"]
    match when:
        case "subscribing":
            rig.subscribe(two, "ci.*")
        case "start":
            away(rig)
            rig.subscribe(two, "ci.*")
            assert passive(rig, two) == [], "who is not there catches up when it comes back"
            back(rig)
        case "prompt":
            rig.hook("PreToolUse", "h2", tool_name="Bash", permission_mode="default")
            assert passive(rig, two) == []
    if when != "prompt":
        assert passive(rig, two) == ["ci.a"]
    assert mid in rig.carried("h2")


# -- how it comes --------------------------------------------------------------------------------------------------


@pytest.mark.spec("CATCHUP-7", "PACK-4")
def test_it_rides_on_a_prompt_and_on_that_turns_tools_and_starts_nothing_itself(rig, two) -> None:
    away(rig)
    mids = [rig.script_publish(f"ci.t{n}", f"text {n}", f"label-{n}")["message_id"] for n in range(6)]
    back(rig)
    entry = rig.wait("h2")
    rig.now += 3_000_000
    assert rig.look(entry).outcome == "waiting", "it wakes nobody"
    assert rig.text(rig.tool("h2", permission_mode="default")) == ""
    first = rig.text(rig.prompt("h2", permission_mode="default"))
    assert [mid in first for mid in mids] == [True] * 4 + [False] * 2, "four in one answer"
    then = rig.text(rig.tool("h2", permission_mode="default"))
    assert [mid in then for mid in mids] == [False] * 4 + [True] * 2
    assert rig.text(rig.stop("h2", permission_mode="default")) == ""


@pytest.mark.spec("CATCHUP-7", "PACK-4")
def test_what_a_turn_had_no_room_for_does_not_leak_into_the_next_ones_tools(rig, two) -> None:
    away(rig)
    for n in range(6):
        rig.script_publish(f"ci.t{n}", f"text {n}", f"label-{n}")
    back(rig)
    rig.prompt("h2", permission_mode="default")
    assert rig.text(rig.stop("h2", permission_mode="default")) == "", "no Stop is blocked for it"
    assert rig.text(rig.tool("h2", permission_mode="default")) == ""
    assert len(passive(rig, two)) == 2
    assert "text 5" in rig.text(rig.prompt("h2", permission_mode="default"))


@pytest.mark.spec("CATCHUP-7", "DLV-26")
def test_one_that_was_held_and_approved_is_passive_no_more(rig) -> None:
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    away(rig)
    mid = rig.script_publish("ci.a")["message_id"]
    back(rig)
    assert rig.state_at(mid, two) == ("held", "script")
    assert rig.review(mid)["passive"] is True
    rig.approve(mid)
    entry = rig.wait("h2")
    rig.now += 3_000_000
    assert mid in rig.text(rig.look(entry))


@pytest.mark.spec("CATCHUP-5", "DLV-41", "DLV-42", "DLV-43", "ADM-2", "ADM-6")
def test_what_could_not_get_in_is_taken_up_again_when_it_fits(rig, two) -> None:
    """The same row again: refused by a policy that is laxer now, and one that was limited. A duplicate is not."""
    rig.policy(two, "refuse")
    refused = rig.script_publish("ci.a")["message_id"]
    rig.start("h2", "resume", permission_mode="default")
    assert rig.state_at(refused, two) == ("refused", "policy"), "still refused, so it does not fit"
    rig.policy(two, "auto")
    rig.start("h2", "resume", permission_mode="default")
    assert (rig.at(refused, two).state, rig.at(refused, two).passive) == ("held", 1)
    rig.policy(two, "accept")
    assert refused in rig.carried("h2")
    rig.script_publish("ci.b", "same")
    twice = rig.script_publish("ci.b", "same")["message_id"]
    rig.start("h2", "resume", permission_mode="default")
    assert rig.state_at(twice, two) == ("refused", "duplicate")


@pytest.mark.spec("CATCHUP-5", "ADM-6")
def test_it_adds_nothing_to_an_inbox_that_is_full(rig) -> None:
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    away(rig)
    mid = rig.script_publish("ci.a")["message_id"]
    for n in range(50):
        rig.script(two.ref, f"text {n}", f"label-{n % 5}")
    back(rig)
    assert passive(rig, two) == []
    first = rig.inbox("h2", limit_=50)[-1]["message_id"]
    rig.decide("reject", first, rig.review(first)["token"])
    rig.prompt("h2", permission_mode="default")
    assert rig.state_at(mid, two) == ("held", "script")


@pytest.mark.spec("CATCHUP-1", "CATCHUP-7", "SPOOL-3")
def test_a_replayed_start_catches_up_with_nothing(rig, two) -> None:
    """Trap K8."""
    away(rig)
    rig.script_publish("ci.a")
    rig.replay(rig.event("SessionStart", "h2", source="resume", permission_mode="default"))
    rig.replay(rig.event("UserPromptSubmit", "h2", permission_mode="default"))
    assert passive(rig, two) == []


@pytest.mark.spec("CATCHUP-2", "CATCHUP-3")
def test_topics_whose_newest_is_the_rows_own_take_no_place_among_the_sixteen(rig) -> None:
    """The look at topics, newest first, may not end at the sixteenth that it finds: what counts is others' newest."""
    two = rig.session("h2")
    rig.policy(two, "accept")
    for n in range(20):
        rig.script_publish(f"ci.t{n}", f"text {n}", f"label-{n}")
    for n in range(4):
        rig.publish("h2", f"ci.t{n}", f"my own {n}")
    rig.subscribe(two, "ci.**")
    assert passive(rig, two) == [f"ci.t{n}" for n in range(4, 20)]


@pytest.mark.spec("CATCHUP-3", "CATCHUP-1")
def test_forty_thousand_topics_that_one_pattern_takes(rig) -> None:
    """Trap H4: neither the statement nor the answer grows with them."""
    two = rig.session("h2")
    rig.policy(two, "accept")
    mid = rig.script_publish("ci.first")["message_id"]
    rig.store.write(
        lambda tx: tx.run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)"
            " INSERT INTO message (mid, sender_title, sender_name, sender_verified, sender_hook_id, sender_kind, body, digest, sent_us, audience, topic, body_hash)"
            " SELECT 'm_' || printf('%026d', i), 'ci', '', 0, '', 'script', 'x', 'd', ?, 'topic', 'many.t' || i, '' FROM n",
            rig.now,
        )
    )
    rig.subscribe(two, "**")
    assert passive(rig, two) == [f"many.t{n}" for n in range(40_000 - 15, 40_001)]
    assert mid not in rig.carried("h2")
    page = rig.read("h2", topic="**", limit_=50)
    assert (len(page["messages"]), page["withheld"], bool(page["before"])) == (50, 0, True)
    assert len(rig.read("h2")["topics"]) < 40_000
    assert limit("catch_up_topics_max") == 16
    rig.do(lambda tx: session_controls.subscribe(tx, rig.relay, session=two.ref, remove=["**"]))
