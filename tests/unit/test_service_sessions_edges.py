"""What the owner does with rows, column by column, and what is answered and heard of it (page 75)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.answers import word
from relaybay.service import naming, saved_views, sessions
from relaybay.service.clock import rfc3339
from relaybay.store import sessions as stored
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = HookRig(tmp_path)
    yield made
    made.relay.close()


def end(rig: HookRig, row) -> dict:
    return rig.do(lambda tx: sessions.end(tx, rig.relay, row.ref))


@pytest.mark.parametrize(
    ("kind", "link", "after"),
    [
        ("agent", "guessed", "none"),
        ("desktop", "guessed", "none"),
        ("hook", "guessed", "ended_guessed"),
        ("hook", "exact", "ended_exact"),
    ],
)
def test_an_ended_session_keeps_its_id_unless_it_was_only_guessed(rig, kind: str, link: str, after: str) -> None:
    row = rig.row("shop", kind, link, "h1", activity="working", name="calm-proud-otter")
    rig.now += SECOND
    said = end(rig, row)
    now = rig.need(row)
    assert (now.link_state, now.activity, now.ended_reason, now.ended_us, now.name) == (
        after, "ended", "owner", rig.now, None,
    )  # fmt: skip
    assert said["ended_at"] == rfc3339(rig.now) and said["text"] == word("session.ended", session=row.ref).text


def test_an_unlinked_session_is_marked_so_and_named_by_nothing(rig) -> None:
    row = rig.row("shop", "hook", "exact", "h1", link_named=1, activity="working")
    said = rig.do(lambda tx: sessions.unlink(tx, rig.relay, row.ref))
    now = rig.need(row)
    assert (now.link_state, now.unlinked, now.link_named, now.moved_to) == ("none", 1, 0, None)
    assert said["text"] == word("session.unlinked", session=row.ref).text


def test_a_desktop_session_has_no_folder_unless_one_is_given(rig) -> None:
    add = lambda **said: rig.do(lambda tx: sessions.add_desktop(tx, rig.relay, **said))  # noqa: E731
    for desktop, cwd in (("D-1", ""), ("D-2", "/srv")):
        ref = add(desktop=desktop, title=desktop, cwd=cwd)["ref"]
        row = rig.store.read(lambda tx, r=ref: stored.by_ref(tx, r))
        assert (row.cwd, row.client, row.kind, row.desktop_id, row.title_given) == (cwd, "other", "desktop", desktop, 1)


def test_a_name_that_an_ended_session_gives_up_is_taken_from_it_and_no_other(rig) -> None:
    old = rig.row("Old", "hook", "ended_exact", "h0", activity="ended")
    for name in ("twin", "kept"):
        rig.store.write(lambda tx, n=name: naming.keep_alias(tx, old, n, "owner"))
    a, b = rig.row("a"), rig.row("b")
    for row, title in ((a, "twin"), (b, "old")):
        said = rig.do(lambda tx, r=row, t=title: sessions.rename(tx, rig.relay, r.ref, t))
        assert said["title"] == title
    assert [text for _, text, _, _ in rig.store.read(lambda tx: stored.aliases(tx, old.id))] == ["kept"]
    told = [json.loads(data) for data in rig.events("session.renamed")]
    numbered = rig.need(old).title
    assert numbered.startswith("Old ") and told == [
        {"session": a.ref, "title": "twin", "old_title": "a"},
        {"session": old.ref, "title": numbered, "old_title": "Old"},
        {"session": b.ref, "title": "old", "old_title": "b"},
    ]


@pytest.mark.parametrize("handed", [False, True])
def test_a_start_line_counts_what_is_not_read(rig, handed: bool) -> None:
    row = rig.linked()
    for _ in range(2):
        rig.say(rig.task(row))
    rig.send(row)
    if handed:
        rig.prompt()
    rig.say(rig.task(row), board=True)
    said = rig.start(source="resume")
    assert word("start.unread", comments=2, messages=1).text in said.line


def test_a_view_that_is_not_there_is_not_forgotten(rig) -> None:
    for view_id in ("9", "x", "1" * 18):
        assert rig.no(lambda tx, v=view_id: saved_views.forget(tx, rig.relay, view_id=v)) == ("argument_invalid", "70")
