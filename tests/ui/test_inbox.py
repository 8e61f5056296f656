"""The Inbox as a triage list: one entry in focus, its one action, the next one after it; what each kind shows."""

from __future__ import annotations

import re

import pytest

from relaybay.service import inbox
from relaybay.service.views_inbox import LISTED_BEFORE, LISTED_MAX
from relaybay.store import events, sessions
from relaybay.store.sessions import SessionRow
from tests.ui.board_rig import SECOND, Board, Document


def rows(page: Document) -> list[str]:
    return [e["href"] for e in page.all("a", class_="queue-row")]


def hotkeys(page: Document) -> dict[str, str]:
    """Key → what it presses, within the entry."""
    inside = page.by_id("inbox_entry")
    found = [e for e in page.elements if "data-hotkey" in e.attributes and Board._inside(e, inside)]
    assert len({e["data-hotkey"] for e in found}) == len(found), "a key that means two things"
    assert all(e.tag in ("a", "button") and e["title"].endswith(f"({e['data-hotkey']})") for e in found)
    return {e["data-hotkey"]: e.text for e in found}


def fault(board: Board, ref: str, kind: str = "spool_fault", session: int | None = None) -> None:
    board.now += SECOND
    board.relay.store.write(lambda tx: events.put_inbox(tx, kind, ref, session))


def asks(board: Board, row: SessionRow, what: str = "permission") -> None:
    board.now += SECOND
    board.relay.store.write(lambda tx: sessions.change(tx, row.id, asks=what, asks_since_us=tx.now))


@pytest.mark.spec("40")
def test_every_kind_of_entry_is_walked_with_one_link_and_done_with_one_button(board: Board) -> None:
    web, api = board.session("shop-web", cwd="/src/web"), board.session("shop-api")
    key = board.task("Mend the cart", bound=web, status="doing")
    board.owner_comment(key, "Which **button**?")
    reply = board.reply(web, key, "The _blue_ one?")
    mid = board.send(web, "shop-api", "Thanks again!")
    board.relay.store.write(lambda tx: events.put_inbox(tx, "reply_too_deep", mid, api.id))
    asks(board, web)
    asks(board, api, "input")
    fault(board, "a.jsonl")
    fault(board, "no Stop hook", "hook_fault", api.id)
    page = board.page("/inbox")
    assert page.one("title").text == "(6) Inbox · relaybay"
    walked: list[str] = []
    wanted = [
        ("Reply", "n r e", "The blue one?"),
        ("Chain of replies stopped", "n e", "Thanks again!"),
        ("Asks for a permission", "n e", "/src/web"),
        ("Waits for your prompt", "n e", "shop-api"),
        ("Fault of the spool", "n e", "a.jsonl"),
        ("Fault of a hook", "n e", "no Stop hook"),
    ]
    for number, (kind, keys, says) in enumerate(wanted, 1):
        entry = page.by_id("inbox_entry").text
        assert kind in entry and says in entry and f"{number} of 6" in entry
        assert "waiting for" in entry and "ago" not in entry.partition("waiting for")[2][:12]
        assert sorted(hotkeys(page)) == sorted(keys.split())
        (here,) = page.all("a", class_="queue-row", aria_current="true")
        assert page.one("body")["data-page"] == here["href"]
        walked.append(here["href"])
        (leads,) = [e["href"] for e in page.all("a", data_hotkey="n") if "inbox" in e["href"]]
        page = board.page(leads)
    assert walked == rows(page) and len(set(walked)) == 6
    assert walked[0] == f"/inbox?at={reply}"
    assert page.one("body")["data-page"] == walked[0], "after the last the first"
    for left in range(6, 0, -1):
        entry = board.page("/inbox")
        assert f"({left}) " in entry.one("title").text
        action = next(e for e in entry.all("button") if e.attributes.get("data-hotkey") == "e")
        own = action.attributes.get("form", "")
        form = entry.by_id(own) if own else next(e for e in entry.all("form") if board._inside(action, e))
        answer = board.submit(entry, form["action"])
        assert answer.status == 303
        then = board.page(answer.headers["location"])
        assert len(rows(then)) == left - 1
        if left > 1:
            assert then.one("body")["data-page"] == walked[7 - left]
    assert "Nothing needs you" in board.page("/inbox").by_id("inbox_entry").text


@pytest.mark.spec("CMT-1", "CMT-10", "CMT-11")
def test_a_reply_is_answered_where_it_stands_and_the_next_one_is_in_focus(board: Board) -> None:
    web = board.session("shop-web")
    first, second = board.task("One", bound=web), board.task("Two", bound=web)
    asked = board.owner_comment(first, "Which **button**?")
    named = board.reply(web, first, "The blue one?", asked)
    board.reply(web, first, "Or the red one?")
    other = board.reply(web, second, "Something else")
    page = board.page(f"/inbox?at={named}")
    entry = page.by_id("inbox_entry").text
    assert "You wrote" in entry and "Which button?" in entry and "The blue one?" in entry
    assert f"This takes 1 other reply on {first} off as well." in entry
    answer = board.submit(page, f"/tasks/{first}/comments", body="The red one")
    target = answer.headers["location"]
    cid = re.fullmatch(rf"/inbox\?at={other}&undo=(c_\w+)", target)
    assert cid, target
    after = board.page(target)
    assert after.one("body")["data-page"] == target
    assert len(rows(after)) == 1 and "Something else" in after.by_id("inbox_entry").text
    undo = after.by_id("inbox_undo")
    assert "Held for 5 s" in undo.text
    assert after.one("button", data_hotkey="u").text.startswith("Take it back")
    comments = board.get(f"/tasks/{first}.json").json["comments"]
    assert (comments[-1]["body"], comments[-1]["in_reply_to"]) == ('"The red one"', named)
    board.now += 5 * SECOND
    assert board.page(target).by_id("inbox_undo").text == ""
    board.now -= SECOND
    back = board.submit(board.page(target), f"/comments/{cid[1]}/withdraw")
    assert back.status == 200 and back.document.by_id("comment-body").text == "The red one"
    assert "Answers shop-web" in back.document.by_id("answers-line").text
    assert back.document.one("input", name="in_reply_to")["value"] == named
    assert board.page(target).by_id("inbox_undo").text == ""


@pytest.mark.spec("CMT-11")
def test_what_a_reply_answers_is_what_it_names_or_the_owners_last_word(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task(bound=web)
    alone = board.reply(web, key, "Hello?")
    assert "answers" not in board.get(f"/inbox.json?at={alone}").json["focus"]
    board.owner_comment(key, "one")
    two = board.owner_comment(key, "two")
    loose = board.reply(web, key, "Done")
    board.owner_comment(key, "three")
    board.reply(web, key, "Done again")
    focus = board.get(f"/inbox.json?at={loose}").json
    assert focus["focus"] is None and focus["gone"], "an answer of the owner takes it off"
    last = board.get("/inbox.json").json["focus"]
    assert last["answers"]["named"] is False and last["answers"]["body"] == '"three"'
    named = board.reply(web, key, "To the second", two)
    focus = board.get(f"/inbox.json?at={named}").json["focus"]
    assert (focus["answers"]["id"], focus["answers"]["named"], focus["same_task"]) == (two, True, 1)
    to_itself = board.reply(web, key, "And to myself", named)
    assert "answers" not in board.get(f"/inbox.json?at={to_itself}").json["focus"]


def test_an_answer_that_is_refused_is_kept_as_it_was_typed(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task(bound=web)
    reply = board.reply(web, key, "Which one?")
    page = board.page("/inbox")
    before = board.dump()
    answer = board.submit(page, f"/tasks/{key}/comments", body="x" * 6001)
    assert answer.status == 422 and board.dump() == before
    again = answer.document
    assert again.one("textarea", name="body").text == "x" * 6001
    assert "Not done." in again.by_id("refusal-answer").text
    assert again.one("body")["data-page"] == f"/inbox?at={reply}"
    assert "data-live" not in again.by_id("inbox_entry").attributes, "what was typed is not fetched away"
    board.post(f"/tasks/{key}/replies/read")
    late = board.submit(page, f"/tasks/{key}/comments", body="y" * 6001).document
    assert "y" * 6001 in late.one("textarea", readonly="").text and "Not done." in late.by_id("refusal-answer").text
    bad = board.post(f"/tasks/{key}/comments", body="z", at=reply, step="one")
    assert bad.status == 422 and board.dump()[-1] != before


def test_one_that_waits_no_longer_says_so_and_leads_on(board: Board) -> None:
    fault(board, "a")
    fault(board, "b")
    gone, left = rows(board.page("/inbox"))
    board.submit(board.page(gone), "/inbox/seen")
    page = board.page(gone)
    assert "waits no longer" in page.by_id("inbox_entry").text
    assert page.one("body")["data-page"] == gone
    assert page.one("a", data_hotkey="n")["href"] == left
    assert not page.all("button", data_hotkey="e"), "a key must not act on another entry"
    assert board.page("/inbox?at=%3Cb%3E").by_id("inbox_entry").text.startswith("This one waits no longer")
    board.submit(board.page(left), "/inbox/seen")
    assert "Nothing needs you" in board.page(gone).by_id("inbox_entry").text


def test_two_hundred_entries_are_listed_around_the_one_in_focus(board: Board) -> None:
    for number in range(200):
        fault(board, f"fault {number}")
    page = board.page("/inbox")
    assert page.one("title").text == "(200) Inbox · relaybay"
    assert len(rows(page)) == LISTED_MAX
    seen: list[str] = []
    address = "/inbox"
    while address:
        page = board.page(address)
        seen += [row for row in rows(page) if row not in seen]
        assert len(rows(page)) == LISTED_MAX
        more = [e["href"] for e in page.all("a") if e.text.endswith(" more")]
        address = more[0] if more else ""
    assert len(seen) == 200
    middle = board.page(seen[100])
    assert rows(middle).index(seen[100]) == LISTED_BEFORE
    assert middle.one("ol", class_="queue-list")["start"] == str(100 - LISTED_BEFORE + 1)
    assert [e["href"] for e in middle.all("a") if e.text == f"{100 - LISTED_BEFORE} older"] == [
        seen[100 - LISTED_BEFORE - 1]
    ]
    assert len(board.get(seen[100]).body.encode()) < 60_000


def test_an_empty_inbox_says_what_was_checked(board: Board) -> None:
    board.session("shop-web")
    said = board.page("/inbox").by_id("inbox_entry").text
    assert "Nothing needs you" in said and "relaybay comment" in said
    assert "unanswered replies 0, stopped chains 0, sessions asking 0 of 1, faults 0" in said
    data = board.get("/inbox.json").json
    assert data["checked"] == {"replies": 0, "chains": 0, "asking": 0, "faults": 0, "sessions": 1}
    assert data["needs_you"] == data["count"] == 0 and data["focus"] is None


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><svg onload=alert(1)>', "{{ 7 * 7 }}", "\u202eevil"])
def test_hostile_names_and_texts_stay_text(board: Board, text: str) -> None:
    web = board.session(f"w {text}", cwd=f"/src/{text}")
    key = board.task(f"t {text}", bound=web)
    reply = board.reply(web, key, f"r {text}")
    asks(board, web)
    fault(board, f"f {text}")
    board.relay.store.write(lambda tx: inbox.spool_fault(tx, f"s {text}"))
    shown = text.replace("\u202e", "U+202E")
    addresses = rows(board.page("/inbox"))
    assert len(addresses) == 4 and addresses[0] == f"/inbox?at={reply}"
    for address in addresses:
        page = board.page(address)
        assert shown in page.by_id("inbox_entry").text or json_escaped(text) in page.by_id("inbox_entry").text
        assert not page.all("svg", onload="alert(1)") and "\u202e" not in page.one("body").text
        assert all(e.text == "" for e in page.all("script"))
        assert re.fullmatch(r"/inbox\?at=[A-Za-z0-9_-]+", address)


def json_escaped(text: str) -> str:
    from relaybay.rules.text import literal

    return literal(text)[1:-1]
