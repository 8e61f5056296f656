"""The owner comments on a file of a task: the agent is told which, and the comment keeps its name when it comes off."""

from __future__ import annotations

import pytest

from relaybay.domain import Caller
from relaybay.service import attachments, comment_lists, comments, handover
from tests.ui.board_rig import OWNER, SECOND, Board

NAME = "cart “€” [1].png"


def _said(board: Board, key: str) -> list[dict]:
    return board.write(lambda tx: comment_lists.comments_list(tx, board.relay, OWNER, task=key))["comments"]


@pytest.mark.spec("40", "CMT-1")
def test_the_page_leads_from_a_file_to_a_comment_on_it_and_back(board: Board) -> None:
    row = board.session("builder")
    key = board.task(bound=row)
    file = board.attach(key, NAME, b"png")
    page = board.page(f"/tasks/{key}")
    (link,) = [a for a in page.all("a") if f"file={file['id']}" in a.attributes.get("href", "")]
    writing = board.page(link["href"].partition("#")[0])
    assert "On the file" in writing.by_id("comment").text and NAME in writing.by_id("comment").text
    assert writing.one("input", type_="hidden", name="attachment")["value"] == str(file["id"])
    answer = board.submit(writing, f"/tasks/{key}/comments", body="The sum is cut off here.")
    assert answer.status == 303
    (said,) = _said(board, key)
    assert said["attachment"] == {"id": file["id"], "name": NAME}
    shown = board.page(f"/tasks/{key}").by_id(said["id"])
    assert f"on {NAME}" in shown.text


@pytest.mark.spec("40", "CMT-3", "TEXT-5")
def test_the_agent_is_told_which_file(board: Board) -> None:
    row = board.session("builder")
    key = board.task(bound=row)
    file = board.attach(key, 'a"b\u202egnp.png', b"png")
    board.write(
        lambda tx: comments.owner_comment(
            tx, board.relay, task=key, body="Look", attachment=str(file["id"]), from_board=False
        )
    )
    board.now += SECOND
    (offer,) = board.relay.store.read(lambda tx: handover.offers(tx, board.relay, row, "tool"))
    assert '"a\\"b\\u202egnp.png"' in offer.frame and "\u202e" not in offer.frame


@pytest.mark.spec("40")
@pytest.mark.parametrize("number", ["0", "99", "-1", "x", "1 ", "9" * 30, "other"])
def test_a_file_that_is_not_there_or_anothers_is_refused_and_nothing_is_stored(board: Board, number: str) -> None:
    key, other = board.task(), board.task("Another")
    board.attach(key, "a.png", b"a")
    elsewhere = board.attach(other, "b.png", b"b")
    given = str(elsewhere["id"]) if number == "other" else number
    before = board.dump()
    answer = board.post(f"/tasks/{key}/comments", body="On what?", attachment=given)
    assert answer.status == 404 and "attachment_unknown" in answer.body and "On what?" in answer.body
    assert board.dump() == before
    outcome = board.relay.store.write(
        lambda tx: comments.owner_comment(tx, board.relay, task=key, body="b", attachment=given, from_board=False)
    )
    assert outcome.refusal is not None and outcome.refusal.answer == "attachment.unknown"
    assert board.dump() == before


@pytest.mark.spec("40")
def test_a_comment_keeps_the_name_of_a_file_that_came_off(board: Board) -> None:
    row = board.session("builder")
    key = board.task(bound=row)
    file = board.attach(key, NAME, b"png")
    number = str(file["id"])
    board.write(
        lambda tx: comments.owner_comment(
            tx, board.relay, task=key, body="Look", attachment=number, step=0, from_board=False
        )
    )
    board.write(lambda tx: attachments.detach(tx, task=key, number=number))
    (said,) = _said(board, key)
    assert said["attachment"] == {"name": NAME}
    page = board.page(f"/tasks/{key}")
    assert f"on {NAME}, a file that is gone" in page.by_id(said["id"]).text
    assert f"- on file: `{NAME}`" in board.get(f"/tasks/{key}.md").body
    caller = Caller(hook_session=row.hook_id)
    listed = board.write(lambda tx: comment_lists.comments_list(tx, board.relay, caller, task=key))
    assert listed["comments"][0]["attachment"] == {"name": NAME}
