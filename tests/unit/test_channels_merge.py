"""What channels keep of a row when it is merged into another, orphaned or split, and what an older file brings along."""

from __future__ import annotations

import contextlib
import json
import sqlite3

import pytest

from relaybay.domain import ClientProcess
from relaybay.service import reviews
from relaybay.settings import Messaging
from relaybay.store import channels, migrations, sessions, sqlite
from relaybay.store import messages as stored
from tests.unit.channel_rig import ChannelRig

CLIENT = ClientProcess(4242, "100", "pid:[1]", "host", "cli", "2.1")


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


def set_up(rig, row, *, patterns=(), seen=(), **columns) -> None:
    def write(tx) -> None:
        sessions.change(tx, row.id, **columns)
        channels.set_patterns(tx, row.id, patterns)
        for topic, number in seen:
            channels.see(tx, row.id, topic, number)

    rig.store.write(write)


def merged(rig, name: str = "Alice", hook: str = "h1"):
    """A call under that name takes the guessed hook row of this id; the row that is left."""
    identity, row = rig.accepted("send", name, witnessed=hook)
    assert identity.linked.spec_id == "LINK-6"
    return rig.need(row)


# -- LINK-6 --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("LINK-6", "TOPIC-15", "CATCHUP-8", "NAME-16")
def test_a_merge_brings_along_what_the_owner_had_set_and_the_heirs_own_goes_first(rig) -> None:
    a = rig.row("Alice")
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle")
    rig.session("h9")
    for n, topic in enumerate(("t.a", "t.b", "t.a")):
        rig.publish("h9", topic, f"text {n}")
    set_up(rig, a, patterns=[f"a{n}" for n in range(10)], seen=[("t.a", 3), ("t.b", 1)], name_chosen="own")
    set_up(
        rig, b, patterns=["a3", *(f"b{n}" for n in range(9))], seen=[("t.a", 1), ("t.b", 2)],
        inbound="hold", broadcasts=1, name_chosen="other",
    )  # fmt: skip
    row = merged(rig)
    assert row.id == a.id
    assert (row.inbound, row.broadcasts, row.name_chosen, row.name) == ("hold", 1, "own", "own")
    patterns = rig.store.read(lambda tx: channels.patterns(tx, row.id))
    assert patterns == (*(f"a{n}" for n in range(10)), *(f"b{n}" for n in range(6)))
    told = json.loads(rig.events("session.patterns_left_out")[-1])
    assert told["patterns"] == ["b6", "b7", "b8"]
    assert rig.store.read(lambda tx: channels.cursors(tx, row.id)) == {"t.a": 3, "t.b": 2}, "the one that is further on"
    rig.check()


@pytest.mark.spec("LINK-6", "REV-2", "POLICY-4", "DLV-24")
@pytest.mark.parametrize("column", ["inbound", "suppressed"])
def test_controls_that_come_by_a_merge_void_what_was_approved_before(rig, column) -> None:
    """The heir has no choice of its own, and gets the other row's: reviews are stale, and what waits is judged."""
    a = rig.row("Alice", cwd="/home/ada/shop")
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle", cwd="/home/ada/shop")
    approved, open_ = (rig.script(a.ref, text)["message_id"] for text in ("one", "two"))
    rig.approve(approved)
    token = rig.review(open_)["token"]
    set_up(rig, b, **{column: {"inbound": "hold", "suppressed": 1}[column]})
    row = merged(rig)
    assert rig.state_at(approved, row)[0] == "held"
    refused = rig.decide("approve", open_, token).refusal
    assert refused.answer == "review.stale"


@pytest.mark.spec("DLV-50", "POLICY-4", "REV-2", "LINK-6")
def test_an_approval_is_not_carried_over_with_its_message(rig) -> None:
    rig.row("Alice")
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle")
    mid, other = (rig.script(b.ref, text)["message_id"] for text in ("one", "two"))
    rig.approve(mid)
    token = rig.review(other)["token"]
    row = merged(rig)
    assert rig.state_at(mid, row) == ("held", "script")
    outcome = rig.store.write(lambda tx: reviews.approve(tx, rig.relay, message_id=other, token=token))
    assert outcome.refusal.answer == "review.stale"


@pytest.mark.spec("DLV-55", "LINK-6", "CH-1")
@pytest.mark.parametrize(
    ("of_heir", "of_merged", "kept"),
    [
        ("dropped", "delivered", "delivered"),
        ("held", "sent", "sent"),
        ("sent", "held", "sent"),
        ("delivered", "delivered", "delivered"),
        ("rejected", "sent", "rejected"),
        ("refused", "held", "held"),
    ],
)
def test_of_two_deliveries_of_one_message_the_one_that_is_further_on_stays(rig, of_heir, of_merged, kept) -> None:
    a = rig.row("Alice")
    b = rig.row("shop", "hook", "guessed", "h1", activity="idle")
    rig.policy(a, "accept")
    mid = rig.script_publish("ci.a")["message_id"]

    def write(tx) -> None:
        message = stored.by_mid(tx, mid)
        for row, state in ((a, of_heir), (b, of_merged)):
            reason = "" if state in ("sent", "delivered") else "policy"
            mail = stored.deliver(
                tx, message.message_id, recipient_id=row.id, recipient_title=row.title, recipient_name="", state=state,
                reason_code=reason,
            )  # fmt: skip
            if state == "delivered":
                stored.set_delivery(tx, mail, delivered_us=tx.now, delivered_hook_id="h1")

    rig.store.write(write)
    row = merged(rig)
    mails = rig.store.read(lambda tx: stored.of_message(tx, stored.by_mid(tx, mid).message_id))
    own = [mail for mail in mails if mail.recipient_id == row.id]
    assert len(own) == 1
    held_again = kept == "held"
    assert own[0].state == ("sent" if held_again else kept), "accept delivers what was held"
    lost = [mail for mail in mails if mail.recipient_id is None]
    assert [(mail.state, mail.reason_code) for mail in lost] == [("refused", "duplicate")]
    assert {mail.recipient_title for mail in lost} <= {"Alice", "shop"}, "its names are kept"
    rig.check()


# -- a row that is gone, a link that is taken off ------------------------------------------------------------------


@pytest.mark.spec("DLV-33", "DLV-34", "MOVE-3", "DLV-48")
def test_with_a_row_that_is_gone_what_is_direct_is_nobodys_and_what_was_published_dropped(rig) -> None:
    rig.session("h9")
    b = rig.row("shop", "hook", "ended_exact", "h1", activity="ended")
    direct = rig.script(b.ref)["message_id"]
    held = rig.store.read(lambda tx: stored.get(tx, direct))
    published = rig.script_publish("ci.a")["message_id"]
    rig.store.write(
        lambda tx: stored.deliver(
            tx, stored.by_mid(tx, published).message_id, recipient_id=b.id, recipient_title=b.title, recipient_name="x",
            state="held", reason_code="script",
        )
    )  # fmt: skip
    rig.row("Alice")
    identity, _ = rig.accepted("other", "Alice", "h1")
    assert identity.linked.spec_id == "LINK-8"
    found = [rig.store.read(lambda tx, mid=mid: stored.get(tx, mid)) for mid in (direct, published)]
    assert [(mail.state, mail.reason_code, mail.recipient_id) for mail in found] == [
        ("orphaned", "row_gone", None), ("dropped", "row_gone", None),
    ]  # fmt: skip
    assert held.state == "held"
    assert [mail.recipient_title for mail in found] == ["shop", "shop"], "names are kept"


@pytest.mark.spec("DLV-31", "DLV-32", "CH-5", "LINK-20")
def test_an_unlinked_row_keeps_what_is_direct_and_drops_what_was_published(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.broadcasts(two)
    direct, published = rig.say("h1", two)["message_id"], rig.publish("h1", broadcast=True)["message_id"]
    rig.unlink_by_owner(two)
    assert rig.state_at(published, two) == ("dropped", "session_ended")
    assert rig.at(direct, two).state in ("sent", "held")


@pytest.mark.spec("DLV-31", "HL-3", "CH-5")
@pytest.mark.parametrize("comes_back", [True, False])
def test_after_a_clear_what_was_published_waits_a_minute_for_the_start_that_follows(rig, comes_back) -> None:
    rig.session("h1")
    two = rig.session("h2", process=CLIENT)
    rig.broadcasts(two)
    mid = rig.publish("h1", broadcast=True)["message_id"]
    rig.hook("SessionEnd", "h2", reason="clear", process=CLIENT)
    if comes_back:
        rig.start("h3", "clear", process=CLIENT, permission_mode="default")
        assert mid in rig.carried("h3", process=CLIENT)
    rig.now += 61_000_000
    rig.look_at_controls()
    assert rig.at(mid, two).state == ("delivered" if comes_back else "dropped")


# -- a file of before ----------------------------------------------------------------------------------------------


@pytest.mark.spec("SET-1", "CH-1")
@pytest.mark.parametrize("channels_on", [False, True])
def test_a_file_of_schema_4_keeps_its_messages_and_gets_no_second_one(tmp_path, channels_on) -> None:
    """Trap V5: made by the steps of before, with direct messages in each state; all of it is there, and goes on."""
    states = [("sent", 0, ""), ("delivered", 5, ""), ("read", 5, "verified"), ("orphaned", 0, "")]
    with contextlib.closing(sqlite3.connect(tmp_path / "relaybay.db")) as old:
        old.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        old.execute("INSERT INTO schema_version VALUES (4)")
        for step in migrations.STEPS[:4]:
            for statement in step:
                old.execute(statement.format(**sqlite.WORDS))
        _fill(old, states)
        old.commit()
    rig = ChannelRig(tmp_path, Messaging(channels=channels_on))
    query = (
        "SELECT body, state, read_how, audience, sender_kind, admitted_us = d.sent_us FROM message m"
        " JOIN delivery d ON d.message_id = m.id ORDER BY m.id"
    )
    found = rig.store.read(lambda tx: tx.rows(query))
    assert found == [(f"text {n}", state, how, "direct", "session", 1) for n, (state, _, how) in enumerate(states)]
    names = {file.name for file in tmp_path.iterdir() if ".db" in file.name and "schema-" not in file.name}
    assert names <= {"relaybay.db", "relaybay.db-wal", "relaybay.db-shm"}, "no second file appears"
    alice, bob = (rig.titled(title) for title in ("Alice", "Bob"))
    assert (bob.inbound, bob.epoch, bob.suppressed, bob.broadcasts) == ("", 0, 0, 0)
    carried = rig.carried("h-bob")
    assert ('"text 0"' in carried) is not channels_on, "nobody noted where its sender stood, so auto holds it"
    assert "text 1" not in carried
    if channels_on:
        rig.approve("m_" + "0" * 26)
        assert '"text 0"' in rig.carried("h-bob")
    assert len(rig.inbox("h-bob")) == 3
    assert alice.name == "calm-alice"
    rig.relay.close()


def _fill(old: sqlite3.Connection, states) -> None:
    columns = {row[1]: row for row in old.execute("PRAGMA table_info(session)")}
    for key, title in ((1, "Alice"), (2, "Bob")):
        said = {
            "id": key, "title": title, "title_key": title.lower(), "kind": "hook", "link_state": "exact",
            "hook_id": f"h-{title.lower()}", "activity": "idle", "name": f"calm-{title.lower()}", "first_seen_us": 1,
            "link_named": 1,
        }  # fmt: skip
        _insert(old, "session", columns, said)
    columns = {row[1]: row for row in old.execute("PRAGMA table_info(message)")}
    for n in range(len(states)):
        said = {"id": n + 1, "mid": f"m_{n:026d}", "sender_id": 1, "sender_title": "Alice", "body": f"text {n}"}
        _insert(old, "message", columns, said | {"sent_us": 5, "digest": "d", "audience": "direct"})
    columns = {row[1]: row for row in old.execute("PRAGMA table_info(delivery)")}
    for n, (state, delivered, how) in enumerate(states):
        said = {"id": n + 1, "message_id": n + 1, "recipient_id": None if state == "orphaned" else 2, "state": state}
        said |= {"recipient_title": "Bob", "sent_us": 5, "delivered_us": delivered, "read_how": how}
        _insert(old, "delivery", columns, said | {"read_us": delivered if how else 0})


def _insert(old: sqlite3.Connection, table: str, columns, said) -> None:
    """A row whose other columns have what the table's own default is, or nothing of their kind."""
    for name, (_, _, type_, needed, default, key) in columns.items():
        if name not in said and needed and default is None and not key:
            said[name] = "" if type_ == "TEXT" else 0
    names = ", ".join(said)
    old.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(said))})", list(said.values()))
