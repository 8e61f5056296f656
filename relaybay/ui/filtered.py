"""A page with a filter in its address (`?q=`). A filter that is wrong is shown again with its place, and nothing is
listed: what would stand there is not what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sanic import HTTPResponse, Request

from relaybay.answers import word_refusal
from relaybay.domain import Outcome, Refusal
from relaybay.rules.query_keys import Subject
from relaybay.service import filters, filters_sessions
from relaybay.ui.desk import Desk, Notice, Page, wants_json
from relaybay.ui.paths import url

#: The name of the place on a page where a wrong filter is told.
FILTER = "filter"


async def show(
    desk: Desk,
    request: Request,
    page: Page,
    view: Callable[..., Outcome],
    name: str,
    title: str,
    subject: Subject,
    *,
    notice: Notice | None = None,
    kept: tuple[str, ...] = (),
    **given: Any,
) -> HTTPResponse:
    """The page `name`, filtered. Its own address has the filter in its shortest form, and of `given` what is `kept`."""
    typed = request.args.get("q", "") if request.method in ("GET", "HEAD") else ""
    wrong = None if notice is not None or wants_json(request) else await _wrong(desk, typed, subject)
    if wrong is not None and set(request.args.get("fragment", "").split(",")) & set(page.fragments):
        # What was right when the page was made names somebody who is gone: a list must not come instead that was not
        # asked for. The tab loads its page again, which says so.
        return await desk.refused(request, wrong.answer)
    also = {one: given[one] for one in kept}

    def address(data: dict[str, Any]) -> str:
        return url(name, q=data["q"] if wrong is None else typed, **also)

    q = typed if wrong is None else ""
    return await desk.show(request, page, view, address, title, notice=notice or wrong, q=q, **given)


async def _wrong(desk: Desk, typed: str, subject: Subject) -> Notice | None:
    if not typed:
        return None

    def look(tx: Any, relay: Any) -> Outcome:
        if subject == "sessions":
            found: Any = filters_sessions.passing(tx, relay, typed)
        else:
            found = filters.narrowed(tx, typed, subject)
        return Outcome(refusal=found if isinstance(found, Refusal) else None)

    outcome, _ = await desk.read(look)
    return None if outcome.refusal is None else Notice(word_refusal(outcome.refusal), FILTER, {"q": typed})
