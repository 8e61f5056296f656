"""The tables of page 10 and 30 that judge who speaks agree with each other on every standing that can arise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import get_args

import pytest

from relaybay import specs
from relaybay.rules import linking, sender
from relaybay.rules.linking import EFFECTS, LinkState, RowView, Standing, stand

KINDS = ("hook", "agent", "desktop")
STATES = get_args(LinkState)


def possible(row: RowView) -> bool:
    """HL-11 drops a folder guess instead of ending it; only an exact link of a hook row can be unnamed."""
    if row.link_state == "ended_guessed" and row.kind != "hook":
        return False
    return not row.unnamed or (row.kind == "hook" and row.link_state == "exact")


def rows(number: int) -> list[RowView]:
    every = (RowView(number, k, s, u) for k, s, u in product(KINDS, STATES, (False, True)))
    return [row for row in every if possible(row)]


def standings() -> Iterator[Standing]:
    """Every way in which up to two rows fit a name and a row, or none, holds the call's id."""
    namings: list[list[RowView] | None] = [None, [], *([a] for a in rows(1))]
    few = [RowView(2, "agent", "none"), RowView(2, "agent", "exact"), RowView(2, "hook", "guessed")]
    namings += [[a, other] for a in rows(1) for other in few]
    for named in namings:
        yield stand(named, None, proven=False, witnessed=False)
        for witnessed in (False, True):
            yield stand(named, None, proven=True, witnessed=witnessed)
            for holder in [*(named or ()), *rows(9)]:
                if holder.holds:
                    yield stand(named, holder, proven=True, witnessed=witnessed)


EVERY = list(standings())


def combination(facts: object) -> dict[str, object]:
    return {name: getattr(facts, name) for name in facts.__slots__}


def test_every_standing_is_a_combination_of_the_tables_and_every_combination_a_standing() -> None:
    for name, gather in (
        ("sender", lambda s: [sender.sender_facts(s)]),
        ("ack", lambda s: [sender.ack_facts(s, t) for t in ("comment_ack", "message_ack")]),
        ("write", lambda s: [sender.write_facts(s, t) for t in ("comment_add", "task_update")]),
        ("reader", lambda s: [sender.read_facts(s)]),
        ("linking", lambda s: [linking.facts_of(c, s) for c in get_args(linking.Call)]),
    ):
        table = specs.decisions()[name]
        wanted = {tuple(c.values()) for c in table.combinations()}
        met = {tuple(combination(f).values()) for s in EVERY for f in gather(s)}
        if name == "linking":
            # A mark that names a row nobody has is refused before LINK (ACK-2).
            met = {values for values in met if values[:2] != ("mark", "new")}
        assert met == wanted, name


@pytest.mark.spec("LINK-5", "LINK-11", "LINK-16", "LINK-17", "SEND-2", "SEND-3", "SEND-7", "SEND-20")
def test_link_refuses_a_send_exactly_where_send_does_and_in_the_same_words() -> None:
    for s in EVERY:
        said, linked = sender.judge(sender.sender_facts(s)), linking.judge(linking.facts_of("send", s))
        if s.h == "none":
            assert linked.spec_id == "LINK-0"
        else:
            assert said.refused == linked.refused, s
            assert not said.refused or said.answer == linked.answer, s


@pytest.mark.spec("ACK-1", "ACK-2", "ACK-3", "ACK-4", "ACK-6")
def test_link_refuses_a_mark_exactly_where_ack_does() -> None:
    for s in EVERY:
        said = sender.judge_ack(sender.ack_facts(s, "message_ack"))
        if s.session == "new":
            assert (said.refused, said.spec_id) == (True, "ACK-2")
        elif s.h != "none":
            assert said.refused == linking.judge(linking.facts_of("mark", s)).refused, s


@pytest.mark.spec("WRITE-1", "WRITE-2", "WRITE-3", "WRITE-4")
def test_link_refuses_an_other_write_exactly_where_write_does() -> None:
    for s in EVERY:
        said, linked = (
            sender.judge_write(sender.write_facts(s, "task_update")),
            linking.judge(linking.facts_of("other", s)),
        )
        if s.h != "none":
            assert said.refused == linked.refused, s
        else:
            assert said.refused == (s.session in ("several", "several_occupied"))


def link_after(s: Standing, outcome: str) -> tuple[str, bool]:
    """The speaking row's link state after LINK, and whether it then holds the call's id."""
    effect = EFFECTS[outcome]
    if outcome in ("speak_as_b", "rename_b") or (s.session == "absent" and outcome != "split_folder_guess"):
        assert s.b is not None
        return effect.a_link or s.b.link_state, True
    before = s.a.link_state if s.a else "none"
    return effect.a_link or before, s.h == "own" or effect.takes_id or outcome == "split_folder_guess"


@pytest.mark.spec("SEND-4", "SEND-5", "SEND-6", "WRITE-4")
def test_a_call_is_verified_exactly_when_its_row_then_holds_the_id_live_and_exact() -> None:
    for s in EVERY:
        for call, said in (
            ("send", sender.judge(sender.sender_facts(s))),
            ("other", sender.judge_write(sender.write_facts(s, "task_update"))),
        ):
            outcome = linking.judge(linking.facts_of(call, s)).outcome
            if said.refused or said.outcome == "unnamed":
                continue
            state, holds = link_after(s, outcome)
            assert (said.outcome == "verified") == (holds and state == "exact"), (s, call)


@pytest.mark.spec("LINK-19", "LINK-11", "LINK-13", "LINK-12")
def test_a_send_deletes_no_row_but_a_guess_and_marks_and_bindings_make_no_link_of_another_rows_id() -> None:
    for s in EVERY:
        send = EFFECTS[linking.judge(linking.facts_of("send", s)).outcome]
        if send.b in ("merged", "orphaned"):
            assert s.b is not None and (s.b.link_state == "guessed" or s.b.unnamed)
        assert linking.judge(linking.facts_of("bind", s)).outcome == "nothing"
        if s.session != "new":
            mark = linking.judge(linking.facts_of("mark", s)).outcome
            assert mark in ("nothing", "refuse", "make_exact", "split_folder_guess")
            assert mark != "make_exact" or s.h == "own" or s.session == "absent"


@pytest.mark.spec("LINK-5")
def test_a_taken_id_moves_nowhere_whatever_is_called() -> None:
    for s in (s for s in EVERY if s.taken):
        for call in get_args(linking.Call):
            if (call, s.session) != ("mark", "new"):
                effect = EFFECTS[linking.judge(linking.facts_of(call, s)).outcome]
                assert not effect.takes_id and effect.b == "keep"


@pytest.mark.spec("LINK-10", "SEND-2")
def test_an_occupied_rows_own_id_is_given_up_by_no_send_and_no_mark() -> None:
    for s in (s for s in EVERY if s.a is not None and s.a.occupied):
        for call in ("send", "mark"):
            assert not EFFECTS[linking.judge(linking.facts_of(call, s)).outcome].takes_id


def test_every_outcome_has_its_effect_and_every_effect_its_outcome() -> None:
    assert {row.outcome for row in specs.decisions()["linking"].rows} == set(EFFECTS)


def test_of_several_rows_the_one_that_holds_the_id_is_meant() -> None:
    first, second = RowView(1, "agent", "exact"), RowView(2, "agent", "exact")
    s = stand([first, second], second, proven=True, witnessed=False)
    assert (s.session, s.a, s.b, s.h) == ("one", second, None, "own")
    assert sender.judge(sender.sender_facts(s)).spec_id == "SEND-5"


def test_an_unnamed_row_is_at_hand_only_for_a_witnessed_call() -> None:
    row = RowView(1, "hook", "exact", unnamed=True)
    assert stand([], row, proven=True, witnessed=True).at_hand
    assert stand([], row, proven=True, witnessed=False).taken


@pytest.mark.parametrize("state", ["none", "moved"])
def test_a_row_without_its_id_can_be_no_holder(state: LinkState) -> None:
    with pytest.raises(AssertionError):
        stand(None, RowView(1, "agent", state), proven=True, witnessed=False)


def test_an_ended_folder_guess_is_impossible() -> None:
    with pytest.raises(AssertionError):
        stand(None, RowView(1, "agent", "ended_guessed"), proven=True, witnessed=False)


def test_a_read_with_a_foreign_id_is_about_the_named_row_and_proves_nothing() -> None:
    s = stand([RowView(1, "agent", "exact")], RowView(2, "agent", "exact"), proven=True, witnessed=True)
    assert sender.judge_read(sender.read_facts(s)).outcome == "unproven"


def test_a_read_without_a_name_is_proven_only_over_a_live_exact_link() -> None:
    for state, outcome in (("exact", "proven"), ("guessed", "unproven"), ("ended_exact", "unproven")):
        s = stand(None, RowView(1, "hook", state), proven=True, witnessed=True)
        assert sender.judge_read(sender.read_facts(s)).outcome == outcome
    s = stand(None, RowView(1, "agent", "guessed"), proven=True, witnessed=True)
    assert sender.judge_read(sender.read_facts(s)).answer == "read.session_guessed"
