"""Rules at the values where one case ends and the next begins."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from relaybay.domain import HookEvent
from relaybay.rules import (
    activity,
    body,
    comments,
    linking,
    map_layout,
    move,
    names,
    proof,
    query,
    rates,
    recipient,
    stop,
    text,
)
from relaybay.service import turns

SECOND = 1_000_000


def test_a_quoted_body_may_fill_its_room_and_its_refusal_counts_each_costly_kind() -> None:
    limits = body.BodyLimits(chars_max=100, answer_units_max=40, frame_units_max=20)
    assert limits.quoted_units_max == 20
    assert body.judge("x" * 18, limits).refusal is None
    refused = body.judge("x" * 19, limits).refusal
    assert refused is not None
    assert (refused.spec_id, refused.values) == (
        "SEND-11",
        {"units": 21, "units_max": 20, "short": 0, "astral": 0, "escaped": 0},
    )
    refused = body.judge('""\n\U0001f600\U00010000<' + "x" * 9, limits).refusal
    assert refused is not None
    assert {name: refused.values[name] for name in ("short", "astral", "escaped")} == {
        "short": 3, "astral": 2, "escaped": 1,
    }  # fmt: skip
    assert body.judge("", limits).refusal.values == {}


def test_what_is_counted_as_costly() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
    assert text.doubled(family) == {"astral": 3}, "an emoji's own joiners are not escaped"
    assert text.doubled("a\u200db") == {"escaped": 1}
    assert text.doubled("\uffee\U00010000") == {"astral": 1}
    assert text.literal("\u0378\U000e0041\U00010000") == '"\\u0378\\udb40\\udc41\U00010000"'
    assert text.literal("\r\b\f\n\t") == '"\\r\\b\\f\\n\\t"'
    assert text.literal("\x01\ud800\ue000\u2028\u2029") == '"\\u0001\\ud800\\ue000\\u2028\\u2029"'
    assert text.literal("\U0001f469x\u200d\U0001f469") == '"\U0001f469x\\u200d\U0001f469"'
    assert text.units("\ud800") == 1 and text.units("\U00010000") == 2


@pytest.mark.parametrize(("ago", "fresh"), [(-1, False), (0, True), (5 * SECOND - 1, True), (5 * SECOND, False)])
def test_the_seconds_in_which_a_comment_can_be_taken_back(ago: int, fresh: bool) -> None:
    for on_board in (True, False):
        found = comments.in_grace(on_board=on_board, created_us=9 * SECOND, now_us=9 * SECOND + ago, grace_seconds=5)
        assert found is (fresh and on_board)


def test_a_window_frees_its_first_place_a_whole_second_rounded_up() -> None:
    window = 60
    for ago, wait in ((0, 60), (1, 60), (SECOND, 59), (60 * SECOND - 1, 1), (60 * SECOND, 0)):
        assert rates.seconds_until_allowed([100 * SECOND - ago], 100 * SECOND, 1, window) == wait


def test_what_a_name_is_equal_to() -> None:
    assert names.one_line("a\0b\ud800c") == "abc"
    for invisible in ("\x01", "\u0600", "\u034f", "\u00ad", "\u200b"):
        assert names.key(f"a{invisible}b") == "ab", hex(ord(invisible))
    assert names.key("a b") == "a b"
    assert names.folder_title("/home/box~x/") == "box~x"
    assert names.folder_title("/home/x") == "x"


def test_of_a_full_row_the_oldest_name_that_nobody_chose_goes_first() -> None:
    chosen = [names.Alias(f"a{n}", "call" if n % 2 else "owner") for n in range(names.ALIASES_MAX)]
    assert not names.put_alias(chosen, "new").kept
    for giver in ("client", "renaming"):
        full = [*chosen[:5], names.Alias("b", giver), *chosen[5:-2], names.Alias("c", "client")]
        assert names.put_alias(full, "new") == names.AliasChange(kept=True, put_out=5)
    assert names.put_alias(chosen[1:], "new") == names.AliasChange(kept=True)


def test_a_claim_beside_a_used_id_is_the_same_or_another() -> None:
    for status, claim, said in (
        ("used", " h ", "same"),
        ("good", "h", "same"),
        ("used", "g", "other"),
        ("useless", "h", "other"),
        ("absent", "h", "other"),
        ("used", " ", "absent"),
    ):
        assert proof.gather(status, "h", claim).hook_session == said


def test_near_names() -> None:
    # Three of five letters: just near enough.
    assert recipient.near_names("abcde", [("abcxy", False)], 5) == ("abcxy",)
    assert recipient.near_names("abcde", [("abxyz", False)], 5) == ()
    assert recipient.near_names("bcd", [("abcdefg", False)], 5) == ("abcdefg",)
    for wanted, name in (("al", "alexandria of the shop"), ("alexandria of the shop", "Al")):
        assert recipient.near_names(wanted, [(name, False)], 5) == (name,)
    given = [("zzz", True), ("alize", False), ("yyy", True), ("alice", False), ("unlike", False)]
    assert recipient.near_names("alice", given, 9) == ("alice", "alize", "zzz", "yyy")


def test_a_stop_shows_nothing_that_is_held_taken_or_closed() -> None:
    for state, spec_id, outcome in (
        ("held", "ANS-9", "not_eligible"),
        ("taken", "ANS-9", "not_eligible"),
        ("closed", "ANS-9", "not_eligible"),
        ("read", "DLV-15", "not_eligible"),
        ("sent", "DLV-1", "eligible"),
        ("delivered", "DLV-3", "eligible"),
    ):
        verdict = stop.judge(stop.StopItemFacts("message", state, 0, fresh=False, passive=False))
        assert (verdict.spec_id, verdict.outcome) == (spec_id, outcome), state


def test_a_query_of_the_greatest_length_is_read() -> None:
    most = query.QUERY_CHARS_MAX
    assert isinstance(query.parse("x" * most, "tasks"), query.Query)
    assert query.parse("x" * (most + 1), "tasks") == query.Fault("too_long", most)


def test_a_query_has_as_many_terms_as_its_bound_and_orders_by_what_there_is() -> None:
    most = query.TERMS_MAX
    assert isinstance(query.parse(" ".join(["x"] * most), "tasks"), query.Query)
    found = query.parse(" ".join(["x"] * (most + 1)), "tasks")
    assert isinstance(found, query.Fault) and found.problem == "too_many"
    found = query.parse("sort:upward", "tasks")
    assert isinstance(found, query.Fault) and (found.problem, found.given) == ("value_unknown", "upward")


def test_of_several_rows_with_one_name_it_counts_whether_one_is_occupied() -> None:
    free, also = linking.RowView(1, "agent", "none"), linking.RowView(2, "agent", "guessed")
    taken = linking.RowView(3, "agent", "exact")
    assert not taken.unnamed
    for rows, session in (([free, also], "several"), ([free, taken], "several_occupied"), ([taken], "one")):
        found = linking.stand(rows, None, proven=False, witnessed=False)
        assert (found.session, found.occupied) == (session, taken in rows)


@pytest.mark.parametrize(
    ("subject", "given", "printed"),
    [
        ("tasks", "box", "box"),
        ("tasks", "a~x", "a~x"),
        ("tasks", '"two words" -x', '"two words" -x'),
        ("messages", "sort:OLD", "sort:old"),
        ("messages", "TASK:Shop-1", "task:shop-1"),
        ("messages", "from:x~x,box", "from:x~x,box"),
        ("messages", 'from:"a,b"', 'from:"a,b"'),
        ("sessions", "project:SHOP", "project:shop"),
        ("events", "type:MESSAGE.*", "type:message.*"),
    ],
)
def test_a_query_is_printed_as_one_would_type_it(subject, given: str, printed: str) -> None:
    found = query.parse(given, subject)
    assert isinstance(found, query.Query), found
    assert query.printed(found) == printed


def test_an_edge_between_two_sessions_in_one_place_is_still_drawn() -> None:
    seat = map_layout.Seat(100.0, 50.0, 0.0, 100.0, 50.0, "start", 0.0)
    assert map_layout.curve(seat, seat, (200.0, 100.0), 0.2) == "M100.0 50.0Q100.0 50.0 100.0 50.0"


@pytest.mark.parametrize(
    ("event", "before", "spec_id", "outcome"),
    [
        ("start", "ended", "ACT-1", "idle"),
        ("prompt", "idle", "ACT-2", "working"),
        ("tool", "unknown", "ACT-2", "working"),
        ("stop_allowed", "working", "ACT-3", "idle"),
        ("stop_not_written", "working", "ACT-3", "idle"),
        ("stop_failure", "working", "ACT-3", "idle"),
        ("stop_blocked", "idle", "ACT-4", "working"),
        ("end", "working", "ACT-5", "ended"),
        ("broken_off", "working", "ACT-7", "idle"),
        ("start_compact", "working", "ACT-8", "unchanged"),
        ("other", "ended", "ACT-8", "idle"),
        ("other", "unknown", "ACT-8", "idle"),
        ("other", "working", "ACT-8", "unchanged"),
    ],
)
def test_what_an_event_makes_of_an_activity(event, before, spec_id: str, outcome: str) -> None:
    plain = {"subagent": False, "older": False, "replayed": False, "unseen": False, "folder_guess": False}
    verdict = activity.judge(activity.ActivityFacts(event=event, before=before, **plain))
    assert (verdict.spec_id, verdict.outcome) == (spec_id, outcome)


def test_an_event_is_older_than_a_later_one_that_is_not_ahead_of_the_clock() -> None:
    event = HookEvent(hook_id="h", name="Stop", at_us=100)
    for last, now, late in ((99, 200, False), (100, 200, False), (101, 200, True), (101, 101, True), (101, 100, False)):
        assert turns.older(last, event, now) is late, (last, now)


@pytest.mark.parametrize("more", [{"replayed": True}, {"agent_id": "a1"}])
@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop"])
def test_a_replayed_or_a_subagents_event_leaves_the_turn_as_it_is(name: str, more: dict) -> None:
    subject = SimpleNamespace(turn_state="one", turn_prompt_id="p", turn_serial=7, link_state="exact", kind="hook")
    event = HookEvent(hook_id="h", name=name, at_us=1, prompt_id="q", prompt_kind="local", **more)
    columns, block, _ = turns.turn(subject, event, eligible=True)
    assert (columns, block) == ({"turn_state": "one"}, False)
    seen = HookEvent(hook_id="h", name=name, at_us=1, prompt_id="q", prompt_kind="local")
    assert turns.turn(subject, seen, eligible=True)[0]["turn_state"] != "one"


def test_a_shown_name_has_as_many_characters_as_its_bound_and_ends_in_an_ellipsis_beyond() -> None:
    just = "\u200b" * 26 + "abcd"
    assert text.name_line(just) == "\\u200b" * 26 + "abcd" and len(text.name_line(just)) == 160
    assert text.name_line(just + "e") == "\\u200b" * 26 + "abcd" + text.ELLIPSIS


def test_what_a_deleted_row_had_written_keeps_its_name() -> None:
    for thing in ("settled_delivery", "sent_messages", "read_comment"):
        verdict = move.judge(move.MoveFacts("row_deleted", thing))
        assert (verdict.spec_id, verdict.outcome) == ("MOVE-3", "keeps_names")
