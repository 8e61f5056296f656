"""Read model of `/tasks/KEY` (pages 40 and 70): the task, its comments with their marks, its messages, its history."""

from __future__ import annotations

from typing import Any

from relaybay.domain import Outcome
from relaybay.service import attachments as files
from relaybay.service.card import author, comment_view, opening, pending, task_view
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.service.views import happened, session_short, titles_of
from relaybay.service.views_messages import message
from relaybay.store import attachments, comments, events, messages, sessions, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

#: Comments that a page shows at first, the newest; and when all are asked for.
RECENT_COMMENTS = 20
PAGE_COMMENTS = 200
PAGE_MESSAGES = 20
TIMELINE_MAX = 40
#: Sessions that are offered for binding; others go by their name.
PICKER_MAX = 100
_LIVE = ("exact", "guessed")
#: How many of the newest events are looked through for the hand-overs of the comments shown.
_HISTORY_EVENTS_MAX = 1_000


def task_page(
    tx: Tx, relay: Relay, *, task: str, reply: str = "", step: str = "", file: str = "", all_of: str = ""
) -> Outcome:
    """One task with everything its page shows. Comments stand oldest first; the older ones when `all_of` says
    `comments`.

    `reply` is the comment that the owner is about to answer, `step` and `file` the number of what they comment on; what
    is not there is left out.
    """
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task)
    why = pending(tx, relay, found.session_id)
    rows = comments.of_task(tx, found.id)
    whole = all_of == "comments"
    shown = rows[-(PAGE_COMMENTS if whole else RECENT_COMMENTS) :]
    there = [files.view(row) for row in attachments.of_task(tx, found.id)]
    about = events.about(tx, "task", found.task_key, _HISTORY_EVENTS_MAX)
    handed, added = _hand_overs(about), _added_by(about)
    bound = sessions.get(tx, found.session_id)
    view = task_view(tx, found, body=True)
    everybody = sessions.every(tx)
    offered = _offered(relay, everybody, found.session_id)
    view["steps"] = [one | ({"by": added[one["n"]]} if one["n"] in added else {}) for one in view["steps"]]
    if bound is not None:
        view["session"] = session_short(relay, bound)
    return Outcome(
        data={
            "task": view,
            "reach": {"reason_code": why.reason_code, "text": why.reason},
            "comments": [
                {**comment_view(relay, row, why), **_more(tx, row), "hand_overs": handed.get(row.cid, [])}
                for row in shown
            ],
            "comments_left_out": len(rows) - len(shown),
            "all_of": "comments" if whole else "",
            "unanswered": sum(row.state == "unanswered" for row in rows),
            "messages": [
                message(tx, relay, mail) for mail in messages.listed(tx, "m.task_id = ?", [found.id], PAGE_MESSAGES)
            ],
            "timeline": happened(about[:TIMELINE_MAX], titles_of(everybody)),
            "files": there,
            "sessions": [session_short(relay, row) for row in offered[:PICKER_MAX]],
            "sessions_left_out": max(len(offered) - PICKER_MAX, 0),
            "writing": _writing(rows, view["steps"], there, reply, step, file),
        }
    )


def _offered(relay: Relay, everybody: list[SessionRow], bound: int | None) -> list[SessionRow]:
    """Sessions to bind to: the bound one, then those whose link is live, then the others, the last seen first."""
    rows = [relay.presence.current(row) for row in everybody]
    open_ = [row for row in rows if row.activity != "ended" or row.id == bound]
    return sorted(open_, key=lambda row: (row.id != bound, row.link_state not in _LIVE, -row.last_seen_us, row.id))


def _writing(
    rows: list[CommentRow], steps: list[dict[str, Any]], on: list[dict[str, Any]], reply: str, step: str, file: str
) -> dict[str, Any]:
    """What the comment form is about, beside the task: a comment, a step, one of the files `on` it."""
    about: dict[str, Any] = {}
    parent = next((row for row in rows if row.cid == reply), None)
    if parent is not None:
        about["reply"] = {"id": parent.cid, "author": author(parent), "opening": opening(parent.body_md)}
    wanted = next((one for one in steps if str(one["n"]) == step), None)
    if wanted is not None:
        about["step"] = {"n": wanted["n"], "text": wanted["text"]}
    named = next((one for one in on if str(one["id"]) == file), None)
    if named is not None:
        about["file"] = {"id": named["id"], "name": named["name"]}
    return about


def _more(tx: Tx, row: CommentRow) -> dict[str, Any]:
    """What only the owner's page says of a comment: until when it can be taken back, by what it was handed over."""
    more: dict[str, Any] = {}
    if row.state == "sent" and row.held_back(tx.now):
        more["can_withdraw_until"] = rfc3339(row.grace_until_us)
    if row.delivered_us and row.delivered_by:
        more["delivered_by"] = row.delivered_by
    if row.state == "delivered" and row.stop_blocks:
        more["stop_blocks"] = row.stop_blocks
    return more


def _hand_overs(about: list[tuple[int, str, int, dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Comment → its hand-overs that were taken back, oldest first: the card keeps them (CMT-5)."""
    found: dict[str, list[dict[str, Any]]] = {}
    for _, type_, at_us, data in reversed(about):
        if type_ == "comment.offered_again" and "title" in data:
            entry = {"taken_back_at": rfc3339(at_us), "to": {"ref": data.get("session"), "title": data["title"]}}
            found.setdefault(data["comment_id"], []).append(entry)
    return found


def _added_by(about: list[tuple[int, str, int, dict[str, Any]]]) -> dict[int, str]:
    """Step → who added it, as authors are kept; nothing of one whose event said no number, or is too long ago."""
    return {data["step"]: data["by"] for _, type_, _, data in about if type_ == "task.updated" and "step" in data}


def written_in_comment(tx: Tx, _relay: Relay, *, comment_id: str) -> Outcome:
    """`{body, in_reply_to, step, attachment}` of the owner's comment, as its form had them: the body as it is stored,
    the others as text, empty where it had none. Nothing for a comment that is not there.
    """
    row = comments.get(tx, comment_id)
    if row is None:
        return Outcome()
    written = {"body": row.body_md, "in_reply_to": row.parent_cid}
    numbers = {"step": row.step_n, "attachment": row.attachment_id}
    return Outcome(data={**written, **{name: str(number or "") for name, number in numbers.items()}})


def task_of_comment(tx: Tx, _relay: Relay, *, comment_id: str) -> Outcome:
    """`{task}`: where a comment stands; nothing for one that is not there any more."""
    row = comments.get(tx, comment_id)
    return Outcome(data={"task": row.task_key} if row is not None else {})
