"""Subscriptions and publications on a real board: whom one reaches, how far, once, whole or not at all."""

from __future__ import annotations

import pytest

from relaybay.domain import Caller
from relaybay.service import admission, history, publishing, session_controls
from relaybay.settings import Messaging
from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


def reached(said) -> list[str]:
    return [one["ref"] for one in said["recipients"]]


def listed(rig, hook: str) -> dict[str, dict]:
    found = rig.do(lambda tx: history.sessions_list(tx, rig.relay, rig.caller(hook)))["sessions"]
    return {one["ref"]: one for one in found}


# -- subscriptions -------------------------------------------------------------------------------------------------


@pytest.mark.spec("TOPIC-18", "TOPIC-21", "TOPIC-20", "CH-10")
def test_what_the_owner_subscribes_is_saved_at_once_and_seen_at_the_next_look(rig) -> None:
    """Also of a session that never had a message; the events and the list say it, and it survives a killed server."""
    rig.session("h1")
    two = rig.session("h2")
    rig.subscribe(two, "ci.**", "docs.*")
    assert listed(rig, "h1")[two.ref]["topics"] == ["ci.**", "docs.*"]
    rig.kill()
    assert listed(rig, "h1")[two.ref]["topics"] == ["ci.**", "docs.*"]
    assert "topics" not in listed(rig, "h1")[rig.holder("h1").ref]
    rig.do(lambda tx: session_controls.subscribe(tx, rig.relay, session=two.ref, remove=["docs.*"]))
    assert listed(rig, "h1")[two.ref]["topics"] == ["ci.**"]
    assert reached(rig.publish("h1", "docs.a")) == []


@pytest.mark.spec("TOPIC-15", "TOPIC-16", "TOPIC-17")
def test_a_change_of_subscriptions_is_whole_or_not_at_all(rig) -> None:
    two = rig.session("h2")
    rig.subscribe(two, *[f"t{n}" for n in range(15)])
    change = lambda **more: rig.no(lambda tx: session_controls.subscribe(tx, rig.relay, session=two.ref, **more))  # noqa: E731
    assert change(add=["a", "b"]) == ("too_many_patterns", "TOPIC-15")
    assert change(add=["a", "A"])[0] == "pattern_invalid"
    assert change(add=["a"], remove=["t1", "nowhere"]) == ("pattern_missing", "TOPIC-17")
    assert rig.subscribe(two, "t3", "a", "t1", "a")["topics"] == [*(f"t{n}" for n in range(15)), "a"]


@pytest.mark.spec("TOPIC-23", "NAME-21")
def test_neither_a_fork_nor_a_new_session_inherits_anything(rig) -> None:
    """Trap N4."""
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    rig.broadcasts(two)
    rig.name(two, "watcher")
    rig.policy(two, "accept")
    rig.start("h3", "fork", permission_mode="default")
    rig.accepted("mark", witnessed="h3")
    fork = rig.panel(rig.holder("h3"))
    assert (fork["topics"], fork["broadcasts"], fork["name_chosen"]) == ([], False, "")
    assert fork["policy"]["own"] == "default"
    assert fork["name"]
    assert fork["name"] != "watcher"
    assert rig.panel(two)["name"] == "watcher"


@pytest.mark.spec("TOPIC-19", "OWN-14", "TOPIC-15")
def test_topics_of_a_start_are_added_and_what_has_no_room_is_told(rig) -> None:
    two = rig.session("h2")
    rig.subscribe(two, *[f"t{n}" for n in range(15)])
    ticket = rig.reserve(patterns=["t2", "new.a", "new.b"], broadcasts=True)
    rig.start("h2", "resume", start_ticket=ticket, permission_mode="default")
    panel = rig.panel(two)
    assert panel["topics"] == [*(f"t{n}" for n in range(15)), "new.a"]
    assert panel["broadcasts"] is True
    assert "new.b" in rig.events("session.patterns_left_out")[-1]


# -- whom a publication reaches ------------------------------------------------------------------------------------


@pytest.mark.spec("PUB-5", "PUB-7", "PUB-9", "TOPIC-22", "CH-1")
def test_a_publication_reaches_live_subscribers_once_and_never_its_publisher(rig) -> None:
    """Trap R12: nobody else is counted as skipped either."""
    one, two, three = (rig.session(hook) for hook in ("h1", "h2", "h3"))
    for row in (one, two, three):
        rig.subscribe(row, "ci.*", "ci.**", "**")
    rig.hook("SessionEnd", "h3", reason="logout")
    rig.row("never linked")
    said = rig.publish("h1", "ci.a")
    assert (reached(said), said["skipped"], said["queued"]) == ([two.ref], 0, [])
    assert said["audience"] == {"kind": "topic", "topic": "ci.a"}
    mails = rig.store.read(lambda tx: tx.rows("SELECT recipient_id FROM delivery"))
    assert mails == [(two.id,)], "one message, one delivery for each recipient"


@pytest.mark.spec("PUB-9", "PUB-7", "PUB-1")
def test_what_reaches_nobody_is_recorded_and_says_so(rig) -> None:
    rig.session("h1")
    said = rig.publish("h1", "ci.a")
    assert (said["recipients"], said["skipped"]) == ([], 0)
    assert "nobody" in said["text"].lower()
    assert rig.read("h1", topic="ci.a")["messages"][0]["message_id"] == said["message_id"]
    for audience in ({}, {"topic": "ci.a", "broadcast": True}, {"topic": "ci.*"}, {"topic": "CI"}):
        rig.no(lambda tx, audience=audience: publishing.publish(tx, rig.relay, rig.caller("h1"), body="x", **audience))
    for blank in ("", " \n\t", "\u200b"):
        said = rig.no(
            lambda tx, blank=blank: publishing.publish(tx, rig.relay, rig.caller("h1"), body=blank, topic="ci.a")
        )
        assert said[1] == "SEND-9"


@pytest.mark.spec("PUB-6", "RATE-4", "PUB-9", "PUB-8")
def test_more_than_the_fan_out_are_counted_and_left_out(tmp_path) -> None:
    rig = ChannelRig(tmp_path, Messaging(channels=True, max_fanout=3))
    rows = [rig.session(f"h{n}") for n in range(1, 7)]
    for row in rows:
        rig.broadcasts(row)
    rig.policy(rows[2], "refuse")
    rig.policy(rows[3], "hold")
    said = rig.publish("h1", broadcast=True)
    assert (reached(said), said["skipped"]) == ([row.ref for row in rows[1:4]], 2)
    assert [one["state"] for one in said["recipients"]] == ["sent", "refused", "held"], "each lets it in, or not"
    again = rig.publish("h1", broadcast=True, request_id="r", body="another")
    repeat = rig.publish("h1", broadcast=True, request_id="r", body="another")
    assert (repeat["skipped"], reached(repeat)) == (again["skipped"], reached(again))
    rig.relay.close()


@pytest.mark.spec("RATE-4")
def test_thirty_two_are_reached_unless_it_is_set_otherwise(rig) -> None:
    rig.session("h0")
    for n in range(1, 35):
        rig.broadcasts(rig.session(f"h{n}"))
    said = rig.script_publish(None, broadcast=True)
    assert (len(said["recipients"]), said["skipped"]) == (32, 2)


@pytest.mark.spec("PUB-4", "PUB-7", "CH-5")
def test_a_publication_that_breaks_half_way_is_nowhere(rig, monkeypatch) -> None:
    """Recipients are chosen once and in the transaction that records the message: all of it is there, or nothing."""
    for n in range(1, 6):
        rig.broadcasts(rig.session(f"h{n}"))
    before, real, seen = rig.dump(), admission.admit, []

    def breaks(tx, relay, row, arriving, **more):
        seen.append(row.id)
        if len(seen) == 3:
            raise RuntimeError("the third recipient")
        return real(tx, relay, row, arriving, **more)

    monkeypatch.setattr(admission, "admit", breaks)
    with pytest.raises(RuntimeError, match="third"):
        rig.publish("h1", broadcast=True)
    assert len(seen) == 3
    assert rig.dump() == before
    assert rig.carried("h2") == ""


@pytest.mark.spec("PUB-5", "SET-1")
def test_who_unsubscribes_before_it_is_published_is_not_reached_and_who_does_after_keeps_it(rig) -> None:
    """Trap H3: choosing and letting in are one transaction, so nothing comes between them."""
    rig.session("h1")
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    kept = rig.publish("h1", "ci.a")["message_id"]
    rig.do(lambda tx: session_controls.subscribe(tx, rig.relay, session=two.ref, remove=["ci.*"]))
    assert reached(rig.publish("h1", "ci.a", "later")) == []
    assert kept in rig.carried("h2")


# -- the same call again -------------------------------------------------------------------------------------------


@pytest.mark.spec("RETRY-1", "PUB-2", "RETRY-6", "CH-3")
def test_a_call_that_the_client_makes_twice_publishes_once(rig) -> None:
    """The host's tool-use id is the identity; the model chooses nothing. Newcomers are not looked for (trap R10)."""
    rig.session("h1")
    rig.broadcasts(rig.session("h2"))
    caller = rig.caller("h1")
    call = lambda: rig.do(lambda tx: publishing.publish(tx, rig.relay, caller, body="x", broadcast=True))  # noqa: E731
    first = call()
    rig.broadcasts(rig.session("h3"))
    again = call()
    assert again["message_id"] == first["message_id"]
    assert again["repeat"] is True
    assert reached(again) == reached(first)
    count = rig.store.read(lambda tx: tx.value("SELECT count(*) FROM message"))
    assert count == 1
    other = rig.no(lambda tx: publishing.publish(tx, rig.relay, caller, body="y", broadcast=True))
    assert other == ("sender_required", "SEND-1"), "an id vouches for one call, and this is another"


@pytest.mark.spec("RETRY-3", "RETRY-4", "RETRY-7", "ADM-1")
@pytest.mark.parametrize("kind", ["direct", "topic"])
def test_a_scripts_runs_are_new_messages_unless_it_names_them(rig, kind) -> None:
    """Trap R7: the same request id with another text is refused, and nobody hears a receipt of something else."""
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    run = rig.script if kind == "direct" else rig.script_publish
    to = two.ref if kind == "direct" else "ci.a"
    assert run(to, "one")["message_id"] != run(to, "one")["message_id"]
    first = run(to, "two", request_id="job-1")
    again = run(to, "two", request_id="job-1")
    assert (again["message_id"], again["repeat"]) == (first["message_id"], True)
    assert run(to, "two", "other", request_id="job-1")["message_id"] != first["message_id"], "each label is one sender"

    def publish(body: str):
        return lambda tx: publishing.publish_as_script(
            tx, rig.relay, label="ci", body=body, topic="ci.b", request_id="job-1"
        )

    assert rig.no(publish("three"))[1] == "SEND-16"
    assert rig.no(publish("two"))[1] == "SEND-16", "the audience is content as well"


@pytest.mark.spec("RETRY-4", "RETRY-6", "RETRY-7")
def test_a_repeat_shows_the_present_state_and_counts_in_no_rate(tmp_path) -> None:
    rig = ChannelRig(tmp_path, Messaging(channels=True, publish_per_minute=1))
    rig.session("h1")
    two = rig.session("h2")
    rig.broadcasts(two)
    first = rig.publish("h1", broadcast=True, request_id="r-1")
    assert first["message_id"] in rig.carried("h2")
    for _ in range(3):
        again = rig.publish("h1", broadcast=True, request_id="r-1", after=0)
        assert again["recipients"][0]["state"] == "delivered"

    def other(**more):
        said = {"body": "It failed.", "broadcast": True, "request_id": "r-1"} | more
        return lambda tx: publishing.publish(tx, rig.relay, rig.caller("h1"), **said)

    assert rig.no(other(body="Another."))[1] == "SEND-16"
    assert rig.no(other(broadcast=False, topic="ci.a"))[1] == "SEND-16"
    assert rig.no(other(request_id="r-2"))[1] == "PUB-2"
    rig.relay.close()


@pytest.mark.spec("CH-3", "CH-7", "PUB-1")
def test_who_publishes_has_to_say_who_it_is_and_a_bare_name_is_judged_like_a_script(rig) -> None:
    one, two = rig.session("h1"), rig.session("h2")
    rig.broadcasts(two)
    said = rig.no(lambda tx: publishing.publish(tx, rig.relay, Caller(), body="x", broadcast=True))
    assert said[0] == "sender_required"
    said = rig.no(lambda tx: publishing.publish(tx, rig.relay, Caller(one.title), body="x", broadcast=True))
    assert said[1].startswith("SEND-"), "a live session's own name proves nothing"
    rig.row("desk")
    said = rig.do(lambda tx: publishing.publish(tx, rig.relay, Caller("desk"), body="x", broadcast=True))
    assert (said["recipients"][0]["state"], said["recipients"][0]["reason_code"]) == ("held", "script")
