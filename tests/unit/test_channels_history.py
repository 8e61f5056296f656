"""Reading the history back, on a real board: pages, what the policy withholds, what is pruned and what is spared."""

from __future__ import annotations

import json

import pytest

from relaybay.domain import Caller
from relaybay.service import history
from relaybay.settings import Messaging
from relaybay.specs import limit
from relaybay.store import messages as stored
from tests.unit.channel_rig import ChannelRig
from tests.unit.linking_rig import SECOND

DAY = 24 * 3_600 * SECOND


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def two(rig):
    row = rig.session("h2")
    rig.policy(row, "accept")
    return row


def bodies(page) -> list[str]:
    return [json.loads(one["body"]) for one in page["messages"]]


def refused(rig, hook: str = "h2", **more) -> tuple[str, str]:
    return rig.no(lambda tx: history.topic_read(tx, rig.relay, rig.caller(hook), **more))


# -- topic_read ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("READ-1")
def test_without_an_argument_it_lists_the_topics_with_full_counts(rig) -> None:
    two = rig.session("h2")
    for topic in ("ci.a", "docs.b", "ci.a"):
        rig.script_publish(topic, f"text {rig.now}")
    rig.script_publish(None, "to all", broadcast=True)
    rig.script(two.ref)
    found = [(one["topic"], one["count"]) for one in rig.read("h2")["topics"]]
    assert found == [("ci.a", 2), ("docs.b", 1)], "the one last written to first; under auto too"


@pytest.mark.spec("READ-2", "READ-3", "READ-5", "READ-6", "READ-7", "READ-9", "READ-11")
def test_a_page_is_of_one_topic_a_pattern_or_broadcasts_newest_first(rig, two) -> None:
    for n in range(45):
        rig.script_publish(f"ci.{'ab'[n % 2]}", f"text {n}", f"label-{n % 5}")
    rig.script_publish("docs.c", "docs")
    rig.script_publish(None, "to all", broadcast=True)
    rig.script(two.ref, "direct")
    page = rig.read("h2", topic="ci.*")
    assert bodies(page) == [f"text {n}" for n in range(44, 24, -1)], "twenty unless it says otherwise"
    assert page["messages"][0]["topic"] == "ci.a"
    assert page["messages"][0]["from"]["script"] is True
    # Trap H13: what comes while somebody reads older pages moves none of them.
    rig.script_publish("ci.a", "a newer one", "other")
    older = rig.read("h2", topic="ci.*", before=page["before"], limit_=50)
    assert bodies(older) == [f"text {n}" for n in range(24, -1, -1)]
    assert "before" not in older
    assert bodies(rig.read("h2", topic="ci.b", limit_=1)) == ["text 43"]
    assert bodies(rig.read("h2", broadcast=True)) == ["to all"]
    assert bodies(rig.read("h2", topic="**", limit_=2)) == ["a newer one", "docs"], "direct messages never"


@pytest.mark.spec("READ-4", "READ-5", "TOPIC-1", "READ-6")
def test_what_is_no_page_is_refused(rig, two) -> None:
    mid = rig.script_publish("ci.a")["message_id"]
    assert refused(rig, topic="ci.a", broadcast=True)[1] == "READ-4"
    assert refused(rig, before=mid)[1] == "READ-4"
    assert refused(rig, limit_=5)[1] == "READ-4"
    assert refused(rig, topic="CI.a")[0] == "pattern_invalid"
    assert refused(rig, topic="ci.a", limit_=0)[0] == "argument_invalid"
    assert refused(rig, topic="ci.a", limit_=51)[0] == "argument_invalid"
    refused(rig, topic="ci.a", before="m_no_such")


@pytest.mark.spec("READ-8", "READ-9", "CH-9", "READ-7")
def test_what_the_policy_hides_uses_up_its_place_and_paging_goes_on(rig) -> None:
    """Traps H7 and H8: a page of nothing but withheld ones has a `before`, taken from all of them."""
    rig.session("h1")
    rig.session("h2")
    rig.publish("h1", "ci.a", "the oldest, of the cohort")
    for n in range(7):
        rig.script_publish("ci.a", f"hidden {n}", f"label-{n}")
    rig.publish("h1", "ci.a", "the newest, of the cohort")
    pages, before = [], ""
    while True:
        page = rig.read("h2", topic="ci.a", limit_=3, before=before)
        pages.append((bodies(page), page["withheld"]))
        before = page.get("before", "")
        if not before:
            break
    assert pages == [(["the newest, of the cohort"], 2), ([], 3), (["the oldest, of the cohort"], 2)]
    assert "hidden" not in json.dumps(pages)


@pytest.mark.spec("CH-3", "READ-8")
def test_it_goes_by_the_policy_of_the_proven_session(rig, two) -> None:
    rig.script_publish("ci.a", "text")
    rig.row("desk")
    assert bodies(rig.read("h2", topic="ci.a")) == ["text"]
    unverified = rig.do(lambda tx: history.topic_read(tx, rig.relay, Caller("desk"), topic="ci.a"))
    assert (unverified["messages"], unverified["withheld"]) == ([], 1)
    named = rig.do(lambda tx: history.topic_read(tx, rig.relay, Caller(two.title), topic="ci.a"))
    assert (named["messages"], named["withheld"]) == ([], 1), "a live session's name alone proves nothing"
    assert rig.no(lambda tx: history.topic_read(tx, rig.relay, Caller(), topic="ci.a"))[0]
    for policy in ("hold", "refuse"):
        rig.policy(two, policy)
        assert refused(rig, topic="ci.a") == ("policy_withholds", "CH-3")
        assert refused(rig) == ("policy_withholds", "CH-3"), "nor the list of topics"


@pytest.mark.spec("CH-9", "READ-8")
def test_what_was_rejected_for_a_row_is_not_read_back_by_it(rig) -> None:
    """Also under accept, set afterwards; another row that was given it reads it."""
    rig.session("h1")
    two, three = rig.session("h2"), rig.session("h3")
    for row in (two, three):
        rig.subscribe(row, "ci.*")
        rig.policy(row, "hold")
    mid = rig.publish("h1", "ci.a", "secret")["message_id"]
    rig.decide("reject", mid, rig.review(mid, two)["token"], two)
    for row in (two, three):
        rig.policy(row, "accept")
    assert bodies(rig.read("h2", topic="ci.a")) == []
    assert bodies(rig.read("h3", topic="ci.a")) == ["secret"]
    assert bodies(rig.read("h1", topic="ci.a")) == ["secret"], "its own"


@pytest.mark.spec("READ-10", "CATCHUP-8")
def test_reading_marks_nothing_moves_no_cursor_and_wakes_nobody(rig, two) -> None:
    rig.subscribe(two, "ci.*")
    mid = rig.script_publish("ci.a")["message_id"]
    before = [row for row in rig.dump() if row[0] in ("delivery", "message")]
    assert mid in str(rig.read("h2", topic="ci.a"))
    assert [row for row in rig.dump() if row[0] in ("delivery", "message")] == before
    assert rig.store.read(lambda tx: tx.rows("SELECT * FROM topic_cursor")) == []
    assert mid in rig.carried("h2")


@pytest.mark.spec("HIST-1", "PUB-7", "RETRY-4")
def test_recording_again_changes_neither_text_nor_states(rig, two) -> None:
    """Trap H10."""
    rig.subscribe(two, "ci.*")
    first = rig.script_publish("ci.a", "the first text", request_id="r")
    rig.carried("h2")
    kept = rig.dump()
    rig.script_publish("ci.a", "the first text", request_id="r")
    rig.no(lambda tx: history.log(tx, rig.relay, topic="ci.*", broadcast=True))
    assert [row for row in rig.dump() if row[0] in ("message", "delivery")] == [
        row for row in kept if row[0] in ("message", "delivery")
    ]
    lines = rig.do(lambda tx: history.log(tx, rig.relay))["messages"]
    assert [(one["message_id"], one["body"]) for one in lines] == [(first["message_id"], "the first text")]


# -- pruning -------------------------------------------------------------------------------------------------------


def prune(rig) -> int:
    gone = rig.store.write(lambda tx: history.prune(tx, rig.relay))
    rig.check()
    return gone


def kept(rig) -> list[str]:
    return [text for (text,) in rig.store.read(lambda tx: tx.rows("SELECT body FROM message ORDER BY id"))]


@pytest.mark.spec("HIST-2", "HIST-7", "HIST-1")
def test_days_go_first_and_spare_the_newest_of_each_topic(rig, two) -> None:
    """Traps H5 and H6: broadcasts and direct messages that came through are spared by nothing."""
    for text in ("a old", "a newest", "b newest"):
        rig.script_publish(f"ci.{text[0]}", text)
    rig.script_publish(None, "broadcast", broadcast=True)
    rig.script(two.ref, "came through")
    rig.carried("h2")
    rig.script(two.ref, "waits")
    rig.now += 30 * DAY - 60 * SECOND
    assert prune(rig) == 0
    rig.now += 120 * SECOND
    rig.script_publish(None, "new", broadcast=True)
    assert prune(rig) == 3
    assert kept(rig) == ["a newest", "b newest", "waits", "new"]
    assert limit("prune_minutes") == 60, "at most hourly while in use"
    assert prune(rig) == 0


@pytest.mark.spec("HIST-3", "HIST-7", "HIST-5")
def test_then_the_number_and_there_a_topics_newest_is_not_spared(tmp_path) -> None:
    rig = ChannelRig(tmp_path, Messaging(channels=True, history_max_messages=3))
    two = rig.session("h2")
    rig.script_publish("ci.a", "the newest of its topic")
    rig.script(two.ref, "direct, held")
    gone = rig.row("gone soon", "hook", "ended_exact")
    rig.script(gone.ref, "direct, to nobody any more")
    rig.store.write(
        lambda tx: tx.run("UPDATE delivery SET recipient_id = NULL, state = 'orphaned' WHERE recipient_id = ?", gone.id)
    )
    for n in range(3):
        rig.script_publish(None, f"broadcast {n}", broadcast=True)
    assert prune(rig) == 3
    assert kept(rig) == ["direct, held", "broadcast 1", "broadcast 2"]
    assert rig.state_at(rig.inbox("h2")[0]["message_id"], two) == ("held", "script")
    rig.relay.close()


@pytest.mark.spec("HIST-2", "HIST-3")
def test_what_is_pruned_while_it_waits_is_forgotten_by_memory_too(tmp_path) -> None:
    """Published messages that nobody was given go with the history, and no event looks for them in vain."""
    rig = ChannelRig(tmp_path, Messaging(channels=True, history_max_messages=1))
    two = rig.session("h2")
    rig.policy(two, "accept")
    rig.broadcasts(two)
    for n in range(3):
        rig.script_publish(None, f"text {n}", broadcast=True)
    assert rig.relay.mailbox.of(two.id).messages_sent == 3
    assert prune(rig) == 2
    assert rig.relay.mailbox.of(two.id).messages_sent == 1
    assert "text 2" in rig.carried("h2")
    rig.relay.close()


@pytest.mark.spec("HIST-2", "PACK-7")
def test_a_hand_over_that_is_taken_back_may_have_been_pruned_meanwhile(tmp_path) -> None:
    rig = ChannelRig(tmp_path, Messaging(channels=True, history_max_messages=1))
    two = rig.session("h2")
    rig.policy(two, "accept")
    rig.script(two.ref, "one")
    done = rig.prompt("h2", permission_mode="default")
    rig.script(two.ref, "two")
    assert prune(rig) == 1
    rig.not_written(done)
    assert "two" in rig.carried("h2")
    rig.relay.close()


@pytest.mark.spec("HIST-1", "SET-1")
def test_nothing_is_pruned_while_channels_are_off(rig, two) -> None:
    rig.script_publish(None, "old", broadcast=True)
    rig.now += 40 * DAY
    rig.start_again(channels=False)
    assert prune(rig) == 0
    rig.start_again(channels=True)
    assert prune(rig) == 1


@pytest.mark.spec("HIST-2", "SEND-14")
def test_a_thread_whose_beginning_was_pruned_is_still_shown(rig, two) -> None:
    one = rig.session("h1")
    first = rig.say("h1", two, "first")["message_id"]
    rig.carried("h2")
    rig.now += 29 * DAY
    rig.prompt("h2", permission_mode="default")
    rig.say("h2", one, "answer", in_reply_to=first)
    rig.now += 2 * DAY
    assert prune(rig) == 1
    listed = rig.inbox("h1")
    assert (listed[0]["in_reply_to"], json.loads(listed[0]["body"])) == (first, "answer")
    assert rig.store.read(lambda tx: stored.by_mid(tx, first)) is None
