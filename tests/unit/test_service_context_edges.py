"""Table CTX at its edges: what changes between a look and its word, a file that is cut, and turns that only seem broken off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from relaybay.service import context_proof
from relaybay.specs import limit
from relaybay.store import comments, messages
from tests.unit.context_rig import SETTLE, ContextRig
from tests.unit.linking_rig import SECOND
from tests.unit.transcript_rig import Transcript


@pytest.fixture
def rig(tmp_path: Path):
    made = ContextRig(tmp_path)
    yield made
    made.relay.close()


def meanwhile(rig: ContextRig, what: Callable[[], None]) -> int:
    """One look, with something else happening after it and before its word is written."""
    real = rig.relay.contexts.look

    def look(watch, now):
        found = real(watch, now)
        what()
        return found

    rig.relay.contexts.look = look
    try:
        return rig.look()
    finally:
        rig.relay.contexts.look = real


# -- between a look and its word -----------------------------------------------------------------------------------


def test_what_went_to_another_conversation_meanwhile_is_not_marked(rig) -> None:
    session = rig.session()
    mid, cid = rig.send(session), rig.commented(session)
    text = rig.handed()
    rig.script.shown(text)

    def moved() -> None:
        def write(tx) -> None:
            messages.set_delivery(tx, messages.get(tx, mid), delivered_hook_id="h9")
            comments.change(tx, comments.get(tx, cid), delivered_hook_id="h9")

        rig.store.write(write)

    assert meanwhile(rig, moved) == 2
    assert not rig.mail_of(mid).in_context_us and not rig.comment(cid).in_context_us


def test_a_comment_that_is_gone_meanwhile_is_not_missed(rig) -> None:
    session = rig.session()
    mid, cid = rig.send(session), rig.commented(session)
    rig.script.shown(rig.handed())
    assert meanwhile(rig, lambda: rig.store.write(lambda tx: comments.remove(tx, comments.get(tx, cid)))) == 2
    assert rig.mail_of(mid).in_context_us


def test_what_is_handed_over_again_meanwhile_is_looked_for_anew(rig) -> None:
    session = rig.session()
    mid = rig.send(session)
    rig.script.shown(rig.handed())
    item = ("message", rig.mail_of(mid).id, mid)
    meanwhile(rig, rig.relay.contexts.handing(rig.need(session), [item], rig.now))
    assert not rig.mail_of(mid).in_context_us, "it was found for the hand-over before"
    assert rig.relay.contexts.watched() == [("read", 1)]


def test_what_was_settled_is_looked_for_no_more_and_neither_is_a_file_that_is_not_the_sessions_own(rig) -> None:
    session = rig.session()
    first = rig.send(session)
    rig.script.shown(rig.handed())
    assert (rig.look(), rig.look(), rig.relay.contexts.watched()) == (1, 0, [])
    rig.send(session)
    rig.handed()
    rig.script.hook = "h9"
    rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    assert (rig.look(), rig.look(), rig.relay.contexts.watched()) == (1, 0, [])
    assert rig.mail_of(first).in_context_us


def test_a_proof_stands_whatever_else_shows_the_text(rig) -> None:
    mid = rig.send(rig.session())
    text = rig.handed()
    rig.script.shown(text)
    rig.script.line(type="attachment", attachment={"type": "hook_context_of_tomorrow", "content": [text]})
    assert rig.look() == 1
    assert rig.mail_of(mid).in_context_us


# -- which file ----------------------------------------------------------------------------------------------------


def test_another_transcript_of_the_session_ends_the_look_into_the_one_before(rig, tmp_path: Path) -> None:
    session = rig.session()
    mid = rig.send(session)
    text = rig.handed()
    old = rig.script
    rig.script = Transcript(tmp_path / "claude", project="-src-other")
    rig.at("PostToolUse", tool_name="Bash")
    old.shown(text)
    assert rig.look() == 0
    assert rig.relay.contexts.watched() == [] and not rig.mail_of(mid).in_context_us


def test_an_older_look_is_dropped_and_a_newer_one_stays(rig, tmp_path: Path) -> None:
    session = rig.session()
    rig.send(session)
    rig.handed()
    (before,) = rig.relay.contexts.due(rig.now)
    rig.script = Transcript(tmp_path / "claude", project="-src-other")
    rig.send(session)
    rig.handed()
    rig.relay.contexts.drop(before)
    assert rig.relay.contexts.watched() == [("none", 1)]
    (after,) = rig.relay.contexts.due(rig.now)
    rig.relay.contexts.drop(after)
    assert rig.relay.contexts.watched() == []


def test_a_session_is_looked_at_as_long_as_the_table_says_and_no_longer(rig) -> None:
    rig.send(rig.session())
    rig.handed()
    listens = limit("context_listen_seconds") * SECOND
    assert len(rig.relay.contexts.due(rig.now + listens)) == 1
    assert len(rig.relay.contexts.due(rig.now - listens)) == 1, "a clock that was set back"
    assert rig.relay.contexts.due(rig.now + listens + 1) == []


def cut(rig: ContextRig) -> None:
    """The file is written anew, shorter than it was read to."""
    rig.script.path.write_text("")
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()


def test_the_first_line_of_a_file_that_was_cut_counts(rig) -> None:
    session = rig.session()
    for _ in range(9):
        rig.script.step(text="x" * 500)
    mid = rig.send(session)
    text = rig.handed()
    rig.look()
    rig.script.path.write_text("")
    rig.script.shown(text)
    for _ in range(2):
        rig.at("PostToolUse", tool_name="Bash")
        rig.look()
    assert rig.mail_of(mid).in_context_us


def test_after_a_cut_a_text_is_missed_only_when_steps_came_and_time_went_by(rig) -> None:
    session = rig.session()
    for _ in range(9):
        rig.script.step(text="x" * 500)
    mid = rig.send(session)
    rig.handed()
    rig.script.step()
    rig.script.step()
    rig.look()
    cut(rig)
    assert rig.look_long() == 0, "the steps before the cut count no more"
    rig.script.step("msg_after_1")
    rig.script.step("msg_after_2")
    rig.at("PostToolUse", tool_name="Bash")
    assert rig.look() == 0, "missing, but perhaps only on its way to the disk"
    assert rig.look(SETTLE / SECOND) == 1
    assert rig.marked(mid) == ("sent", False, 1, "")


# -- turns broken off ----------------------------------------------------------------------------------------------


def broken_off(rig: ContextRig, session_id: int, hook: str | None, at_us: int) -> bool:
    return rig.store.write(lambda tx: context_proof.break_off(tx, rig.relay, session_id, hook, at_us))


def test_a_turn_is_broken_off_by_an_entry_after_its_prompt_in_its_own_conversation(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    prompted = rig.now
    for session_id, hook, at_us in (
        (session.id, "h1", prompted),
        (session.id, "h1", prompted - 1),
        (session.id, "h9", prompted + 1),
        (session.id, None, prompted + 1),
        (session.id + 99, "h1", prompted + 1),
    ):
        assert broken_off(rig, session_id, hook, at_us) is False
        assert rig.holder().activity == "working"
    assert broken_off(rig, session.id, "h1", prompted + 1) is True
    assert rig.holder().activity == "idle"
    assert broken_off(rig, session.id, "h1", prompted + 2) is False, "it works no more"


def test_a_session_that_works_and_has_no_transcript_is_passed_over(rig) -> None:
    row = rig.linked()
    rig.hook("UserPromptSubmit")
    rig.send(row)
    assert context_proof.look_for_interruptions(rig.relay) == 0
    assert rig.holder().activity == "working"
