"""Full-text search over tasks and comments: what is kept for it follows every write, what it finds, and how it mends."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from pathlib import Path

import pytest

from relaybay.errors import SearchDamaged, StoreUnavailable
from relaybay.service import search_index
from relaybay.service.relay import open_relay
from relaybay.store import comments, messages, search, tasks
from relaybay.store import sqlite as dialect
from relaybay.store.database import Store
from tests.store.conftest import NOW, open_store

pytestmark = pytest.mark.spec("40")


@pytest.fixture
def shop(tmp_path):
    """A store whose clock goes on with every look."""
    times = itertools.count(NOW)
    made = Store(tmp_path / "relaybay.db", lambda: next(times))
    made.write(lambda tx: tasks.add_project(tx, "shop", "Shop", ""))
    yield made
    made.close()


def add_task(store, title: str, body: str = "", steps: tuple[str, ...] = ()) -> int:
    def work(tx) -> int:
        made = tasks.add(tx, tasks.project(tx, "shop"), title=title, body_md=body, status="todo", author="owner")
        for text in steps:
            tasks.add_step(tx, made.id, text)
        return made.id

    return store.write(work)


def add_comment(store, task: int, body: str, **more) -> int:
    given = {"author_kind": "owner", "state": "sent", **more}
    return store.write(lambda tx: comments.add(tx, None, cid=f"c_{body[:20]}", task_id=task, body_md=body, **given)).id


def hits(store, *words: str, order: str = "best", skip: int = 0, most: int = 50) -> list[tuple[int, int | None]]:
    asked = [(word.rstrip("*"), word.endswith("*")) for word in words]
    found, count = store.read(lambda tx: search.found(tx, asked, [], order, skip, most))
    assert skip or most < 50 or len(found) == count
    return [(one.task_id, one.comment_id) for one in found]


def snippets(store, *words: str) -> list[str]:
    page, _ = store.read(lambda tx: search.found(tx, [(w, False) for w in words], [], "best", 0, 9))
    return [one.snippet for one in page]


def test_a_text_is_found_by_words_in_key_title_body_and_steps(shop) -> None:
    first = add_task(shop, "Mend the café", "The cart loses items.", ("Write a regression test", "Tell Ömer"))
    second = add_task(shop, "Other")
    said = add_comment(shop, second, "The cart is fine here")
    assert hits(shop, "cafe") == hits(shop, "CAFÉ") == hits(shop, "regression") == hits(shop, "omer") == [(first, None)]
    assert set(hits(shop, "cart")) == {(first, None), (second, said)}
    assert hits(shop, "cart", "fine") == [(second, said)]
    assert hits(shop, "loses items") == [(first, None)] and hits(shop, "items loses") == []
    assert hits(shop, "regr*") == [(first, None)] and hits(shop, "regr") == []
    assert hits(shop, "shop-2") == [(second, None)], "a comment has no key of its own"
    assert set(hits(shop, "shop*")) == {(first, None), (second, None)}


def test_nothing_in_a_word_is_an_operator_of_the_engine(shop) -> None:
    task = add_task(shop, 'He said "stop" (NOT now) AND title:x OR NEAR(a b) ^c {d} -e + f*')
    for word in (
        '"stop"',
        '"',
        "NOT now",
        "AND title",
        "title:x",
        "NEAR(a b)",
        "^c",
        "{d}",
        "-e",
        "+ f*",
        "x OR",
        "a' b",
    ):
        assert hits(shop, word) in ([(task, None)], []), word
    assert hits(shop, "NOT now") == hits(shop, "x OR near") == [(task, None)]
    assert hits(shop, "NOT later") == []


def test_what_is_kept_follows_every_write(shop) -> None:
    def faithful() -> bool:
        return shop.read(search.faithful) and dialect.search_damage(shop.path) == ""

    task = add_task(shop, "first title", "first body", ("first step",))
    assert faithful()
    shop.write(lambda tx: tasks.change(tx, tasks.by_id(tx, task), title="second title"))
    assert faithful() and hits(shop, "second") == [(task, None)] and hits(shop, "first title") == []
    shop.write(lambda tx: tasks.change(tx, tasks.by_id(tx, task), body_md="third body"))
    assert faithful() and hits(shop, "third") == [(task, None)] and hits(shop, "first body") == []
    shop.write(lambda tx: tasks.change(tx, tasks.by_id(tx, task), status="done"))
    shop.write(lambda tx: tasks.add_step(tx, task, "fourth step"))
    assert faithful() and hits(shop, "fourth") == hits(shop, "first step") == [(task, None)]
    said = add_comment(shop, task, "fifth")
    assert faithful() and hits(shop, "fifth") == [(task, said)]
    shop.write(lambda tx: comments.remove(tx, comments.by_key(tx, said)))
    assert faithful() and hits(shop, "fifth") == []


def test_messages_are_not_searched(shop) -> None:
    shop.write(
        lambda tx: messages.add(
            tx, recipient_id=None, recipient_title="b", recipient_name="", mid="m_1", sender_title="a",
            sender_verified=1, body="confidential", digest="d",
        )
    )  # fmt: skip
    assert hits(shop, "confidential") == []
    kept = sqlite3.connect(shop.path)
    assert "confidential" not in repr(kept.execute("SELECT * FROM search_text").fetchall())
    kept.close()


def test_the_best_stand_first_or_the_newest_or_the_oldest(shop) -> None:
    body = add_task(shop, "Something", "Much is said here of the basket and of other things " * 3)
    title = add_task(shop, "The basket")
    said = add_comment(shop, title, "basket")
    assert hits(shop, "basket")[0] == (title, None), "a title says more than a text"
    assert hits(shop, "basket", order="new") == [(title, said), (title, None), (body, None)]
    assert hits(shop, "basket", order="old") == [(body, None), (title, None), (title, said)]
    assert hits(shop) == hits(shop, order="new") == [(title, said), (title, None), (body, None)]
    assert hits(shop, "basket", order="new", skip=1, most=1) == [(title, None)]
    asked = [("basket", False)]
    for skip, count in ((0, 3), (2, 3), (3, 3), (9, 3)):
        assert shop.read(lambda tx: search.found(tx, asked, [], "best", skip, 1))[1] == count  # noqa: B023
    assert shop.read(lambda tx: search.found(tx, [("nothing", False)], [], "best", 0, 1)) == ([], 0)
    assert shop.read(lambda tx: search.found(tx, [("nothing", False)], [], "best", 5, 1)) == ([], 0)


def test_a_snippet_marks_what_was_found(shop) -> None:
    add_task(shop, "x", f"{'before ' * 60}the needle {'after ' * 60}")
    (found,) = snippets(shop, "needle")
    assert f"{search.MARK_ON}needle{search.MARK_OFF}" in found
    assert found.startswith(search.ELLIPSIS) and found.endswith(search.ELLIPSIS) and len(found.split()) < 30
    assert snippets(shop) == [""]
    add_task(shop, "pin", "x", ("a step", "the pin step"))
    assert snippets(shop, "pin") == [f"a step\nthe {search.MARK_ON}pin{search.MARK_OFF} step"]
    add_task(shop, "cork")
    assert snippets(shop, "cork") == [""]
    (one,) = shop.read(lambda tx: search.found(tx, [("cork", False)], [], "best", 0, 9))[0]
    assert one.title == f"{search.MARK_ON}cork{search.MARK_OFF}"


def test_conditions_narrow_what_is_found(shop) -> None:
    task = add_task(shop, "needle one")
    add_comment(shop, task, "needle two")
    mine: list[tuple[str, tuple[str, ...]]] = [("c.id IS NULL", ()), ("p.slug = ?", ("shop",))]
    asked = [("needle", False)]
    for words in (asked, []):
        page, count = shop.read(lambda tx: search.found(tx, words, mine, "best", 0, 9))  # noqa: B023
        assert ([one.comment_id for one in page], count) == ([None], 1)
    assert shop.read(lambda tx: search.found(tx, asked, [("p.slug = ?", ("other",))], "best", 0, 9)) == ([], 0)
    sql, value = search.tasks_with([("needle", False), ("on", True)])
    assert shop.read(lambda tx: tx.rows(f"SELECT t.id FROM task t WHERE {sql}", value)) == [(task,)]
    sql, value = search.texts_with([("two", False)])
    left, _ = shop.read(lambda tx: search.found(tx, asked, [(f"NOT ({sql})", (value,))], "best", 0, 9))
    assert [(one.task_id, one.comment_id) for one in left] == [(task, None)]


# -- missing and damaged --------------------------------------------------------------------------------------------


def damage(store, statement: str) -> None:
    store.write(lambda tx: tx.run(statement))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM search_text WHERE rowid % 2 = 1",
        "DELETE FROM search_text_docsize",
    ],
)
def test_what_is_missing_at_the_start_is_made_anew(tmp_path, statement) -> None:
    relay = open_relay(tmp_path / "relaybay.db", lambda: NOW)
    relay.store.write(lambda tx: tasks.add_project(tx, "shop", "Shop", ""))
    task = add_task(relay.store, "needle")
    said = add_comment(relay.store, task, "needle")
    damage(relay.store, statement)
    relay.close()
    again = open_relay(tmp_path / "relaybay.db", lambda: NOW)
    assert set(hits(again.store, "needle")) == {(task, None), (task, said)}
    assert not search_index.complete(again.store), "whole, and left alone"
    again.close()


def test_an_index_that_cannot_be_read_at_the_start_is_made_anew(shop, monkeypatch) -> None:
    task = add_task(shop, "needle")
    error = sqlite3.DatabaseError("malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT

    def corrupt(_tx) -> bool:
        raise error

    monkeypatch.setattr(search, "complete", corrupt)
    assert search_index.complete(shop)
    assert hits(shop, "needle") == [(task, None)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE search_text SET title = 'other'",
        "UPDATE search_text_content SET c1 = 'other'",
        "UPDATE search_text_data SET block = zeroblob(40) WHERE id > 10",
        "UPDATE task SET title = 'needle now', seal = ''",
    ],
)
def test_what_differs_from_the_texts_is_mended_by_the_timer(shop, statement) -> None:
    task = add_task(shop, "needle")
    assert not search_index.mend(shop)
    damage(shop, statement)
    assert search_index.mend(shop)
    assert hits(shop, "needle") == [(task, None)]
    assert not search_index.mend(shop)
    assert [row for row in dialect.problems(shop.path) if "text of task" not in row] == []


#: The index's own table of contents with sizes that no machine has the memory for.
TOO_LARGE = "x'df9f45bb143a99481df4ffe9701960c686748e0906e3377d94cd1f01df748e859fbf52feba3d51a95c6b8a51d9c546d52a8256321a0cd7758666ac7f'"


@pytest.mark.parametrize(
    "block", ["zeroblob(40)", "zeroblob(0)", "randomblob(60)", "x'ffffffffffffff'", "'text'", TOO_LARGE]
)
@pytest.mark.parametrize("which", ["id > 10", "id = 10", "id = 1", "1 = 1"])
def test_a_damaged_index_never_stops_the_writer(shop, which: str, block: str) -> None:
    """The writer stopped for good at the first task after the damage, until the server was started again."""
    old = add_task(shop, "needle")
    damage(shop, f"UPDATE search_text_data SET block = {block} WHERE {which}")
    made = []
    for title in ("needle one", "needle two"):
        with contextlib.suppress(StoreUnavailable):  # Nothing of it is stored, and the next one finds it mended.
            made.append(add_task(shop, title))
    assert made and len(made) == shop.read(lambda tx: tx.value("SELECT count(*) FROM task")) - 1
    comment = add_comment(shop, made[-1], "a needle in a comment")
    search_index.mend(shop)
    assert set(hits(shop, "needle")) == {(old, None), *((task, None) for task in made), (made[-1], comment)}
    assert dialect.search_damage(shop.path) == ""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE search_text_config SET v = 5",
        "UPDATE search_text_config SET v = 'four'",
        "UPDATE search_text_config SET k = 'versiom'",
        "DELETE FROM search_text_config",
    ],
)
def test_a_configuration_of_the_index_that_was_damaged_is_mended_at_the_start(tmp_path, statement: str) -> None:
    """One flipped bit there, and every task and comment was a fault of ours, whatever was started again."""
    first = open_relay(tmp_path / "relaybay.db", lambda: NOW)
    first.store.write(lambda tx: tasks.add_project(tx, "shop", "Shop", ""))
    old = add_task(first.store, "needle")
    first.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "relaybay.db")) as connection:
        connection.execute(statement)
        connection.commit()
    again = open_relay(tmp_path / "relaybay.db", lambda: NOW)
    try:
        new = add_task(again.store, "needle two")
        assert set(hits(again.store, "needle")) == {(old, None), (new, None)}
        assert dialect.search_damage(again.store.path) == "" and not search_index.mend(again.store)
    finally:
        again.close()


def test_who_reads_a_damaged_index_has_it_mended(shop) -> None:
    """A saved filter with a word in it took the whole board away until a timer looked, half an hour later."""
    tasks_made = [add_task(shop, f"needle {number}") for number in range(50)]
    damage(shop, "UPDATE search_text_data SET block = x'00112233445566778899aabbccddeeff' WHERE id > 10")
    with pytest.raises(SearchDamaged):
        hits(shop, "needle")
    for _ in range(100):
        with contextlib.suppress(SearchDamaged):
            assert {task for task, _ in hits(shop, "needle")} == set(tasks_made)
            break
        time.sleep(0.02)
    else:
        raise AssertionError("nobody mended it")
    assert dialect.search_damage(shop.path) == ""


def test_a_file_that_is_too_large_is_not_copied(shop, monkeypatch) -> None:
    add_task(shop, "needle")
    damage(shop, "UPDATE search_text_data SET block = zeroblob(40) WHERE id > 10")
    assert dialect.search_damage(shop.path)
    monkeypatch.setattr(dialect, "_COPY_BYTES_MAX", 10)
    assert dialect.search_damage(shop.path) == ""


def test_a_copy_has_the_index_with_it(shop, tmp_path: Path) -> None:
    task = add_task(shop, "needle")
    other = tmp_path / "other"
    other.mkdir()
    dialect.back_up(shop.path, other / "relaybay.db")
    assert dialect.problems(other / "relaybay.db") == [] and dialect.search_damage(other / "relaybay.db") == ""
    again = open_store(other)
    assert hits(again, "needle") == [(task, None)]
    again.close()
