"""Table SEND's first part on a real store: who speaks in a send, by name, by proof, by both."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.store import sessions as rows
from tests.unit.mail_rig import MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


@pytest.mark.spec("SEND-1", "PROOF-5")
@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\u200b"])
def test_a_call_without_name_and_proof_is_refused(rig, blank) -> None:
    caller = Caller(blank, blank, blank.replace("\u200b", ""))
    assert rig.no_send(caller) == ("sender_required", "SEND-1")


def names_of(rig: MailRig) -> list[str]:
    """A live desktop session, and each name it goes by."""
    row = rig.row("The shop", "desktop", "exact", "hook-shop", desktop_id="Desk-7", activity="idle", name="calm-otter")
    rig.store.write(lambda tx: rows.add_alias(tx, row.id, "storefront", "storefront", "owner"))
    return ["The shop", "THE  SHOP ", "storefront", "Desk-7", "desk-7", "@calm-otter", row.ref, row.ref.lower()]


@pytest.mark.spec("SEND-2", "LINK-11")
def test_an_occupied_name_needs_its_own_hook_id_whatever_kind_of_name_it_is(rig) -> None:
    for name in names_of(rig):
        for hook in ("", "hook-of-nobody"):
            assert rig.no_send(rig.claim(name, hook)) == ("sender_not_proven", "SEND-2"), name
        assert rig.send(rig.claim(name, "hook-shop"))["sender_verified"], name
    rig.row("mine", "hook", "guessed", "hook-mine")
    assert rig.no_send(rig.claim("storefront", "hook-mine")) == ("sender_not_proven", "SEND-2")
    assert rig.titled("mine") is not None, "the caller's own row is not merged by a refused send"
    assert "make any other write once" in rig.why(rig.claim("storefront", "hook-mine"))


@pytest.mark.spec("SEND-2")
def test_a_row_whose_own_events_made_its_guess_is_occupied_too(rig) -> None:
    rig.row("guess", "hook", "guessed", "hook-guess")
    assert rig.no_send(rig.claim("guess")) == ("sender_not_proven", "SEND-2")
    rig.row("folder", "agent", "guessed", "hook-folder")
    assert not rig.send(rig.claim("folder"))["sender_verified"], "a folder guess occupies nothing"


@pytest.mark.spec("SEND-3", "LINK-5")
def test_a_taken_hook_id_is_never_taken_and_makes_no_row(rig) -> None:
    rig.live("alice")
    rig.row("plain")
    for name in ("brand new", "plain", "bob"):
        assert rig.no_send(rig.claim(name, "hook-alice")) == ("hook_session_taken", "SEND-3")
        assert rig.no_send(rig.vouched("hook-alice", name)) == ("hook_session_taken", "SEND-3")
    assert rig.titled("brand new") is None
    assert "Leave session out" in rig.why(rig.claim("brand new", "hook-alice"))


@pytest.mark.spec("SEND-4", "ROW-3", "INV-8")
@pytest.mark.parametrize(
    ("link", "kind"),
    [
        ("none", "agent"),
        ("guessed", "agent"),
        ("ended_exact", "agent"),
        ("ended_exact", "hook"),
        ("ended_guessed", "hook"),
        ("moved", "agent"),
        ("exact_unseen", "agent"),
        ("guessed_unseen", "agent"),
    ],
)
def test_a_name_that_nothing_proves_is_taken_and_marked(rig, link, kind) -> None:
    rig.row("someone", kind, link, "hook-someone")
    # An ended or unseen link of its own proves nothing either, and an id that no hook reported proves nobody.
    proofs = ["", "hook-of-nobody"] + (["hook-someone"] if link.startswith("ended") or "unseen" in link else [])
    for hook in proofs:
        receipt = rig.send(rig.claim("someone", hook))
        assert receipt["sender_verified"] is False and "name not verified" in receipt["text"]
        mail = rig.stored(receipt["message_id"])
        assert (mail.sender_title, mail.sender_verified, mail.sender_hook_id) == ("someone", 0, "")


@pytest.mark.spec("SEND-4", "ROW-3")
def test_a_new_name_gets_its_row_by_the_send(rig) -> None:
    receipt = rig.send(rig.claim("newcomer"))
    row = rig.titled("newcomer")
    assert (row.kind, row.link_state, row.title_given) == ("agent", "none", 1)
    assert rig.stored(receipt["message_id"]).sender_id == row.id
    both = rig.send(rig.claim("its alias", title="Its title"))
    assert rig.stored(both["message_id"]).sender_title == "Its title" and rig.titled("its alias").title == "Its title"
    assert rig.send(rig.claim(title="Only title"))["message_id"] and rig.titled("only title") is not None


@pytest.mark.spec("SEND-5")
def test_a_name_with_its_own_live_hook_id_is_verified(rig) -> None:
    rig.live("alice")
    for caller in (rig.claim("alice", "hook-alice"), rig.vouched("hook-alice", "ALICE")):
        receipt = rig.send(caller)
        assert receipt["sender_verified"] is True and "not verified" not in receipt["text"]
        assert rig.stored(receipt["message_id"]).sender_hook_id == "hook-alice"


@pytest.mark.spec("SEND-5", "LINK-6", "LINK-7")
def test_a_name_that_takes_over_a_guess_is_verified_by_it(rig) -> None:
    rig.row("folder", "hook", "guessed", "hook-1", activity="working")
    receipt = rig.send(rig.claim("new name", "hook-1"))
    assert receipt["sender_verified"] and rig.titled("folder") is None
    assert rig.titled("new name").link_state == "exact"
    rig.row("desk", "desktop", "guessed", "hook-2")
    assert rig.send(rig.claim("third", "hook-2"))["sender_verified"]
    assert rig.titled("desk").link_state == "none"


@pytest.mark.spec("SEND-6", "LINK-2", "LINK-3", "LINK-15", "PROOF-1", "PROOF-2")
def test_only_a_live_hook_id_speaks_for_its_row(rig) -> None:
    rig.live("alice")
    rig.row("guess", "hook", "guessed", "hook-guess")
    rig.row("desk", "desktop", "guessed", "hook-desk", cwd="/srv/shop")
    for hook, sender in (("hook-alice", "alice"), ("hook-guess", "guess"), ("hook-desk", "shop")):
        receipt = rig.send(rig.claim(hook=hook))
        assert receipt["sender_verified"] and rig.stored(receipt["message_id"]).sender_title == sender
        assert rig.send(rig.vouched(hook))["sender_verified"]


@pytest.mark.spec("SEND-7", "LINK-16", "INV-8")
@pytest.mark.parametrize("link", ["", "exact_unseen", "guessed_unseen", "ended_exact", "ended_guessed"])
def test_only_a_dead_hook_id_is_no_name(rig, link) -> None:
    if link:
        rig.row("someone", "hook", link, "hook-1")
    assert rig.no_send(rig.claim(hook="hook-1")) == ("sender_required", "SEND-7")
    assert rig.no_send(rig.vouched("hook-1")) == ("sender_required", "SEND-7")


@pytest.mark.spec("SEND-20", "LINK-17")
def test_a_name_of_several_rows_is_listed_without_hook_ids(rig) -> None:
    one, two = rig.row("twin", "agent"), rig.row("twin", "desktop", "ended_exact", "hook-twin", desktop_id="D-2")
    assert rig.no_send(rig.claim("twin")) == ("sender_ambiguous", "SEND-20")
    text = rig.why(rig.claim("twin"))
    assert one.ref in text and two.ref in text and '"D-2"' in text
    assert rig.send(rig.claim(one.ref))["message_id"]
    rig.row("twin", "hook", "exact", "hook-live", activity="idle", link_named=1)
    assert rig.no_send(rig.claim("twin")) == ("sender_not_proven", "SEND-2"), "one of them is occupied now"
    assert rig.send(rig.claim("twin", "hook-live"))["sender_verified"]
