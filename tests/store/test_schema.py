"""The schema: the migrations make what Pony's model says, the database refuses what the code should have refused."""

from __future__ import annotations

import contextlib
import hashlib
import re
import sqlite3
import stat
from datetime import datetime
from decimal import Decimal

import pytest
from pony.orm import Database

from relaybay.errors import StoreNewer
from relaybay.rules import names
from relaybay.service.relay import open_relay
from relaybay.store import entities, events, migrations, search, sessions, sqlite, tasks
from relaybay.store import messages as stored
from tests.store.conftest import NOW, event, kinds, on_disk, open_store

TEXT_MIN, TEXT_MAX = -(2**63), 2**63 - 1
#: Texts that some layer below could strip, cut or fold.
ODD_TEXTS = [
    "  leading",
    "trailing \n",
    "\u2028line\u2029",
    "\u0085x\u0085",
    "\t",
    "e\u0301 é",
    "👩\u200d🚀",
    "x" * 4000,
]


def tables(connection) -> dict[str, list[tuple]]:
    """Table → (column, type, not null, default, part of the primary key)."""
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {name: [row[1:] for row in connection.execute(f"PRAGMA table_info({name})")] for (name,) in found.fetchall()}


def script(connection) -> list[str]:
    return [r[0] for r in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name")]


def test_an_empty_folder_gets_the_schema_of_the_migrations(store) -> None:
    fresh = sqlite3.connect(":memory:")
    fresh.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
    for step in migrations.STEPS:
        for statement in step:
            fresh.execute(statement.format(**sqlite.WORDS))
    made = sqlite3.connect(store.path)
    one_line = lambda sql: re.sub(r"\s+", " ", sql).replace("IF NOT EXISTS ", "")  # noqa: E731
    assert [one_line(s) for s in script(made)] == [one_line(s) for s in script(fresh)]
    assert made.execute("SELECT version FROM schema_version").fetchall() == [(len(migrations.STEPS),)]
    made.close()


def test_the_model_and_the_tables_have_the_same_columns(store) -> None:
    # `check_tables` finds a column of the model that no table has; the other direction nobody else looks at.
    connection = sqlite3.connect(store.path)
    made = tables(connection)
    connection.close()
    # What full-text search keeps of its texts is no rows of ours: nobody reads it but by its own queries.
    made = {name: columns for name, columns in made.items() if not name.startswith("search_text")}
    del made["schema_version"]
    model = {entity._table_: entity for entity in store.db.entities.values()}
    assert model.keys() == made.keys()
    for table, columns in made.items():
        said = {column: attr for attr in model[table]._attrs_ for column in attr.columns}
        assert said.keys() == {name for name, *_ in columns}, table
        for name, type_, required, _default, key in columns:
            attr = said[name]
            kept_as = {str: "TEXT", bytes: "BLOB"}.get(attr.py_type, "INTEGER")
            assert type_ == kept_as, f"{table}.{name}"
            # Pony keeps an optional text as an empty one, so NOT NULL stands there too.
            may_be_null = attr.nullable or (not attr.is_required and attr.py_type is not str)
            assert bool(required or key) == (not may_be_null), f"{table}.{name}"


def test_no_text_of_the_model_is_stripped_and_every_number_has_64_bits(store) -> None:
    for entity in store.db.entities.values():
        for attr in entity._attrs_:
            if attr.py_type is str:
                assert attr.kwargs.get("autostrip") is False or not attr.converters[0].autostrip, attr
            elif attr.py_type is int:
                assert attr.converters[0].size == 64, attr
            # Times are int64 microseconds: nothing is kept with a zone, as a float or in decimals.
            assert attr.py_type not in (datetime, float, Decimal), attr


def test_pony_finds_a_column_that_no_table_has(tmp_path, monkeypatch) -> None:
    def one_column_more() -> Database:
        db = real()
        from pony.orm import Optional

        class Later(db.Entity):
            _table_ = "spool_seen2"
            x = Optional(int)

        return db

    real = entities.define
    monkeypatch.setattr(entities, "define", one_column_more)
    with pytest.raises(Exception, match="spool_seen2"):
        open_store(tmp_path)
    monkeypatch.undo()
    open_store(tmp_path).close()


@pytest.mark.spec("TEXT-6")
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_body_is_kept_byte_for_byte(store, text) -> None:
    def write(tx):
        row = sessions.add(tx, title="a", title_key="a", kind="agent")
        return stored.add(
            tx, recipient_id=row.id, recipient_title=text, recipient_name="", mid="m_1", sender_id=row.id,
            sender_title=text, sender_verified=0, body=text, digest="d",
        )  # fmt: skip

    mail = store.write(write)
    assert (mail.body, mail.sender_title, mail.recipient_title) == (text, text, text)
    assert store.read(lambda tx: stored.get(tx, "m_1").body.encode()) == text.encode()
    assert store.read(lambda tx: tx.model.Message.get(mid="m_1").body) == text


@pytest.mark.spec("TEXT-6")
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_pony_keeps_a_text_as_it_is(store, text) -> None:
    store.write(lambda tx: bool(tx.model.Event(type=text, at_us=1, data=text)), "orm")
    assert store.read(lambda tx: tx.rows("SELECT type, data FROM event")) == [(text, text)]


@pytest.mark.parametrize("number", [TEXT_MIN, -1, 2**31, 2**32 + 1, 2**53 + 1, TEXT_MAX])
def test_numbers_keep_all_their_64_bits(store, number) -> None:
    store.write(lambda tx: tx.insert("event", type="sql", at_us=number, data="{}"))
    store.write(lambda tx: bool(tx.model.Event(type="orm", at_us=number, data="{}")), "orm")
    assert store.read(lambda tx: tx.rows("SELECT at_us FROM event")) == [(number,), (number,)]
    assert store.read(lambda tx: [row.at_us for row in tx.model.Event.select()]) == [number, number]


def test_keys_have_64_bits_and_a_ref_is_never_used_again(store) -> None:
    def add(tx, **more):
        return sessions.add(tx, title="a", title_key="a", kind="agent", **more).id

    assert store.write(lambda tx: add(tx, id=2**40)) == 2**40
    store.write(lambda tx: sessions.remove(tx, 2**40))
    assert store.write(add) == 2**40 + 1


@pytest.mark.spec("INV-11", "80")
def test_the_database_refuses_what_the_code_should_have_refused(store) -> None:
    def row(tx, title, **more):
        return sessions.add(tx, title=title, title_key=names.key(title), kind="hook", **more)

    def mail(tx, **more):
        return tx.insert(
            "message", mid=f"m_{tx.value('SELECT count(*) FROM message')}", sender_title="a", sender_verified=0,
            body="x", digest="d", sent_us=1, **more,
        )  # fmt: skip

    def delivery(tx, **more):
        return tx.insert("delivery", message_id=mail(tx), recipient_title="a", sent_us=1, **{"state": "sent", **more})

    refused = {
        "session.hook_id": lambda tx: [row(tx, t, hook_id="h", link_state="exact") for t in "ab"],
        "session_link_has_id": lambda tx: row(tx, "a", link_state="exact"),
        "session_link_known": lambda tx: row(tx, "a", link_state="half"),
        "session_activity_known": lambda tx: row(tx, "a", activity="busy"),
        "session.name": lambda tx: [row(tx, t, name="calm-otter") for t in "ab"],
        "message_depth_bounded": lambda tx: mail(tx, depth=9),
        "delivery_state_known": lambda tx: delivery(tx, state="lost"),
        "delivery_read_says_how": lambda tx: delivery(tx, state="read"),
        "delivery_one_stop_block": lambda tx: delivery(tx, stop_blocks=2),
        "delivery_two_reoffers": lambda tx: delivery(tx, reoffers=3),
        "FOREIGN KEY": lambda tx: tx.insert("delivery", message_id=77, recipient_title="a", sent_us=1, state="sent"),
        "message.sender_id, message.request_id": lambda tx: [
            mail(tx, sender_id=key, request_id="r") for key in [row(tx, "s").id] * 2
        ],
    }
    for promise, work in refused.items():
        with pytest.raises(sqlite3.IntegrityError, match=re.escape(promise)):
            store.write(work)
    assert store.read(sessions.every) == []


def test_a_database_of_a_newer_program_is_refused_and_left_alone(tmp_path) -> None:
    store = open_store(tmp_path)
    store.write(event)
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("UPDATE schema_version SET version = ?", (len(migrations.STEPS) + 1,))
    connection.commit()
    connection.close()
    before = store.path.read_bytes()
    for _ in range(2):
        with pytest.raises(StoreNewer, match=f"schema {len(migrations.STEPS) + 1}"):
            open_store(tmp_path)
    assert store.path.read_bytes() == before


LATER = ("ALTER TABLE event ADD COLUMN later INTEGER", "INSERT INTO event (type, at_us, data) VALUES ('moved', 1, '')")


def test_an_older_database_is_backed_up_and_brought_up_to_date(tmp_path, monkeypatch) -> None:
    store = open_store(tmp_path)
    store.write(event)
    store.close()
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, LATER))
    store = open_store(tmp_path)
    assert kinds(store) == ["x", "moved"]
    assert store.read(lambda tx: tx.value("SELECT version FROM schema_version")) == len(migrations.STEPS)
    store.close()
    kept = tmp_path / f"relaybay.schema-{len(migrations.STEPS) - 1}.db"
    assert on_disk(kept) == ["x"] and sqlite.problems(kept) == []
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    open_store(tmp_path).close()
    assert on_disk(kept) == ["x"], "a database that is up to date is not backed up again"


#: The digest of the statements that the first version was given out with: a file of that time is compared with them.
FIRST = "68e9969bd888ef949744e944dfa5f47266ba9eaab73a72bdac6dbe6c4cbaf7b7"


def test_the_first_step_is_the_one_that_files_were_made_by() -> None:
    """It was edited in place once, and every file from before was refused as another program's."""
    assert hashlib.sha256("\n".join(migrations.STEPS[0]).encode()).hexdigest() == FIRST


def test_a_file_of_the_first_version_is_whole_afterwards(tmp_path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "relaybay.db")) as old:
        old.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        old.execute("INSERT INTO schema_version VALUES (1)")
        for statement in migrations.STEPS[0]:
            old.execute(statement.format(**sqlite.WORDS))
        old.execute("INSERT INTO project (slug, title, root, last_number, created_us) VALUES ('shop','Shop','',1,1)")
        old.execute(
            "INSERT INTO task (project_id, number, task_key, title, body_md, status, author, created_us, updated_us)"
            " VALUES (1, 1, 'shop-1', 'Needle', 'Body', 'todo', 'owner', 1, 1)"
        )
        told = '{"task": "shop-1", "project": "shop", "by": "owner"}'
        old.execute("INSERT INTO event (type, at_us, data) VALUES ('task.created', 1, ?)", (told,))
        old.commit()
    relay = open_relay(tmp_path / "relaybay.db", lambda: NOW)
    try:
        read = relay.store.read
        assert [one[1] for one in read(lambda tx: events.about(tx, "task", "shop-1", 9))] == ["task.created"]
        assert [one[1] for one in read(lambda tx: events.about(tx, "project", "shop", 9))] == ["task.created"]
        assert read(lambda tx: tasks.get(tx, "shop-1")).title == "Needle"
        found, count = read(lambda tx: search.found(tx, [("needle", False)], [], "best", 0, 9))
        assert count == 1 and found[0].comment_id is None
        assert read(lambda tx: tx.value("SELECT count(*) FROM task WHERE seal <> ''")) == 1
    finally:
        relay.close()
    assert sqlite.problems(tmp_path / "relaybay.db") == []
    assert sqlite.problems(tmp_path / "relaybay.schema-1.db") == []


@pytest.mark.spec("FLT-11")
def test_a_migration_that_ends_at_any_statement_leaves_the_file_as_it_was(tmp_path, monkeypatch) -> None:
    released = migrations.STEPS
    store = open_store(tmp_path)
    store.write(event)
    store.close()
    before = script(sqlite3.connect(store.path))
    for cut in range(len(LATER) + 1):
        monkeypatch.setattr(migrations, "STEPS", (*released, (*LATER[:cut], "THIS IS NO SQL", *LATER[cut:])))
        with pytest.raises(sqlite3.OperationalError):
            open_store(tmp_path)
        assert script(sqlite3.connect(store.path)) == before
        assert on_disk(store.path) == ["x"]
    monkeypatch.setattr(migrations, "STEPS", (*released, LATER))
    store = open_store(tmp_path)
    assert kinds(store) == ["x", "moved"]
    store.close()


def test_a_first_start_that_ends_at_any_statement_can_be_made_again(tmp_path, monkeypatch) -> None:
    released = migrations.STEPS
    for cut in range(0, len(released[0]), 5):
        monkeypatch.setattr(migrations, "STEPS", ((*released[0][:cut], "THIS IS NO SQL"),))
        with pytest.raises(sqlite3.OperationalError):
            open_store(tmp_path)
    monkeypatch.setattr(migrations, "STEPS", released)
    store = open_store(tmp_path)
    assert store.write(event) == 1
    store.close()


def test_the_file_is_for_its_owner_alone_and_set_up_as_promised(store) -> None:
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    pragmas = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": sqlite.BUSY_MS}
    found = store.write(lambda tx: {name: tx.value(f"PRAGMA {name}") for name in pragmas})
    assert found == pragmas
