"""What the owner does with rows: list, show, add, rename, end, unlink (pages 10 and 75), on a real store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import HookEvent
from relaybay.service import hooks, sessions
from relaybay.store import sessions as rows
from relaybay.store import tasks as stored_tasks
from tests.unit.mail_rig import SECOND, MailRig


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def add(rig, **said):
    given = {"desktop": "D-1", "title": "Desk"} | said
    return lambda tx: sessions.add_desktop(tx, rig.relay, **given)


def rename(rig, ref: str, title: str):
    return lambda tx: sessions.rename(tx, rig.relay, ref, title)


def end(rig, ref: str):
    return lambda tx: sessions.end(tx, rig.relay, ref)


def unlink(rig, ref: str):
    return lambda tx: sessions.unlink(tx, rig.relay, ref)


def show(rig, ref: str):
    return lambda tx: sessions.show_session(tx, rig.relay, ref)


# -- what is shown -------------------------------------------------------------------------------------------------


@pytest.mark.spec("75", "10", "INV-3", "INV-10")
def test_a_session_as_it_is_shown(rig) -> None:
    row = rig.row(
        "Sh\u202eop", "hook", "exact", "hook-shop", link_named=1, name="calm-otter", activity="working",
        cwd="/srv/shop", client="claude-code", client_version="2.1.332", last_seen_us=rig.now, permission_mode="plan",
    )  # fmt: skip
    task = rig.task(row)
    rig.send(rig.by(rig.bob), to=row.ref)
    given = rig.send(rig.by(rig.bob), to=row.ref)["message_id"]
    rig.store.write(lambda tx: rows.add_alias(tx, row.id, "front\n", "front", "owner"))
    shown = rig.told(show(rig, "@calm-otter"))
    assert shown["unread_messages"] == 2 and shown["tasks"] == [task] and shown["aliases"] == ["front\\n"]
    expected = {
        "ref": row.ref, "title": "Sh\\u202eop", "kind": "hook", "client": "claude-code", "client_version": "2.1.332",
        "activity": "working", "link": "exact", "live": True, "unseen": False, "reach": "working", "name": "calm-otter",
        "cwd": "/srv/shop", "permission_mode": "plan",
    }  # fmt: skip
    assert expected.items() <= shown.items()
    rig.read_marks(rig.by(row), given)
    assert rig.told(show(rig, row.ref))["unread_messages"] == 1
    assert rig.told(show(rig, "hook-shop"))["ref"] == row.ref, "a hook id is accepted and not shown"


@pytest.mark.spec("10")
@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("none", ("none", False, False)),
        ("guessed", ("guessed", True, False)),
        ("exact", ("exact", True, False)),
        ("exact_unseen", ("exact", False, True)),
        ("guessed_unseen", ("guessed", False, True)),
        ("ended_exact", ("ended", False, False)),
        ("ended_guessed", ("ended", False, False)),
        ("moved", ("moved", False, False)),
    ],
)
def test_a_link_is_shown_in_the_words_of_the_page(rig, link, shown) -> None:
    row = rig.row("x", "hook", link, **({"moved_to": rig.bob.id} if link == "moved" else {}))
    found = rig.told(show(rig, row.ref))
    assert (found["link"], found["live"], found["unseen"]) == shown
    assert found.get("moved_to") == (rig.bob.ref if link == "moved" else None)
    assert found["reach"] == {"ended_exact": "ended", "exact": "idle", "moved": "moved"}.get(link, "never_linked")


@pytest.mark.spec("75", "80")
def test_all_sessions_newest_first_or_the_live_ones(rig) -> None:
    over, guess = rig.row("over", "hook", "ended_exact"), rig.row("guess", "hook", "guessed")
    every = rig.store.read(lambda tx: sessions.list_sessions(tx, rig.relay)).data["sessions"]
    assert [s["ref"] for s in every] == [guess.ref, over.ref, rig.bob.ref]
    live = rig.store.read(lambda tx: sessions.list_sessions(tx, rig.relay, live=True)).data["sessions"]
    assert [s["ref"] for s in live] == [guess.ref, rig.bob.ref]
    rig.hushed(json.dumps(every))
    memory = rig.relay.presence.by_hook("hook-bob")
    rig.relay.presence.change(memory, activity="working", last_event_us=rig.now + 1)
    assert rig.store.read(show(rig, "bob")).data["activity"] == "working", "what is kept in memory counts"


@pytest.mark.spec("RECV-1", "RECV-2", "INV-3")
@pytest.mark.parametrize("act", [show, end, unlink, lambda rig, ref: rename(rig, ref, "New")])
def test_a_session_that_is_not_there_or_not_one(rig, act) -> None:
    rig.row("twin")
    rig.row("twin")
    rig.store.write(lambda tx: rows.set_fate(tx, "hook-gone", "taken_off"))
    assert rig.no(act(rig, "nobody")) == ("recipient_unknown", "RECV-1")
    assert rig.no(act(rig, "hook-gone")) == ("recipient_unknown", "RECV-1")
    assert rig.no(act(rig, "twin")) == ("recipient_ambiguous", "RECV-2")


# -- a desktop app's session ---------------------------------------------------------------------------------------


@pytest.mark.spec("ROW-6")
def test_the_owner_adds_a_desktop_session(rig, tmp_path) -> None:
    rig.store.write(lambda tx: stored_tasks.set_project(tx, stored_tasks.project(tx, "shop"), "Shop", str(tmp_path)))
    made = rig.told(
        add(rig, desktop=" D-1 ", title="My  desk\n", alias="table", cwd=str(tmp_path / "a" / ".." / "web"))
    )
    row = rig.titled("my desk")
    assert (row.kind, row.link_state, row.desktop_id, row.cwd) == ("desktop", "none", "D-1", str(tmp_path / "web"))
    assert (made["ref"], made["desktop_id"], made["aliases"], made["reach"]) == (
        row.ref,
        "D-1",
        ["table"],
        "never_linked",
    )
    assert row.project_id is not None and row.title_given == 1
    assert rig.last_event("session.added") == {"session": row.ref, "title": "My desk"}
    for name in ("d-1", "TABLE", "My desk", row.ref):
        assert rig.titled(name).id == row.id, name


@pytest.mark.spec("ROW-6")
@pytest.mark.parametrize("given", ["Ünïcode", "ÅB", "\u212a1", "plain"])
def test_a_desktop_id_is_a_name_like_any_other(rig, given) -> None:
    rig.told(add(rig, desktop=given))
    assert rig.titled(given.lower()).desktop_id == given
    assert rig.no(add(rig, desktop=given.swapcase(), title="Other")) == ("desktop_taken", "ROW-6")


@pytest.mark.spec("ROW-6", "ROW-3")
def test_what_no_desktop_session_can_be_called(rig) -> None:
    for blank in ({"title": " \u200b"}, {"desktop": "\n"}):
        assert rig.no(add(rig, **blank)) == ("name_invalid", "ROW-6")
    for wrong in ({"title": "x" * 201}, {"alias": "S-77"}, {"title": "@nobody-here"}, {"desktop": "hook-bob"}):
        assert rig.no(add(rig, **wrong)) == ("name_invalid", "ROW-3")
    for folder in ("relative", "./x", "/a\0b"):
        assert rig.no(add(rig, cwd=folder)) == ("argument_invalid", "75")
    rig.told(add(rig))
    assert rig.no(add(rig, desktop="d-1", title="Other")) == ("desktop_taken", "ROW-6")
    assert rig.told(add(rig, desktop="D-2"))["title"] == "Desk 2", "a title is numbered when it is taken"


# -- renaming ------------------------------------------------------------------------------------------------------


@pytest.mark.spec("75", "10")
def test_a_renaming_keeps_the_old_title_as_an_alias(rig) -> None:
    made = rig.told(rename(rig, "bob", " Robert\tthe  second "))
    assert (made["title"], made["aliases"]) == ("Robert the second", ["bob"])
    assert rig.titled("BOB").id == rig.bob.id
    assert rig.last_event("session.renamed") == {
        "session": rig.bob.ref, "title": "Robert the second", "old_title": "bob",
    }  # fmt: skip
    assert rig.told(rename(rig, "bob", "BOB"))["aliases"] == ["Robert the second"], "back to an alias of its own"


@pytest.mark.spec("75")
def test_a_title_that_is_none_or_another_s_is_refused(rig) -> None:
    other = rig.row("other")
    rig.store.write(lambda tx: rows.add_alias(tx, other.id, "second", "second", "owner"))
    assert rig.no(rename(rig, "bob", " ")) == ("name_invalid", "75")
    for wrong in ("x" * 201, "S-999", "@nobody-here", "hook-bob"):
        assert rig.no(rename(rig, "bob", wrong)) == ("name_invalid", "ROW-3")
    for taken in ("OTHER", "second", other.ref):
        assert rig.no(rename(rig, "bob", taken)) == ("title_taken", "75")


@pytest.mark.spec("75", "HL-2")
def test_the_names_of_an_ended_session_are_free(rig) -> None:
    old = rig.row("shop", "desktop", desktop_id="D-9")
    rig.store.write(lambda tx: rows.add_alias(tx, old.id, "store", "store", "client"))
    assert rig.no(rename(rig, "bob", "shop"))[0] == "title_taken"
    rig.told(end(rig, "shop"))
    assert rig.told(rename(rig, "bob", "shop"))["title"] == "shop"
    assert rig.titled("shop").id == rig.bob.id and rig.need(old).title == "shop 2"
    rig.told(rename(rig, "bob", "store"))
    assert rig.told(show(rig, "store"))["ref"] == rig.bob.ref
    for own in ("D-9", old.ref):
        assert rig.no(rename(rig, "bob", own))[0] == "title_taken", "its ids stay its own"


# -- the end and the way out ---------------------------------------------------------------------------------------


@pytest.mark.spec("75", "HL-2", "RECV-7", "WAIT-4")
def test_the_owner_ends_a_session_and_it_may_come_back(rig) -> None:
    rig.store.write(lambda tx: rows.change(tx, rig.bob.id, name="calm-otter"))
    alice = rig.live("alice")
    kept = rig.send(rig.by(alice))["message_id"]
    rig.waits(rig.bob)
    ended = rig.told(end(rig, "bob"))
    assert (ended["activity"], ended["link"], ended["ended_reason"], ended["reach"]) == (
        "ended",
        "ended",
        "owner",
        "ended",
    )
    assert "name" not in ended and rig.relay.waits.of_row(rig.bob.id, rig.now) is None
    assert rig.marks(kept) == ("sent", ""), "its mail waits for its return"
    assert rig.told(end(rig, "bob"))["link"] == "ended", "a second time is no error"
    rig.now += SECOND
    event = HookEvent("hook-bob", "SessionStart", rig.now, source="resume")
    rig.store.write(lambda tx: hooks.handle(tx, rig.relay, event))
    assert rig.need(rig.bob).link_state == "exact"
    assert kept in rig.hand(rig.bob).text


@pytest.mark.spec("75", "HL-11")
def test_the_end_of_rows_that_are_not_linked_or_guessed_by_their_folder(rig) -> None:
    rig.row("plain")
    rig.row("folder", "desktop", "guessed", "hook-folder")
    assert rig.told(end(rig, "plain"))["activity"] == "ended"
    shown = rig.told(end(rig, "folder"))
    assert shown["link"] == "none"
    assert rig.send(rig.claim("x"), to="plain")["reason_code"] == "never_linked"


@pytest.mark.spec("LINK-20", "HL-7", "MOVE-5", "DLV-49", "75")
def test_the_owner_takes_a_link_off(rig) -> None:
    alice = rig.live("alice")
    given = rig.send(rig.by(alice))["message_id"]
    rig.hand(rig.bob)
    shown = rig.told(unlink(rig, "bob"))
    assert (shown["link"], shown["activity"], shown["reach"]) == ("none", "unknown", "never_linked")
    assert rig.marks(given) == ("sent", "") and rig.need(rig.bob).unlinked == 1
    assert rig.store.read(lambda tx: rows.fate(tx, "hook-bob")) == "taken_off"
    assert rig.send(rig.claim("bob"), to="alice")["sender_verified"] is False, "it counts as never linked"
    rig.now += SECOND
    event = HookEvent("hook-bob", "UserPromptSubmit", rig.now, cwd="/srv/shop")
    rig.store.write(lambda tx: hooks.handle(tx, rig.relay, event))
    assert rig.need(rig.bob).link_state == "none" and rig.titled("shop").link_state == "guessed", "as an unknown id"
    assert rig.told(unlink(rig, "bob"))["link"] == "none"
