"""Sessions that ask the owner for something (page 40, Inbox): from the hook event to the entry, and its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.service import inbox
from relaybay.service.clock import rfc3339
from relaybay.store import comments, events, sessions
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


def entries(rig) -> list[dict]:
    data = rig.store.read(inbox.inbox).data
    assert data["count"] == len(data["entries"]) == rig.store.read(inbox.count)
    return data["entries"]


def ask(rig, kind: str = "permission_prompt", **more) -> None:
    rig.hook("Notification", notification_type=kind, **more)


@pytest.mark.spec("40")
@pytest.mark.parametrize(
    ("kind", "entry", "says"),
    [("permission_prompt", "asks_permission", "permission"), ("idle_prompt", "asks_input", "what you type")],
)
def test_an_exact_session_that_asks_stands_in_the_inbox_until_it_goes_on(rig, kind, entry, says) -> None:
    row = rig.linked()
    rig.prompt()
    rig.now += SECOND
    units = rig.units
    ask(rig, kind)
    asked = rig.now
    assert rig.units == units + 1
    (found,) = entries(rig)
    assert (found["kind"], found["ref"], found["action"]) == (entry, row.ref, "seen")
    assert found["since"] == rfc3339(asked) and found["session"]["ref"] == row.ref
    assert says in found["text"] and "own window" in found["text"]
    rig.now += 5 * SECOND
    ask(rig, kind)
    assert entries(rig)[0]["since"] == rfc3339(asked), "asked again for the same, it waits since the first time"
    assert rig.units == units + 1, "that changes nothing, and needs no transaction"
    rig.tool()
    assert entries(rig) == [] and rig.need(row).asks_since_us == 0
    units = rig.units
    rig.tool()
    assert rig.units == units
    assert [e[1] for e in rig.store.read(lambda tx: events.since(tx, 0, ("session.asks",), 9))] == ["session.asks"]


@pytest.mark.spec("40")
@pytest.mark.parametrize("name", ["UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"])
def test_what_ends_a_question(rig, name: str) -> None:
    rig.linked()
    ask(rig)
    assert len(entries(rig)) == 1
    rig.hook(name)
    assert entries(rig) == []


@pytest.mark.spec("40")
def test_another_question_takes_the_place_of_the_first(rig) -> None:
    rig.linked()
    ask(rig)
    rig.now += 60 * SECOND
    ask(rig, "idle_prompt")
    (found,) = entries(rig)
    assert (found["kind"], found["since"]) == ("asks_input", rfc3339(rig.now))


@pytest.mark.spec("40")
def test_a_guess_a_subagent_a_replay_or_an_unknown_kind_asks_for_nothing(rig) -> None:
    rig.start()
    assert rig.holder().link_state == "guessed"
    ask(rig)
    assert entries(rig) == []
    rig.linked("h2")
    ask(rig, hook="h2", agent_id="a1")
    ask(rig, "auth_success", hook="h2")
    ask(rig, hook="h2", replayed=True)
    assert entries(rig) == []
    ask(rig, hook="h2")
    rig.tool(hook="h2", agent_id="a1")
    assert len(entries(rig)) == 1, "a subagent's tool does not answer for its session"


@pytest.mark.spec("40")
def test_the_owner_has_seen_a_question_and_a_lost_link_asks_for_nothing(rig) -> None:
    row = rig.linked()
    ask(rig)

    def see(kind: str, ref: str):
        return rig.store.write(lambda tx: inbox.seen(tx, kind=kind, ref=ref))

    assert not see("asks_input", row.ref).ok
    assert not see("asks_permission", "S-99").ok
    assert not see("asks_", row.ref).ok
    assert see("asks_permission", row.ref).ok
    assert entries(rig) == []
    assert not see("asks_permission", row.ref).ok
    ask(rig)
    assert len(entries(rig)) == 1
    rig.unlink_by_owner(row)
    assert entries(rig) == []
    for link, activity, count in (("exact", "ended", 0), ("guessed", "idle", 0), ("exact", "idle", 1)):
        rig.store.write(
            lambda tx, a=activity, k=link: sessions.change(tx, row.id, hook_id="h9", link_state=k, activity=a)
        )
        assert len(entries(rig)) == count
    assert rig.store.read(comments.unanswered_count) == 0


@pytest.mark.spec("40", "SPOOL-1")
def test_a_fault_waits_since_it_came_and_again_since_it_came_again(rig) -> None:
    first = rig.now
    rig.store.write(lambda tx: inbox.spool_fault(tx, "spool.bad"))
    rig.now += SECOND
    rig.store.write(lambda tx: inbox.spool_fault(tx, "spool.bad"))
    (found,) = entries(rig)
    assert (found["kind"], found["ref"], found["since"]) == ("spool_fault", "spool.bad", rfc3339(first))
    rig.store.write(lambda tx: inbox.seen(tx, kind="spool_fault", ref="spool.bad"))
    rig.now += SECOND
    rig.store.write(lambda tx: inbox.spool_fault(tx, "spool.bad"))
    assert entries(rig)[0]["since"] == rfc3339(rig.now)
