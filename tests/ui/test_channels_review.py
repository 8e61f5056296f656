"""The owner's review of what is held (page 50, table REV, OWN-2 to 4): the tab, the review page and its three forms."""

from __future__ import annotations

import pytest

from relaybay.service import controls
from relaybay.store import messages, sessions
from relaybay.store.sessions import SessionRow
from tests.ui.board_rig import SECOND, Answer, Board, Document


class Held:
    """A session that holds everything, and a message of a script's that waits there."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.row = board.session("reviewer", cwd="/src/shop")
        board.policy(self.row, "hold")
        self.mid = board.script(self.row, "Nightly: three tests failed.", "nightly")
        self.path = f"/messages/{self.mid}/review?session={self.row.ref}"

    def open(self) -> Document:
        answer = self.board.post(f"/messages/{self.mid}/review", session=self.row.ref)
        assert (answer.status, answer.headers["location"]) == (303, self.path)
        return self.board.page(self.path)

    def decide(self, page: Document, what: str) -> Answer:
        return self.board.submit(page, f"/messages/{self.mid}/{what}")

    @property
    def state(self) -> str:
        found = self.board.relay.store.read(lambda tx: messages.get(tx, self.mid, (self.row.id,)))
        assert found is not None
        return found.state


@pytest.fixture
def held(channels: Board) -> Held:
    return Held(channels)


def suppress(board: Board, row: SessionRow) -> None:
    board.relay.store.write(lambda tx: controls.suppress(tx, board.relay, sessions.need(tx, row.id), "stop_failure"))


@pytest.mark.spec("OWN-2", "REV-1")
def test_the_tab_lists_what_is_held_without_its_text(held: Held) -> None:
    board = held.board
    api = board.session("shop-api")
    board.subscribe(held.row, "ci.*")
    second = board.publish(api, "ci.failures", "A secret text")
    page = board.page("/messages?tab=review")
    items = [e for e in page.all("li") if e.attributes.get("id", "").startswith("held-")]
    assert [e["id"] for e in items] == [f"held-{mid}-{held.row.ref}" for mid in (held.mid, second)], "oldest first"
    assert "nightly" in items[0].text and "script" in items[0].text and "reviewer" in items[0].text
    assert "policy keeps back every message" in items[0].text and "just now" in items[1].text
    assert "ci.failures" in items[1].text
    assert "Nightly" not in page.text and "secret" not in page.text
    twin = board.get("/messages.json?tab=review").json
    assert [one["message_id"] for one in twin["held"]] == [held.mid, second]
    assert "body" not in twin["held"][0] and "token" not in str(twin)
    assert page.one("title").text == "(2) For review · relaybay"
    nav = page.by_id("nav").text
    assert "Messages , held for your review: 2" in nav and "Inbox , waiting for you: 2" in nav


@pytest.mark.spec("OWN-3", "REV-1")
def test_a_review_is_opened_by_its_form_and_shows_all_that_a_decision_needs(held: Held) -> None:
    board = held.board
    closed = board.page(held.path)
    assert "Nightly: three" not in closed.text and not closed.all("button", data_hotkey="a")
    assert "body" not in board.get(f"/messages/{held.mid}/review.json").json["review"]
    answer = board.submit(closed, f"/messages/{held.mid}/review")
    assert answer.status == 303
    page = board.page(answer.headers["location"])
    text = page.by_id("review").text
    for wanted in (
        "a script that calls itself nightly", "whose policy is hold", "this session alone", "not known",
        "policy keeps back every message", "Nightly: three tests failed.", "may start a turn",
    ):  # fmt: skip
        assert wanted in text, wanted
    token = next(e["value"] for e in page.all("input", name="review"))
    assert token and token == board.get(f"/messages/{held.mid}/review.json").json["review"]["token"]
    assert page.one("button", data_hotkey="a").text.startswith("Approve")
    assert page.one("summary", data_hotkey="d").text.startswith("Reject")
    assert "disabled" not in page.one("button", data_hotkey="a").attributes


@pytest.mark.spec("OWN-4", "REV-4", "DLV-26")
def test_approved_it_goes_once_and_the_next_one_of_the_sender_is_held(held: Held) -> None:
    board = held.board
    answer = held.decide(held.open(), "approve")
    assert (answer.status, answer.headers["location"]) == (303, held.path)
    said = board.page(held.path).by_id("review").text
    assert "Not held any more." in said and "Not delivered yet" in said
    assert held.state == "sent"
    board.hand_over(held.row)
    assert held.state == "delivered"
    board.script(held.row, "Another night.", "nightly")
    assert board.get("/messages.json?tab=review").json["held_count"] == 1


@pytest.mark.spec("OWN-4", "REV-5", "DLV-27")
def test_to_reject_asks_once_more_and_is_final(held: Held) -> None:
    page = held.open()
    (asks,) = page.all("details", class_="ask")
    assert "open" not in asks.attributes and "Rejected is final" in asks.text
    assert Board._inside(page.one("form", action=f"/messages/{held.mid}/reject"), asks)
    assert held.decide(page, "reject").status == 303 and held.state == "rejected"
    assert "Rejected by you" in held.board.page(held.path).by_id("review").text
    assert "Rejected by you" in held.board.page("/messages").by_id(f"message-{held.mid}").text


@pytest.mark.spec("REV-2", "REV-6", "DLV-28")
def test_a_refresh_renews_no_review_that_controls_made_stale(held: Held) -> None:
    board = held.board
    page = held.open()
    board.policy(held.row, "auto")
    board.policy(held.row, "hold")
    board.page(held.path)
    board.page("/messages?tab=review")
    answer = held.decide(page, "approve")
    assert answer.status == 409 and held.state == "held"
    refused = answer.document
    assert "review_stale" in refused.text and "Controls changed since this was opened." in refused.text
    assert not refused.all(data_hotkey="a") and "Nightly: three" not in refused.by_id("review").text
    again = board.submit(refused, f"/messages/{held.mid}/review")
    assert again.status == 303
    assert held.decide(board.page(again.headers["location"]), "approve").status == 303 and held.state == "sent"


@pytest.mark.spec("REV-6")
@pytest.mark.parametrize("what", ["approve", "reject"])
def test_nothing_is_decided_without_a_token_or_with_another_ones(held: Held, what: str) -> None:
    board = held.board
    other = board.script(held.row, "Something else.", "nightly")
    before = board.dump()
    for token in ("", "guessed"):
        answer = board.post(f"/messages/{held.mid}/{what}", review=token, session=held.row.ref)
        assert answer.status == 409 and "review_stale" in answer.body
    assert board.dump() == before
    token = next(e["value"] for e in held.open().all("input", name="review"))
    answer = board.post(f"/messages/{other}/{what}", review=token, session=held.row.ref)
    assert answer.status == 409 and "review_stale" in answer.body, "one review covers one message"
    assert board.get("/messages.json?tab=review").json["held_count"] == 2


@pytest.mark.spec("REV-7", "REV-8")
def test_what_was_decided_or_delivered_meanwhile_is_not_held_any_more(held: Held) -> None:
    board = held.board
    page = held.open()
    board.policy(held.row, "accept")
    board.hand_over(held.row)
    for what in ("approve", "reject"):
        answer = held.decide(page, what)
        assert answer.status == 409 and "not_held" in answer.body and "Delivered" in answer.document.text
    answer = board.post(f"/messages/{held.mid}/review", session=held.row.ref)
    assert answer.status == 409 and "not_held" in answer.body
    assert board.post("/messages/m_none/review", session="").status == 404
    assert board.get("/messages/m_none/review").status == 404
    assert board.post(f"/messages/{held.mid}/review", csrf="x", session="").status in (401, 403)


@pytest.mark.spec("REV-4", "DLV-29", "SUP-3")
def test_what_blocks_an_approval_is_named_and_reject_stays(held: Held) -> None:
    board = held.board
    board.policy(held.row, "refuse")
    page = held.open()
    assert "disabled" in page.one("button", data_hotkey="a").attributes
    assert "cannot be approved now: the session's policy refuse keeps everything" in page.by_id("review").text
    answer = held.decide(page, "approve")
    assert answer.status == 409 and "approve_blocked" in answer.body and held.state == "held"
    assert held.decide(page, "reject").status == 303


@pytest.mark.spec("SUP-3", "OWN-2")
def test_what_waits_for_its_sessions_user_does_not_wait_for_the_owner(held: Held) -> None:
    board = held.board
    suppress(board, held.row)
    page = board.page("/messages?tab=review")
    assert "Until the session is resumed 1" in page.text and "For review 0" in page.by_id("review_list").text
    assert page.one("title").text == "For review · relaybay"
    assert board.get("/inbox.json").json["entries"] == []
    assert "Held until its user writes" in board.page("/messages").by_id(f"message-{held.mid}").text
    panel = board.page(f"/sessions/{held.row.ref}").by_id("session_messaging").text
    assert "Its last turn failed or was broken off." in panel
    page = held.open()
    assert "disabled" in page.one("button", data_hotkey="a").attributes
    assert held.decide(page, "reject").status == 303 and held.state == "rejected"


@pytest.mark.spec("OWN-4", "70")
def test_n_walks_to_the_next_that_is_held_and_there_is_no_batch(held: Held) -> None:
    board = held.board
    mids = [held.mid, board.script(held.row, "Two.", "a"), board.script(held.row, "Three.", "b")]
    page = board.page("/messages?tab=review")
    walked = []
    for _ in range(4):
        (key,) = page.all(data_hotkey="n")
        assert key.tag == "button", "the page's own `n` is the only one"
        form = key.parent
        assert form is not None and form.parent is not None
        answer = board.submit_form(page, form)
        page = board.page(answer.headers["location"])
        walked.append(answer.headers["location"].split("/")[2])
        assert page.all("button", data_hotkey="a")
    assert walked == [*mids, mids[0]]
    posts = [op.path for op in board.routes.operations if op.method == "POST" and "message" in op.path]
    assert posts and all("<message_id:str>" in path for path in posts), "no form for several"


@pytest.mark.spec("40", "70", "OWN-4")
def test_the_inbox_has_an_entry_for_each_that_leads_to_its_review(held: Held) -> None:
    board = held.board
    board.now += 60 * SECOND
    page = board.page("/inbox")
    entry = page.by_id("inbox_entry").text
    assert "Held for your review" in entry and 'A message of "nightly" to "reviewer" is held' in entry
    assert "script" in entry and "Nightly: three" not in page.text
    assert page.one("body")["data-page"] == f"/inbox?at={held.mid}-{held.row.ref}&undo=".removesuffix("&undo=")
    answer = board.submit(page, f"/messages/{held.mid}/review")
    assert answer.headers["location"] == held.path
    (found,) = board.get("/inbox.json").json["entries"]
    assert (found["kind"], found["session"]["ref"]) == ("held", held.row.ref) and "opening" not in found
    assert "1 for you" in board.page("/sessions").by_id(f"row-{held.row.ref}").text
    assert board.get("/sessions.json").json["groups"][0]["sessions"][0]["for_review"] == 1
    assert held.decide(board.page(held.path), "approve").status == 303
    assert board.page(page.one("body")["data-page"]).by_id("inbox_entry").text.startswith("Nothing needs you")


@pytest.mark.spec("REV-1")
def test_one_message_that_is_held_at_two_sessions_has_two_reviews(held: Held) -> None:
    board = held.board
    two, api = board.session("second"), board.session("shop-api")
    board.policy(two, "hold")
    for row in (held.row, two):
        board.subscribe(row, "ci.*")
    mid = board.publish(api, "ci.failures", "Red.")
    assert board.get(f"/messages/{mid}/review").status == 409
    assert board.post(f"/messages/{mid}/review", session=two.ref).status == 303
    page = board.page(f"/messages/{mid}/review?session={two.ref}")
    assert board.submit(page, f"/messages/{mid}/approve").status == 303
    assert board.page(f"/messages/{mid}/review?session={held.row.ref}").all("button", data_hotkey="v")
    ids = [e["id"] for e in board.page("/messages").all("article")]
    assert len(ids) == len(set(ids)) == 3
    thread = board.page(f"/messages?message={mid}")
    assert thread.by_id(f"message-{mid}") and len(thread.all("article")) == 2
