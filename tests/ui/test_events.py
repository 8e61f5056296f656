"""The event feed as a page: in words, of one kind, session or task, page after page without a gap."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from relaybay.domain import Caller
from relaybay.service import inbox, projects, sessions, tasks
from relaybay.service.views_events import PAGE_EVENTS
from tests.ui.board_rig import OWNER, Board


def feed(board: Board, query: str = "") -> list[tuple[str, dict]]:
    return [(event["type"], event["data"]) for event in board.get(f"/events.json{query}").json["events"]]


def filled(board: Board) -> str:
    a, b = board.session("coordinator"), board.session("reviewer")
    key = board.task(bound=b)
    mid = board.send(a, b.ref, "look", task=key)
    board.hand_over(b)
    board.acknowledge(b, mid)
    board.owner_comment(key, "do it")
    board.reply(b, key, "done")
    board.write(lambda tx: tasks.task_update(tx, board.relay, OWNER, task=key, change=tasks.Change(status="done")))
    board.write(lambda tx: sessions.rename(tx, board.relay, a.ref, "lead"))
    return key


@pytest.mark.spec("40", "70")
def test_the_feed_in_words_newest_first(board: Board) -> None:
    key = filled(board)
    page = board.page("/events")
    said = [e.text for e in page.all("span", class_="feed-words")]
    assert said == [
        "Renamed from coordinator to lead",
        f"Task {key} moved from To do to Done by you",
        f"reviewer commented on {key}",
        f"You commented on {key}",
        f"Message read: coordinator to reviewer, about {key}",
        f"Message delivered: coordinator to reviewer, about {key}",
        f"Message sent: coordinator to reviewer, about {key}",
        f"Task {key} bound to reviewer by you",
        f"Task {key} made by you, in To do",
        "Project shop added by you",
    ]
    keys = [
        int(e["id"].removeprefix("event-")) for e in page.all("li") if e.attributes.get("id", "").startswith("event-")
    ]
    assert keys == sorted(keys, reverse=True) and len(keys) == len(said)


@pytest.mark.parametrize(
    ("query", "types"),
    [
        ("?type=message.*", {"message.sent", "message.delivered", "message.read"}),
        ("?type=message", {"message.sent", "message.delivered", "message.read"}),
        ("?type=message.read", {"message.read"}),
        ("?type=mess", {"message.sent", "message.delivered", "message.read"}),
        ("?type=nothing", set()),
        ("?type=session.message", set()),
        ("?session=S-1", {"message.sent", "message.delivered", "message.read", "session.renamed"}),
        ("?session=lead&type=session", {"session.renamed"}),
        ("?task=shop-1&type=comment.added&session=reviewer", {"comment.added"}),
        ("?task=SHOP-1&session=S-1", {"message.sent", "message.delivered", "message.read"}),
    ],
)
def test_filters_narrow_together(board: Board, query: str, types: set[str]) -> None:
    filled(board)
    assert {type_ for type_, _ in feed(board, query)} == types


def test_the_feed_has_the_filter_of_the_other_pages(board: Board) -> None:
    filled(board)
    page = board.page("/events?q=session%3AS-1")
    assert page.by_id("q")["value"] == "session:S-1"
    assert page.one("body")["data-page"] == "/events?q=session%3AS-1"
    assert page.by_id("event_list")["data-live"].split() == [
        "task.*", "comment.*", "message.*", "session.*", "project.*", "inbox.*",
    ]  # fmt: skip
    facets = {e.text: e["href"] for e in page.all("a") if e.attributes.get("title", "").startswith(("type:", "sort:"))}
    assert facets["messages"] == "/events?q=session%3AS-1+type%3Amessage.%2A"
    assert facets["oldest first"] == "/events?q=session%3AS-1+sort%3Aold"
    narrowed = board.page(facets["messages"])
    assert narrowed.by_id("event_list")["data-live"] == "message.*"
    assert [e["title"] for e in narrowed.all("a", aria_current="true") if "title" in e.attributes] == ["type:message.*"]
    kinds = {e.text: e["href"] for e in page.all("a", class_="feed-type")}
    assert kinds["message.read"] == "/events?q=session%3AS-1&type=message.read"
    assert board.page(kinds["message.read"]).by_id("q")["value"] == "session:S-1 type:message.read"
    oldest = board.page("/events?q=sort%3Aold")
    assert "reversed" not in oldest.one("ol", class_="feed").attributes
    assert oldest.all("span", class_="feed-words")[0].text == "Project shop added by you"
    assert "reversed" in page.one("ol", class_="feed").attributes
    assert board.post("/views", page="events", name="mail", q="type:message.*").headers["location"] == (
        "/events?q=type%3Amessage.%2A"
    )
    kept = board.page("/events").one("nav", class_="views")
    assert kept.text == "mail"
    wrong = board.page("/events?q=words", 422)
    assert "words" in wrong.by_id("refusal-filter").text and not wrong.all("section", id="event_list")


def test_the_timeline_of_a_task_and_of_a_session_goes_on_there(board: Board) -> None:
    key = filled(board)
    for path, q in ((f"/tasks/{key}", f"task%3A{key}"), ("/sessions/S-1", "session%3AS-1")):
        leads = {e.text: e["href"] for e in board.page(path).all("a")}["All of it under Events"]
        assert leads == f"/events?q={q}"
        there = [e["id"] for e in board.page(path).all("li") if e.attributes.get("id", "").startswith("event-")]
        on = [e["id"] for e in board.page(leads).all("li") if e.attributes.get("id", "").startswith("event-")]
        assert there and there == on


def test_the_maps_edge_of_our_own_message_is_left_out_and_a_clients_own_is_not(board: Board) -> None:
    a, b = board.session("coordinator"), board.session("reviewer")
    board.send(a, b.ref, "x")
    said = {"from": "coordinator", "from_ref": a.ref, "to": "a peer", "task": None}
    board.relay.store.write(lambda tx: tx.emit("session.message", by="client", **said))
    assert [type_ for type_, _ in feed(board)] == ["session.message", "message.sent"]
    assert "Wrote with its client's own tool: coordinator to a peer" in board.page("/events").by_id("event_list").text


def test_pages_of_the_feed_have_no_gap_and_an_older_one_is_not_live(board: Board) -> None:
    board.relay.store.write(lambda tx: [tx.emit("inbox.seen", kind="x", ref=str(n)) for n in range(2 * PAGE_EVENTS)] and None)  # fmt: skip
    first = board.get("/events.json").json
    assert len(first["events"]) == PAGE_EVENTS and first["before"] == first["events"][-1]["id"]
    second = board.get(f"/events.json?before={first['before']}").json
    refs = [int(event["data"]["ref"]) for event in first["events"] + second["events"]]
    assert refs == list(range(2 * PAGE_EVENTS - 1, -1, -1)) and second["before"] is None
    page = board.page("/events")
    assert page.by_id("event_list")["data-live"]
    assert page.one("a", href=f"/events?before={first['before']}")
    older = board.page(f"/events?before={first['before']}")
    assert "data-live" not in older.by_id("event_list").attributes
    assert "Back to the newest" in [link.text for link in older.all("a", href="/events")]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("before=x", "cursor_invalid"),
        ("before=-1", "cursor_invalid"),
        ("before=²", "cursor_invalid"),
        ("before=1234567890123456789", "cursor_invalid"),
        ("task=shop-9", "task_unknown"),
        ("session=nobody", "recipient_unknown"),
    ],
)
def test_what_no_filter_can_be_is_refused(board: Board, query: str, code: str) -> None:
    answer = board.get("/events.json?" + quote(query, safe="=&"))
    assert answer.status >= 400 and answer.json["code"] == code


def test_every_kind_of_event_has_words(board: Board) -> None:
    """A type that nobody worded would be shown by its bare name."""
    key = filled(board)
    named = {"session": "S-1", "title": "coordinator", "name": None}
    board.relay.store.write(
        lambda tx: [
            tx.emit(type_, **data)
            for type_, data in [
                *((f"session.{what}", named) for what in ("started", "created", "added", "linked", "returned", "unlinked", "link_moved")),
                ("session.ended", {**named, "reason": "owner"}),
                ("session.asks", {**named, "what": "permission"}),
                ("session.removed", {**named, "taken_over_by": "S-2"}),
                ("session.merged", {**named, "merged_title": "other"}),
                ("task.unbound", {"task": key, "session": "S-1", "reason": "row_gone"}),
                ("comment.delivered", {"comment_id": "c_1", "task": key, **named}),
                ("comment.offered_again", {"comment_id": "c_1", "task": key}),
                ("comment.withdrawn", {"comment_id": "c_1", "task": key}),
                ("comment.read", {"comment_id": "c_1", "task": key, "verified": False}),
                ("message.offered_again", {"message_id": "m_1", "from": "a", "from_ref": None, "to": "b", "to_ref": None, "task": None}),
                ("project.changed", {"project": "shop", "by": "owner"}),
                ("inbox.seen", {"kind": "x", "ref": "y"}),
                ("inbox.fault", {"kind": "spool_fault"}),
            ]
        ]
        and None
    )  # fmt: skip
    known = board.get("/events.json").json["types"]
    said = [e.text for e in board.page("/events").all("span", class_="feed-words")]
    assert len(said) > 25 and not [words for words in said if words in known or not words]


def test_a_hostile_name_is_text_in_the_feed(board: Board) -> None:
    a = board.session("<script>alert(1)</script>\u202e")
    board.write(lambda tx: sessions.rename(tx, board.relay, a.ref, "<img src=x onerror=alert(1)>"))
    answer = board.get("/events")
    assert "<script>alert" not in answer.body and "<img src" not in answer.body and "\u202e" not in answer.body


def test_an_empty_feed_says_what_was_checked_and_what_to_do(board: Board) -> None:
    text = board.page("/events").by_id("event_list").text
    assert "Nothing has happened yet" in text and "relaybay setup" in text and "0 events" in text
    board.write(lambda tx: projects.project_add(tx, board.relay, OWNER, slug="shop"))
    text = board.page("/events?type=message").by_id("event_list").text
    assert "No event fits" in text and "1 event" in text and "project.added" in text


def test_the_inbox_of_a_seen_entry_is_told(board: Board) -> None:
    board.relay.store.write(lambda tx: inbox.spool_fault(tx, "x"))
    assert [type_ for type_, _ in feed(board)] == ["inbox.fault"]


def test_the_feed_speaks_in_words_and_names_sessions_by_their_titles(board: Board) -> None:
    web = board.session("shop-web", activity="working")
    key = board.task("Mend the cart", bound=web)
    caller = Caller(hook_session=web.hook_id)
    board.write(lambda tx: tasks.task_update(tx, board.relay, caller, task=key, change=tasks.Change(status="doing")))
    named = {"session": web.ref, "title": "shop-web"}
    board.relay.store.write(
        lambda tx: [
            tx.emit(type_, **data)
            for type_, data in [
                ("session.created", named),
                *(("session.ended", {**named, "reason": reason}) for reason in ("prompt_input_exit", "silent", "never heard of")),
                ("session.asks", {**named, "what": "permission"}),
                ("session.asks", {**named, "what": "input"}),
                ("comment.read", {"comment_id": "c_1", "task": key, **named, "verified": True}),
                ("comment.delivered", {"comment_id": "c_1", "task": key, **named}),
            ]
        ]
        and None
    )  # fmt: skip
    said = [e.text for e in board.page("/events").all("span", class_="feed-words")]
    assert said[:9] == [
        f"Your comment on {key} delivered to shop-web",
        f"Your comment on {key} read by shop-web",
        "shop-web waits for your input",
        "shop-web asks for permission",
        "shop-web ended: never heard of",
        "shop-web ended: nothing was heard for too long",
        "shop-web ended: its user left the client",
        "Session shop-web appeared",
        f"Task {key} moved from To do to Doing by shop-web",
    ]
    by = next(event for event in board.get("/events.json").json["events"] if event["type"] == "task.updated")
    assert (by["data"]["by"], by["data"]["who"]) == (web.ref, "shop-web")
    own = board.page(f"/sessions/{web.ref}").by_id("timeline").text
    assert "Appeared" in own and "Ended: its user left the client" in own
    assert "by shop-web" in board.page(f"/tasks/{key}").by_id("timeline").text
