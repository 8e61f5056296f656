"""Who makes a call, over rows of every kind at once: for whom it speaks, and what of that it proves (pages 10 and 30)."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import NamedTuple

import pytest

from relaybay.domain import Caller, Outcome, Refusal
from relaybay.service import linking, repeats
from relaybay.store import tool_uses
from tests.unit.linking_rig import Rig

TOOLS = {
    "send": "message_send", "mark": "message_ack", "other": "task_update", "bind": "task_bind_session",
    "read": "messages_list", "list": "comments_list",
}  # fmt: skip


class Row(NamedTuple):
    """What a call says, with the hook id the client vouches for (`w`) or that it claims (`c`), and who it then is."""

    call: str
    name: str
    hook: str
    rows: str
    speaker: str
    flags: str = ""
    link: str = "exact"
    warned: str = ""


#: Flags: n the row is still to be made, v verified, i the row linked itself before, b the call proves the link as it
#: was, p as it is after LINK. A name "short/Title" is a `session` and a `session_title`.
TABLE = [
    # Without a name: the row that holds the id, live.
    Row("send", "", "c:guess", "LINK-2 SEND-6 verified", "Guess", "vbp"),
    Row("send", "", "c:exact", "LINK-3 SEND-6 verified", "Exact", "vibp"),
    Row("mark", "", "w:fresh", "LINK-3 ACK-6 judge", "Fresh", "vibp"),
    Row("other", "", "c:exact", "LINK-3 WRITE-4 verified", "Exact", "vibp"),
    Row("other", "", "", "LINK-0 WRITE-3 unnamed", "", "", "none"),
    # A folder guess is no session's own id: it gets a row of its own, which its former row has no part in.
    Row("send", "", "c:folder", "LINK-15 SEND-6 verified", "", "nvp"),
    Row("mark", "", "c:folder", "LINK-15 ACK-6 judge", "", "nvp"),
    Row("other", "", "c:folder", "LINK-15 WRITE-4 verified", "", "nvp"),
    # With a new name.
    Row("send", "New", "", "LINK-0 SEND-4 unverified", "new New", "n", "none"),
    Row("send", "al/Alice", "", "LINK-0 SEND-4 unverified", "new Alice, al", "n", "none"),
    Row("send", "New", "c:nobody", "LINK-1 SEND-4 unverified", "new New", "n", "exact_unseen"),
    Row("send", "New", "c:unseen", "LINK-1 SEND-4 unverified", "new New", "n", "exact_unseen"),
    Row("send", "New", "c:later", "LINK-1 SEND-4 unverified", "new New", "n", "exact_unseen"),
    Row("other", "Later", "c:nobody", "LINK-1 WRITE-4 unverified", "Later", "", "exact_unseen"),
    Row("send", "New", "c:guess", "LINK-6 SEND-5 verified", "new New", "nvp"),
    Row("send", "New", "c:folder", "LINK-7 SEND-5 verified", "new New", "nvp"),
    Row("send", "New", "c:over", "LINK-19 SEND-4 unverified", "new New", "n", "none"),
    Row("other", "New", "c:over", "LINK-8 WRITE-4 unverified", "new New", "n", "ended_exact"),
    Row("other", "New", "c:exact", "LINK-5 WRITE-4 verified", "Exact", "vip", warned="link.name_ignored"),
    # An unnamed row takes the name, when the client vouches.
    Row("send", "New", "w:fresh", "LINK-14 SEND-5 verified", "Fresh, called New", "vibp"),
    Row("other", "al/Alice", "w:fresh", "LINK-14 WRITE-4 verified", "Fresh, called Alice, al", "vibp"),
    # With the name of a row.
    Row("send", "Free", "", "LINK-0 SEND-4 unverified", "Free", "", "none"),
    Row("send", "free/Alice", "", "LINK-0 SEND-4 unverified", "Free", "", "none"),
    Row("send", "Free", "w:fresh", "LINK-6 SEND-5 verified", "Free", "vp"),
    Row("send", "Folder", "c:folder", "LINK-2 SEND-5 verified", "Folder", "vbp"),
    Row("send", "Exact", "c:exact", "LINK-3 SEND-5 verified", "Exact", "vibp"),
    Row("send", "Over", "c:over", "LINK-4 SEND-4 unverified", "Over", "ibp", "ended_exact"),
    Row("send", "Lost", "c:lost", "LINK-4 SEND-4 unverified", "Lost", "bp", "ended_guessed"),
    Row("send", "Over", "c:guess", "LINK-6 SEND-5 verified", "Over", "vip"),
    Row("send", "Unseen", "c:unseen", "LINK-3 SEND-4 unverified", "Unseen", "", "exact_unseen"),
    Row("other", "Exact", "c:guess", "LINK-10 WRITE-4 verified", "Exact", "vip"),
    Row("other", "Exact", "c:over", "LINK-21 WRITE-4 unverified", "Exact", "i", warned="link.hook_session_unknown"),
    Row("other", "Free", "c:exact", "LINK-5 WRITE-4 unverified", "Free", "", "none", "link.hook_session_taken"),
    # A mark moves no link and proves only what the row's own id proves.
    Row("mark", "Exact", "", "LINK-0 ACK-6 judge", "Exact", "i"),
    Row("mark", "Exact", "c:guess", "LINK-13 ACK-6 judge", "Exact", "i"),
    Row("mark", "Exact", "c:exact", "LINK-3 ACK-6 judge", "Exact", "vibp"),
    Row("mark", "Folder", "c:folder", "LINK-2 ACK-6 judge", "Folder", "vbp"),
    Row("mark", "Over", "c:over", "LINK-4 ACK-6 judge", "Over", "ibp", "ended_exact"),
    # Binding names another row; its author is who holds the id live.
    Row("bind", "Free", "c:exact", "LINK-12 LINK-12 verified", "Exact", "vibp"),
    Row("bind", "Free", "w:fresh", "LINK-12 LINK-12 verified", "Fresh", "vibp"),
    Row("bind", "Free", "c:guess", "LINK-12 LINK-12 unverified", "Guess", "bp", "guessed"),
    Row("bind", "Free", "c:folder", "LINK-12 LINK-12 unnamed", "", "", "none"),
    Row("bind", "al/Alice", "c:over", "LINK-12 LINK-12 unnamed", "", "", "none"),
    # A read links nothing; a list is given to whoever asks, but counts as nobody's.
    Row("read", "", "c:exact", "CH-9 proven", "Exact", "vibp"),
    Row("read", "", "w:fresh", "CH-9 proven", "Fresh", "vibp"),
    Row("read", "", "c:guess", "CH-9 unproven", "Guess", "bp", "guessed"),
    Row("read", "Folder", "c:folder", "CH-9 unproven", "Folder", "bp", "guessed"),
    Row("read", "Free", "c:guess", "CH-9 unproven", "Free", "", "none"),
    Row("read", "Over", "c:over", "CH-9 unproven", "Over", "ibp", "ended_exact"),
    Row("list", "", "c:folder", "CH-3 unknown", "", "", "none"),
    Row("list", "", "", "CH-3 unknown", "", "", "none"),
    Row("list", "New", "c:exact", "ACK-2 unknown", "", "", "none"),
]


@pytest.fixture
def rig(tmp_path: Path):
    made = Rig(tmp_path)
    made.row("Free")
    for title, kind, link in (
        ("Folder", "agent", "guessed"),
        ("Guess", "hook", "guessed"),
        ("Fresh", "hook", "exact"),
        ("Over", "hook", "ended_exact"),
        ("Lost", "hook", "ended_guessed"),
        ("Unseen", "agent", "exact_unseen"),
        ("Later", "hook", "guessed_unseen"),
    ):
        made.row(title, kind, link, f"h-{title.lower()}")
    made.row("Exact", "hook", "exact", "h-exact", link_named=1)
    yield made
    made.relay.close()


def identified(rig: Rig, row: Row) -> linking.Identity | Refusal:
    how, _, whose = row.hook.partition(":")
    hook = f"h-{whose}"
    name, _, title = row.name.partition("/")
    caller = Caller(name, title, hook if how == "c" else "", rig.witness(hook) if how == "w" else "")
    call = "read" if row.call == "list" else row.call
    run = rig.store.read if call == "read" else rig.store.write
    return run(lambda tx: linking.identify(tx, rig.relay, caller, call, tx.now, TOOLS[row.call], "d"))


def said(found: linking.Identity | Refusal, row: Row) -> Row:
    """The row that came out of it."""
    assert not isinstance(found, Refusal), found
    spec_ids = [*([found.linked.spec_id] if found.linked else []), found.said.spec_id, found.said.outcome]
    names = ", ".join(name for name in (found.title, found.alias) if name)
    speaker = found.speaker.title if found.speaker is not None else ""
    if names:
        speaker = f"{speaker}, called {names}" if speaker else f"new {names}"
    flags = "".join(
        flag
        for flag, holds in (
            ("n", found.makes_row),
            ("v", found.verified),
            ("i", found.linked_itself),
            ("b", found.proven_before),
            ("p", found.proven),
        )
        if holds
    )
    warned = " ".join(answer for answer, _ in found.warnings)
    return row._replace(rows=" ".join(spec_ids), speaker=speaker, flags=flags, link=found.link_state, warned=warned)


def test_each_call_speaks_for_its_row_and_proves_what_its_hook_id_proves(rig) -> None:
    for row in TABLE:
        found = identified(rig, row)
        assert said(found, row) == row
        assert found.nobody == (not row.speaker and "n" not in row.flags)
        assert not found.repeat and not found.first_answer
        assert not found.answers_to("~x"), "nobody is called that"


def test_what_a_warning_or_a_refusal_names_is_the_name_that_was_given_and_the_holder(rig) -> None:
    for row, answer, values in (
        (Row("other", "New", "c:exact", "", ""), "link.name_ignored", {"session": '"New"', "holder": '"Exact"'}),
        (Row("other", "Exact", "c:nobody", "", ""), "link.hook_session_unknown", {"session": '"Exact"'}),
    ):
        found = identified(rig, row)
        assert not isinstance(found, Refusal)
        assert found.warnings == ((answer, values),)
    refused = identified(rig, Row("send", "New", "c:exact", "", ""))
    assert isinstance(refused, Refusal)
    assert (refused.answer, refused.values) == ("send.hook_session_taken", {"session": '"New"', "holder": '"Exact"'})
    refused = identified(rig, Row("send", "", "", "", ""))
    assert isinstance(refused, Refusal)
    assert (refused.answer, refused.values) == ("send.sender_required", {"session": '""'})


# -- tool-use ids ------------------------------------------------------------------------------------------------


def call(rig: Rig, tool: str, use: str, kind: str = "send", name: str = "", hook: str = "", answer: str = ""):
    """A call over a tool-use id; an accepted one is answered `answer`."""
    caller = Caller(name, "", hook, use)

    def work(tx) -> Outcome:
        found = linking.identify(tx, rig.relay, caller, kind, tx.now, tool, "d")
        if isinstance(found, Refusal):
            return Outcome(refusal=found)
        if answer:
            tool_uses.keep_answer(tx, use, repeats.form(Outcome(data={"said": answer})))
        return Outcome(data={"found": found})

    outcome = rig.store.write(work)
    return outcome.refusal or outcome.data["found"]


def test_a_tool_use_id_tells_its_first_answer_to_the_same_call_alone(rig) -> None:
    use = rig.witness("h-exact")
    assert call(rig, "message_send", use, answer="first").proof.spec_id == "PROOF-2"
    again = call(rig, "message_send", use, hook="h-exact")
    assert (again.proof.spec_id, again.repeat) == ("PROOF-6", True)
    assert repeats.read(again.first_answer).data == {"said": "first"}
    other = call(rig, "task_update", use, "other")
    assert (other.proof.spec_id, other.hook_id, other.first_answer, other.nobody) == ("PROOF-4", "", "", True)
    # One that never was reported vouches for nobody, the second time neither.
    for _ in range(2):
        unheard = call(rig, "task_update", "toolu_unheard", "other")
        assert (unheard.proof.spec_id, unheard.hook_id, unheard.nobody) == ("PROOF-4", "", True)


def test_a_repeat_whose_first_answer_was_not_kept_is_witnessed_as_the_first_was(rig) -> None:
    use = rig.witness("h-fresh")
    assert call(rig, "message_send", use, name="New").linked.spec_id == "LINK-14"
    again = call(rig, "message_send", use, name="New")
    assert (again.proof.spec_id, again.linked.spec_id, again.witnessed) == ("PROOF-6", "LINK-14", True)
    assert (again.hook_id, again.first_answer) == ("h-fresh", "")


def test_a_refusal_is_kept_with_its_call_and_a_reads_with_none(rig) -> None:
    def kept(use: str) -> str:
        return rig.store.read(lambda tx: tool_uses.get(tx, use))["answer"]

    use = rig.witness("h-guess")
    first = call(rig, "message_send", use, name="Exact")
    assert first.answer == "send.sender_not_proven"
    assert repeats.read(kept(use)).refusal == first
    # A read over the same id says nothing to the call that it belongs to.
    use = rig.witness("h-exact")
    call(rig, "messages_list", use, "other")
    assert call(rig, "messages_list", use, "read", name="New").answer == "ack.session_unknown"
    assert kept(use) == ""


def test_only_an_id_that_another_call_had_used_is_logged(rig, caplog) -> None:
    caplog.set_level(logging.INFO, "relaybay.service.identity")
    use = rig.witness("h-exact")
    call(rig, "message_send", use)
    call(rig, "message_send", use)
    call(rig, "message_send", "toolu_unheard", name="Free")
    assert caplog.messages == []
    call(rig, "task_update", use, "other")
    assert len(caplog.messages) == 1 and "PROOF-4" in caplog.messages[0]
    assert "h-exact" not in json.dumps(caplog.messages), "a hook id is not logged"
