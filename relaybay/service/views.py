"""Read models of the board's pages (page 70, Board): the board itself, and what several pages share.

Belongs here and in `views_*.py`: pure reads that gather what one page shows, as JSON-ready values. Texts stand in them
as everywhere else, bodies as one JSON literal and names as one escaped line (TEXT-3, TEXT-5), so that a page and its
`.json` twin are one value. Does not belong here: words for states (templates), and anything that changes a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from relaybay.domain import Outcome, Refusal
from relaybay.rules.query import Query, printed
from relaybay.rules.text import literal, name_line, name_literal
from relaybay.service import filters, inbox, saved_views
from relaybay.service.arguments import STATUSES
from relaybay.service.card import session_view
from relaybay.service.clock import rfc3339
from relaybay.service.projects import projects_list
from relaybay.service.relay import Relay
from relaybay.store import board as counted
from relaybay.store import messages, sessions, tasks
from relaybay.store.conditions import Condition
from relaybay.store.conditions import all_of as narrowed_by
from relaybay.store.sessions import SessionRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx

#: Cards that one column shows until all of it are asked for; the column's head counts all of them.
COLUMN_CARDS = 10
#: Rows of a column, a group or a table that a page lists at most when all are asked for.
ALL_MAX = 200
#: Projects that the board can be narrowed to by a link: those with most that is open, and the one that is chosen.
PROJECTS_MAX = 12
#: Columns in their order. Dropped tasks are counted, and have a column only where a filter asks for them.
COLUMNS = STATUSES[:-1]
DROPPED = STATUSES[-1]


def around(tx: Tx, *, channels: bool = False) -> dict[str, Any]:
    """What stands around every page: how much waits for the owner, of it what is held for review with `channels` on,
    how many messages are not delivered and not read, and the time at which the page was read.
    """
    mail = counted.mail_open(tx)
    return {
        "needs_you": inbox.count(tx, channels=channels),
        "for_review": sum(messages.for_review_counts(tx).values()) if channels else 0,
        "undelivered": mail.get("sent", 0),
        "unread": mail.get("delivered", 0),
        "at": rfc3339(tx.now),
    }


def session_short(relay: Relay, row: SessionRow) -> dict[str, Any]:
    """A session as other pages name it, with what it is doing now."""
    now = relay.presence.current(row)
    return {**session_view(row), "activity": now.activity, "link": now.link_state}


def open_mail(states: dict[str, int] | None) -> dict[str, int]:
    """`{undelivered, unread}`: how many are `sent`, and how many `delivered` but not acknowledged."""
    states = states or {}
    return {"undelivered": states.get("sent", 0), "unread": states.get("delivered", 0)}


def board(tx: Tx, relay: Relay, *, project: str = "", q: str = "", move: str = "", all_of: str = "") -> Outcome:
    """The board: columns of cards, of one project or of all, with counts of what is not delivered and not read.

    `q` is a filter on the cards (`rules/query.py`). `move` is the key of the card that is being moved, whose columns
    are offered; it changes nothing. A column shows the cards that were changed last; those whose status `all_of` names,
    parted by commas, show all they have. What was dropped has a column when the filter names that status.
    """
    if project and tasks.project(tx, project) is None:
        return Outcome(refusal=Refusal("project.unknown", "75", {"project": name_literal(project)}))
    asked = filters.narrowed(tx, q, "tasks")
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    of_project: list[Condition] = [("p.slug = ?", [project])] if project else []
    where = narrowed_by([*of_project, *asked[1]])
    order = asked[0].once("sort", "new")
    totals = tasks.counted(tx, *where)
    cards = _Cards(tx, relay)
    wanted = STATUSES if _asks_for_dropped(asked[0]) else COLUMNS
    whole = asked_whole(all_of, wanted)
    columns = []
    for status in wanted:
        shown = _column(tx, status, where, order, ALL_MAX if status in whole else COLUMN_CARDS)
        count = totals.get(status, 0)
        columns.append(
            {
                "status": status,
                "count": count,
                "cards": [cards.card(task) for task in shown],
                "left_out": count - len(shown),
                "expanded": status in whole and count > COLUMN_CARDS,
            }
        )
    known = projects_list(tx).data["projects"]
    offered = _offered(known, project)
    rows = [relay.presence.current(row) for row in sessions.every(tx)]
    mail = counted.mail_by_session(tx)
    undelivered = sum(states.get("sent", 0) for states in mail.values())
    return Outcome(
        data={
            "project": project,
            "q": printed(asked[0]),
            "views": saved_views.listed(tx, relay, "board"),
            "move": move,
            "all_of": ",".join(whole),
            "projects": offered,
            "projects_left_out": len(known) - len(offered),
            "columns": columns,
            "dropped": totals.get(DROPPED, 0),
            "sessions": {
                "all": len(rows),
                "live": sum(row.link_state in ("exact", "guessed") and row.activity != "ended" for row in rows),
                "working": sum(row.activity == "working" for row in rows),
            },
            "undelivered": undelivered,
        }
    )


def _asks_for_dropped(query: Query) -> bool:
    return any(term.key == "status" and not term.negated and DROPPED in term.texts for term in query.terms)


def _offered(known: list[dict[str, Any]], chosen: str) -> list[dict[str, Any]]:
    busiest = sorted(known, key=lambda one: (one["slug"] != chosen, -one["open_tasks"]))[:PROJECTS_MAX]
    slugs = {one["slug"] for one in busiest}
    return [one for one in known if one["slug"] in slugs]


def asked_whole(all_of: str, known: Sequence[str]) -> list[str]:
    """Which parts of a page are to list all they have, of those that it has; in the page's own order."""
    named = all_of.split(",")
    return [one for one in known if one in named]


def _column(tx: Tx, status: str, where: Condition, order: str, most: int) -> list[TaskRow]:
    """What a column shows. Newest first stands what was changed last: a card that was moved or written to is among
    them, however old it is, and one that nobody touches makes room.
    """
    picked = "updated" if order == "new" else order
    found = tasks.page(tx, *narrowed_by([("t.status = ?", [status]), where]), picked, None, most)
    return sorted(found, key=lambda task: -task.id) if order == "new" else found


class _Cards:
    """Counts for all cards, read once."""

    def __init__(self, tx: Tx, relay: Relay) -> None:
        self._relay = relay
        self._rows = {row.id: row for row in sessions.every(tx)}
        self._comments = counted.comments_by_task(tx)
        self._mail = counted.mail_by_task(tx)
        self._steps = counted.steps_by_task(tx)

    def card(self, task: TaskRow) -> dict[str, Any]:
        comments = self._comments.get(task.id, {})
        done, count = self._steps.get(task.id, (0, 0))
        card: dict[str, Any] = {
            "key": task.task_key,
            "project": task.project,
            "title": literal(task.title),
            "status": task.status,
            "steps": {"done": done, "count": count},
            "comments": {**open_mail(comments), "unanswered": comments.get("unanswered", 0)},
            "messages": open_mail(self._mail.get(task.id)),
            "updated_at": rfc3339(task.updated_us),
        }
        bound = self._rows.get(task.session_id or 0)
        if bound is not None:
            card["session"] = session_short(self._relay, bound)
        return card


def happened(found: list[tuple[int, str, int, dict[str, Any]]], titles: Mapping[str, str]) -> list[dict[str, Any]]:
    """Events as a timeline shows them; names in them are one escaped line. Who did it is kept as a ref: what that
    session is called now stands beside it as `who`, if it is in `titles`.

    The Map's edge of a message of ours stands beside its `message.sent` and is left out; a client's own has only that.
    """
    return [
        {"id": key, "type": type_, "at": rfc3339(at_us), "data": _told(data, titles)}
        for key, type_, at_us, data in found
        if type_ != "session.message" or data.get("by") == "client"
    ]


def titles_of(rows: Iterable[SessionRow]) -> dict[str, str]:
    """Ref → what the session is called."""
    return {row.ref: row.title for row in rows}


def _told(data: dict[str, Any], titles: Mapping[str, str]) -> dict[str, Any]:
    told = {name: _line(name, value) for name, value in data.items()}
    who = titles.get(data.get("by", ""))
    return told if who is None else {**told, "who": name_line(who)}


def _line(name: str, value: Any) -> Any:
    # Some events carry a name as it is stored.
    return name_line(value) if name in ("from", "to") and isinstance(value, str) else value
