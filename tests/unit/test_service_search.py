"""What a search gives: tasks and comments with pieces and pages; filters that are kept; and filtered read models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from relaybay.answers import word_refusal
from relaybay.domain import Outcome
from relaybay.service import saved_views, search_index, views, views_messages, views_search, views_sessions
from relaybay.service.clock import rfc3339
from relaybay.service.views_search import OPENING_CHARS, PAGE_FOUND, SKIP_MAX, pieces
from relaybay.service.waits import WaitEntry
from relaybay.store import search, tasks
from tests.unit.mail_rig import SECOND, MailRig

pytestmark = pytest.mark.spec("40", "70")


@pytest.fixture
def rig(tmp_path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def read(rig: MailRig, view: Any, **given: Any) -> dict[str, Any]:
    outcome: Outcome = rig.store.read(lambda tx: view(tx, rig.relay, **given))
    assert outcome.refusal is None, outcome.refusal
    return json.loads(json.dumps(outcome.data))


def refused(rig: MailRig, view: Any, **given: Any) -> tuple[int, str]:
    outcome: Outcome = rig.store.read(lambda tx: view(tx, rig.relay, **given))
    assert outcome.refusal is not None
    said = word_refusal(outcome.refusal)
    return said.status, said.text


def found(rig: MailRig, q: str, **more: Any) -> dict[str, Any]:
    return read(rig, views_search.search_texts, q=q, **more)


def shown(parts: list[dict[str, Any]]) -> str:
    """Pieces as one line, what was looked for in brackets."""
    return "".join(f"[{json.loads(p['text'])}]" if p["hit"] else json.loads(p["text"]) for p in parts)


# -- search -----------------------------------------------------------------------------------------------------------


def test_a_task_is_found_with_what_it_is(rig) -> None:
    key = rig.task(title="Mend the cart", body="It <b>loses</b> items")
    (hit,) = found(rig, "loses")["found"]
    assert hit["snippet"][0] == {"text": '"It \\u003cb\\u003e"', "hit": False}
    assert (shown(hit["title"]), shown(hit["snippet"])) == ("Mend the cart", "It <b>[loses]</b> items")
    assert {name: hit[name] for name in ("kind", "task", "project", "status", "author")} == {
        "kind": "task", "task": key, "project": "shop", "status": "inbox", "author": {"kind": "owner"},
    }  # fmt: skip
    assert hit["at"].startswith("2027-01-15T08:00:0") and "comment_id" not in hit
    (hit,) = found(rig, "CART")["found"]
    assert (shown(hit["title"]), shown(hit["snippet"])) == ("Mend the [cart]", "It <b>loses</b> items")


def test_a_comment_is_found_with_whose_it_is(rig) -> None:
    key = rig.task(rig.bob, title="needle")
    rig.now += SECOND
    mine = rig.say(key, "a needle of mine")["id"]
    rig.hand(rig.bob)
    theirs = rig.add(rig.by(rig.bob), key, "a needle of theirs", mine)["id"]
    first, second = found(rig, "needle in:comment sort:old")["found"]
    assert [one["comment_id"] for one in (first, second)] == [mine, theirs]
    assert (first["kind"], shown(first["title"]), shown(first["snippet"])) == (
        "comment",
        "needle",
        "a [needle] of mine",
    )
    assert first["author"] == {"kind": "owner"} and second["author"]["title"] == "bob"
    assert first["at"] < second["at"]
    assert found(rig, "mine")["found"][0]["at"] == first["at"]


def test_pages_follow_each_other_and_end(rig) -> None:
    for number in range(PAGE_FOUND + 2):
        rig.task(title=f"needle {number}")
    first = found(rig, "needle sort:old")
    assert (len(first["found"]), first["count"], first["skip"], first["next"]) == (20, 22, 0, 20)
    assert first["text"] == "22 tasks and comments were found; 20 of them follow, from number 1 on."
    second = found(rig, "needle sort:old", skip=first["next"])
    assert (len(second["found"]), second["count"], second["skip"], "next" in second) == (2, 22, 20, False)
    assert second["text"] == "22 tasks and comments were found; 2 of them follow, from number 21 on."
    keys = [one["task"] for one in first["found"] + second["found"]]
    assert keys == [f"shop-{number}" for number in range(1, 23)]
    assert found(rig, "needle", limit=22).keys() == second.keys()
    assert found(rig, "needle", limit=21)["next"] == 21
    assert found(rig, "needle", skip=SKIP_MAX)["found"] == []
    assert (SKIP_MAX, OPENING_CHARS, PAGE_FOUND) == (1_000, 200, 20)


def test_one_pages_no_further_than_a_bound(rig, monkeypatch) -> None:
    for number in range(5):
        rig.task(title=f"needle {number}")
    monkeypatch.setattr(views_search, "SKIP_MAX", 2)
    assert found(rig, "needle", limit=1, skip=1)["next"] == 2
    assert "next" not in found(rig, "needle", limit=1, skip=2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"q": "is:read"}, 'search have no key "is"; it belongs to messages'),
        ({"q": "task:shop-7"}, 'there is no task "shop-7"'),
        ({"q": "x", "skip": -1}, "skip"),
        ({"q": "x", "skip": SKIP_MAX + 1}, "1000"),
        ({"q": "x", "limit": 0}, "limit"),
        ({"q": "x", "limit": 201}, "200"),
    ],
)
def test_what_cannot_be_searched_is_refused(rig, given, words) -> None:
    status, text = refused(rig, views_search.search_texts, **given)
    assert status == 422 and words in text


def test_nothing_asked_finds_nothing(rig) -> None:
    rig.task()
    empty = found(rig, "  ")
    assert (empty["found"], empty["count"], empty["texts"], empty["query"]) == ([], 0, 1, "")
    assert found(rig, " T   sort:old ")["query"] == "T sort:old"


def test_terms_narrow_what_is_found(rig) -> None:
    first, second = rig.task(title="one needle"), rig.task(title="two needle")
    assert [one["task"] for one in found(rig, "needle -one")["found"]] == [second]
    assert [one["task"] for one in found(rig, f"needle task:{first}")["found"]] == [first]
    assert [one["task"] for one in found(rig, "need* tw*")["found"]] == [second]
    assert found(rig, "need")["count"] == 0
    assert found(rig, "needle before:2026-01-01")["count"] == 0 and found(rig, "needle after:2026-01-01")["count"] == 2


def test_how_a_text_begins_stands_where_it_was_not_looked_for(rig) -> None:
    rig.task(title="needle", body="x" * OPENING_CHARS)
    rig.task(title="needle", body="x" * OPENING_CHARS + "y")
    short, long = found(rig, "needle sort:old")["found"]
    assert shown(short["snippet"]) == "x" * OPENING_CHARS
    assert shown(long["snippet"]) == "x" * OPENING_CHARS + "…"
    assert [shown(one["snippet"]) for one in found(rig, "in:task sort:old")["found"]] == [
        shown(short["snippet"]),
        shown(long["snippet"]),
    ]


def test_a_text_with_marks_of_its_own_is_shown_without(rig) -> None:
    on, off = search.MARK_ON, search.MARK_OFF
    assert pieces(f"a {on}b{off} c", "a b c") == [
        {"text": '"a "', "hit": False},
        {"text": '"b"', "hit": True},
        {"text": '" c"', "hit": False},
    ]
    assert pieces(f"{on}b{off}", "b") == [{"text": '"b"', "hit": True}]
    assert pieces(f"{on}b{off}", f"b {on}") == pieces(f"{on}b{off}", f"{off}") == [{"text": '"b"', "hit": False}]
    rig.task(title="T", body="a needle")
    rig.store.write(lambda tx: tasks.add_step(tx, 1, f"step {on}"))
    (hit,) = found(rig, "needle")["found"]
    assert shown(hit["snippet"]) == "a needle", "a step is shown with the text, and it has such a character"


def test_a_damaged_text_is_not_shown_from_what_the_search_keeps(rig) -> None:
    key = rig.task(title="T", body="needle")
    cid = rig.say(key, "needle too")["id"]
    rig.store.write(lambda tx: tx.run("UPDATE task SET body_md = 'x'"))
    rig.store.write(lambda tx: tx.run("UPDATE comment SET body_md = 'x'"))
    for one, name in zip(found(rig, "needle sort:old")["found"], (key, cid), strict=True):
        assert "needle" not in shown(one["snippet"]) and name in shown(one["snippet"])


def test_the_index_is_looked_after(rig) -> None:
    rig.task(title="needle")
    assert not search_index.complete(rig.store) and not search_index.mend(rig.store)
    rig.store.write(lambda tx: tx.run("DELETE FROM search_text"))
    assert search_index.complete(rig.store) and found(rig, "needle")["count"] == 1
    rig.store.write(lambda tx: tx.run("UPDATE search_text SET title = 'x'"))
    assert not search_index.complete(rig.store)
    assert search_index.mend(rig.store) and found(rig, "needle")["count"] == 1
    rig.store.write(lambda tx: tx.run("UPDATE search_text_data SET block = zeroblob(40) WHERE id > 10"))
    assert search_index.mend(rig.store) and found(rig, "needle")["count"] == 1


# -- saved filters ----------------------------------------------------------------------------------------------------


def save(rig: MailRig, page: str = "messages", name: str = "Mine", q: str = "is:read") -> dict[str, Any]:
    return rig.told(lambda tx: saved_views.save(tx, rig.relay, page=page, name=name, q=q))


def kept(rig: MailRig, page: str = "messages") -> list[dict[str, Any]]:
    return rig.store.read(lambda tx: saved_views.listed(tx, rig.relay, page))


def test_a_filter_is_kept_under_a_name_of_its_page(rig) -> None:
    made = save(rig, name='  My\n"view" ', q=" IS:unread   from:bob ")
    assert (made["page"], made["query"]) == ("messages", "is:unread from:bob")
    assert made["text"] == 'The filter is saved as "My \\"view\\"".'
    assert kept(rig) == [
        {"id": made["id"], "name": '"My \\"view\\""', "query": "is:unread from:bob", "count": 0, "more": False}
    ]
    assert save(rig, name='My "view"', q="is:lost")["id"] == made["id"], "the name is used again"
    assert [one["query"] for one in kept(rig)] == ["is:lost"] and kept(rig, "board") == []
    gone = rig.told(lambda tx: saved_views.forget(tx, rig.relay, view_id=str(made["id"])))
    assert (gone["page"], gone["query"], kept(rig)) == ("messages", "is:lost", [])
    assert 'The saved filter "My \\"view\\"" is gone.' in gone["text"]


def test_what_cannot_be_kept_is_refused(rig) -> None:
    def no(**given: str) -> tuple[str, str]:
        arguments = {"page": "messages", "name": "x", "q": "is:read", **given}
        return rig.no(lambda tx: saved_views.save(tx, rig.relay, **arguments))

    assert no(page="inbox") == no(name=" \u200b") == no(name="x" * 61) == no(q="  ") == ("argument_invalid", "75")

    def why(**given: str) -> str:
        arguments = {"page": "messages", "name": "x", "q": "is:read", **given}
        outcome = rig.store.write(lambda tx: saved_views.save(tx, rig.relay, **arguments))
        return word_refusal(outcome.refusal).text

    assert "`page` was not taken: it has to be one of board, sessions, messages, search" in why(page="inbox")
    assert "`name` was not taken: it has 61 characters, and at most 60" in why(name="x" * 61)
    assert "`name` was not taken: there is nothing" in why(name=" ")
    assert "`q` was not taken: there is nothing" in why(q=" ")
    assert no(q="is:x") == no(page="search", q="is:read") == ("argument_invalid", "40")
    assert save(rig, name="x" * saved_views.NAME_CHARS_MAX) and saved_views.NAME_CHARS_MAX == 60
    for number in range(1, saved_views.VIEWS_MAX):
        save(rig, name=f"v{number}")
    assert len(kept(rig)) == saved_views.VIEWS_MAX == 20
    assert no(name="more") == ("argument_invalid", "70")
    assert save(rig, name="v3", q="is:lost") and save(rig, page="board", q="is:bound")


def test_a_key_has_at_most_seventeen_digits(rig) -> None:
    for digits, gone in ((17, True), (18, False)):
        save(rig)
        rig.store.write(lambda tx: tx.run(f"UPDATE saved_view SET id = {10 ** (digits - 1)}"))  # noqa: B023
        view_id = str(10 ** (digits - 1))
        outcome = rig.store.write(lambda tx: saved_views.forget(tx, rig.relay, view_id=view_id))  # noqa: B023
        assert outcome.ok is gone


@pytest.mark.parametrize("view_id", ["", "x", "9", "-1", "٣", "9" * 17, "9" * 40])
def test_what_was_never_kept_cannot_be_forgotten(rig, view_id: str) -> None:
    save(rig)
    outcome = rig.store.write(lambda tx: saved_views.forget(tx, rig.relay, view_id=view_id))
    assert outcome.refusal is not None and word_refusal(outcome.refusal).status == 404
    assert len(kept(rig)) == 1


def test_each_page_counts_what_its_filters_let_through(rig) -> None:
    ann = rig.live("ann", activity="working")
    rig.task(ann, status="doing")
    rig.task(status="doing")
    rig.task(status="done")
    for number in range(3):
        rig.send(rig.by(ann), f"m{number}", to="bob")
    queries = {"messages": ("from:ann", 3), "board": ("status:doing", 2), "sessions": ("state:working", 1)}
    for page, (q, count) in queries.items():
        save(rig, page, q=q)
        (view,) = kept(rig, page)
        assert (view["count"], view["more"]) == (count, False), page
    save(rig, "search", q="x")
    assert "count" not in kept(rig, "search")[0] and "more" not in kept(rig, "search")[0]
    for page in queries:
        save(rig, page, q="session:ann")
    rig.store.write(lambda tx: tx.run("UPDATE session SET title = 'x', title_key = 'x' WHERE title = 'ann'"))
    for page in queries:
        assert "count" not in kept(rig, page)[0], "it names what is gone"


def test_much_is_counted_up_to_a_bound(rig, monkeypatch) -> None:
    assert saved_views.COUNT_MAX == 100
    monkeypatch.setattr(saved_views, "COUNT_MAX", 2)
    ann = rig.live("ann")
    for number in range(3):
        rig.task()
        rig.send(rig.by(ann), f"m{number}", to="bob")
    for page, q in (("messages", "from:ann"), ("board", "is:unbound"), ("sessions", "is:live")):
        save(rig, page, q=q)
        assert [(view["count"], view["more"]) for view in kept(rig, page)] == [(2, True)], page


# -- filtered read models ---------------------------------------------------------------------------------------------


def test_the_board_shows_the_cards_that_a_filter_lets_through(rig) -> None:
    first, second = rig.task(title="one needle", status="todo"), rig.task(title="two needle", status="todo")
    rig.task(title="other", status="doing")
    rig.task(title="needle", status="dropped")
    save(rig, "board", q="is:bound")

    def cards(**given: str) -> dict[str, list[str]]:
        board = read(rig, views.board, **given)
        assert [c["count"] for c in board["columns"]] == [len(c["cards"]) for c in board["columns"]]
        return {c["status"]: [card["key"] for card in c["cards"]] for c in board["columns"] if c["cards"]}

    assert cards(q="needle") == {"todo": [second, first]} == cards(q="needle", project="shop")
    assert cards(q="needle sort:old") == {"todo": [first, second]}
    assert cards(q="status:doing") == {"doing": ["shop-3"]}
    board = read(rig, views.board, q="  needle ")
    assert (board["q"], board["dropped"], [view["query"] for view in board["views"]]) == ("needle", 1, ["is:bound"])
    assert refused(rig, views.board, q="is:x")[0] == 422
    assert refused(rig, views.board, q="is:bound", project="nothing")[0] == 404
    rig.told(lambda tx: tasks_add(tx, "api"))
    assert cards(q="extra") == {"inbox": ["api-1"]} and cards(q="extra", project="shop") == {}


def tasks_add(tx: Any, slug: str) -> Outcome:
    project = tasks.add_project(tx, slug, slug, "")
    tasks.add(tx, project, title="extra", status="inbox", author="owner")
    return Outcome()


def test_the_list_of_sessions_is_filtered_and_ordered(rig) -> None:
    rig.live("ann")
    save(rig, "sessions", q="is:live")

    def titles(q: str) -> list[str]:
        return [row["title"] for g in read(rig, views_sessions.session_list, q=q)["groups"] for row in g["sessions"]]

    assert titles("") == ["ann", "bob"] and titles("sort:old") == ["bob", "ann"] and titles("an") == ["ann"]
    data = read(rig, views_sessions.session_list, q="an")
    assert (data["q"], data["count"], [view["query"] for view in data["views"]]) == ("an", 1, ["is:live"])
    assert refused(rig, views_sessions.session_list, q="x:")[0] == 422


def bodies(rig: MailRig, **given: Any) -> list[str]:
    return [json.loads(one["body"]) for one in read(rig, views_messages.message_list, **given)["messages"]]


def test_old_addresses_of_messages_are_filters(rig) -> None:
    ann = rig.live("ann")
    key = rig.task()
    rig.send(rig.by(ann), "to bob", to="bob", task=key)
    rig.hand(rig.bob)
    rig.send(rig.by(rig.bob), "to ann", to="ann")
    for given, q, found_ in (
        ({}, "", ["to ann", "to bob"]),
        ({"session": "ann"}, f"session:{ann.ref}", ["to ann", "to bob"]),
        ({"session": "ann", "box": "in"}, f"to:{ann.ref}", ["to ann"]),
        ({"session": "ann", "box": "out"}, f"from:{ann.ref}", ["to bob"]),
        ({"state": "unread"}, "is:unread", ["to bob"]),
        ({"state": "undelivered"}, "is:undelivered", ["to ann"]),
        ({"state": "read"}, "is:read", []),
        ({"state": "lost"}, "is:lost", []),
        ({"task": key.upper()}, f"task:{key}", ["to bob"]),
        ({"q": "from:bob", "state": "undelivered"}, "from:bob is:undelivered", ["to ann"]),
    ):
        data = read(rig, views_messages.message_list, **given)
        assert (data["q"], bodies(rig, **given), bodies(rig, q=q)) == (q, found_, found_), given
    for given, status in (
        ({"session": "nobody"}, 404),
        ({"state": "x"}, 422),
        ({"box": "x"}, 422),
        ({"q": "x"}, 422),
        ({"before": "m_1"}, 404),
        ({"task": "shop-9"}, 404),
    ):
        assert refused(rig, views_messages.message_list, **given)[0] == status, given


def test_a_list_about_one_session_knows_it(rig) -> None:
    ann = rig.live("ann")
    rig.send(rig.by(ann), "x", to="bob")

    def direction(q: str) -> tuple[str | None, str]:
        data = read(rig, views_messages.message_list, q=q)
        return (data["session"] or {}).get("ref"), data["messages"][0]["direction"]

    assert direction("from:ann") == (ann.ref, "out") and direction("session:ann") == (ann.ref, "out")
    assert direction("to:bob") == (rig.bob.ref, "in")
    for q in ("", "session:ann,bob", "from:ann to:bob", "-from:bob", "is:undelivered"):
        assert direction(q) == (None, "in"), q
    twin = rig.row("twin")
    rig.store.write(lambda tx: tx.run("UPDATE session SET title = 'ann', title_key = 'ann' WHERE id = ?", twin.id))
    assert direction("from:ann") == (None, "in")


def test_pages_of_messages_go_on_either_way(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_messages, "PAGE_MESSAGES", 2)
    ann = rig.live("ann")
    for number in range(3):
        rig.send(rig.by(ann), f"m{number}", to="bob")
    for q, first, rest in (("", ["m2", "m1"], ["m0"]), ("sort:old", ["m0", "m1"], ["m2"])):
        data = read(rig, views_messages.message_list, q=q)
        assert [json.loads(one["body"]) for one in data["messages"]] == first
        after = read(rig, views_messages.message_list, q=q, before=data["before"])
        assert ([json.loads(one["body"]) for one in after["messages"]], after["before"]) == (rest, None)
    assert read(rig, views_messages.message_list, q="from:ann")["before"] is not None
    monkeypatch.setattr(views_messages, "PAGE_MESSAGES", 3)
    assert read(rig, views_messages.message_list, q="from:ann")["before"] is None


def test_a_thread_is_whole_and_bounded(rig, monkeypatch) -> None:
    ann = rig.live("ann")
    first = rig.send(rig.by(ann), "q", to="bob")["message_id"]
    second = rig.send(rig.by(rig.bob), "a", in_reply_to=first)["message_id"]
    other = rig.send(rig.by(ann), "other", to="bob")["message_id"]
    for asked in (first, second):
        data = read(rig, views_messages.thread, message_id=asked)
        assert [(one["message_id"], one["level"]) for one in data["messages"]] == [(first, 0), (second, 1)]
        assert (data["message"], data["left_out"]) == (asked, False)
        assert data["runs"] == [{"first": 0, "end": 2, "folded": False, "open": False}]
    assert [one["message_id"] for one in read(rig, views_messages.thread, message_id=other)["messages"]] == [other]
    assert refused(rig, views_messages.thread, message_id="m_1")[0] == 404
    monkeypatch.setattr(views_messages, "THREAD_MAX", 1)
    data = read(rig, views_messages.thread, message_id=second)
    assert ([one["message_id"] for one in data["messages"]], data["left_out"]) == ([first], True)


def test_a_run_is_open_where_the_message_that_was_asked_for_is(rig) -> None:
    ann = rig.live("ann")
    ids = [rig.send(rig.by(ann), "0", to="bob")["message_id"]]
    for number in range(1, 6):
        rig.now += 20 * SECOND
        ids.append(rig.send(rig.by((ann, rig.bob)[number % 2]), str(number), in_reply_to=ids[-1])["message_id"])
    opened = [read(rig, views_messages.thread, message_id=one)["runs"][1]["open"] for one in ids]
    assert opened == [False] * 4 + [True] * 2


def test_since_when_a_reason_holds(rig) -> None:
    ann = rig.live("ann", activity="working")
    over = rig.row("over", "hook", "ended_exact", activity="ended", ended_us=5 * SECOND)
    agent = rig.row("agent", "agent", "none", first_seen_us=7 * SECOND)
    moved = rig.row("moved", "hook", "moved", moved_to=ann.id)

    def since(to: str) -> str | None:
        mid = rig.send(rig.by(rig.bob if to == "ann" else ann), "x", to=to)["message_id"]
        rig.now += 20 * SECOND
        return read(rig, views_messages.thread, message_id=mid)["messages"][0].get("reason_since")

    assert since("ann") is None and since("bob") is None and since("moved") is None
    assert since("over") == "1970-01-01T00:00:05.000000Z" and since("agent") == "1970-01-01T00:00:07.000000Z"
    rig.relay.presence.by_row(ann.id).prompted_us = 3 * SECOND
    rig.relay.presence.by_row(rig.bob.id).stopped_us = 4 * SECOND
    assert since("ann") == "1970-01-01T00:00:03.000000Z" and since("bob") == "1970-01-01T00:00:04.000000Z"
    wait = WaitEntry("w", rig.bob.id, rig.bob.hook_id or "", rig.now)
    opened = rig.now
    rig.relay.waits.open(wait, link_exact_live=True)
    rig.relay.waits.begin_poll(wait, lambda: None)
    assert since("bob") == rfc3339(opened)
    assert over and agent and moved


def test_since_when_a_text_was_not_seen_in_context(rig) -> None:
    ann = rig.live("ann")
    mid = rig.send(rig.by(ann), "x", to="bob")["message_id"]
    rig.hand(rig.bob)
    (one,) = read(rig, views_messages.thread, message_id=mid)["messages"]
    assert "reason_since" not in one
    rig.store.write(lambda tx: tx.run("UPDATE delivery SET reason_code = 'not_in_context'"))
    (one,) = read(rig, views_messages.thread, message_id=mid)["messages"]
    assert one["reason_since"] == one["delivered_at"]
    rig.store.write(lambda tx: tx.run("UPDATE delivery SET state = 'orphaned', recipient_id = NULL"))
    (one,) = read(rig, views_messages.thread, message_id=mid)["messages"]
    assert "reason_since" not in one and one["reason_code"] == "row_gone"
