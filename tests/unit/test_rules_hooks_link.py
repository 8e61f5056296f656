"""Hook events and links: what the tables' words stand for, and lives of a link from end to end (page 10, HL, ROW)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relaybay import specs
from relaybay.machines.base import step
from relaybay.machines.link import Link
from relaybay.rules.hook_link import (
    HookLinkFacts,
    event_of,
    holder_of,
    judge,
    may_be_guessed,
    pairs_after_clear,
)
from relaybay.rules.linking import EFFECTS

PLAIN = HookLinkFacts(
    holder="no_row",
    fate="never",
    event="other",
    replayed=False,
    subagent=False,
    older=False,
    clear_pair=False,
    one_folder_row=False,
)
FACTS = dict.fromkeys(Link.FACTS, False)
SECOND = 1_000_000


class Life:
    """One row's link, driven by hook events as the service drives it: judged first, then stepped."""

    def __init__(self, kind: str = "hook", state: str = "none") -> None:
        self.kind, self.state, self.effects = kind, state, ()

    def put(self, event: str, **facts: bool) -> Life:
        given = {**FACTS, "folder_guess": self.kind != "hook", **facts}
        result = step(Link, self.state, event, given)
        self.state, self.effects = result.state, result.effects
        return self

    def hear(self, event: str, source: str = "", *, reason_clear: bool = False, **facts) -> Life:
        what = replace(PLAIN, holder=holder_of(self.state, self.kind), event=event_of(event, source), **facts)
        return self.put(judge(what).outcome, older_than_last=what.older, reason_clear=reason_clear)


@pytest.mark.spec("HL-1", "HL-2", "HL-3")
def test_event_words() -> None:
    assert event_of("SessionStart", "clear") == "start_clear"
    assert event_of("SessionStart", "fork") == "start_fork"
    assert {event_of("SessionStart", s) for s in ("startup", "resume", "compact", "")} == {"start"}
    assert event_of("SessionEnd", "") == "end"
    assert event_of("Notification", "") == event_of("Stop", "") == "other"


@pytest.mark.spec("HL-11")
def test_every_link_state_has_one_holder_word() -> None:
    words = {s: holder_of(s, "hook") for s in specs.machines()["link"].states}
    assert words == {
        "none": "no_row",
        "moved": "no_row",
        "guessed_unseen": "unseen",
        "exact_unseen": "unseen",
        "guessed": "live",
        "exact": "live",
        "ended_guessed": "ended",
        "ended_exact": "ended",
    }
    assert holder_of("guessed", "agent") == holder_of("guessed", "desktop") == "folder_guess"
    assert holder_of("exact", "agent") == "live"


@pytest.mark.spec("ROW-1")
def test_only_a_linkless_row_of_another_kind_may_be_guessed() -> None:
    assert may_be_guessed("none", "agent", ended=False, unlinked=False)
    assert not may_be_guessed("none", "hook", ended=False, unlinked=False)
    assert not may_be_guessed("none", "desktop", ended=True, unlinked=False)
    assert not may_be_guessed("none", "desktop", ended=False, unlinked=True)
    for state in specs.machines()["link"].states[1:]:
        assert not may_be_guessed(state, "agent", ended=False, unlinked=False), state


@pytest.mark.spec("HL-3")
def test_clear_pairs_for_less_than_a_minute() -> None:
    seconds = specs.limit("clear_pair_seconds")
    assert seconds == 60
    assert pairs_after_clear("ended_exact", "clear", 0, 60 * SECOND - 1, seconds)
    assert not pairs_after_clear("ended_exact", "clear", 0, 60 * SECOND, seconds)
    assert pairs_after_clear("ended_guessed", "clear", 5, 0, seconds)
    assert not pairs_after_clear("ended_exact", "other", 0, 0, seconds)
    assert pairs_after_clear("exact", "", 0, 10**15, seconds)
    assert not any(pairs_after_clear(s, "clear", 0, 0, seconds) for s in ("none", "moved", "exact_unseen"))


@pytest.mark.spec("ROW-2", "LINK-2", "HL-2", "HL-1", "HL-5")
def test_a_session_that_links_ends_and_comes_back_is_exact_again() -> None:
    life = Life().put("born").put("link")
    assert life.state == "exact"
    assert life.hear("SessionEnd").state == "ended_exact"
    assert {"end_waits", "close_work", "drop_published", "free_name"} <= set(life.effects)
    assert life.hear("SessionStart", "resume").state == "exact"
    assert life.hear("SessionEnd").hear("PreToolUse").state == "exact"
    assert "claim_name" in life.effects


@pytest.mark.spec("HL-6", "HL-12")
def test_neither_a_subagent_nor_a_replay_brings_a_link_back() -> None:
    life = Life(state="ended_exact")
    assert life.hear("PreToolUse", subagent=True).state == "ended_exact"
    assert life.hear("SessionStart", "resume", replayed=True).state == "ended_exact"
    assert life.hear("SessionEnd", older=True).state == "ended_exact"
    assert Life(state="exact").hear("SessionEnd", older=True).state == "exact"
    assert Life(state="exact").hear("SessionEnd", replayed=True).state == "ended_exact"


@pytest.mark.spec("HL-8", "LINK-1", "LINK-3")
def test_an_unseen_id_stays_unseen_until_its_first_live_event() -> None:
    life = Life("agent").put("take_unseen")
    for event in ("replayed_event", "subagent_event", "replayed_session_end", "process_gone", "silent", "link"):
        assert life.put(event).state == "exact_unseen", event
    assert life.hear("UserPromptSubmit").state == "exact"
    assert Life(state="guessed_unseen").hear("SessionStart").state == "guessed"
    assert Life(state="exact_unseen").hear("SessionEnd").state == "ended_exact"


@pytest.mark.spec("HL-11", "ROW-1")
def test_a_folder_guess_never_ends() -> None:
    for event in ("session_end", "replayed_session_end", "process_gone", "silent", "owner_end"):
        assert Life("agent").put("guess").put(event).state == "none", event
    # The id was here before: its next start is no stranger's, so the row is not guessed again.
    again = judge(replace(PLAIN, fate="dropped", event="start", one_folder_row=True))
    assert (again.spec_id, again.outcome) == ("ROW-2", "new_row")


@pytest.mark.spec("HL-3", "HL-7")
def test_clear_keeps_the_row_and_its_strength() -> None:
    for before, after in [("exact", "exact"), ("ended_exact", "exact"), ("guessed", "guessed")]:
        life = Life(state=before).put("replaced_by_clear")
        assert life.state == after and {"replace_id", "other_session"} <= set(life.effects)
    replaced = replace(PLAIN, fate="replaced")
    assert judge(replace(replaced, event="end")).outcome == "ignore"
    assert judge(replace(replaced, event="start")).outcome == "new_row"
    assert judge(replace(replaced, event="start", one_folder_row=True)).outcome == "new_row"


@pytest.mark.spec("LINK-20", "HL-7")
def test_an_unlinked_session_gets_a_row_of_its_own_at_its_next_event() -> None:
    life = Life("agent", "exact").put("unlink")
    assert life.state == "none" and life.effects[0] == "take_off_id"
    assert life.effects.index("other_session") < life.effects.index("drop_published")
    verdict = judge(replace(PLAIN, fate="taken_off", one_folder_row=True))
    assert (verdict.spec_id, verdict.outcome) == ("HL-7", "new_row")


@pytest.mark.spec("LINK-10", "MOVE-5", "MOVE-12")
def test_a_restarted_terminal_takes_its_row_along() -> None:
    life = Life("agent", "exact").put("take_live", b_is_hook=True)
    assert life.state == "exact"
    assert {"take_off_id", "end_waits", "other_session", "own_message", "event:session.link_moved"} <= set(life.effects)


def test_no_hook_event_makes_a_link_exact_that_no_call_made_so() -> None:
    table = specs.machines()["link"]
    hooks = {
        "guess", "born", "born_by_replay", "live_event", "live_start", "subagent_event", "replayed_event",
        "session_end", "replayed_session_end", "process_gone", "silent", "replaced_by_clear",
    }  # fmt: skip
    for row in table.rows:
        if row.event in hooks and row.kind == "move" and "exact" in row.next:
            assert all("exact" in s for s in row.states), row


def test_text_can_go_out_only_while_the_name_is_claimed() -> None:
    """Whatever makes a link exact and live claims the name, and whatever ends that frees it or moves the id."""
    for row in specs.machines()["link"].rows:
        if row.kind != "move":
            continue
        for state in row.states:
            if row.next == "exact" and state != "exact":
                assert "claim_name" in row.effects, row
            if state == "exact" and row.next != "exact":
                assert "free_name" in row.effects and "end_waits" in row.effects, row


# What table LINK's outcomes put to A's link and to B's.
CALLS = {
    "make_exact": ("link", {}, "guessed", "", {}),
    "take_unseen": ("take_unseen", {}, "none", "lose", {}),
    "merge": ("take_live", {"b_is_hook": True}, "none", "", {}),
    "take_guess": ("take_live", {}, "none", "lose", {"named": True}),
    "merge_ended": ("take_ended", {"b_is_hook": True, "b_was_guess": True}, "none", "", {}),
    "take_ended_hook": ("take_ended", {"b_is_hook": True}, "none", "", {}),
    "take_ended_other": ("take_ended", {}, "none", "move_away", {}),
    "move_and_merge": ("take_live", {"b_is_hook": True}, "exact", "", {}),
    "move_and_take_guess": ("take_live", {}, "exact", "lose", {"named": True}),
    "split_folder_guess": ("born_exact", {}, "none", "lose", {}),
}
B_BEFORE = {"take_unseen": ("exact_unseen", "hook"), "take_ended_other": ("ended_exact", "agent")}


@pytest.mark.spec("LINK-1", "LINK-2", "LINK-6", "LINK-7", "LINK-8", "LINK-9", "LINK-10", "LINK-15")
@pytest.mark.parametrize("outcome", CALLS)
def test_the_link_machine_does_what_table_link_says(outcome: str) -> None:
    effect = EFFECTS[outcome]
    event, facts, before, b_event, b_facts = CALLS[outcome]
    a = Life("hook", before).put(event, **facts)
    # LINK-15's A is the new row; its effect says so by other means than a_link.
    assert a.state == (effect.a_link or "exact")
    assert ("own_message" in a.effects) == effect.takes_id
    assert ("event:session.link_moved" in a.effects) == effect.link_moved
    if b_event:
        state, kind = B_BEFORE.get(outcome, ("guessed", "agent"))
        assert Life(kind, state).put(b_event, **b_facts).state == {"unlinked": "none", "moved": "moved"}[effect.b]
