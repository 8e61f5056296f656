"""Bounds of `specs/limits.toml` at their last value and at the first one behind it, on the real service.

Bounds whose edge stands beside the rest of their rule (lengths of bodies and names, sends in a minute, depth of replies,
Stop blocks, the minute after /clear) are tested there, not here.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from relaybay.answers import Answer
from relaybay.api import models
from relaybay.api.arguments import read_arguments
from relaybay.api.body_reading import BodyLimits
from relaybay.api.wait import WaitQuery
from relaybay.service import comments, handover, naming, sweep
from relaybay.service.presence import Presence
from relaybay.service.waits import WaitEntry, Waits
from relaybay.service.wake import Look
from relaybay.specs import limit
from relaybay.store import events, sessions
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND, START
from tests.unit.mail_rig import MailRig

MINUTE = 60 * SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def hooks(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


@pytest.mark.spec("PROOF-2", "PROOF-4")
def test_a_tool_use_id_proves_for_just_an_hour(rig) -> None:
    alice, lasts = rig.live("alice"), limit("tool_use_minutes_max") * MINUTE
    last, late = rig.by(alice), rig.by(alice)
    rig.now += lasts
    assert rig.send(last)["sender_verified"]
    rig.now += 1
    assert rig.no_send(late) == ("sender_required", "SEND-1")


@pytest.mark.spec("PROOF-2", "10")
def test_one_tool_use_id_too_many_puts_out_the_oldest() -> None:
    presence, most = Presence(), limit("tool_use_ids_max")
    for number in range(most):
        presence.witness(f"toolu_{number}", "h1", START + number)
    assert presence.witnessed("toolu_0", START + most) == "h1"
    presence.witness("toolu_more", "h1", START + most)
    assert presence.witnessed("toolu_0", START + most) is None
    assert presence.witnessed("toolu_1", START + most) == presence.witnessed("toolu_more", START + most) == "h1"


@pytest.mark.spec("SPOOL-1")
def test_one_event_id_too_many_puts_out_the_oldest() -> None:
    presence, most = Presence(), limit("event_ids_max")
    for number in range(most):
        presence.hear(f"e{number}")
    assert presence.heard("e0")
    presence.hear("more")
    assert not presence.heard("e0")
    assert presence.heard("e1") and presence.heard("more")


@pytest.mark.spec("SPOOL-1")
def test_a_spooled_id_is_known_for_just_a_week(hooks) -> None:
    def is_new() -> bool:
        return hooks.store.write(lambda tx: events.spool_event_is_new(tx, "E1"))

    assert is_new()
    hooks.now += limit("spool_ids_days") * 24 * 60 * MINUTE
    hooks.store.write(sweep.forget_old)
    assert not is_new()
    hooks.now += 1
    hooks.store.write(sweep.forget_old)
    assert is_new()


@pytest.mark.spec("10", "80")
def test_a_sighting_is_due_when_the_last_write_is_just_so_old(hooks) -> None:
    row, seconds = hooks.linked(), limit("presence_seconds")
    presence = hooks.relay.presence
    hooks.prompt()
    hooks.tool()
    assert presence.dirty() == [row.id], "the tool's sighting stands in memory"
    written = presence.by_row(row.id).written_us
    assert presence.due(written + seconds * SECOND - 1) == []
    assert presence.due(written + seconds * SECOND) == [row.id]


@pytest.mark.spec("10")
def test_a_receipt_says_since_when_from_a_second_after_a_quarter_of_an_hour(rig) -> None:
    alice, silent = rig.live("alice"), limit("last_seen_minutes_max") * MINUTE
    seen = rig.need(rig.bob).last_seen_us
    rig.now = seen + silent
    assert "last seen" not in rig.send(rig.by(alice))["text"].lower()
    rig.now = seen + silent + SECOND
    assert "last seen" in rig.send(rig.by(alice))["text"].lower()


@pytest.mark.spec("CMT-12", "CMT-19", "CMT-3")
def test_a_comment_can_be_taken_back_or_goes_out_and_never_both(rig) -> None:
    task, grace = rig.task(rig.bob), limit("comment_grace_seconds") * SECOND
    cid = rig.say(task, board=True)["id"]
    rig.now = rig.comment(cid).created_us + grace - 1 - SECOND
    assert rig.hand(rig.bob) is None, "the last microsecond is the owner's"
    assert rig.do(lambda tx: comments.withdraw(tx, comment_id=cid))["state"] == "gone"
    cid = rig.say(task, board=True)["id"]
    rig.now = rig.comment(cid).created_us + grace
    assert rig.no(lambda tx: comments.withdraw(tx, comment_id=cid)) == ("too_late", "CMT-19")
    rig.now -= SECOND
    assert rig.hand(rig.bob) is not None, "and the next one is its session's"


@pytest.mark.spec("WAIT-11")
def test_a_wait_lives_on_for_just_its_grace_without_a_poll() -> None:
    for late, state in ((0, "waiting"), (1, "ended")):
        waits, entry = Waits(), WaitEntry("w1", 1, "h1", START)
        waits.open(entry, link_exact_live=True)
        waits.end_poll(entry, waits.begin_poll(entry, lambda: None), START)
        waits.poll(entry, START + limit("wait_regrace_seconds") * SECOND + late)
        assert entry.state == state


@pytest.mark.spec("WAIT-2")
def test_without_a_stop_a_session_counts_as_idle_from_just_then_on(hooks) -> None:
    row = hooks.linked()
    hooks.prompt()
    entry = hooks.wait()
    mid = hooks.send(row)
    hooks.now = idle_from = entry.opened_us + limit("stop_event_grace_seconds") * SECOND
    hooks.now -= 1
    assert hooks.look(entry) == Look("waiting", again_us=idle_from) and hooks.state(mid) == "sent"
    hooks.now += 1
    assert hooks.look(entry).outcome == "fired" and hooks.state(mid) == "delivered"


@pytest.mark.spec("WAIT-11", "75")
def test_a_poll_may_be_held_for_just_so_long() -> None:
    most = limit("poll_seconds_max")
    assert WaitQuery(wait_id="wait-0001", timeout_s=most).timeout_s == WaitQuery(wait_id="wait-0001").timeout_s == most
    with pytest.raises(ValidationError, match="timeout_s"):
        WaitQuery(wait_id="wait-0001", timeout_s=most + 1)


@pytest.mark.spec("PACK-4")
def test_of_a_long_queue_just_so_many_are_looked_at(rig) -> None:
    most = limit("offers_per_answer_max")
    for number in range(most + 1):
        rig.mail(None, rig.bob)
        found = rig.store.read(lambda tx: handover.offers(tx, rig.relay, sessions.need(tx, rig.bob.id), "prompt"))
        assert len(found) == min(number + 1, most)
    tail = rig.hand(rig.bob).text
    assert str(most + 1 - limit("messages_per_answer_max")) in tail, "those not looked at are counted"


@pytest.mark.spec("RECV-1")
def test_a_near_name_is_looked_for_among_just_so_many(rig) -> None:
    most = limit("near_names_looked_at_max")
    assert '"bob"' in rig.store.read(lambda tx: naming.near(tx, "bobb"))

    def crowd(first: int, end: int) -> None:
        rig.store.write(
            lambda tx: [
                sessions.add(
                    tx, title=f"{n:05d}", title_key=f"{n:05d}", kind="hook", link_state="exact", title_given=0,
                    hook_id=f"h-{n}", last_seen_us=rig.now + n,
                )
                for n in range(first, end)
            ]
        )  # fmt: skip

    crowd(1, most)
    assert '"bob"' in rig.store.read(lambda tx: naming.near(tx, "bobb")), "the last one that is looked at"
    crowd(most, most + 1)
    assert '"bob"' not in rig.store.read(lambda tx: naming.near(tx, "bobb"))


@pytest.mark.spec("RECV-1")
@pytest.mark.parametrize("more", [0, 1])
def test_as_many_near_names_as_are_offered_are_all_offered(rig, more: int) -> None:
    most = limit("near_names_max")
    for number in range(most + more):
        rig.live(f"shop {number}")
    assert rig.store.read(lambda tx: naming.near(tx, "shop")).count('"shop ') == most


@pytest.mark.spec("ANS-1")
def test_the_start_line_names_just_so_many(hooks) -> None:
    most = limit("start_line_peers_max")
    hooks.linked()
    for number in range(most + 1):
        hooks.live(f"peer {number}", last_seen_us=number + 1)
        assert hooks.start(source="resume").line.count('"peer') == min(number + 1, most)


@pytest.mark.spec("WAIT-11", "75", "SEND-16")
def test_constants_of_the_surfaces_are_the_tables_bounds() -> None:
    """Pydantic and the gate need them when their modules load; here the two writings are held against each other."""
    assert BodyLimits().hook_body_bytes_max == limit("hook_body_bytes_max")
    assert limit("request_id_chars_max") == models.REQUEST_ID_CHARS_MAX


@pytest.mark.spec("SEND-16", "75")
def test_a_request_id_of_just_so_many_characters_is_taken(rig) -> None:
    most = limit("request_id_chars_max")
    given = {"body": "Please look.", "to": "bob", "request_id": "r" * most}
    read = read_arguments("message_send", models.MessageSend, given)
    assert isinstance(read, models.MessageSend)
    caller = rig.by(rig.live("alice"))
    assert rig.send(caller, to=read.to, request_id=read.request_id)["state"] == "sent"
    refused = read_arguments("message_send", models.MessageSend, given | {"request_id": "r" * (most + 1)})
    assert refused.code == "argument_invalid" and str(most) in refused.text


@pytest.mark.spec("PROOF-1")
def test_hook_session_is_taken_at_its_bound_and_not_behind_it() -> None:
    most = limit("hook_session_chars_max")
    taken = read_arguments("message_ack", models.MessageAck, {"hook_session": "h" * most})
    assert isinstance(taken, models.MessageAck)
    refused = read_arguments("message_ack", models.MessageAck, {"hook_session": "h" * (most + 1)})
    assert isinstance(refused, Answer) and refused.code == "argument_invalid"
