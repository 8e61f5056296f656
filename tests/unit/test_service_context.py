"""Table CTX on the real relay and real files: what a session's own transcript proves of a hand-over, and of a turn."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from relaybay.service import context_proof
from relaybay.specs import limit
from tests.unit.context_rig import SETTLE, ContextRig
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND
from tests.unit.transcript_rig import Transcript


@pytest.fixture
def rig(tmp_path: Path):
    made = ContextRig(tmp_path)
    yield made
    made.relay.close()


# -- found ---------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CTX-1", "DLV-12")
def test_a_hooks_text_that_stands_in_the_transcript_is_marked_once_and_stays(rig) -> None:
    mid = rig.send(rig.session())
    rig.script.step()
    text = rig.handed()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    rig.script.shown(text)
    assert rig.look() == 1
    marked = rig.mail_of(mid).in_context_us
    assert marked == rig.now
    assert "seen in the session's context" in rig.standing(mid)[1]
    rig.script.step()
    rig.at("Stop", stop_hook_active=True)
    rig.look_long()
    assert rig.mail_of(mid).in_context_us == marked
    assert rig.types().count("message.offered_again") == 0


@pytest.mark.spec("CTX-1")
@pytest.mark.parametrize("way", ["woken", "queued"])
def test_a_wake_ups_text_is_proven_by_its_own_lines(rig, way: str) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.at("Stop")
    mid = rig.send(session)
    fired = HookRig.look(rig, rig.wait())
    assert fired.outcome == "fired"
    getattr(rig.script, way)(fired.done.text)
    rig.look()
    assert rig.marked(mid)[:2] == ("delivered", True)


@pytest.mark.spec("CTX-1", "DLV-12")
def test_a_stop_blocks_text_is_proven_though_its_stop_came_with_it(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.script.step()
    mid = rig.send(session)
    text = rig.handed("Stop")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, ""), "the Stop that carried it is no later one"
    rig.script.shown(text, "Stop")
    rig.at("PreToolUse", tool_name="Bash")
    rig.look()
    assert rig.marked(mid)[:2] == ("delivered", True)


@pytest.mark.spec("CTX-4", "CMT-20")
def test_an_owners_comment_is_proven_likewise(rig) -> None:
    session = rig.session()
    said = rig.commented(session)
    text = rig.handed()
    assert rig.reason(said) == "Not acknowledged yet; no transcript tells whether the session's context has it."
    rig.look()
    assert rig.reason(said) == "Not acknowledged yet.", "it is looked for"
    rig.script.shown(text)
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()
    assert rig.comment(said).in_context_us
    assert rig.reason(said) == "Seen in the session's context; not acknowledged yet."


@pytest.mark.spec("CTX-1")
def test_a_message_that_is_read_already_gets_no_mark_and_breaks_nothing(rig) -> None:
    mid = rig.send(rig.session())
    text = rig.handed()
    rig.accepted("mark", witnessed="h1")
    rig.script.shown(text)
    rig.look()
    assert rig.state(mid) in ("delivered", "read")


@pytest.mark.spec("CTX-1")
def test_several_items_of_one_answer_each_get_their_own_mark(rig) -> None:
    session = rig.session()
    first, second = rig.send(session, "one"), rig.send(session, "two")
    text = rig.handed()
    assert first in text and second in text
    # Only the first frame was shown: the client cut the rest.
    cut = text.index(f"[relaybay message {second}]")
    rig.script.shown(text[:cut])
    rig.look()
    assert rig.marked(first)[1] and not rig.marked(second)[1]


# -- dropped -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CTX-2", "DLV-11", "DLV-19")
def test_a_dropped_text_is_offered_twice_more_and_then_said_to_be_lost(rig) -> None:
    mid = rig.send(rig.session())
    for count in (1, 2):
        text = rig.handed()
        rig.script.hook_ran(text)
        for _ in range(2):
            rig.script.step()
        rig.at("PostToolUse", tool_name="Bash")
        rig.look_long()
        assert rig.marked(mid) == ("sent", False, count, "")
        assert rig.types().count("message.offered_again") == count
        assert f"handed over {count} times" in rig.standing(mid)[1]
    rig.script.hook_ran(rig.handed())
    for _ in range(2):
        rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 2, "not_in_context")
    assert "not seen in the session's context" in rig.standing(mid)[1]
    assert rig.types().count("message.offered_again") == 2


@pytest.mark.spec("CTX-2", "CTX-4", "CMT-16")
def test_a_dropped_comment_is_offered_twice_more_too(rig) -> None:
    said = rig.commented(rig.session())
    for count in (1, 2, 2):
        rig.handed()
        rig.script.step()
        rig.script.step()
        rig.at("PostToolUse", tool_name="Bash")
        rig.look_long()
        assert rig.comment(said).reoffers == count
    row = rig.comment(said)
    assert (row.state, row.reason_code) == ("delivered", "not_in_context")


@pytest.mark.spec("CTX-2")
def test_the_step_that_was_under_way_is_no_later_one(rig) -> None:
    session = rig.session()
    under_way = rig.script.step()
    mid = rig.send(session)
    rig.handed()
    # Two more blocks of the same model step, and one later step: not enough.
    rig.script.step(under_way)
    rig.script.step(under_way)
    rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("sent", False, 1, "")


@pytest.mark.spec("CTX-2")
def test_one_step_and_a_stop_are_enough_and_a_stop_alone_is_not(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    mid = rig.send(session)
    rig.handed()
    rig.at("Stop", stop_hook_active=True)
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, ""), "the file shows no step yet: it may not be written"
    rig.script.step()
    rig.at("Notification")
    rig.look_long()
    assert rig.marked(mid) == ("sent", False, 1, "")


@pytest.mark.spec("CTX-2")
def test_a_subagents_steps_do_not_count(rig) -> None:
    mid = rig.send(rig.session())
    rig.handed()
    for _ in range(4):
        rig.script.step(isSidechain=True)
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")


@pytest.mark.spec("CTX-2")
def test_a_line_that_comes_late_is_waited_for(rig) -> None:
    mid = rig.send(rig.session())
    text = rig.handed()
    rig.script.step()
    rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    rig.script.shown(text)
    rig.look(SETTLE / SECOND)
    assert rig.marked(mid) == ("delivered", True, 0, "")


@pytest.mark.spec("CTX-2", "STOP-5")
def test_a_re_offer_gives_no_new_stop_block(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    mid = rig.send(session)
    rig.handed("Stop")
    rig.script.step()
    rig.script.step()
    rig.at("PreToolUse", tool_name="Read")
    rig.look_long()
    assert rig.marked(mid) == ("sent", False, 1, "") and rig.mail_of(mid).stop_blocks == 1
    assert rig.at("Stop").done is None
    assert mid in rig.handed("UserPromptSubmit")


@pytest.mark.spec("CTX-1", "DLV-3")
def test_a_second_showing_at_the_stop_starts_the_count_anew(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    mid = rig.send(session)
    rig.handed()
    rig.script.step()
    text = rig.handed("Stop")
    rig.script.step()
    rig.at("PreToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    rig.script.shown(text, "Stop")
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()
    assert rig.marked(mid)[:2] == ("delivered", True)


# -- no claim ------------------------------------------------------------------------------------------------------


def _nothing(rig: ContextRig, text: str) -> None:
    rig.script.hook_ran(text)


def _queued_only(rig: ContextRig, text: str) -> None:
    rig.script.line(type="queue-operation", operation="enqueue", content=text)


def _put_away(rig: ContextRig, text: str) -> None:
    kept = f"<persisted-output>\nOutput too large. Preview:\n{text}\n</persisted-output>"
    rig.script.line(type="attachment", attachment={"type": "hook_additional_context", "content": [kept]})


def _quoted_by_the_model(rig: ContextRig, text: str) -> None:
    rig.script.step(text=text)


def _listed_by_a_tool(rig: ContextRig, text: str) -> None:
    rig.script.tool_result(text)


@pytest.mark.spec("CTX-1", "CTX-2")
@pytest.mark.parametrize("how", [_nothing, _queued_only, _put_away, _quoted_by_the_model, _listed_by_a_tool])
def test_what_is_no_proof_does_not_count_as_seen(rig, how) -> None:
    mid = rig.send(rig.session())
    how(rig, rig.handed())
    rig.script.step()
    rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("sent", False, 1, "")


@pytest.mark.spec("CTX-3")
@pytest.mark.parametrize(
    "members",
    [
        {"type": "attachment", "attachment": {"type": "hook_context_of_tomorrow", "content": ["{}"]}},
        {"type": "context-delta", "blocks": [{"text": "{}"}]},
        {"type": "user", "message": {"role": "user", "content": "{}"}, "origin": {"kind": "of-tomorrow"}},
    ],
    ids=["attachment", "type", "origin"],
)
def test_an_unknown_form_is_no_claim_either_way(rig, members: dict[str, Any]) -> None:
    mid = rig.send(rig.session())
    text = rig.handed()
    rig.script.line(**json.loads(json.dumps(members).replace('"{}"', json.dumps(text))))
    rig.script.step()
    rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    assert "no transcript tells" in rig.standing(mid)[1]


@pytest.mark.spec("CTX-3")
def test_without_a_transcript_nothing_is_claimed(rig) -> None:
    session = rig.linked()
    mid = rig.send(session)
    assert rig.hook("PreToolUse", tool_name="Bash").done is not None
    for _ in range(3):
        rig.hook("PostToolUse", tool_name="Bash")
        rig.look_long()
    rig.hook("Stop", stop_hook_active=True)
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    assert "no transcript tells" in rig.standing(mid)[1]


@pytest.mark.spec("CTX-3")
def test_a_transcript_that_comes_only_later_is_read_then(rig) -> None:
    session = rig.session()
    away = rig.script.path.read_bytes()
    rig.script.path.unlink()
    mid = rig.send(session)
    text = rig.handed()
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    rig.script.path.write_bytes(away)
    rig.script.shown(text)
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()
    assert rig.marked(mid)[:2] == ("delivered", True)


def _symlink(rig: ContextRig, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.jsonl"
    shutil.move(rig.script.path, other)
    rig.script.path.symlink_to(other)


def _linked_folder(rig: ContextRig, tmp_path: Path) -> None:
    folder = rig.script.path.parent
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")


def _other_id(rig: ContextRig, tmp_path: Path) -> None:
    rig.script.hook = "h9"
    rig.script.step()


def _a_folder(rig: ContextRig, tmp_path: Path) -> None:
    rig.script.path.unlink()
    rig.script.path.mkdir()


@pytest.mark.spec("CTX-4")
@pytest.mark.parametrize("how", [_symlink, _linked_folder, _other_id, _a_folder])
def test_a_file_that_is_not_the_sessions_own_is_not_believed(rig, tmp_path: Path, how) -> None:
    mid = rig.send(rig.session())
    text = rig.handed()
    how(rig, tmp_path)
    if rig.script.path.is_file():
        rig.script.shown(text)
        rig.script.step()
        rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")


@pytest.mark.spec("CTX-4")
def test_a_path_outside_the_clients_folder_is_not_read(rig, tmp_path: Path) -> None:
    outside = Transcript(tmp_path / "claude-of-somebody")
    rig.script = outside
    mid = rig.send(rig.session())
    outside.shown(rig.handed())
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("delivered", False, 0, "")
    climbing = tmp_path / "claude" / ".." / "claude-of-somebody" / "projects" / "-src-shop" / "h1.jsonl"
    assert rig.transcripts.read(str(climbing), "h1", 0, 1_000).file == "foreign"
    assert rig.transcripts.size(str(climbing)) == 0


# -- restarts ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CTX-1", "DLV-1")
def test_after_a_kill_what_was_delivered_is_still_looked_for(rig) -> None:
    mid = rig.send(rig.session())
    rig.script.shown(rig.handed())
    rig.kill()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()
    assert rig.marked(mid)[:2] == ("delivered", True)


@pytest.mark.spec("CTX-2", "PACK-7")
def test_a_stop_block_whose_answer_a_kill_swallowed_is_offered_again(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.script.step()
    mid = rig.send(session)
    rig.handed("Stop")
    rig.kill()
    # The client got no answer and ended the turn; the next one shows nothing of it.
    rig.at("UserPromptSubmit")
    rig.script.step()
    rig.at("PreToolUse", tool_name="Bash")
    rig.script.step()
    rig.at("PostToolUse", tool_name="Bash")
    rig.look_long()
    assert rig.marked(mid) == ("sent", False, 1, "")
    assert mid in rig.handed()


@pytest.mark.spec("CTX-2")
def test_an_answer_that_was_not_written_is_no_dropped_one(rig) -> None:
    mid = rig.send(rig.session())
    rig.not_written(rig.at("PreToolUse", tool_name="Bash"))
    assert rig.state(mid) == "sent"
    rig.script.step()
    rig.script.step()
    rig.at("Notification")
    rig.look_long()
    assert rig.marked(mid) == ("sent", False, 0, "")


@pytest.mark.spec("CTX-1", "CTX-2")
def test_a_transcript_that_was_cut_is_begun_anew(rig) -> None:
    session = rig.session()
    for _ in range(50):
        rig.script.step(text="x" * 200)
    mid = rig.send(session)
    text = rig.handed()
    rig.look()
    rig.script.path.write_text("")
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()
    rig.script.shown(text)
    rig.at("PostToolUse", tool_name="Bash")
    rig.look()
    assert rig.marked(mid)[:2] == ("delivered", True)


@pytest.mark.spec("CTX-3")
def test_of_one_item_too_many_no_claim_is_made(rig) -> None:
    session = rig.session()
    most = limit("context_items_max")
    mids = []
    for _ in range(most + 1):
        mids.append(rig.send(session))
        rig.handed()
    rig.look()
    looked = [rig.relay.contexts.looked_for("message", rig.mail_of(mid).id, "h1") for mid in mids]
    assert looked == [False] + [True] * most


# -- a turn broken off ---------------------------------------------------------------------------------------------


@pytest.mark.spec("CTX-5", "ACT-7")
def test_an_interruption_newer_than_the_prompt_makes_the_session_idle(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.at("PreToolUse", tool_name="Bash")
    mid = rig.send(session)
    assert rig.standing(mid)[0] == "working"
    rig.script.interrupted(rig.now)
    assert context_proof.look_for_interruptions(rig.relay) == 1
    assert rig.holder().activity == "idle"
    assert rig.standing(mid)[0] == "idle"
    assert context_proof.look_for_interruptions(rig.relay) == 0


@pytest.mark.spec("CTX-5")
def test_an_interruption_of_an_earlier_turn_is_no_news(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.script.interrupted(rig.now)
    rig.now += SECOND
    rig.at("UserPromptSubmit")
    rig.send(session)
    assert context_proof.look_for_interruptions(rig.relay) == 0
    assert rig.holder().activity == "working"


@pytest.mark.spec("CTX-5")
def test_nothing_waiting_or_nothing_gained_costs_no_read(rig, monkeypatch) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.script.interrupted(rig.now)
    reads: list[str] = []
    read = rig.transcripts.read
    monkeypatch.setattr(rig.transcripts, "read", lambda path, *more: reads.append(path) or read(path, *more))
    assert context_proof.look_for_interruptions(rig.relay) == 0
    assert reads == [], "nothing waits for it"
    rig.now += SECOND
    rig.at("UserPromptSubmit")
    rig.send(session)
    context_proof.look_for_interruptions(rig.relay)
    context_proof.look_for_interruptions(rig.relay)
    assert len(reads) == 1, "a stat first: it gained nothing since"


@pytest.mark.spec("CTX-5")
def test_only_a_line_of_the_measured_form_is_an_interruption(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.send(session)
    rig.now += SECOND
    rig.script.step(text="[Request interrupted by user] is what I saw.")
    rig.script.tool_result("[Request interrupted by user]")
    rig.script.typed("[Request interrupted by user]")
    rig.script.interrupted(rig.now, "a person quotes [Request interrupted by user]")
    rig.script.line(
        type="user", timestamp="2099-01-01T00:00:00Z",
        message={"content": [{"type": "text", "text": "[Request interrupted by user]"}, {"type": "text", "text": "x"}]},
    )  # fmt: skip
    assert context_proof.look_for_interruptions(rig.relay) == 0
    assert rig.holder().activity == "working"


@pytest.mark.spec("CTX-5")
def test_after_a_restart_the_last_event_stands_for_the_prompt(rig) -> None:
    session = rig.session()
    rig.at("UserPromptSubmit")
    rig.script.interrupted(rig.now - SECOND)
    rig.at("PreToolUse", tool_name="Bash")
    rig.send(session)
    rig.reopen()
    assert context_proof.look_for_interruptions(rig.relay) == 0
    rig.script.interrupted(rig.now)
    assert context_proof.look_for_interruptions(rig.relay) == 1
