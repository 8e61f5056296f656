"""The board's pages over a real server: who gets in, what each page shows, its twin, its fragments."""

from __future__ import annotations

import re

import pytest

from relaybay.service.views_messages import PAGE_MESSAGES
from relaybay.store import events, sessions
from tests.ui.board_rig import HOOK, SECOND, Board, Document

MINUTE = 60 * SECOND


def lively(board: Board) -> dict[str, str]:
    """A store with something of everything, and the addresses of its pages."""
    web = board.session("shop-web", activity="working", cwd="/src/web", transcript_path=f"/t/{HOOK}web.jsonl")
    api = board.session("shop-api", activity="idle")
    docs = board.session("docs", link="none", activity="unknown", kind="agent")
    board.session("night", link="ended_exact", activity="ended", ended_reason="other", ended_us=board.now)
    board.session("scratch", link="guessed", activity="working")
    key = board.task("Mend the cart", "Some *body*", "doing", web)
    board.task("Unbound", status="inbox")
    first = board.send(web, "shop-api", "Which endpoint?", task=key)
    board.hand_over(api)
    board.send(api, "shop-web", "This one.")
    board.send(docs, "shop-api", "From nobody proven")
    board.send(web, "night", "Are you there?")
    written = board.owner_comment(key, "Look at **this**")
    board.hand_over(web)
    reply = board.reply(web, key, "Done", written)
    board.relay.store.write(lambda tx: events.put_inbox(tx, "reply_too_deep", first, api.id))
    board.relay.store.write(lambda tx: events.put_inbox(tx, "spool_fault", "a.jsonl", None))
    return {
        "/": "board",
        f"/inbox?at={reply}": "inbox",
        f"/inbox?at={first}": "inbox",
        "/sessions": "sessions",
        f"/sessions/{web.ref}": "sessions",
        "/messages": "messages",
        f"/messages?session={web.ref}": "messages",
        f"/tasks/{key}": "board",
        "/projects": "projects",
    }


# --- who gets in ---


def test_without_a_login_a_page_names_the_command_that_makes_one(board: Board) -> None:
    board.cookie = ""
    for path in ("/", "/inbox", "/sessions", "/sessions/S-1", "/messages", "/tasks/shop-1", "/projects"):
        answer = board.get(path)
        assert answer.status == 401
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "relaybay open" in answer.document.one("main").text
    assert board.request("GET", "/", Accept="application/json").json["code"] == "unauthorized"
    assert board.get("/inbox.json").json["code"] == "unauthorized"


def test_a_code_logs_in_once(board: Board) -> None:
    board.cookie = ""
    code = board.gate.logins.mint_code()
    first = board.get(f"/login?code={code}")
    assert (first.status, first.headers["location"]) == (303, "/")
    assert "HttpOnly" in first.headers["set-cookie"]
    assert "SameSite=Strict" in first.headers["set-cookie"]
    second = board.get(f"/login?code={code}")
    assert second.status == 401
    assert "relaybay open" in second.document.one("main").text
    assert "set-cookie" not in second.headers
    assert board.request("GET", "/login?code=x", Accept="*/*").json["code"] == "login_code_used"
    assert board.request("HEAD", f"/login?code={code}").status == 405


def test_logging_out_closes_the_board(board: Board) -> None:
    answer = board.submit(board.page("/"), "/logout")
    assert answer.status == 303
    assert board.get("/").status == 401


# --- every page ---


def test_every_page_is_whole_and_its_twin_is_json(board: Board) -> None:
    for path, place in lively(board).items():
        answer = board.get(path)
        assert answer.status == 200, path
        check_page(board, path, place, answer.document)
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        twin = answer.document.one("footer").text
        assert "JSON" in twin
        link = next(e for e in answer.document.all("a") if e.text == "As JSON")["href"]
        as_json = board.get(link)
        assert as_json.status == 200, link
        assert as_json.headers["content-type"] == "application/json"
        assert as_json.json["needs_you"] == 3
        assert as_json.body.isascii()
        assert board.request("HEAD", path).status == 200


def check_page(board: Board, path: str, place: str, page: Document) -> None:
    ids = [e["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids)), f"{path}: ids stand twice"
    for element in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in element.attributes), (path, element.tag)
        assert element.tag not in ("img", "iframe", "object", "base"), path
    for script in page.all("script"):
        assert script["src"].startswith("/static/")
        assert script.text == ""
    assert not page.all("style")
    assert page.one("h1").text
    assert page.one("title").text.startswith("(3) ")
    assert page.one("title").text.endswith("· relaybay")
    assert page.one("main")["id"] == "main"
    assert page.all("a", href="#main")
    current = page.all("a", aria_current="page")
    assert [e["href"] for e in current] == ["/" if place == "board" else f"/{place}"]
    for form in page.all("form", method="post"):
        tokens = [e for e in page.all("input", name="csrf") if board._inside(e, form)]
        assert [t["value"] for t in tokens] == [board.gate.logins.csrf_token(board.cookie)], form["action"]
    for name in ("input", "select", "textarea"):
        for control in page.all(name):
            if control.attributes.get("type") != "hidden":
                assert any(board._inside(control, label) for label in page.all("label")), (path, control.attributes)
    for table in page.all("table"):
        assert all("scope" in e.attributes for e in page.all("th") if board._inside(e, table))
    for described in page.elements:
        if "aria-labelledby" in described.attributes:
            assert page.by_id(described["aria-labelledby"]).text, path


def test_every_fragment_is_fetched_by_its_pages_own_address(board: Board) -> None:
    for path in lively(board):
        page = board.page(path)
        address = page.one("body")["data-page"]
        assert address == path.replace("?session=", "?q=session%3A"), "what an old address says is a filter"
        live = [e["id"] for e in page.elements if "data-live" in e.attributes]
        assert "nav" in live
        assert len(live) > 1
        joined = f"{address}{'&' if '?' in address else '?'}fragment={','.join(live)}"
        fragments = board.page(joined)
        assert sorted(e["id"] for e in fragments.elements if e.parent is None) == sorted(live)
        for name in live:
            assert fragments.by_id(name).text == page.by_id(name).text
    assert board.get("/?fragment=nothing").body == ""


def test_no_get_changes_anything(board: Board) -> None:
    paths = lively(board)
    before = board.dump()
    for path in paths:
        assert board.get(path).status == 200
    assert board.dump() == before


@pytest.mark.spec("75")
def test_a_hook_id_stands_on_no_page(board: Board) -> None:
    for path in lively(board):
        page = board.get(path)
        assert "shop" in page.body
        assert HOOK not in page.body
        link = next(e for e in page.document.all("a") if e.text == "As JSON")["href"]
        assert HOOK not in board.get(link).body


def test_what_is_not_there_says_so(board: Board) -> None:
    for path, code in (
        ("/tasks/shop-9", "task_unknown"),
        ("/sessions/S-9", "recipient_unknown"),
        ("/sessions/nonsense", "recipient_unknown"),
        ("/messages?session=nobody", "recipient_unknown"),
        ("/messages?message=m_1", "message_unknown"),
        ("/messages?before=m_1", "message_unknown"),
        ("/messages?task=shop-9", "task_unknown"),
        ("/?project=nope", "project_unknown"),
    ):
        assert code in board.page(path, status=404).one("main").text, path
    assert board.get("/messages?state=whatever").status == 422
    assert board.get("/tasks/shop-9.json").json["code"] == "task_unknown"
    assert board.get("/static/old/base.css").status == 404


def test_static_files_are_cached_for_ever_and_need_no_login(board: Board) -> None:
    page = board.page("/")
    board.cookie = ""
    sources = [e["src"] for e in page.all("script")] + [e["href"] for e in page.all("link")]
    sources.append(next(e["data-worker"] for e in page.all("script") if "data-worker" in e.attributes))
    assert len(sources) >= 8
    for source in sources:
        answer = board.get(source)
        assert answer.status == 200, source
        assert "immutable" in answer.headers["cache-control"]
        assert not re.search(r"(https?:)?//(?!www\.w3\.org)[a-z]+\.", answer.body), f"{source} names another host"


# --- what they show ---


def test_empty_pages_name_the_next_command(board: Board) -> None:
    for path, command in (
        ("/", "relaybay setup"),
        ("/inbox", "relaybay comment"),
        ("/sessions", "relaybay setup"),
        ("/messages", "relaybay session list"),
        ("/projects", "relaybay project add"),
    ):
        page = board.page(path)
        assert command in page.one("main").text
        assert page.one("title").text.startswith(page.one("h1").text)


def test_the_board_counts_what_is_not_delivered_and_not_read(board: Board) -> None:
    web, api = board.session("shop-web", activity="working"), board.session("shop-api")
    key = board.task("Mend the cart", bound=web, status="doing")
    board.send(api, "shop-web", "one", task=key)
    board.hand_over(web)
    board.send(api, "shop-web", "two", task=key)
    board.send(api, "shop-web", "three", task=key)
    board.owner_comment(key, "look")
    card = board.page("/").by_id(f"card-{key}").text
    assert "2 messages not delivered" in card
    assert "1 message not read" in card
    assert "1 comment not delivered" in card
    assert "Working shop-web" in card
    board.reply(web, key, "hm")
    page = board.page("/")
    assert "1 reply for you" in page.by_id(f"card-{key}").text
    assert page.one("title").text == "(1) Board · relaybay"
    assert "2 messages not delivered" in page.by_id("standing").text
    assert "1 needs you" in page.by_id("standing").text


def test_the_board_can_be_narrowed_to_a_project(board: Board) -> None:
    key = board.task("One")
    board.post("/tasks", project="other", title="Two", status="todo")
    page = board.page("/?project=other")
    assert "other-1" in page.by_id("columns").text
    assert key not in page.by_id("columns").text
    assert page.one("body")["data-page"] == "/?project=other"


@pytest.mark.spec("RECV-3", "RECV-5", "RECV-6", "RECV-7", "RECV-8", "DLV-8")
def test_whatever_is_not_delivered_says_why_and_what_will_change_it(board: Board) -> None:
    sender = board.session("sender")
    rows = {
        "working": board.session("w", activity="working"),
        "idle": board.session("i"),
        "unlinked": board.session("u", link="none", activity="unknown", kind="agent"),
        "guessed": board.session("g", link="guessed"),
        "ended": board.session("e", link="ended_exact", activity="ended"),
        "moved": board.session("m", link="moved", activity="unknown", moved_to=sender.id),
        "gone": board.session("x"),
    }
    ids = {name: board.send(sender, row.ref, f"to {name}") for name, row in rows.items()}
    board.relay.store.write(
        lambda tx: tx.run(
            "UPDATE delivery SET state = 'orphaned', recipient_id = NULL WHERE recipient_id = ?", rows["gone"].id
        )
    )
    board.relay.store.write(lambda tx: sessions.remove(tx, rows["gone"].id))
    page = board.page("/messages")
    said = {name: page.by_id(f"message-{mid}").text for name, mid in ids.items()}
    assert "is working, and its next tool call or prompt brings it" in said["working"]
    assert "is idle, and its next prompt brings it" in said["idle"]
    assert "nothing links" in said["unlinked"]
    assert "nothing links" in said["guessed"]
    assert "is over" in said["ended"]
    assert "S-1" in said["moved"]
    assert "row is gone" in said["gone"]
    board.now += 20 * MINUTE
    assert "was last seen 20 min ago" in board.page("/messages").by_id(f"message-{ids['idle']}").text
    undelivered = board.page("/messages?state=undelivered")
    assert len(undelivered.all("article")) == 6
    assert len(board.page("/messages?state=lost").all("article")) == 1


@pytest.mark.spec("DLV-1", "DLV-4", "DLV-5", "DLV-12")
def test_marks_say_when_and_by_which_proof(board: Board) -> None:
    web, api = board.session("shop-web"), board.session("shop-api")
    docs = board.session("docs", link="none", kind="agent")
    proven, unproven = board.send(web, "shop-api", "a"), board.send(web, "docs", "b")
    board.now += 90 * SECOND
    board.hand_over(api, "stop")
    board.relay.store.write(
        lambda tx: tx.run("UPDATE delivery SET in_context_us = ? WHERE state = 'delivered'", tx.now)
    )
    board.now += 5 * MINUTE
    said = "Seen in the session's context; not acknowledged yet."
    assert said in board.page("/messages").by_id(f"message-{proven}").text
    board.acknowledge(api, proven)
    board.acknowledge(docs, unproven)
    page = board.page("/messages")
    read = page.by_id(f"message-{proven}").text
    assert "Sent 6 min ago from its own link" in read
    assert "Delivered 5 min ago at the end of a turn" in read
    assert "In context 5 min ago seen in the session's transcript" in read
    assert "Read just now acknowledged over its own link" in read
    guessed = page.by_id(f"message-{unproven}").text
    assert "Read (name not verified) just now" in guessed
    assert "Delivered" not in guessed
    times = [e["datetime"] for e in page.all("time")]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", at) for at in times)


@pytest.mark.spec("SEND-4")
def test_a_name_that_nothing_proves_is_marked(board: Board) -> None:
    board.session("shop-api")
    docs = board.session("docs", link="none", kind="agent")
    mid = board.send(docs, "shop-api", "trust me")
    assert "name not verified" in board.page("/messages").by_id(f"message-{mid}").text
    key = board.task(bound=docs)
    cid = board.reply(docs, key, "trust me")
    assert "name not verified" in board.page(f"/tasks/{key}").by_id(cid).text
    assert "name not verified" in board.page("/inbox").by_id("inbox_entry").text


def test_messages_are_filtered_and_paged(board: Board) -> None:
    web, api, docs = board.session("shop-web"), board.session("shop-api"), board.session("docs")
    for number in range(PAGE_MESSAGES + 2):
        board.send((web, api)[number % 2], ("shop-api", "shop-web")[number % 2], f"number {number}")
        board.now += 20 * SECOND
    board.send(docs, "shop-api", "from docs")
    page = board.page("/messages")
    assert len(page.all("article")) == PAGE_MESSAGES
    assert "Back to the newest" not in page.by_id("message_list").text
    older = next(e for e in page.all("a") if e.text == "Older messages")["href"]
    assert len(board.page(older).all("article")) == 3
    assert next(e for e in board.page(older).all("a") if e.text == "Back to the newest")["href"] == "/messages"
    assert len(board.page(f"/messages?session={docs.ref}").all("article")) == 1
    assert len(board.page(f"/messages?session={docs.ref}&box=in").all("article")) == 0
    assert len(board.page(f"/messages?session={api.ref}&box=out").all("article")) == PAGE_MESSAGES // 2 + 1
    chosen = board.page(f"/messages?session={docs.ref}")
    assert chosen.by_id("q")["value"] == f"session:{docs.ref}", "an old address is the same filter"


def test_sessions_stand_under_the_first_group_that_fits(board: Board) -> None:
    lively(board)
    page = board.page("/sessions")
    heads = [e.text for e in page.all("h2")]
    assert heads == ["Needs you 2", "Working 1", "No hooks yet 1", "Ended 1"]
    row = page.by_id("row-S-2").text
    assert "shop-api" in row
    assert "Link exact" in row
    assert "2 not read" not in row
    assert "not delivered" in row


def test_a_session_page_says_how_mail_reaches_it_and_what_happened(board: Board) -> None:
    lively(board)
    page = board.page("/sessions/S-1")
    facts = page.by_id("session_facts").text
    assert "It is working: what you write comes with its next tool call." in facts
    assert "/src/web" in facts
    assert "@" in facts
    assert "Message sent: shop-web to shop-api" in page.by_id("timeline").text


def test_a_task_page_has_everything_about_the_task(board: Board) -> None:
    lively(board)
    page = board.page("/tasks/shop-1")
    assert "Some body" in page.by_id("task_head").text
    assert "bound to shop-web" in page.by_id("task_head").text
    comments = page.by_id("comments").text
    assert "Look at this" in comments
    assert "to shop-web with a tool call" in comments
    assert "Waits for you" in comments
    assert "Which endpoint?" in page.by_id("task_messages").text
    happened = page.by_id("timeline").text
    assert "Task made by you, in Doing" in happened
    assert happened.count("Which endpoint?") == 0
    assert happened.count("shop-web to shop-api") == 2  # Sent and delivered, and not the Map's edge as well.


@pytest.mark.spec("CMT-5", "MOVE-4")
def test_a_card_keeps_hand_overs_that_were_taken_back(board: Board) -> None:
    web, api = board.session("shop-web"), board.session("shop-api")
    key = board.task(bound=web)
    cid = board.owner_comment(key, "look")
    board.hand_over(web)
    board.post(f"/tasks/{key}/bind", session=api.ref)
    item = board.page(f"/tasks/{key}").by_id(cid).text
    assert "Was delivered to shop-web, and waits again" in item
    assert '"shop-api" is idle' in item
