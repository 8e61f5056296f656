"""Filters in the address, saved ones, the search page and threads: as page, as JSON, and what is wrong with them."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from relaybay.service.threads import FOLDED_FROM
from relaybay.service.views_messages import PAGE_MESSAGES, PICKER_MAX
from relaybay.service.views_search import PAGE_FOUND
from relaybay.service.waits import WaitEntry
from relaybay.store import search
from tests.ui.board_rig import SECOND, Board, Document
from tests.ui.test_board import check_page, lively

pytestmark = pytest.mark.spec("40", "70")


def at(path: str, q: str, **more: str) -> str:
    return f"{path}?q={quote(q)}" + "".join(f"&{name}={value}" for name, value in more.items())


def links(page: Document, within: str, class_: str = "") -> dict[str, str]:
    around = page.by_id(within) if not class_ else page.one(class_=class_)
    return {e.text: e["href"] for e in page.all("a") if Board._inside(e, around)}


# -- filters ----------------------------------------------------------------------------------------------------------


def test_each_page_is_filtered_and_its_twin_says_the_same(board: Board) -> None:
    lively(board)
    for path, twin, q, found in (
        ("/", "/board.json", "cart status:doing", ["card-shop-1"]),
        ("/", "/board.json", "is:unbound", ["card-shop-2"]),
        ("/sessions", "/sessions.json", "shop state:idle", ["row-S-2"]),
        ("/messages", "/messages.json", "from:docs", None),
    ):
        page = board.page(at(path, q))
        assert page.by_id("q")["value"] == q
        assert page.one("body")["data-page"] == at(path, q).replace("%20", "+")
        ids = [e["id"] for e in page.elements if e.attributes.get("id", "").startswith(("card-", "row-"))]
        if found is not None:
            assert [one for one in ids if one.count("-") > 1] == found, q
        else:
            assert [e.text for e in page.all("article")] and "From nobody proven" in page.one("article").text
        assert board.get(at(twin, q)).json["q"] == q
    assert board.get(at("/messages.json", "from:docs")).json["messages"][0]["body"] == '"From nobody proven"'


def test_a_filtered_page_is_whole(board: Board) -> None:
    lively(board)
    board.submit(board.page(at("/messages", "is:unread")), "/views", name="Not read")
    for path, place in (("/", "board"), ("/sessions", "sessions"), ("/messages", "messages"), ("/search", "search")):
        q = "is:unread" if path != "/search" else "cart"
        check_page(board, path, place, board.page(at(path, q)))
        check_page(board, path, place, board.page(at(path, "zzz:zzz"), 422))
    check_page(board, "/search", "search", board.page("/search"))


@pytest.mark.parametrize("path", ["/", "/sessions", "/messages", "/search"])
def test_a_wrong_filter_is_told_at_its_field_and_nothing_is_listed(board: Board, path: str) -> None:
    lively(board)
    page = board.page(at(path, 'sort:new "<b>'), 422)
    assert page.by_id("q")["value"] == 'sort:new "<b>' and page.by_id("q")["aria-invalid"] == "true"
    told = page.by_id("refusal-filter").text
    assert "At character 10 of the filter" in told and "argument_invalid 40" in told
    shown = {e.attributes.get("id", "") for e in page.elements}
    assert not shown & {"columns", "session_groups", "message_list", "search_results"}
    twin = board.get(at("/board.json" if path == "/" else f"{path}.json", "sort:new sort:old"))
    assert (twin.status, twin.json["code"]) == (422, "argument_invalid")
    assert "At character 10" in twin.json["detail"]


def test_names_in_a_filter_are_looked_up(board: Board) -> None:
    lively(board)
    for path, q in (
        ("/messages", "from:shop-wep"),
        ("/", "session:shop-wep"),
        ("/sessions", "session:shop-wep"),
        ("/search", "task:shop-11"),
    ):
        told = board.page(at(path, q), 422).by_id("refusal-filter").text
        assert "shop-w" in told or "shop-1" in told, told


def test_words_of_a_filter_are_links_that_keep_the_rest(board: Board) -> None:
    lively(board)
    page = board.page(at("/messages", "from:shop-web is:unread"))
    found = links(page, "finder-more")
    assert found["not delivered"] == at("/messages", "from:shop-web is:undelivered").replace("%20", "+")
    assert found["not read"] == "/messages?q=from%3Ashop-web", "what stands there is taken away"
    current = [e.text for e in page.all("a", aria_current="true")]
    assert current == ["not read"]
    for address in found.values():
        board.page(address)
    for path in ("/", "/sessions", "/search"):
        for address in links(board.page(path), "finder-more").values():
            board.page(address)


def test_what_old_addresses_say_is_part_of_the_filter(board: Board) -> None:
    lively(board)
    for old, q in (
        ("session=shop-web", "session:S-1"),
        ("session=S-1&box=in", "to:S-1"),
        ("session=S-1&box=out&state=undelivered", "from:S-1 is:undelivered"),
        ("state=lost", "is:lost"),
        ("task=SHOP-1", "task:shop-1"),
        ("state=unread&q=task:shop-1", "task:shop-1 is:unread"),
    ):
        as_old, as_new = board.get(f"/messages.json?{old}").json, board.get(at("/messages.json", q)).json
        assert as_old == as_new, old
        assert as_old["q"] == q
    assert board.get("/messages.json?session=S-1&box=out").json["messages"][0]["direction"] == "out"
    assert board.get("/messages.json?session=S-1").json["session"]["ref"] == "S-1"
    assert board.get(at("/messages.json", "session:S-1,S-2")).json["session"] is None
    assert board.get(at("/messages.json", "-session:S-1")).json["session"] is None


def test_pages_of_a_filter_go_on(board: Board) -> None:
    web, _ = board.session("web"), board.session("api")
    for number in range(PAGE_MESSAGES + 2):
        board.send(web, "api", f"number {number}")
        board.now += 20 * SECOND
    for q, word, last in (
        ("from:web", "Older messages", "number 0"),
        ("from:web sort:old", "Newer messages", f"number {PAGE_MESSAGES + 1}"),
    ):
        page = board.page(at("/messages", q))
        assert len(page.all("article")) == PAGE_MESSAGES
        following = board.page(links(page, "message_list")[word])
        assert len(following.all("article")) == 2 and last in following.all("article")[-1].text
        assert following.by_id("q")["value"] == q


def test_sessions_to_choose_from_are_not_too_many(board: Board) -> None:
    for number in range(PICKER_MAX):
        board.session(f"session {number}")
    found = board.get("/messages.json").json
    assert (len(found["sessions"]), found["sessions_left_out"]) == (PICKER_MAX, 0)
    assert "more by" not in board.page("/messages").by_id("message_list").text
    board.session("the last")
    found = board.get("/messages.json").json
    assert (len(found["sessions"]), found["sessions_left_out"]) == (PICKER_MAX, 1)
    assert found["sessions"][0]["title"] == "the last"
    text = board.page("/messages").by_id("message_list").text
    assert "and 1 more by session:NAME above" in text
    assert f"sessions known {PICKER_MAX + 1}, messages stored 0" in text


def test_a_filter_stays_while_a_card_is_moved(board: Board) -> None:
    board.task("Mend the cart", status="todo")
    page = board.page(at("/", "cart"))
    answer = board.submit(page, "/tasks/shop-1/status", status="doing")
    assert answer.headers["location"] == "/?q=cart"
    other = board.page(at("/", "cart", move="shop-1"))
    assert board.submit(other, "/tasks/shop-1/status", status="done").headers["location"] == "/?q=cart"
    assert "No card fits" in board.page(at("/", "zzz")).by_id("columns").text
    assert "No session fits" in board.page(at("/sessions", "zzz")).by_id("session_groups").text


# -- saved filters ----------------------------------------------------------------------------------------------------


def test_a_filter_is_saved_listed_with_its_count_and_removed(board: Board) -> None:
    lively(board)
    saved = {
        "/": ("status:doing", "1"),
        "/sessions": ("state:working", "2"),
        "/messages": ("is:undelivered", "2"),
        "/search": ("cart", ""),
    }
    for path, (q, count) in saved.items():
        answer = board.submit(board.page(at(path, f" {q} ")), "/views", name=' <b>"Mine"</b> ')
        assert (answer.status, answer.headers["location"]) == (303, at(path, q).replace(":", "%3A"))
        page = board.page(path)
        assert links(page, "", class_="views") == {f'<b>"Mine"</b> {count}'.strip(): at(path, q)}, path
        assert not page.all("a", aria_current="true") or path == "/"
        assert [e.text for e in board.page(at(path, q)).one(class_="views").children or []] == []
        assert any(e.attributes.get("aria-current") for e in board.page(at(path, q)).all("a", href=at(path, q)))
        json = board.get("/board.json" if path == "/" else f"{path}.json").json["views"]
        assert [(one["name"], one["query"]) for one in json] == [('"\\u003cb\\u003e\\"Mine\\"\\u003c/b\\u003e"', q)]
    key = board.get("/messages.json").json["views"][0]["id"]
    gone = board.submit(board.page("/messages"), f"/views/{key}/delete")
    assert gone.headers["location"] == "/messages?q=is%3Aundelivered"
    assert board.get("/messages.json").json["views"] == [] and board.get("/board.json").json["views"] != []
    again = board.post(f"/views/{key}/delete")
    assert again.status == 404 and "no saved filter" in again.document.one("main").text


def test_a_filter_that_cannot_be_saved_is_refused(board: Board) -> None:
    for fields, word in (
        ({"page": "messages", "name": " \u200b", "q": "is:read"}, "nothing in it"),
        ({"page": "messages", "name": "x" * 61, "q": "is:read"}, "61 characters"),
        ({"page": "messages", "name": "x", "q": "is:x"}, "At character 4"),
        ({"page": "messages", "name": "x", "q": " "}, "nothing in it"),
        ({"page": "inbox", "name": "x", "q": "is:read"}, "board, sessions, messages, search"),
        ({"page": "messages", "name": "x"}, "without q"),
    ):
        answer = board.post("/views", **fields)
        assert answer.status == 422 and word in answer.document.one("main").text, fields
    assert board.post("/views", page="messages", name="x" * 60, q="is:read").status == 303
    assert board.post("/views/x/delete").status == board.post("/views/9/delete").status == 404
    assert board.post(f"/views/{'9' * 40}/delete").status == 404


def test_a_name_is_used_once_a_page_and_a_page_keeps_twenty(board: Board) -> None:
    for number in range(20):
        assert board.post("/views", page="messages", name=f"v{number}", q="is:read").status == 303
    answer = board.post("/views", page="messages", name="v20", q="is:read")
    assert answer.status == 422 and "at most 20" in answer.document.one("main").text
    assert board.post("/views", page="messages", name="v3", q="is:lost").status == 303
    assert board.post("/views", page="sessions", name="v3", q="is:live").status == 303
    queries = [one["query"] for one in board.get("/messages.json").json["views"]]
    assert (len(queries), queries[3]) == (20, "is:lost")


def test_a_saved_filter_whose_names_are_gone_has_no_count(board: Board) -> None:
    web = board.session("web")
    for page in ("messages", "sessions", "board"):
        board.post("/views", page=page, name="x", q="session:web")
    board.relay.store.write(lambda tx: tx.run("UPDATE session SET title = 'a', title_key = 'a' WHERE id = ?", web.id))
    for path in ("/messages.json", "/sessions.json", "/board.json"):
        (view,) = board.get(path).json["views"]
        assert "count" not in view and view["query"] == "session:web"
    assert board.page("/messages").one(class_="views").text == "x"


def test_much_is_counted_no_further(board: Board) -> None:
    web, _ = board.session("web"), board.session("api")
    for number in range(101):
        board.send(web, "api", f"n {number}")
        board.now += 20 * SECOND
    board.post("/views", page="messages", name="x", q="from:web")
    (view,) = board.get("/messages.json").json["views"]
    assert (view["count"], view["more"]) == (100, True)
    assert board.page("/messages").one(class_="views").text == "x 100 or more"


# -- search -----------------------------------------------------------------------------------------------------------


def test_what_is_found_is_shown_with_marks_and_leads_there(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task("Mend the <i>cart</i>", "The basket & the cart lose <b>items</b>", "doing", web)
    cid = board.owner_comment(key, "The cart again")
    reply = board.reply(web, key, "Mended <script>cart</script>")
    board.task("Other")
    page = board.page(at("/search", "cart"))
    assert page.one("h1").text == "Search" and "3 found" in page.by_id("search_results").text
    assert [e.text for e in page.all("mark")] == ["cart"] * 4
    found = {e["id"]: e.text for e in page.all("li", class_="item hit")}
    assert set(found) == {f"hit-{key}", f"hit-{cid}", f"hit-{reply}"}
    assert (
        "Mend the <i>cart</i>" in found[f"hit-{key}"] and "basket & the cart lose <b>items</b>" in found[f"hit-{key}"]
    )
    assert "comment of you" in found[f"hit-{cid}"] and "comment of shop-web" in found[f"hit-{reply}"]
    assert f"/tasks/{key}?all_of=comments#{cid}" in [e["href"] for e in page.all("a")]
    json = board.get(at("/search.json", "cart")).json
    assert (json["count"], json["texts"], json["query"]) == (3, 4, "cart")
    hit = next(one for one in json["found"] if one.get("comment_id") == reply)
    assert hit["snippet"] == [
        {"text": '"Mended \\u003cscript\\u003e"', "hit": False},
        {"text": '"cart"', "hit": True},
        {"text": '"\\u003c/script\\u003e"', "hit": False},
    ]
    assert hit["author"] == {"kind": "session", "title": "shop-web", "ref": "S-1", "verified": True}


def found(board: Board, q: str) -> list[str]:
    json = board.get(at("/search.json", q)).json
    assert json["count"] == len(json["found"]), json
    return [one.get("comment_id", one["task"]) for one in json["found"]]


def test_a_search_is_narrowed(board: Board) -> None:
    web = board.session("shop-web")
    first = board.task("needle", "one", "doing", web)
    board.now += SECOND
    second = board.task("needle", "two", "done")
    board.now += SECOND
    mine = board.owner_comment(second, "needle mine")
    board.now += SECOND
    theirs = board.reply(web, first, "needle theirs")
    for q, ids in {
        "needle sort:new": [theirs, mine, second, first],
        "needle sort:old": [first, second, mine, theirs],
        "needle in:task sort:old": [first, second],
        "needle in:comment sort:old": [mine, theirs],
        "needle author:owner sort:old": [first, second, mine],
        "needle author:session": [theirs],
        "needle status:done sort:old": [second, mine],
        f"needle task:{first} sort:old": [first, theirs],
        "needle project:shop -in:comment -two": [first],
        "needle -mine sort:old": [first, second, theirs],
        "needle older:2s sort:old": [first],
        "status:done sort:old": [second, mine],
        "-needle": [],
        "in:comment": [theirs, mine],
        '"needle mine"': [mine],
        "nee* mi*": [mine],
        "nee": [],
    }.items():
        assert found(board, q) == ids, q


def test_a_search_has_pages(board: Board) -> None:
    for number in range(PAGE_FOUND * 2 + 1):
        board.task(f"needle {number}")
    first = board.page(at("/search", "needle sort:old"))
    assert "1 to 20 shown" in first.by_id("search_results").text
    second = board.page(links(first, "search_results")["More"])
    third = board.page(links(second, "search_results")["More"])
    assert [len(page.all("li", class_="item hit")) for page in (first, second, third)] == [20, 20, 1]
    assert "needle 40" in third.by_id("search_results").text and "More" not in links(third, "search_results")
    assert links(second, "search_results")["Before these"] == "/search?q=needle+sort%3Aold"
    assert links(third, "search_results")["Before these"] == "/search?q=needle+sort%3Aold&skip=20"
    assert board.get(at("/search.json", "needle", skip="1001")).status == 422
    assert board.get(at("/search.json", "needle", skip="1000")).json["found"] == []
    assert board.get(at("/search.json", "needle", skip="-1")).json["skip"] == 0
    assert board.get(at("/search.json", "needle", skip="9999999")).json["skip"] == 0


def test_empty_states_teach(board: Board) -> None:
    board.task("needle")
    assert "1 tasks and comments can be searched" in board.page("/search").by_id("search_results").text
    assert "log*" in board.page(at("/search", "zzz")).by_id("search_results").text
    assert board.get("/search.json").json["found"] == []


def test_marks_of_the_search_in_a_text_mark_nothing(board: Board) -> None:
    board.task("needle", f"{search.MARK_ON}all of this{search.MARK_OFF} and a needle")
    (hit,) = board.get(at("/search.json", "needle in:task")).json["found"]
    assert [piece["hit"] for piece in hit["snippet"]] == [False]
    (hit,) = board.get(at("/search.json", "of")).json["found"]
    assert [piece["hit"] for piece in hit["snippet"]] == [False] and "all of this" in hit["snippet"][0]["text"]


def test_where_only_the_title_fits_the_text_begins(board: Board) -> None:
    board.task("needle", "x" * 199 + "yz")
    board.task("needle two", "short")
    first, second = board.get(at("/search.json", "needle sort:old")).json["found"]
    assert first["title"] == [{"text": '"needle"', "hit": True}]
    assert first["snippet"] == [{"text": f'"{"x" * 199}y…"', "hit": False}]
    assert second["snippet"] == [{"text": '"short"', "hit": False}]
    opened = board.get(at("/search.json", "project:shop sort:old")).json["found"]
    assert opened[0]["snippet"] == first["snippet"] and opened[1]["snippet"] == second["snippet"]


def test_a_damaged_text_is_not_quoted(board: Board) -> None:
    key = board.task("Title")
    cid = board.owner_comment(key, "needle here")
    board.relay.store.write(lambda tx: tx.run("UPDATE comment SET body_md = 'other' WHERE cid = ?", cid))
    board.relay.store.write(lambda tx: tx.run("UPDATE task SET body_md = 'other'"))
    (hit,) = board.get(at("/search.json", "needle")).json["found"]
    assert "needle" not in repr(hit) and cid in hit["snippet"][0]["text"]
    (hit,) = board.get(at("/search.json", "in:task")).json["found"]
    assert key in hit["snippet"][0]["text"]


# -- marks and threads ------------------------------------------------------------------------------------------------


def test_marks_name_what_is_still_missing(board: Board) -> None:
    web, api = board.session("web"), board.session("api")
    mid = board.send(web, "api", "x")
    board.now += 60 * SECOND

    def said() -> str:
        return board.page("/messages").by_id(f"message-{mid}").text

    assert "Sent 1 min ago from its own link not delivered" in said()
    assert "Waiting since it was sent." in said()
    board.hand_over(api)
    assert "Delivered just now with a tool call in context: not known" in said()
    assert "no transcript tells whether" in said(), "nobody looked, which is no finding"
    board.acknowledge(api, mid)
    assert "not " not in said().partition("Sent")[2]


def test_since_when_a_reason_holds_is_said(board: Board) -> None:
    web = board.session("web")
    board.session("over", link="ended_exact", activity="ended", ended_us=board.now)
    board.session("known", link="none", kind="agent", first_seen_us=board.now)
    over, known = board.send(web, "over", "x"), board.send(web, "known", "x")
    board.now += 600 * SECOND
    page = board.page("/messages")
    assert "It ended 10 min ago" in page.by_id(f"message-{over}").text
    assert "It was first seen 10 min ago." in page.by_id(f"message-{known}").text
    json = {one["message_id"]: one for one in board.get("/messages.json").json["messages"]}
    assert json[over]["reason_since"] < json[over]["sent_at"]


def chain(board: Board, depth: int) -> list[str]:
    web, api = board.session("web"), board.session("api")
    ids = [board.send(web, "api", "level 0")]
    for number in range(1, depth + 1):
        board.now += 20 * SECOND
        ids.append(
            board.send((web, api)[number % 2], ("api", "web")[number % 2], f"level {number}", in_reply_to=ids[-1])
        )
    return ids


def test_a_thread_is_whole_indented_and_folded_where_it_goes_deep(board: Board) -> None:
    ids = chain(board, FOLDED_FROM + 2)
    side = board.send(board.session("docs"), "api", "aside")
    page = board.page(f"/messages?message={ids[1]}")
    assert page.one("h1").text == "Thread"
    articles = page.by_id("thread")
    assert [e["id"] for e in page.all("article")] == [f"message-{mid}" for mid in ids]
    levels = [next(c for c in e["class"].split() if c.startswith("level-")) for e in page.all("article")]
    assert levels == [f"level-{number}" for number in range(FOLDED_FROM + 3)]
    (deep,) = page.all("details", class_="deep")
    assert "open" not in deep.attributes and deep.text.startswith("3 deeper answers")
    assert side not in articles.text
    assert page.all("article", aria_current="true")[0]["id"] == f"message-{ids[1]}"
    assert "open" in board.page(f"/messages?message={ids[-1]}").one("details", class_="deep").attributes
    json = board.get(f"/messages.json?message={ids[0]}").json
    assert [one["level"] for one in json["messages"]] == list(range(FOLDED_FROM + 3))
    assert json["runs"] == [
        {"first": 0, "end": FOLDED_FROM, "folded": False, "open": False},
        {"first": FOLDED_FROM, "end": FOLDED_FROM + 3, "folded": True, "open": False},
    ]


def test_answers_stand_below_what_they_answer(board: Board) -> None:
    web, api = board.session("web"), board.session("api")
    first = board.send(web, "api", "question")
    one = board.send(api, "web", "first answer", in_reply_to=first)
    board.now += 20 * SECOND
    two = board.send(api, "web", "second answer", in_reply_to=first)
    board.now += 20 * SECOND
    below = board.send(web, "api", "to the first", in_reply_to=one)
    page = board.page(f"/messages?message={below}")
    assert [e["id"].removeprefix("message-") for e in page.all("article")] == [first, one, below, two]
    assert not page.all("details", class_="deep")
    thread = next(e for e in board.page("/messages").all("a") if e.text.startswith("its thread"))
    assert thread["href"] == f"/messages?message={below}#message-{below}"
    fragment = board.page(f"/messages?message={below}&fragment=thread")
    assert fragment.by_id("thread").text == page.by_id("thread").text


def test_since_when_a_session_works_is_idle_or_waits_is_said(board: Board) -> None:
    web, api = board.session("web", activity="working"), board.session("api")
    mid, other = board.send(api, "web", "x"), board.send(web, "api", "x")
    live, idle = board.relay.presence.by_row(web.id), board.relay.presence.by_row(api.id)
    assert live is not None and idle is not None
    live.prompted_us, idle.stopped_us = board.now - 60 * SECOND, board.now - 120 * SECOND
    page = board.page("/messages")
    assert "Its last prompt came 1 min ago." in page.by_id(f"message-{mid}").text
    assert "Its last turn ended 2 min ago." in page.by_id(f"message-{other}").text
    wait = WaitEntry("w", api.id, api.hook_id or "", board.now - 180 * SECOND)
    board.relay.waits.open(wait, link_exact_live=True)
    board.relay.waits.begin_poll(wait, lambda: None)
    assert "It began to wait 3 min ago." in board.page("/messages").by_id(f"message-{other}").text


def test_since_when_a_text_is_not_in_context_is_said(board: Board) -> None:
    web, api = board.session("web"), board.session("api")
    mid = board.send(web, "api", "x")
    board.hand_over(api)
    board.relay.store.write(lambda tx: tx.run("UPDATE delivery SET reason_code = 'not_in_context'"))
    delivered = board.get("/messages.json").json["messages"][0]
    assert delivered["reason_since"] == delivered["delivered_at"]
    board.relay.store.write(lambda tx: tx.run("UPDATE delivery SET state = 'orphaned', recipient_id = NULL"))
    assert "reason_since" not in board.get("/messages.json").json["messages"][0]
    assert mid


def test_nobody_searches_or_saves_without_a_login(board: Board) -> None:
    board.cookie = ""
    for path in ("/search?q=x", "/search.json?q=x"):
        assert board.get(path).status == 401
    assert board.post("/views", csrf="x", page="messages", name="x", q="is:read").status == 401
    assert board.relay.store.read(lambda tx: tx.rows("SELECT * FROM saved_view")) == []
