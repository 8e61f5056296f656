"""Read model of `/search` (page 40): tasks and comments by their texts and by filters, with what was found in each."""

from __future__ import annotations

import re
from typing import Any

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules.query import Query, printed
from relaybay.rules.text import literal
from relaybay.service import filters
from relaybay.service.arguments import check_limit, invalid
from relaybay.service.card import author, author_view
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.store import comments, seals, search, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

PAGE_FOUND = 20
#: How far one can page; who does not find it among so many asks more exactly.
SKIP_MAX = 1_000
#: What is shown of a text in which nothing was looked for.
OPENING_CHARS = 200
_MARKS = re.compile(f"[{search.MARK_ON}{search.MARK_OFF}]")


def search_texts(tx: Tx, _relay: Relay, *, q: str = "", skip: int = 0, limit: int = PAGE_FOUND) -> Outcome:
    """Tasks and comments that a query finds, the best first: `{query, found, count, skip, next?, texts, text}`.

    An empty query finds nothing. `skip` is how many to leave out, `next` the `skip` of the next page. In `title` and
    `snippet` each piece is one literal, and says whether it was looked for.
    """
    wrong = check_limit(limit)
    if wrong is None and not 0 <= skip <= SKIP_MAX:
        wrong = invalid("skip", "why.range", least=0, most=SKIP_MAX)
    asked = filters.narrowed(tx, q, "search")
    if wrong is not None or isinstance(asked, Refusal):
        return Outcome(refusal=wrong or asked)  # type: ignore[arg-type]
    query, conditions = asked
    data: dict[str, Any] = {"query": printed(query), "found": [], "count": 0, "skip": skip}
    if query.terms:
        found, data["count"] = search.found(tx, _words(query), conditions, query.once("sort", "best"), skip, limit)
        data["found"] = [_found(tx, one) for one in found]
    following = skip + len(data["found"])
    if following < data["count"] and following <= SKIP_MAX:
        data["next"] = following
    said = word("search.found", count=data["count"], shown=len(data["found"]), first=skip + 1).text
    return Outcome({**data, "texts": search.texts(tx), "text": said})


def _words(query: Query) -> list[tuple[str, bool]]:
    return [(value.text, value.prefix) for t in query.terms if not t.key and not t.negated for value in t.values]


def _found(tx: Tx, one: search.Found) -> dict[str, Any]:
    task = tasks.by_id(tx, one.task_id)
    comment = None if one.comment_id is None else comments.by_key(tx, one.comment_id)
    shown: dict[str, Any] = {
        "kind": "task" if comment is None else "comment",
        "task": task.task_key,
        "project": task.project,
        "status": task.status,
        "title": pieces((one.title if comment is None else "") or task.title, task.title),
        "snippet": _snippet(tx, one, task, comment),
        "at": rfc3339(task.updated_us if comment is None else comment.created_us),
        "author": author_view(task.author) if comment is None else author(comment),
    }
    return shown if comment is None else shown | {"comment_id": comment.cid}


def _snippet(tx: Tx, one: search.Found, task: TaskRow, comment: CommentRow | None) -> list[dict[str, Any]]:
    """Where it was found; how the text begins where it was not looked for there."""
    name, body = (task.task_key, task.body_md) if comment is None else (comment.cid, comment.body_md)
    # What is kept for the search may still be whole; whoever wrote it is not vouched for any more (FLT-8).
    if one.snippet and body != seals.instead(name):
        return pieces(one.snippet, "\n".join([body, *(text for _, text, _ in tasks.steps(tx, task.id))]))
    opening = body[:OPENING_CHARS]
    return pieces(opening + search.ELLIPSIS * (len(body) > len(opening)), body)


def pieces(marked: str, text: str) -> list[dict[str, Any]]:
    """A text with marks, in pieces: `{text, hit}`. Where the text itself has such a character nothing is marked, since
    nobody could tell whose mark it is.
    """
    if _MARKS.search(text):
        return [{"text": literal(_MARKS.sub("", marked)), "hit": False}]
    found: list[dict[str, Any]] = []
    for number, part in enumerate(_MARKS.split(marked)):
        if part:
            # On and off stand in turns, so what is marked stands at the odd places.
            found.append({"text": literal(part), "hit": number % 2 == 1})
    return found
