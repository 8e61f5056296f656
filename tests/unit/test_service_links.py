"""What a link that moves writes on its row, column by column, and what it leaves (pages 10 and 20)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.answers import word
from relaybay.domain import Refusal
from relaybay.rules.handles import generated
from relaybay.service import links, naming
from relaybay.store import sessions, tasks
from tests.unit.linking_rig import SECOND, START, Rig

#: What belongs to a conversation, as a row has it in the middle of one.
TALKING = {
    "turn_state": "one", "turn_prompt_id": "p-1", "turn_serial": 7, "permission_mode": "plan",
    "transcript_path": "/t/one.jsonl", "last_event_us": START - SECOND,
}  # fmt: skip
PROCESS = {
    "process_pid": 42, "process_started": "100", "process_ns": "pid:[1]", "process_host": "host", "process_entry": "cli",
}  # fmt: skip
ENDED = {"activity": "ended", "ended_us": START - 9 * SECOND, "ended_reason": "logout"}


@pytest.fixture
def rig(tmp_path: Path):
    made = Rig(tmp_path)
    yield made
    made.relay.close()


def columns(row, *names: str) -> dict[str, object]:
    return {name: getattr(row, name) for name in names}


def take(rig: Rig, row, event: str, facts=None, **more):
    return rig.store.write(lambda tx: links.take(tx, rig.relay, sessions.need(tx, row.id), event, facts, **more))[1]


def fates(rig: Rig) -> list[tuple[str, ...]]:
    return rig.store.read(
        lambda tx: tx.rows("SELECT hook_id, fate, turn_state, turn_prompt_id FROM hook_fate ORDER BY 1")
    )


# -- calls -------------------------------------------------------------------------------------------------------


def test_an_unseen_id_begins_with_nothing_of_the_row_but_the_turn_it_had_elsewhere(rig) -> None:
    row = rig.row("Alice", "agent", "guessed", "h1", **TALKING, **PROCESS, **ENDED)
    rig.store.write(lambda tx: sessions.set_fate(tx, "h2", "taken_off", turn_state="two", turn_prompt_id="p-2"))
    _, after = rig.accepted("send", "Alice", "h2")
    assert columns(after, *TALKING) == {
        "turn_state": "two", "turn_prompt_id": "p-2", "turn_serial": 0, "permission_mode": "", "transcript_path": "",
        "last_event_us": 0,
    }  # fmt: skip
    assert columns(after, *ENDED) == {"activity": "unknown", "ended_us": 0, "ended_reason": ""}
    assert columns(after, *PROCESS) == dict.fromkeys(PROCESS, "") | {"process_pid": 0}
    assert (after.hook_since_us, after.link_named, after.id) == (rig.now, 1, row.id)


def test_a_merge_goes_on_with_the_conversation_and_a_take_over_begins_with_the_call(rig) -> None:
    rig.row("shop", "hook", "guessed", "h1", activity="working", hook_since_us=START - SECOND, cwd="/shop", **TALKING)
    _, merged = rig.accepted("send", "Alice", witnessed="h1")
    assert merged.hook_since_us == START - SECOND
    assert columns(merged, *TALKING) == TALKING
    b = rig.row("Bob", "agent", "guessed", "h2", activity="idle", hook_since_us=START - SECOND, **TALKING, **PROCESS)
    _, taken = rig.accepted("send", "Carol", witnessed="h2")
    assert taken.hook_since_us == rig.now
    assert columns(taken, *TALKING, *PROCESS) == TALKING | PROCESS
    left = rig.need(b)
    assert columns(left, "turn_state", "turn_serial", "transcript_path", "process_pid", "activity", "hook_id") == {
        "turn_state": "none", "turn_serial": 0, "transcript_path": "", "process_pid": 0, "activity": "unknown",
        "hook_id": None,
    }  # fmt: skip


def test_a_row_merged_at_its_end_stays_ended_as_it_ended(rig) -> None:
    rig.row("shop", "hook", "ended_guessed", "h1", **ENDED, **TALKING, **PROCESS)
    _, after = rig.accepted("other", "Alice", "h1")
    assert columns(after, *ENDED) == ENDED and columns(after, *TALKING) == TALKING
    assert after.process_pid == 0


def test_a_row_that_is_deleted_tells_who_took_its_id(rig) -> None:
    b = rig.row("shop", "hook", "ended_exact", "h1")
    a = rig.row("Alice")
    rig.accepted("other", "Alice", "h1")
    assert [json.loads(data) for data in rig.events("session.removed")] == [
        {"session": b.ref, "title": "shop", "taken_over_by": a.ref}
    ]


def test_an_unnamed_row_that_takes_a_name_is_named_from_then_on(rig) -> None:
    rig.row("shop", "hook", "exact", "h1")
    _, row = rig.accepted("send", "al", title="Alice", witnessed="h1")
    assert (row.title, row.title_given, row.link_named, row.unnamed) == ("Alice", 1, 1, False)
    given = rig.store.read(lambda tx: [(text, by) for _, text, _, by in sessions.aliases(tx, row.id)])
    assert given == [("shop", "renaming"), ("al", "call")]


def test_a_name_that_is_a_hook_id_is_taken_away_when_the_id_is_taken_and_not_before(rig) -> None:
    rig.row("past", "agent", "ended_exact", "h0")
    called = rig.row("h9")
    # LINK-18: the call links nothing, so nothing is known of its id.
    assert rig.accepted("send", "past", "h9")[0].linked.spec_id == "LINK-18"
    assert rig.need(called).title == "h9"
    assert rig.accepted("send", "Alice", "h9")[0].linked.spec_id == "LINK-1"
    assert rig.need(called).title == "session"


def test_an_alias_that_is_a_hook_id_is_forgotten_and_the_others_stay(rig) -> None:
    _, row = rig.accepted("send", "h9", title="Alice")
    rig.store.write(lambda tx: naming.keep_alias(tx, row, "al", "owner"))
    rig.accepted("send", "Bob", "h9")
    left = rig.store.read(lambda tx: [text for _, text, _, _ in sessions.aliases(tx, row.id)])
    assert (left, rig.need(row).title) == (["al"], "Alice")


@pytest.mark.parametrize(("cwd", "title"), [("/srv/h1x", "session"), ("/srv/h1x/", "session"), ("/srv/shop/", "shop")])
def test_a_folder_that_is_called_as_a_hook_id_titles_no_row(rig, cwd: str, title: str) -> None:
    rig.row("first", "hook", "exact", "h1x")
    assert rig.store.read(lambda tx: naming.folder_title(tx, cwd)) == title


def test_one_alias_too_many_puts_out_the_oldest_that_nobody_chose(rig) -> None:
    row = rig.row("Alice")
    given = [("mine", "owner"), ("old", "client"), *((f"a{n}", "call") for n in range(14))]
    for name, by in (*given, ("new", "call")):
        rig.store.write(lambda tx, n=name, b=by: naming.keep_alias(tx, row, n, b))
    left = rig.store.read(lambda tx: [text for _, text, _, _ in sessions.aliases(tx, row.id)])
    assert left == ["mine", *(f"a{n}" for n in range(14)), "new"]


@pytest.mark.parametrize("taken", [31, 32])
def test_a_row_goes_without_a_name_when_all_that_it_could_have_are_taken(rig, taken: int) -> None:
    row = rig.row("shop", "hook", "guessed", "h1")
    for attempt in range(taken):
        rig.row(f"r{attempt}", "hook", "exact", f"x{attempt}", name=generated(row.id, attempt))
    _, linked = rig.accepted("mark", witnessed="h1")
    assert linked.link_state == "exact"
    assert linked.name == (generated(row.id, 31) if taken == 31 else None)


def test_how_candidates_and_near_names_are_listed(rig) -> None:
    rows = [rig.row("twin", "desktop", desktop_id="D-7"), rig.row("twin")]
    refusal = rig.refused("mark", "twin")
    assert refusal.values["candidates"] == "; ".join(
        word(answer, **values).text
        for answer, values in (
            (
                "recv.candidate_desktop",
                {"ref": rows[0].ref, "title": '"twin"', "activity": "unknown", "desktop_id": '"D-7"'},
            ),
            ("recv.candidate", {"ref": rows[1].ref, "title": '"twin"', "activity": "unknown"}),
        )
    )
    rig.row("Alice")
    rig.row("Alicia")
    near = rig.refused("mark", "alic").values["near"]
    assert near in [word("recv.near", names=names).text for names in ('"Alicia", "Alice"', '"Alice", "Alicia"')]


def test_a_task_of_a_row_that_goes_is_unbound_and_pages_hear_why(rig) -> None:
    b = rig.row("shop", "hook", "ended_exact", "h1")
    rig.task_with_comment(b)
    rig.accepted("other", "Alice", "h1")
    (key,) = rig.store.read(lambda tx: tx.rows("SELECT task_key FROM task"))
    assert [json.loads(data) for data in rig.events("task.unbound")] == [
        {"task": key[0], "session": b.ref, "reason": "row_gone"}
    ]


def test_a_bind_checks_no_name_and_an_unbind_does(rig) -> None:
    assert rig.accepted("bind", "S-99")[0].nobody
    assert isinstance(rig.call("other", "S-99", tool="task_unbind")[0], Refusal)


def test_what_pages_hear_of_rows_that_calls_make_merge_and_link(rig) -> None:
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle")
    _, a = rig.accepted("send", "Alice", witnessed="h1")
    told = [json.loads(data) for kind in ("created", "merged", "linked") for data in rig.events(f"session.{kind}")]
    assert told == [
        {"session": a.ref, "title": "Alice", "kind": "agent"},
        {"session": a.ref, "title": "Alice", "merged_title": b.title},
        {"session": a.ref, "title": "Alice", "name": a.name},
    ]
    assert a.name


@pytest.mark.parametrize("cwd", ["", "/shop"])
def test_a_merged_row_brings_its_folder_and_project_if_it_has_one(rig, cwd: str) -> None:
    ours, theirs = (
        rig.store.write(lambda tx, s=slug: tasks.add_project(tx, s, s, f"/{s}")).id for slug in ("mine", "shop")
    )
    rig.row("Alice", "agent", "ended_guessed", "h0", cwd="/mine", project_id=ours, **ENDED)
    rig.row("shop", "hook", "guessed", "h1", activity="working", cwd=cwd, project_id=theirs if cwd else None)
    _, row = rig.accepted("send", "Alice", witnessed="h1")
    assert (row.cwd, row.project_id) == (("/shop", theirs) if cwd else ("/mine", ours))
    assert columns(row, *ENDED) == {"activity": "working", "ended_us": 0, "ended_reason": ""}


# -- hook events, the sweep and the owner --------------------------------------------------------------------------


def test_an_unlinked_row_keeps_nothing_of_its_conversation(rig) -> None:
    row = rig.row("Alice", "agent", "exact", "h1", activity="working", name="calm-proud-otter", **TALKING, **PROCESS)
    after = take(rig, row, "unlink")
    assert columns(after, "turn_state", "turn_prompt_id", "transcript_path", "last_event_us", "process_pid") == {
        "turn_state": "none", "turn_prompt_id": "", "transcript_path": "", "last_event_us": 0, "process_pid": 0,
    }  # fmt: skip
    assert fates(rig) == [("h1", "taken_off", "one", "p-1")]


@pytest.mark.parametrize("at_us", [0, START - SECOND])
def test_a_link_ends_when_its_event_was_or_else_now(rig, at_us: int) -> None:
    row = rig.row("shop", "hook", "exact", "h1", activity="working", name="calm-proud-otter")
    after = take(rig, row, "silent", reason="silent", at_us=at_us)
    assert (after.link_state, after.activity, after.ended_us) == ("ended_exact", "ended", at_us or rig.now)
    assert (after.ended_reason, after.name) == ("silent", None)
    assert json.loads(rig.events("session.ended")[0]) == {
        "session": row.ref, "title": "shop", "name": None, "reason": "silent",
    }  # fmt: skip


def test_a_folder_guess_that_is_dropped_leaves_its_id_to_nobody(rig) -> None:
    row = rig.row("Alice", "agent", "guessed", "h1", **TALKING)
    after = take(rig, row, "process_gone", {"folder_guess": True}, reason="process_gone", at_us=START + 5)
    assert (after.link_state, after.hook_id, after.turn_state, after.transcript_path) == ("none", None, "none", "")
    assert fates(rig) == [("h1", "taken_off", "one", "p-1")]
    assert columns(after, *ENDED) == {"activity": "unknown", "ended_us": 0, "ended_reason": ""}


@pytest.mark.parametrize(("before", "after"), [("ended_guessed", "guessed"), ("ended_exact", "exact")])
def test_a_link_that_comes_back_has_not_ended(rig, before: str, after: str) -> None:
    row = rig.row("shop", "hook", before, "h1", **ENDED, **TALKING)
    back = take(rig, row, "live_event")
    assert (back.link_state, back.ended_us, back.ended_reason) == (after, 0, "")
    assert columns(back, *TALKING) == TALKING


def test_after_clear_the_new_id_counts_as_a_new_conversation_with_the_turn_it_had(rig) -> None:
    row = rig.row("shop", "hook", "exact", "h1", activity="working", **TALKING)
    rig.store.write(lambda tx: sessions.set_fate(tx, "h2", "taken_off", turn_state="two", turn_prompt_id="p-2"))
    after = take(rig, row, "replaced_by_clear", hook_id="h2")
    assert (after.hook_id, after.hook_since_us, after.turn_serial) == ("h2", rig.now, 8)
    assert columns(after, "turn_state", "turn_prompt_id", "transcript_path", "last_event_us") == {
        "turn_state": "two", "turn_prompt_id": "p-2", "transcript_path": "", "last_event_us": 0,
    }  # fmt: skip
    assert fates(rig)[0] == ("h1", "replaced", "one", "p-1")
    # The same id once more is no other conversation.
    again = take(rig, after, "replaced_by_clear", hook_id="h2")
    assert (again.turn_serial, again.turn_state) == (8, "two")
