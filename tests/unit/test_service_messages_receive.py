"""Table RECV on a real store: whom `to` means, what is offered for a typo, and what the receipt says of the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.service import sessions, steps
from relaybay.specs import limit
from relaybay.store import messages
from relaybay.store import sessions as rows
from tests.unit.mail_rig import SECOND, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def alice(rig):
    return rig.live("alice")


@pytest.mark.spec("RECV-1", "ROW-4")
def test_a_name_that_nobody_has_makes_no_row_and_offers_near_ones(rig, alice) -> None:
    for title in ("webshop backend", "web shop", "docs"):
        rig.row(title)
    rig.live("far away")
    for to in ("webshop backnd", "nobody at all", "S-999", "@no-such-name"):
        assert rig.no_send(rig.by(alice), to=to) == ("recipient_unknown", "RECV-1")
        assert rig.titled(to) is None
    text = rig.why(rig.by(alice), to="webshop backnd")
    assert text.index('"webshop backend"') < text.index('"bob"'), (
        "the nearest first, then live ones though none is near"
    )
    assert '"docs"' not in text and '"alice"' not in text, "what is neither near nor live, and the sender itself"
    assert '"far away"' in rig.why(rig.by(alice), to="zzz")


@pytest.mark.spec("RECV-1", "75")
def test_at_most_five_names_are_offered(rig, alice) -> None:
    for number in range(9):
        rig.live(f"shop {number}")
    text = rig.why(rig.by(alice), to="shop")
    assert text.count('"shop ') == limit("near_names_max") == 5


@pytest.mark.spec("RECV-1")
def test_with_nobody_there_that_is_said(rig) -> None:
    rig.store.write(lambda tx: sessions.end(tx, rig.relay, "bob"))
    assert "No session is live" in rig.why(rig.claim("x y z"), to="quite another")


@pytest.mark.spec("RECV-2")
def test_a_name_that_fits_several_is_listed(rig, alice) -> None:
    one = rig.row("twin", "desktop", desktop_id="D\u202e-1")
    two = rig.row("twin", "hook", "exact", "hook-twin", activity="working", link_named=1)
    assert rig.no_send(rig.by(alice), to="Twin") == ("recipient_ambiguous", "RECV-2")
    text = rig.why(rig.by(alice), to="Twin")
    assert f'{one.ref} "twin" (desktop id "D\\u202e-1", unknown)' in text and f'{two.ref} "twin" (working)' in text
    assert rig.send(rig.by(alice), to=two.ref)["recipient"]["ref"] == two.ref


@pytest.mark.spec("RECV-11", "MOVE-3", "LINK-8")
def test_a_parent_whose_sender_has_no_row_any_more(rig, alice) -> None:
    lost = rig.mail(None, alice)
    assert rig.no_send(rig.by(alice), in_reply_to=lost.mid) == ("recipient_gone", "RECV-11")
    assert '"gone"' in rig.why(rig.by(alice), in_reply_to=lost.mid), "under the name it had"
    assert rig.no_send(rig.by(alice), to="bob", in_reply_to=lost.mid) == ("recipient_conflict", "SEND-18")


@pytest.mark.spec("RECV-3", "RECV-4", "RECV-5", "RECV-6", "RECV-7", "RECV-8", "75")
def test_the_receipt_says_what_will_bring_it(rig, alice) -> None:
    woken, over = rig.live("woken"), rig.row("over", "hook", "ended_exact", "hook-over")
    rig.waits(woken)
    rig.live("busy", activity="working")
    rig.row("plain")
    rig.row("guessed", "agent", "guessed", "hook-guessed", activity="working")
    rig.row("unseen", "agent", "exact_unseen", "hook-unseen")
    rig.row("moved", "agent", "moved", moved_to=rig.bob.id)
    rig.row("moved on", "agent", "moved", moved_to=over.id + 1000)
    said = {
        "busy": ("working", "next tool call or prompt"),
        "woken": ("being_woken", "being woken now"),
        "bob": ("idle", "its next prompt brings it"),
        "plain": ("never_linked", "one call of message_ack from that session links it"),
        "guessed": ("never_linked", "nothing links"),
        "unseen": ("never_linked", "nothing links"),
        "over": ("ended", "kept for its return"),
        "moved": ("moved", f'{rig.bob.ref} "bob", has the hook session'),
        "moved on": ("moved", "is gone or has left it"),
    }
    for to, (code, words) in said.items():
        rig.now += 10 * SECOND
        receipt = rig.send(rig.by(alice), to=to)
        assert (receipt["state"], receipt["reason_code"]) == ("sent", code), to
        assert words in receipt["text"] and receipt["message_id"] in receipt["text"] and f'"{to}"' in receipt["text"]
        assert ("Not delivered yet" in receipt["text"]) == (code in ("working", "being_woken", "idle"))
        assert receipt["recipient"] == {"title": to, "ref": rig.titled(to).ref}
        assert rig.marks(receipt["message_id"]) == ("sent", "")


@pytest.mark.spec("RECV-3")
def test_activity_that_is_known_in_memory_only_counts(rig, alice) -> None:
    assert rig.send(rig.by(alice))["reason_code"] == "idle"
    live = rig.relay.presence.by_hook("hook-bob")
    rig.relay.presence.change(live, activity="working", last_event_us=rig.now + 1)
    assert rig.send(rig.by(alice))["reason_code"] == "working"


@pytest.mark.spec("RECV-5", "10")
def test_a_recipient_that_was_long_not_seen_is_said_to_be(rig, alice) -> None:
    rig.now += 900 * SECOND
    assert "last seen" not in rig.send(rig.by(alice))["text"]
    rig.now += 3 * 3600 * SECOND
    receipt = rig.send(rig.by(alice))
    assert 'bob" was last seen 3 h ago' in receipt["text"] and receipt["reason_code"] == "idle"


@pytest.mark.spec("RECV-2", "INV-3")
def test_to_is_any_name_or_a_hook_id_and_no_hook_id_comes_back(rig, alice) -> None:
    row = rig.row("The shop", "desktop", "exact", "hook-Shop", desktop_id="Desk-7", name="calm-otter", activity="idle")
    rig.store.write(lambda tx: rows.add_alias(tx, row.id, "storefront", "storefront", "owner"))
    for to in ("the shop", "STOREFRONT", "desk-7", row.ref, "@calm-otter", "@CALM-Otter", "hook-Shop", " hook-Shop "):
        rig.now += 10 * SECOND
        receipt = rig.send(rig.by(alice), to=to)
        assert receipt["recipient"] == {"title": "The shop", "ref": row.ref, "name": "calm-otter"}, to
    assert rig.no_send(rig.by(alice), to="hook-shop") == ("recipient_unknown", "RECV-1"), "an id is compared as it is"
    assert "hook-shop" not in rig.why(rig.by(alice), to="hook-shop").lower()


@pytest.mark.spec("INV-3", "HL-7")
def test_a_hook_id_that_is_nobody_s_any_more_is_not_echoed(rig, alice) -> None:
    rig.store.write(lambda tx: rows.set_fate(tx, "hook-Old-One", "taken_off"))
    for said in ({"to": "hook-Old-One"}, {"to": "hook-old-one"}, {"task": "hook-Old-One"}):
        assert rig.no_send(rig.by(alice), **said)[0] in ("recipient_unknown", "task_unknown")
        assert "hook-old-one" not in rig.why(rig.by(alice), **said).lower()
    # Nor one that the board has never seen, but the call itself passes as its own.
    mine = rig.claim("someone", "hook-unheard-of")
    rig.row("someone", "agent", "moved")
    for said in ({"to": "hook-unheard-of"}, {"task": "hook-unheard-of"}):
        assert "unheard" not in rig.why(mine, **said)


@pytest.mark.spec("RECV-7", "HL-2")
def test_the_handle_of_an_ended_session_is_nobody_s_its_title_still_is(rig, alice) -> None:
    rig.row("over", "hook", "ended_exact", "hook-over", name="calm-otter")
    assert rig.no_send(rig.by(alice), to="@calm-otter") == ("recipient_unknown", "RECV-1")
    assert rig.send(rig.by(alice), to="over")["reason_code"] == "ended"


# -- receipts of a message in each state ---------------------------------------------------------------------------


@pytest.mark.spec("SEND-16", "DLV-1", "DLV-4", "DLV-5", "DLV-8", "DLV-19", "DLV-51", "75")
def test_a_repeat_shows_the_present_state(rig, alice) -> None:
    def again(message: str) -> tuple[str, str | None, str]:
        receipt = rig.send(rig.by(alice), "text", to=message, request_id=message)
        assert receipt["repeat"] is True and "sent before" in receipt["text"]
        return receipt["state"], receipt["reason_code"], receipt["text"]

    ids = {}
    for to in ("bob", "plain", "lost", "unclear"):
        row = rig.bob if to == "bob" else rig.row("plain") if to == "plain" else rig.live(to)
        first = rig.send(rig.by(alice), "text", to=to, request_id=to)
        assert "repeat" not in first
        ids[to] = first["message_id"], row
    assert again("bob")[:2] == ("sent", "idle")
    rig.hand(rig.bob)
    rig.now += 125 * SECOND
    assert again("bob") == ("delivered", None, again("bob")[2]) and "Delivered 2 min ago" in again("bob")[2]
    rig.read_marks(rig.by(rig.bob))
    assert again("bob")[:2] == ("read", None) and "Read 0 s ago." in again("bob")[2]
    rig.read_marks(rig.claim("plain"), ids["plain"][0])
    assert again("plain")[0] == "read" and "(name not verified)" in again("plain")[2]

    rig.store.write(lambda tx: steps.delivery(tx, messages.get(tx, ids["lost"][0]), "recipient_row_gone"))
    assert again("lost")[:2] == ("orphaned", "row_gone") and "row is gone" in again("lost")[2]
    rig.hand(ids["unclear"][1])
    none_left = {"reoffers_left": False}
    rig.store.write(lambda tx: steps.delivery(tx, messages.get(tx, ids["unclear"][0]), "context_missing", none_left))
    assert again("unclear")[:2] == ("delivered", "not_in_context")
