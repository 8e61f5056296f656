"""What each key of the filter grammar lets through: messages, tasks, sessions; names looked up, refusals with places."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from relaybay.answers import word_refusal
from relaybay.domain import Refusal
from relaybay.rules.query_keys import KEYS
from relaybay.service import filters, filters_sessions, message_lists, sessions, tasks
from relaybay.store import events
from relaybay.store import sessions as stored_sessions
from tests.unit.mail_rig import OWNER, SECOND, MailRig

pytestmark = pytest.mark.spec("40", "70")
MINUTE = 60 * SECOND


class World(MailRig):
    """Messages `m1` … and tasks, of which at least one meets every word of the grammar."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ann = self.live("ann", cwd="/src/web", activity="working")
        self.cat = self.live("Cat, two", cwd="/src/api")
        self.old = self.row("old", "hook", "ended_exact", activity="ended", last_seen_us=self.now - MINUTE)
        self.none = self.row("nolink", "agent", "none", activity="unknown")

    def messages(self, q: str, **more: Any) -> list[str]:
        """Which messages a filter lets through, by their texts, and that the owner's list says the same."""
        found = self.listed(OWNER, q=q, **more)["messages"]
        return [one["body"].strip('"') for one in found]

    def tasks(self, q: str, **more: Any) -> list[str]:
        return [
            one["key"].removeprefix("shop-") for one in self.told(lambda tx: tasks.tasks_list(tx, q=q, **more))["tasks"]
        ]

    def rows(self, q: str) -> list[str]:
        found = self.store.read(lambda tx: sessions.list_sessions(tx, self.relay, q=q))
        assert found.refusal is None, found.refusal
        return [one["title"] for one in found.data["sessions"]]

    def wrong(self, q: str, subject: str) -> tuple[str, str, str]:
        """Code, spec id and words of a refused filter."""
        read = filters_sessions.passing if subject == "sessions" else None
        found = self.store.read(
            lambda tx: read(tx, self.relay, q) if read else filters.narrowed(tx, q, subject)  # type: ignore[arg-type]
        )
        assert isinstance(found, Refusal), found
        said = word_refusal(found)
        assert said.status == 422 and said.error
        return said.code, said.spec_id, self.hushed(said.text)


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path)
    yield made
    made.relay.close()


def test_messages_are_filtered_by_their_marks(world) -> None:
    by_ann, by_bob = world.by(world.ann), world.by(world.bob)
    first = world.send(by_ann, "read", to="bob")["message_id"]
    world.hand(world.bob)
    world.read_marks(by_bob, first)
    second = world.send(world.by(world.ann), "delivered", to="bob")["message_id"]
    world.hand(world.bob)
    world.store.write(lambda tx: tx.run("UPDATE delivery SET in_context_us = 5 WHERE id = 2"))
    world.send(world.by(world.ann), "sent", to="bob")
    gone = world.send(world.by(world.ann), "lost", to="old")["message_id"]
    world.store.write(lambda tx: tx.run("UPDATE delivery SET state = 'orphaned', recipient_id = NULL WHERE id = 4"))
    world.store.write(lambda tx: events.put_inbox(tx, "reply_too_deep", second, None))
    world.send(world.by(world.bob), "answer", in_reply_to=first)
    for q, found in {
        "": ["answer", "lost", "sent", "delivered", "read"],
        "is:undelivered": ["answer", "sent"],
        "is:unread": ["delivered"],
        "is:read": ["read"],
        "is:in-context": ["delivered"],
        "is:lost": ["lost"],
        "is:unanswered": ["answer", "lost", "sent", "delivered"],
        "is:needs-me": ["delivered"],
        "has:reply": ["read"],
        "has:task": [],
        "state:sent": ["answer", "sent"],
        "state:delivered": ["delivered"],
        "state:orphaned": ["lost"],
        "is:undelivered,unread": ["answer", "sent", "delivered"],
        "is:undelivered is:unanswered": ["answer", "sent"],
        "-is:undelivered": ["lost", "delivered", "read"],
        "-is:undelivered,lost": ["delivered", "read"],
        "sort:old": ["read", "delivered", "sent", "lost", "answer"],
        "sort:new is:read": ["read"],
    }.items():
        assert world.messages(q) == found, q
    assert gone
    world.store.write(lambda tx: events.see_inbox(tx, "reply_too_deep", second))
    assert world.messages("is:needs-me") == []


def test_messages_are_filtered_by_who_and_about_what(world) -> None:
    key = world.task(world.cat, title="About")
    world.store.write(lambda tx: tx.run("UPDATE session SET project_id = 1 WHERE id = ?", world.none.id))
    world.send(world.by(world.ann), "to bob", to="bob", task=key)
    world.send(world.by(world.bob), "to cat", to="Cat, two")
    world.send(world.by(world.cat), "to ann", to="ann")
    world.send(world.by(world.ann), "to nolink", to="nolink")
    world.send(world.by(world.ann), "to old", to="old")
    world.store.write(lambda tx: tx.run("UPDATE delivery SET recipient_id = NULL WHERE recipient_id = ?", world.old.id))
    for q, found in {
        "from:ann": ["to old", "to nolink", "to bob"],
        "from:ANN": ["to old", "to nolink", "to bob"],
        f"from:{world.ann.ref}": ["to old", "to nolink", "to bob"],
        "to:bob": ["to bob"],
        "to:bob,ann": ["to ann", "to bob"],
        'to:"Cat, two"': ["to cat"],
        "session:bob": ["to cat", "to bob"],
        "-session:bob": ["to old", "to nolink", "to ann"],
        "-to:bob": ["to old", "to nolink", "to ann", "to cat"],
        "from:ann to:bob": ["to bob"],
        f"task:{key}": ["to bob"],
        f"-task:{key}": ["to old", "to nolink", "to ann", "to cat"],
        "project:shop": ["to nolink", "to bob"],
        "-project:shop": ["to old", "to ann", "to cat"],
        "has:task": ["to bob"],
    }.items():
        assert world.messages(q) == found, q
    world.store.write(lambda tx: tx.run("UPDATE session SET project_id = 1 WHERE id = ?", world.cat.id))
    assert world.messages("project:shop") == ["to nolink", "to ann", "to cat", "to bob"], "sent by one of its sessions"


def test_two_sessions_of_one_name_are_both_meant(world) -> None:
    twin = world.row("twin", "agent", "none")
    world.store.write(lambda tx: tx.run("UPDATE session SET title = 'ann', title_key = 'ann' WHERE id = ?", twin.id))
    world.send(world.by(world.ann), "one", to="bob")
    world.store.write(lambda tx: tx.run("UPDATE message SET sender_id = ? WHERE body = 'one'", twin.id))
    world.send(world.by(world.ann), "two", to="bob")
    assert world.messages("from:ann") == ["two", "one"]


def test_times_are_moments_and_ages(world) -> None:
    world.send(world.by(world.ann), "before", to="bob")
    world.now += 10 * MINUTE
    world.send(world.by(world.ann), "after", to="bob")
    sent = world.stored(world.listed(OWNER, limit_=1)["messages"][0]["message_id"]).sent_us
    world.now = sent + 5 * MINUTE
    assert world.messages("older:4m") == ["after", "before"]
    assert world.messages("older:5m") == ["before"], "exactly so old is not older"
    assert world.messages("-older:5m") == ["after"]
    assert world.messages("older:301s") == ["before"]
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(sent // SECOND))
    world.store.write(lambda tx: tx.run("UPDATE message SET sent_us = ? WHERE body = 'after'", sent // SECOND * SECOND))
    assert world.messages(f"before:{moment}") == ["before"]
    assert world.messages(f"after:{moment}") == ["after"], "from that moment on"
    assert world.messages(f"-after:{moment}") == ["before"]


def test_a_day_is_one_of_the_machines_own_zone(monkeypatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert filters.moment_us("2026-11-30") == 1_795_964_400 * SECOND
        assert filters.moment_us("2026-11-30T00:00Z") == 1_795_996_800 * SECOND
        assert filters.moment_us("2026-11-30T09:00:30") == 1_795_996_830 * SECOND
    finally:
        monkeypatch.undo()
        time.tzset()


def test_tasks_are_filtered(world) -> None:
    first = world.task(world.ann, title="Mend the cart", body="It loses items")
    second = world.task(title="Other", status="doing")
    world.store.write(lambda tx: tx.run("INSERT INTO project (slug, title, created_us) VALUES ('api', 'Api', 1)"))
    third = world.told(lambda tx: tasks.task_create(tx, world.relay, OWNER, project="api", title="Third"))["key"]
    world.now += SECOND
    change = tasks.Change(step_add="A step")
    world.told(lambda tx: tasks.task_update(tx, world.relay, OWNER, task=second, change=change))
    world.store.write(
        lambda tx: tx.insert("attachment", task_id=3, name="a", media_type="b", size_bytes=1, sha256="c", created_us=1)
    )
    world.say(first, "please")
    for q, found in {
        "": ["api-1", "2", "1"],
        "cart": ["1"],
        '"the cart"': ["1"],
        "CART LOSES": ["1"],
        "car*": ["1"],
        "car": [],
        "-cart": ["api-1", "2"],
        "step": ["2"],
        "api-1": ["api-1"],
        "please": [],
        "status:doing": ["2"],
        "status:doing,inbox": ["api-1", "2", "1"],
        "-status:doing": ["api-1", "1"],
        "session:ann": ["1"],
        "-session:ann": ["api-1", "2"],
        "project:api": ["api-1"],
        "-project:api": ["2", "1"],
        "is:bound": ["1"],
        "is:unbound": ["api-1", "2"],
        "-is:bound": ["api-1", "2"],
        "is:undelivered": ["1"],
        "has:undelivered": ["1"],
        "is:unread": [],
        "is:unanswered": [],
        "has:comment": ["1"],
        "has:step": ["2"],
        "has:attachment": ["api-1"],
        "-has:attachment,step": ["1"],
        "sort:old": ["1", "2", "api-1"],
        "sort:updated": ["2", "api-1", "1"],
    }.items():
        assert world.tasks(q) == found, q
    assert world.tasks("sort:new", query="OSES") == ["1"], "a plain text goes on working beside a filter"
    assert world.tasks("is:unbound", query="oses") == []
    assert world.tasks("is:bound", status="doing") == [] and world.tasks("", project="api") == ["api-1"]
    world.now += MINUTE
    assert world.tasks("older:61s") == ["api-1", "1"], "exactly so old is not older"
    assert world.tasks("-older:61s") == ["2"]
    assert third == "api-1"


def test_tasks_are_filtered_by_what_waits_on_them(world) -> None:
    first, second, third = (world.task(world.ann), world.task(world.bob), world.task())
    said = world.say(first)["id"]
    world.hand(world.ann)
    sent = world.send(world.by(world.ann), "about", to="bob", task=third)["message_id"]
    assert world.tasks("is:unread") == ["1"] and world.tasks("is:undelivered") == ["3"]
    world.hand(world.bob)
    assert world.tasks("is:unread") == ["3", "1"] and world.tasks("is:undelivered") == []
    world.add(world.by(world.ann), first, "done", said)
    assert world.tasks("is:unanswered") == world.tasks("is:needs-me") == ["1"]
    assert world.tasks("is:unread") == ["3"], "a reply is none of the owner's comments"
    world.store.write(lambda tx: events.put_inbox(tx, "reply_too_deep", sent, None))
    assert world.tasks("is:needs-me") == ["3", "1"] and world.tasks("is:unanswered") == ["1"]
    assert second


def test_pages_go_on_in_the_order_that_was_asked_for(world) -> None:
    for number in range(5):
        world.task(title=f"needle {number}", body="hay" * (number % 2))
        world.send(world.by(world.ann), f"m{number}", to="bob")
    world.now += SECOND
    world.told(lambda tx: tasks.task_update(tx, world.relay, OWNER, task="shop-2", change=tasks.Change(status="done")))
    for order, whole in {"new": "54321", "old": "12345", "updated": "25431"}.items():
        seen: list[str] = []
        before = ""
        while True:
            page = world.told(lambda tx: tasks.tasks_list(tx, q=f"needle sort:{order}", limit=2, before=before))  # noqa: B023
            seen += [one["key"].removeprefix("shop-") for one in page["tasks"]]
            if "before" not in page:
                break
            before = page["before"]
        assert "".join(seen) == whole, order
    for order, whole in {"new": ["m4", "m3", "m2", "m1", "m0"], "old": ["m0", "m1", "m2", "m3", "m4"]}.items():
        first = world.listed(OWNER, q=f"sort:{order}", limit_=2)
        second = world.listed(OWNER, q=f"sort:{order}", limit_=9, before=first["before"])
        assert [one["body"].strip('"') for one in first["messages"] + second["messages"]] == whole


def test_sessions_are_filtered(world) -> None:
    key = world.task(world.cat, title="T")
    world.store.write(lambda tx: tx.run("UPDATE session SET project_id = 1 WHERE id = ?", world.cat.id))
    world.store.write(
        lambda tx: tx.run("UPDATE session SET asks = 'input', asks_since_us = 1 WHERE id = ?", world.none.id)
    )
    world.store.write(lambda tx: events.put_inbox(tx, "hook_fault", "x", world.old.id))
    said = world.say(key)["id"]
    world.send(world.by(world.cat), "to ann", to="ann")
    world.send(world.by(world.cat), "to bob", to="bob")
    world.hand(world.bob)
    everybody = ["nolink", "old", "Cat, two", "ann", "bob"]
    checks = {
        "": everybody,
        "an": ["ann"],
        "SRC": ["Cat, two", "ann"],
        "@": everybody,
        f"{world.ann.ref}": ["ann"],
        "-src": ["nolink", "old", "bob"],
        "session:ann,bob": ["ann", "bob"],
        "-session:ann,bob": ["nolink", "old", "Cat, two"],
        f"task:{key}": ["Cat, two"],
        "project:shop": ["Cat, two"],
        "is:live": ["Cat, two", "ann", "bob"],
        "-is:live": ["nolink", "old"],
        "is:undelivered": ["Cat, two", "ann"],
        "has:undelivered": ["Cat, two", "ann"],
        "is:unread": ["bob"],
        "is:unanswered": [],
        "is:needs-me": ["nolink", "old"],
        "has:comment": ["Cat, two"],
        "has:task": ["Cat, two"],
        "state:working": ["ann"],
        "state:idle": ["Cat, two", "bob"],
        "state:unknown": ["nolink"],
        "state:ended": ["old"],
        "state:working,ended": ["old", "ann"],
        "sort:old": everybody[::-1],
    }
    del checks["@"]
    for q, found in checks.items():
        assert world.rows(q) == found, q
    world.hand(world.cat)
    world.add(world.by(world.cat), key, "done", said)
    assert world.rows("is:unanswered") == ["Cat, two"] and world.rows("has:comment") == []
    assert world.rows("is:needs-me") == ["nolink", "old", "Cat, two"]


def test_sessions_are_filtered_by_when_they_were_seen(world) -> None:
    def seen(row, at_us: int) -> None:
        world.store.write(lambda tx: tx.run("UPDATE session SET last_seen_us = ? WHERE id = ?", at_us, row.id))

    second = world.now // SECOND * SECOND
    for row, ago in ((world.ann, 50), (world.bob, 100), (world.cat, 200), (world.old, 300), (world.none, 400)):
        seen(row, second - ago * SECOND)
    world.now = second
    assert world.rows("older:100s") == ["nolink", "old", "Cat, two"] and world.rows("-older:100s") == ["ann", "bob"]
    moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second // SECOND - 200))
    assert world.rows(f"before:{moment}") == ["nolink", "old"]
    assert world.rows(f"after:{moment}") == ["Cat, two", "ann", "bob"]
    assert world.rows("sort:seen") == ["ann", "bob", "Cat, two", "old", "nolink"]
    assert world.rows("sort:new") == ["nolink", "old", "Cat, two", "ann", "bob"]


@pytest.mark.parametrize(
    ("q", "subject", "spec", "words"),
    [
        ("is:unred", "messages", "40", 'At character 4 of the filter: "unred" is no value'),
        ("is:unred", "messages", "40", "Here can stand: unread, read, unanswered."),
        ("a stauts:x", "tasks", "40", 'At character 3 of the filter: there is no key "stauts". Nothing was looked for. Here can stand: status:.'),
        ("group:build", "messages", "40", 'the key "group" is kept for groups'),
        ("topic:CI.x", "messages", "40", '"CI.x"'),
        ("author:owner", "messages", "40", 'messages have no key "author"; it belongs to search'),
        ("has:x", "search", "40", 'search have no key "has"; it belongs to messages, tasks, sessions.'),
        ("cart", "messages", "40", "messages are not searched by their text"),
        ("cart", "messages", "40", "from:, to:, session:"),
        ("status:", "tasks", "40", 'At character 8 of the filter: a value of "status" is missing'),
        ("session:", "tasks", "40", 'a value of "session" is missing. Nothing was looked for.'),
        ('"a', "tasks", "40", "At character 1 of the filter: no second quotation mark"),
        ('a"b', "tasks", "40", 'At character 2 of the filter: "\\"" stands where a space has to'),
        ("!", "tasks", "40", '"!" has no letter'),
        ("sort:new sort:old", "tasks", "40", 'At character 10 of the filter: the key "sort" stands once'),
        ("x" * 1001, "tasks", "40", "at most 1000 characters"),
        ("x " * 41, "tasks", "40", "At character 81 of the filter: there are more than 40"),
        ("a\0", "tasks", "40", "At character 2 of the filter: this is no text"),
        ("is:read from:anm", "messages", "RECV-1", 'At character 14 of the filter: no session is called "anm"'),
        ("from:anm", "messages", "RECV-1", '"ann"'),
        ("session:x", "sessions", "RECV-1", "At character 9 of the filter"),
        ("task:shop-9", "messages", "75", 'At character 6 of the filter: there is no task "shop-9". Nothing was looked for. Here can stand: shop-1.'),
        ("task:shop-9", "sessions", "75", "there is no task"),
        ("project:sop", "tasks", "75", 'At character 9 of the filter: there is no project "sop". Nothing was looked for. Here can stand: shop.'),
        ("project:sop", "sessions", "75", "there is no project"),
        ("-project:sop status:done", "tasks", "75", "At character 10 of the filter"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_its_place(world, q, subject, spec, words) -> None:
    world.task()
    code, spec_id, text = world.wrong(q, subject)
    assert (code, spec_id) == ("argument_invalid", spec)
    assert words in text


def test_the_newest_tasks_are_offered_where_none_is_near(world) -> None:
    for _ in range(7):
        world.task()
    _, _, text = world.wrong("task:nothing", "messages")
    assert "Here can stand: shop-7, shop-6, shop-5, shop-4, shop-3." in text


def test_sessions_are_found_by_each_of_their_names(world) -> None:
    world.store.write(lambda tx: tx.run("UPDATE session SET name = 'brave-otter' WHERE id = ?", world.ann.id))
    world.store.write(lambda tx: stored_sessions.add_alias(tx, world.cat.id, "The Tiger", "the tiger", "owner"))
    assert world.rows("@brave-OTTER") == world.rows("otter") == ["ann"]
    assert world.rows('"the tiger"') == ["Cat, two"] and world.rows("@nobody") == []


def test_a_hook_id_is_nobodys_name_and_is_not_shown(world) -> None:
    _, _, text = world.wrong(f"from:{world.ann.hook_id}", "messages")
    assert '"…"' in text


def test_every_list_refuses_a_wrong_filter(world) -> None:
    for work in (
        lambda tx: tasks.tasks_list(tx, q="is:x"),
        lambda tx: message_lists.list_messages(tx, world.relay, OWNER, q="is:x"),
        lambda tx: sessions.list_sessions(tx, world.relay, q="is:x"),
    ):
        outcome = world.store.read(work)
        assert outcome.refusal is not None and outcome.refusal.answer == "query.value_unknown"


def test_every_word_of_the_grammar_has_a_meaning(world) -> None:
    """No key or choice that parses may fail when it is asked for."""
    world.task()
    values = {"name": "ann", "task": "shop-1", "project": "shop", "age": "1m", "time": "2026-11-30", "topic": "ci.*"}
    for subject in ("messages", "tasks", "search"):
        for name, key in KEYS[subject].items():
            for value in key.choices or [values[key.kind]]:
                found = world.store.read(lambda tx: filters.narrowed(tx, f"{name}:{value}", subject))  # noqa: B023
                assert not isinstance(found, Refusal), (subject, name, value)
                assert len(found[1]) == (name != "sort")
    for name, key in KEYS["sessions"].items():
        for value in key.choices or [values[key.kind]]:
            world.rows(f"{name}:{value}")
