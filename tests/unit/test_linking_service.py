"""Each row of table LINK on a real store: what the call says, which rows and links there are afterwards, where mail is."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relaybay.answers import word, word_refusal
from relaybay.rules import names
from relaybay.rules.handles import generated
from relaybay.service import links
from relaybay.service.waits import WaitEntry
from relaybay.store import comments, sessions
from tests.unit import linking_rig


@pytest.fixture
def rig(tmp_path: Path):
    made = linking_rig.Rig(tmp_path)
    yield made
    made.relay.close()


def spec(identity) -> tuple[str, str]:
    return identity.linked.spec_id, identity.said.spec_id


@pytest.mark.spec("LINK-0", "ROW-3", "SEND-4", "WRITE-3")
def test_link_0_no_proof_makes_a_row_and_no_link(rig) -> None:
    identity, row = rig.accepted("send", "Alice")
    assert spec(identity) == ("LINK-0", "SEND-4")
    assert (row.kind, row.link_state, row.hook_id, identity.verified) == ("agent", "none", None, False)
    assert row.last_seen_us == rig.now
    again, same = rig.accepted("other", " alice ")
    assert same.id == row.id and len(rig.rows()) == 1
    assert again.said.outcome == "unverified"
    identity, row = rig.accepted("other")
    assert (identity.said.spec_id, identity.nobody, row) == ("WRITE-3", True, None)


@pytest.mark.spec("LINK-1", "MOVE-2", "MOVE-5", "MOVE-12", "HL-7", "RECV-6")
def test_link_1_an_id_no_row_holds_is_unseen_on_the_row(rig) -> None:
    identity, row = rig.accepted("send", "Alice", "h1")
    assert spec(identity) == ("LINK-1", "SEND-4")
    assert (row.link_state, row.hook_id, row.activity, row.name) == ("exact_unseen", "h1", "unknown", None)
    assert not identity.verified and not identity.proven
    # Another new id puts the first one out; a row on which it is unseen loses it and keeps its mail.
    other = rig.row("other", "hook", "guessed_unseen", "h2")
    mail = rig.mail(None, other)
    own = rig.mail(None, row, over="h2")
    identity, row = rig.accepted("other", "Alice", "h2")
    assert identity.linked.spec_id == "LINK-1"
    assert (row.link_state, row.hook_id) == ("exact_unseen", "h2")
    assert (rig.need(other).link_state, rig.need(other).hook_id) == ("none", None)
    assert rig.mail_now(mail).recipient_id == other.id
    assert (rig.mail_now(own).state, rig.mail_now(own).read_how) == ("read", "own_message")
    assert rig.store.read(lambda tx: tx.rows("SELECT hook_id, fate FROM hook_fate")) == [("h1", "taken_off")]


@pytest.mark.spec("LINK-1", "SEND-4")
def test_link_1_takes_a_folder_guess_off_the_named_row(rig) -> None:
    row = rig.row("Alice", "agent", "guessed", "h1", activity="working", process_pid=7)
    _, after = rig.accepted("send", "Alice", "h9")
    assert (after.id, after.link_state, after.hook_id, after.activity, after.process_pid) == (
        row.id, "exact_unseen", "h9", "unknown", 0,
    )  # fmt: skip


@pytest.mark.spec("LINK-2", "SEND-5", "SEND-6", "ACK-6")
def test_link_2_the_rows_own_live_guess_becomes_exact(rig) -> None:
    guess = rig.row("Alice", "agent", "guessed", "h1", activity="idle")
    identity, row = rig.accepted("send", "Alice", witnessed="h1")
    assert spec(identity) == ("LINK-2", "SEND-5")
    assert (row.id, row.link_state, row.activity, row.link_named) == (guess.id, "exact", "idle", 1)
    assert row.name and row.name.count("-") == 2
    assert identity.proven_before and not identity.linked_itself
    hook = rig.row("shop", "hook", "guessed", "h2")
    identity, row = rig.accepted("mark", witnessed="h2")
    assert spec(identity) == ("LINK-2", "ACK-6")
    assert (row.id, row.link_state, row.unnamed) == (hook.id, "exact", True)
    assert identity.verified and identity.proven
    assert len(rig.events("session.linked")) == 2


@pytest.mark.spec("LINK-3", "SEND-5", "SEND-6")
def test_link_3_the_rows_own_exact_or_unseen_id_changes_nothing(rig) -> None:
    a = rig.row("Alice", "agent", "exact", "h1")
    for args in (("send", "Alice", "h1"), ("send", "", "h1"), ("mark", "", "h1")):
        identity, row = rig.accepted(*args)
        assert identity.linked.spec_id == "LINK-3" and identity.verified and identity.proven
        assert row.id == a.id and row.last_seen_us == rig.now
    rig.row("Bob", "agent", "exact_unseen", "h2")
    identity, row = rig.accepted("send", "Bob", "h2")
    assert spec(identity) == ("LINK-3", "SEND-4")
    assert not identity.proven and row.link_state == "exact_unseen"


@pytest.mark.spec("LINK-4", "SEND-4", "DLV-4")
def test_link_4_an_ended_own_link_proves_marks_and_no_sends(rig) -> None:
    rig.row("Alice", "hook", "ended_exact", "h1", activity="ended")
    identity, row = rig.accepted("mark", "Alice", "h1")
    assert identity.linked.spec_id == "LINK-4" and identity.proven and identity.linked_itself
    assert row.link_state == "ended_exact" and row.last_seen_us == rig.now
    identity, row = rig.accepted("send", "Alice", "h1")
    assert spec(identity) == ("LINK-4", "SEND-4") and not identity.verified
    assert identity.proven_before


@pytest.mark.spec("LINK-5", "SEND-3", "ACK-3", "WRITE-4")
def test_link_5_a_taken_id_is_never_taken(rig) -> None:
    b = rig.row("Bob", "hook", "exact", "h1", link_named=1)
    a = rig.row("Alice")
    for session in ("Alice", "Nobody"):
        refusal = rig.refused("send", session, witnessed="h1")
        assert (refusal.spec_id, word_refusal(refusal).code) == ("SEND-3", "hook_session_taken")
        assert "h1" not in word_refusal(refusal).text
    assert rig.refused("mark", "Alice", "h1").spec_id == "ACK-3"
    identity, row = rig.accepted("other", "Alice", "h1")
    assert (row.id, identity.verified, identity.warnings[0][0]) == (a.id, False, "link.hook_session_taken")
    identity, row = rig.accepted("other", "Nobody", "h1")
    assert (row.id, identity.verified, identity.warnings[0][0]) == (b.id, True, "link.name_ignored")
    assert '"Bob"' in word(identity.warnings[0][0], **identity.warnings[0][1]).text
    assert rig.titled("Nobody") is None and rig.need(b).hook_id == "h1"


@pytest.mark.spec("LINK-5", "SEND-3")
def test_link_5_an_unnamed_row_is_taken_for_a_claim_and_at_hand_for_a_witness(rig) -> None:
    rig.row("shop", "hook", "exact", "h1")
    assert rig.refused("send", "Alice", "h1").spec_id == "SEND-3"
    identity, _ = rig.accepted("send", "Alice", witnessed="h1")
    assert identity.linked.spec_id == "LINK-14"


@pytest.mark.spec("LINK-6", "MOVE-1", "MOVE-5", "MOVE-9", "MOVE-10", "MOVE-12", "CMT-22", "DLV-50", "DLV-51")
def test_link_6_a_hook_row_is_merged_with_all_it_has(rig) -> None:
    a = rig.row("Alice", "agent", "ended_exact", "h0", activity="ended")
    b = rig.row("shop", "hook", "guessed", "h1", activity="working", process_pid=42, cwd="/shop", turn_state="one")
    c = rig.row("Carol", "agent", "exact", "h3")
    to_b, from_b, between = rig.mail(c, b), rig.mail(b, c), rig.mail(b, a)
    old = rig.mail(c, a, "delivered", by="h0")
    given = rig.mail(c, b, "delivered", by="h1")
    read = rig.mail(c, b, "read")
    comment = rig.task_with_comment(b)
    rig.store.write(lambda tx: tx.emit("session.created", session=b.ref, title="shop"))
    identity, row = rig.accepted("send", "Alice", witnessed="h1")
    assert spec(identity) == ("LINK-6", "SEND-5") and identity.verified
    assert identity.rows == {a.id, b.id} and identity.linked_itself and not identity.proven_before
    assert rig.get(b) is None
    assert (row.id, row.link_state, row.hook_id, row.activity, row.process_pid) == (a.id, "exact", "h1", "working", 42)
    assert (row.turn_state, row.cwd, row.link_named) == ("one", "/shop", 1)
    assert {rig.mail_now(m).recipient_id for m in (to_b, given, read, between)} == {a.id}
    assert rig.mail_now(from_b).sender_id == a.id
    assert [rig.mail_now(m).state for m in (to_b, given, read, old)] == ["sent", "delivered", "read", "sent"]
    assert rig.mail_now(between).read_how == "own_message"
    assert rig.comment_now(comment).bound_id == a.id and rig.comment_now(comment).state == "delivered"
    assert len(rig.events("message.offered_again")) == 1
    assert f'"{b.ref}"' not in "".join(rig.events())
    assert rig.store.read(lambda tx: tx.rows("SELECT hook_id FROM hook_fate")) == [("h0",)]


@pytest.mark.spec("LINK-6")
def test_link_6_a_new_name_takes_a_guessed_hook_row(rig) -> None:
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle")
    identity, row = rig.accepted("send", "Alice", witnessed="h1")
    assert identity.linked.spec_id == "LINK-6" and rig.get(b) is None
    assert (row.title, row.kind, row.link_state, row.activity) == ("Alice", "agent", "exact", "idle")
    assert [r.id for r in rig.rows()] == [row.id]


@pytest.mark.spec("LINK-6", "WRITE-4")
def test_link_6_an_other_write_merges_an_ended_guess_and_stays_ended(rig) -> None:
    b = rig.row("shop", "hook", "ended_guessed", "h1", activity="ended")
    mail = rig.mail(None, b)
    identity, row = rig.accepted("other", "Alice", "h1")
    assert identity.linked.outcome == "merge_ended" and not identity.verified
    assert (row.link_state, row.activity, row.hook_id, row.name) == ("ended_exact", "ended", "h1", None)
    assert rig.get(b) is None and rig.mail_now(mail).recipient_id == row.id


@pytest.mark.spec("LINK-7", "MOVE-2", "SEND-5")
def test_link_7_a_folder_guess_is_lost_and_mail_stays(rig) -> None:
    b = rig.row("Bob", "agent", "guessed", "h1", activity="working", process_pid=9, cwd="/shop")
    mail = rig.mail(None, b)
    identity, row = rig.accepted("send", "Alice", witnessed="h1")
    assert spec(identity) == ("LINK-7", "SEND-5")
    assert (row.title, row.link_state, row.activity, row.process_pid) == ("Alice", "exact", "working", 9)
    left = rig.need(b)
    assert (left.link_state, left.hook_id, left.activity, left.process_pid) == ("none", None, "unknown", 0)
    assert rig.mail_now(mail).recipient_id == b.id and identity.rows == set()


@pytest.mark.spec("LINK-8", "MOVE-3", "MOVE-11", "MOVE-12", "DLV-8", "DLV-14", "CMT-5")
def test_link_8_an_ended_exact_hook_row_is_deleted_and_its_mail_is_nobodys(rig) -> None:
    b = rig.row("shop", "hook", "ended_exact", "h1", activity="ended")
    a = rig.row("Alice")
    open_, read = rig.mail(a, b), rig.mail(a, b, "read")
    own = rig.mail(b, a, over="h1")
    comment = rig.task_with_comment(b)
    identity, row = rig.accepted("other", "Alice", "h1")
    assert identity.linked.spec_id == "LINK-8" and not identity.verified
    assert (row.id, row.link_state, row.activity) == (a.id, "ended_exact", "ended")
    assert rig.get(b) is None
    gone = rig.mail_now(open_)
    assert (gone.state, gone.recipient_id, gone.recipient_title, gone.reason_code) == (
        "orphaned",
        None,
        "shop",
        "row_gone",
    )
    assert (rig.mail_now(read).state, rig.mail_now(read).recipient_id) == ("read", None)
    assert rig.mail_now(own).read_how == "own_message" and rig.mail_now(own).sender_title == "shop"
    assert rig.comment_now(comment).bound_id is None and rig.comment_now(comment).state == "sent"


@pytest.mark.spec("LINK-9", "MOVE-2", "RECV-8")
def test_link_9_an_ended_exact_link_of_another_row_is_moved(rig) -> None:
    b = rig.row("Bob", "agent", "ended_exact", "h1", activity="ended")
    mail = rig.mail(None, b, "delivered")
    identity, row = rig.accepted("other", "Alice", "h1")
    assert identity.linked.spec_id == "LINK-9"
    assert (row.link_state, row.hook_id, row.activity) == ("ended_exact", "h1", "ended")
    left = rig.need(b)
    assert (left.link_state, left.hook_id, left.moved_to, left.linked_itself) == ("moved", None, row.id, True)
    assert rig.mail_now(mail).recipient_id == b.id and rig.mail_now(mail).state == "delivered"
    # It goes on to a third row: the first one follows it. Coming home, it is the same conversation as before.
    _, third = rig.accepted("other", "Carol", "h1")
    assert rig.need(b).moved_to == third.id and rig.need(row).moved_to == third.id
    _, home = rig.accepted("other", "Bob", "h1")
    assert (home.id, home.link_state, home.moved_to) == (b.id, "ended_exact", None)
    assert rig.mail_now(mail).state == "delivered"


@pytest.mark.spec("LINK-10", "MOVE-5", "HL-7", "SEND-2")
def test_link_10_a_restarted_terminal_gets_its_row_back(rig) -> None:
    a = rig.row("Alice", "agent", "exact", "h0", activity="working", name="old-name")
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle", process_pid=5)
    waiting, given = rig.mail(None, a), rig.mail(None, a, "delivered")
    comment = rig.task_with_comment(a)
    refusal = rig.refused("send", "Alice", witnessed="h1")
    assert refusal.spec_id == "SEND-2" and "any other write" in word_refusal(refusal).text
    identity, row = rig.accepted("other", "Alice", witnessed="h1")
    assert identity.linked.spec_id == "LINK-10" and identity.verified
    assert (row.id, row.hook_id, row.link_state, row.activity, row.name) == (a.id, "h1", "exact", "idle", "old-name")
    assert rig.get(b) is None and len(rig.events("session.link_moved")) == 1
    assert [rig.mail_now(m).state for m in (waiting, given)] == ["sent", "sent"]
    assert rig.comment_now(comment).state == "sent" and rig.comment_now(comment).bound_id == a.id
    assert rig.store.read(lambda tx: tx.rows("SELECT hook_id, fate FROM hook_fate")) == [("h0", "taken_off")]
    assert rig.accepted("send", "Alice", witnessed="h1")[0].verified


@pytest.mark.spec("LINK-10")
def test_link_10_takes_a_folder_guess_and_leaves_its_row(rig) -> None:
    rig.row("desk", "hook", "guessed", "h0")
    b = rig.row("Bob", "agent", "guessed", "h1", activity="idle")
    identity, row = rig.accepted("other", "desk", "h1")
    assert identity.linked.outcome == "move_and_take_guess"
    assert (row.hook_id, row.link_state) == ("h1", "exact") and rig.need(b).link_state == "none"
    assert len(rig.events("session.link_moved")) == 1


@pytest.mark.spec("LINK-11", "SEND-2")
@pytest.mark.parametrize(("kind", "link"), [("agent", "exact"), ("hook", "guessed")])
def test_link_11_an_occupied_row_is_spoken_for_by_its_own_id_only(rig, kind: str, link: str) -> None:
    rig.row("Alice", kind, link, "h0")
    rig.row("shop", "hook", "guessed", "h1")
    rig.row("over", "hook", "ended_exact", "h2")
    for hook in ("h1", "h2", "unheard-of", ""):
        refusal = rig.refused("send", "Alice", hook)
        assert (refusal.spec_id, word_refusal(refusal).code) == ("SEND-2", "sender_not_proven")


@pytest.mark.spec("LINK-12")
def test_link_12_binding_links_nothing_and_makes_no_row(rig) -> None:
    rig.row("Bob", "agent", "guessed", "h1")
    hook = rig.row("shop", "hook", "guessed", "h2")
    exact = rig.row("Carol", "agent", "exact", "h3")
    before = [r for r in rig.dump() if r[0] in ("hook_fate", "event", "alias")]
    for hook_id, speaker, verified in (
        ("h1", None, False),
        ("h2", hook, False),
        ("h3", exact, True),
        ("no", None, False),
    ):
        identity, row = rig.accepted("bind", "Nobody", witnessed=hook_id)
        assert spec(identity) == ("LINK-12", "LINK-12") and identity.verified is verified
        assert (row.id if row else None) == (speaker.id if speaker else None)
    assert [r.link_state for r in rig.rows()] == ["exact", "guessed", "guessed"]
    assert [r for r in rig.dump() if r[0] in ("hook_fate", "event", "alias")] == before


@pytest.mark.spec("LINK-13", "DLV-5", "DLV-6")
def test_link_13_a_mark_moves_no_link(rig) -> None:
    rig.row("shop", "hook", "guessed", "h1")
    never, linked = rig.row("Alice"), rig.row("Bob", "agent", "ended_exact", "h2")
    identity, row = rig.accepted("mark", "Alice", witnessed="h1")
    assert identity.linked.spec_id == "LINK-13" and row.id == never.id
    assert (identity.proven, identity.linked_itself) == (False, False)
    identity, row = rig.accepted("mark", "Bob", "unheard-of")
    assert (row.id, identity.proven, identity.linked_itself) == (linked.id, False, True)
    assert row.last_seen_us == 0
    assert sorted(r.link_state for r in rig.rows()) == ["ended_exact", "guessed", "none"]


@pytest.mark.spec("LINK-14", "MOVE-8", "SEND-5", "WRITE-4")
@pytest.mark.parametrize("call", ["send", "other"])
def test_link_14_an_unnamed_row_takes_the_name(rig, call: str) -> None:
    b = rig.row("shop", "hook", "exact", "h1", activity="working")
    mail = rig.mail(None, b, "delivered")
    identity, row = rig.accepted(call, "short", title="Alice of the shop", witnessed="h1")
    assert identity.linked.spec_id == "LINK-14" and identity.verified and identity.proven_before
    assert (row.id, row.title, row.unnamed, row.activity) == (b.id, "Alice of the shop", False, "working")
    assert {rig.titled(name).id for name in ("shop", "short", "ALICE of the shop")} == {b.id}
    assert rig.mail_now(mail).state == "delivered" and len(rig.rows()) == 1
    # Named now, the row is taken for any further name.
    assert rig.refused("send", "Zoe", witnessed="h1").spec_id == "SEND-3"


@pytest.mark.spec("LINK-15", "SEND-6", "MOVE-2")
def test_link_15_without_a_name_a_folder_guess_becomes_a_row_of_its_own(rig) -> None:
    b = rig.row("shop", "agent", "guessed", "h1", activity="working", cwd="/srv/shop", process_pid=3)
    mail = rig.mail(None, b)
    identity, row = rig.accepted("send", witnessed="h1")
    assert spec(identity) == ("LINK-15", "SEND-6") and identity.verified and identity.makes_row
    assert (row.title, row.kind, row.link_state, row.hook_id) == ("shop 2", "hook", "exact", "h1")
    assert (row.activity, row.cwd, row.process_pid, row.unnamed) == ("working", "/srv/shop", 3, True)
    assert row.name
    left = rig.need(b)
    assert (left.link_state, left.activity, left.process_pid) == ("none", "unknown", 0)
    assert rig.mail_now(mail).recipient_id == b.id


@pytest.mark.spec("LINK-16", "SEND-7", "ACK-1", "WRITE-2")
@pytest.mark.parametrize(("call", "spec_id"), [("send", "SEND-7"), ("mark", "ACK-1"), ("other", "WRITE-2")])
def test_link_16_a_dead_id_is_no_name(rig, call: str, spec_id: str) -> None:
    rig.row("over", "hook", "ended_exact", "h1")
    rig.row("later", "hook", "guessed_unseen", "h2")
    for hook in ("h1", "h2", "unheard-of"):
        refusal = rig.refused(call, "", hook)
        assert (refusal.spec_id, word_refusal(refusal).code) == (spec_id, "sender_required")


@pytest.mark.spec("LINK-17", "SEND-20", "ACK-4", "WRITE-1", "SEND-2")
def test_link_17_a_name_of_several_is_refused_unless_one_holds_the_id(rig) -> None:
    rig.row("twin")
    second = rig.row("twin", "desktop", "ended_exact", "h1", desktop_id="D-7")
    for call, spec_id in (("send", "SEND-20"), ("mark", "ACK-4"), ("other", "WRITE-1")):
        refusal = rig.refused(call, "twin", "unheard-of")
        answer = word_refusal(refusal)
        assert (refusal.spec_id, answer.code) == (spec_id, "sender_ambiguous")
        assert "S-1" in answer.text and "D-7" in answer.text and "h1" not in answer.text
    assert rig.accepted("mark", "twin", "h1")[1].id == second.id
    rig.row("twin", "agent", "exact", "h2")
    assert rig.refused("send", "twin", "unheard-of").spec_id == "SEND-2"
    assert rig.refused("send", "twin").spec_id == "SEND-2"
    assert rig.refused("mark", "twin", "unheard-of").spec_id == "ACK-4"


@pytest.mark.spec("LINK-18", "SEND-4")
@pytest.mark.parametrize("link", ["ended_exact", "ended_guessed", "moved"])
def test_link_18_an_ended_or_moved_row_keeps_its_link_against_an_unknown_id(rig, link: str) -> None:
    a = rig.row("Alice", "hook", link, "h0")
    rig.row("later", "hook", "guessed_unseen", "h2")
    for hook in ("unheard-of", "h2"):
        identity, row = rig.accepted("send", "Alice", hook)
        assert spec(identity) == ("LINK-18", "SEND-4") and identity.warnings == ()
        identity, row = rig.accepted("other", "Alice", hook)
        assert (row.id, row.link_state, identity.verified) == (a.id, link, False)
        assert identity.warnings[0][0] == "link.hook_session_unknown"


@pytest.mark.spec("LINK-19", "SEND-4", "ROW-3")
def test_link_19_a_send_deletes_no_row_whose_link_ended(rig) -> None:
    b = rig.row("shop", "hook", "ended_exact", "h1")
    identity, row = rig.accepted("send", "Alice", "h1")
    assert spec(identity) == ("LINK-19", "SEND-4")
    assert (row.title, row.link_state) == ("Alice", "none") and rig.need(b).hook_id == "h1"


@pytest.mark.spec("LINK-20", "MOVE-5", "HL-7")
def test_link_20_the_owners_unlink_leaves_a_row_that_never_linked(rig) -> None:
    row = rig.row("Alice", "agent", "exact", "h1", activity="working", name="calm-proud-otter")
    mail = rig.mail(None, row, "delivered")
    rig.store.write(lambda tx: links.take(tx, rig.relay, row, "unlink"))
    after = rig.need(row)
    assert (after.link_state, after.hook_id, after.activity, after.name) == ("none", None, "unknown", None)
    assert rig.mail_now(mail).state == "sent"
    assert rig.store.read(lambda tx: tx.rows("SELECT hook_id, fate FROM hook_fate")) == [("h1", "taken_off")]


@pytest.mark.spec("LINK-21", "WRITE-4")
def test_link_21_an_occupied_row_keeps_its_link_against_a_dead_id(rig) -> None:
    rig.row("over", "hook", "ended_exact", "h1")
    a = rig.row("Alice", "agent", "exact", "h0")
    for hook in ("h1", "unheard-of"):
        identity, row = rig.accepted("other", "Alice", hook)
        assert identity.linked.spec_id == "LINK-21" and not identity.verified
        assert (row.id, row.hook_id, identity.warnings[0][0]) == (a.id, "h0", "link.hook_session_unknown")
        assert row.last_seen_us == 0


# -- names, proof, marks and reads beside LINK -------------------------------------------------------------------


@pytest.mark.spec("PROOF-3")
def test_a_claim_beside_another_witness_is_refused_and_uses_the_tool_use_id_up(rig) -> None:
    rig.row("Alice", "hook", "exact", "h1")
    tool_use_id = rig.witness("h1")
    refusal = rig.refused("send", "", "h2", tool_use_id=tool_use_id)
    assert (refusal.spec_id, word_refusal(refusal).code) == ("PROOF-3", "hook_session_mismatch")
    assert rig.refused("send", tool_use_id=tool_use_id, digest="other").spec_id == "SEND-1"


@pytest.mark.spec("PROOF-2", "PROOF-6", "PROOF-4")
def test_a_tool_use_id_is_good_once_and_its_repeat_gets_the_first_answer(rig) -> None:
    rig.row("Alice", "hook", "exact", "h1")
    tool_use_id = rig.witness("h1")
    first, _ = rig.accepted("send", tool_use_id=tool_use_id)
    assert (first.proof.spec_id, first.repeat, first.witnessed) == ("PROOF-2", False, True)
    again, _ = rig.accepted("send", tool_use_id=tool_use_id)
    assert (again.proof.spec_id, again.repeat, bool(again.first_answer)) == ("PROOF-6", True, True)
    assert rig.refused("send", tool_use_id=tool_use_id, digest="other").spec_id == "SEND-1"
    assert rig.refused("send", tool_use_id="toolu_unheard").spec_id == "SEND-1"


@pytest.mark.spec("PROOF-4")
def test_a_tool_use_id_is_too_old_after_an_hour(rig) -> None:
    rig.row("Alice", "hook", "exact", "h1")
    late, in_time = rig.witness("h1"), rig.witness("h1")
    rig.now += 3_599 * linking_rig.SECOND
    assert rig.accepted("send", tool_use_id=in_time)[0].witnessed
    assert rig.refused("send", tool_use_id=late).spec_id == "SEND-1"


@pytest.mark.spec("PROOF-6")
def test_a_repeat_gets_its_answer_though_the_call_would_be_refused_now(rig) -> None:
    row = rig.row("Alice", "agent", "guessed", "h1")
    tool_use_id = rig.witness("h1")
    rig.accepted("send", "Alice", tool_use_id=tool_use_id)
    rig.store.write(lambda tx: links.take(tx, rig.relay, rig.need(row), "unlink"))
    rig.row("alice", "agent", "exact", "h9")
    again, _ = rig.accepted("send", "Alice", tool_use_id=tool_use_id)
    assert again.first_answer and again.said.refused


@pytest.mark.spec("ROW-3", "ROW-4")
def test_names_that_can_be_nobodys_are_refused(rig) -> None:
    rig.row("shop", "hook", "guessed", "0f7c-known-id")
    for session in ("x" * 201, "S-99", "@nobody-here", "0F7C-known-id"):
        refusal = rig.refused("send", session)
        answer = word_refusal(refusal)
        assert answer.code == "name_invalid" and "0f7c" not in answer.text.lower()
    assert rig.refused("other", "Alice", title="S-99").answer == "name.ref"
    assert rig.accepted("other", "x" * 200)[1].title == "x" * 200
    assert rig.accepted("other", "S-1")[1].title == "shop"


@pytest.mark.spec("ROW-3")
def test_session_title_stands_in_for_session_and_titles_a_row_that_neither_knows(rig) -> None:
    _, row = rig.accepted("other", "  \u200b", title=" Alice\n Liddell ")
    assert row.title == "Alice Liddell"
    _, row = rig.accepted("other", "al", title="Big Al")
    assert row.title == "Big Al" and rig.titled("AL").id == row.id
    _, row = rig.accepted("other", "carol", title="Big Al")
    assert row.title == "carol"
    _, row = rig.accepted("other", "al", title="Small Al")
    assert row.title == "Big Al" and rig.titled("Small Al") is None


@pytest.mark.spec("ACK-1", "ACK-2", "CMT-14")
def test_marks_name_rows_that_exist(rig) -> None:
    rig.row("Alice")
    refusal = rig.refused("mark", "Alcie")
    assert (refusal.spec_id, word_refusal(refusal).code) == ("ACK-2", "session_unknown")
    assert '"Alice"' in word_refusal(refusal).text
    assert rig.refused("mark").spec_id == "ACK-1"
    identity, row = rig.accepted("mark", tool="comment_ack")
    assert (identity.said.spec_id, identity.nobody, row) == ("CMT-14", True, None)


@pytest.mark.spec("ACK-2", "ACK-4", "CH-3", "CH-9")
def test_reads_link_nothing_and_say_how_far_they_are_proven(rig) -> None:
    before = rig.row("Alice", "agent", "guessed", "h1"), rig.row("Bob", "agent", "exact", "h2")
    assert rig.read("Alice", witnessed="h1").verified is False
    assert rig.read(witnessed="h2").verified is True
    assert rig.read("Alice", "h2").speaker.id == before[0].id and not rig.read("Alice", "h2").verified
    assert rig.read("Zoe").spec_id == "ACK-2"
    assert rig.read().answer == "read.session_required"
    assert rig.read(witnessed="h1").answer == "read.session_guessed"
    assert rig.read("Zoe", tool="comments_list").nobody and rig.read(tool="task_get").nobody
    assert [rig.need(row).link_state for row in before] == ["guessed", "exact"]


@pytest.mark.spec("SEND-8")
def test_a_send_knows_the_names_that_will_be_its_own(rig) -> None:
    identity, _ = rig.accepted("send", "al", title="Big Al")
    assert identity.answers_to("BIG al") and identity.answers_to("al") and not identity.answers_to("")


@pytest.mark.spec("LINK-6", "CMT-8")
def test_what_lists_gave_the_merged_row_still_counts_and_what_another_conversation_was_given_does_not(rig) -> None:
    a, b = rig.row("Alice", "agent", "ended_exact", "h0"), rig.row("shop", "hook", "guessed", "h1")
    of_a, of_b = rig.task_with_comment(a, "sent"), rig.task_with_comment(b, "sent")
    rig.store.write(lambda tx: (comments.give(tx, a.id, [of_a.id]), comments.give(tx, b.id, [of_b.id])))
    _, row = rig.accepted("other", "Alice", "h1")
    given = [
        rig.store.read(lambda tx, c=c: comments.given_since(tx, c.id, row.id, row.hook_since_us)) for c in (of_a, of_b)
    ]
    assert given == [False, True]


@pytest.mark.spec("LINK-10", "WAIT-4")
def test_presence_that_is_ahead_of_the_store_is_not_lost_in_a_merge(rig) -> None:
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle")
    live = rig.relay.presence.by_hook("h1")
    rig.relay.presence.change(live, activity="working", last_event_us=rig.now + 1, turn_state="two")
    _, row = rig.accepted("send", "Alice", witnessed="h1")
    assert (row.activity, row.turn_state) == ("working", "two")
    assert rig.relay.presence.by_hook("h1").row.id == row.id and rig.relay.presence.by_row(b.id) is None


@pytest.mark.spec("LINK-6", "LINK-10", "WAIT-4")
def test_a_wait_ends_when_its_rows_link_moves_or_goes(rig) -> None:
    a = rig.row("Alice", "agent", "exact", "h0")
    b = rig.row("shop", "hook", "exact", "h1")
    entries = [WaitEntry(f"w{row.id}", row.id, row.hook_id, rig.now) for row in (a, b)]
    for entry in entries:
        rig.relay.waits.open(entry, link_exact_live=True)
        assert entry.state == "waiting"
    rig.refused("send", "Alice", witnessed="h1")
    assert [entry.state for entry in entries] == ["waiting", "waiting"]
    assert rig.accepted("other", "Alice", witnessed="h1")[0].linked.spec_id == "LINK-10"
    assert [entry.state for entry in entries] == ["ended", "ended"]


@pytest.mark.spec("LINK-9", "LINK-10", "RECV-8")
def test_a_moved_row_names_no_holder_once_its_id_was_taken_off(rig) -> None:
    bob = rig.row("Bob", "agent", "ended_exact", "h1")
    _, alice = rig.accepted("other", "Alice", "h1")
    assert rig.need(bob).moved_to == alice.id
    rig.row("shop", "hook", "guessed", "h2")
    _, alice = rig.accepted("other", "Alice", witnessed="h2")
    assert (alice.hook_id, rig.need(bob).moved_to) == ("h2", None)


@pytest.mark.spec("PROOF-1", "PROOF-5")
def test_a_claim_is_read_without_its_blanks_and_a_blank_one_is_none(rig) -> None:
    row = rig.row("Alice", "agent", "exact", "h1")
    identity, spoke = rig.accepted("send", "", " h1\n")
    assert (identity.proof.spec_id, identity.hook_id, spoke.id) == ("PROOF-1", "h1", row.id)
    assert rig.accepted("other", "", "  ")[0].proof.spec_id == "PROOF-5"


@pytest.mark.spec("ROW-3", "SEND-4")
def test_rows_get_different_generated_names_and_a_taken_one_is_passed_over(rig) -> None:
    rig.row("first", "hook", "guessed", "h1")
    second = rig.row("second", "hook", "guessed", "h2")
    _, one = rig.accepted("mark", witnessed="h1")
    rig.store.write(lambda tx: tx.run("UPDATE session SET name = ? WHERE id = ?", generated(second.id, 0), one.id))
    _, two = rig.accepted("mark", witnessed="h2")
    assert two.name == generated(second.id, 1) != generated(second.id, 0)
    assert rig.store.read(lambda tx: sessions.by_name(tx, f"@{two.name}"))[0].id == two.id


@given(st.integers(1, 10**9), st.integers(0, 31))
def test_a_generated_name_keeps_to_the_grammar(row_id: int, attempt: int) -> None:
    name = generated(row_id, attempt)
    first, second, _noun = name.split("-")
    assert names.shape(f"@{name}") == "handle" and first != second and generated(row_id, attempt) == name


@pytest.mark.spec("PROOF-6", "SEND-16")
def test_a_refused_call_repeated_is_refused_again_though_it_would_be_accepted_now(rig) -> None:
    taken = rig.row("Alice", "agent", "exact", "h9")
    tool_use_id = rig.witness("h1")
    first = rig.refused("send", "Alice", tool_use_id=tool_use_id)
    assert first.spec_id == "SEND-2"
    rig.store.write(lambda tx: links.take(tx, rig.relay, rig.need(taken), "unlink"))
    again = rig.refused("send", "Alice", tool_use_id=tool_use_id)
    assert again == first
    assert rig.accepted("send", "Alice", witnessed="h1")[0].said.spec_id == "SEND-4"
