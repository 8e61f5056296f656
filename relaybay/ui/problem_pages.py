"""What a browser is shown where the server itself refuses: a small page in the board's look, no problem's JSON.

The status, the headers and the sentence stay; machines, and whoever asks for a `.json` twin, get the problem as it was.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.answers import Answer, word
from relaybay.ui.assets import Assets
from relaybay.ui.desk import HTML, PROBLEM, heading, wants_json
from relaybay.ui.ports import RouteTable
from relaybay.ui.render import Renderer

#: Doors behind which there is no page.
_MACHINES: Final = ("api", "hooks", "mcp")
_NO_PAGE: Final = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED)


def register_problem_pages(routes: RouteTable, assets: Assets) -> None:
    """Puts pages in the place of problems, for browsers."""
    renderer = Renderer(assets)

    def put(request: Request, response: Any) -> None:
        if not isinstance(response, HTTPResponse) or not _is_for_a_reader(request, response):
            return
        answer = _answer(response)
        values = {"answer": answer, "heading": heading(answer)}
        # Changed in place: a middleware that returns a response of its own cuts off those after it.
        response.body = renderer.render("lost.html", values).encode("utf-8")
        response.content_type = HTML

    routes.app.register_middleware(put, "response")


def _is_for_a_reader(request: Request, response: HTTPResponse) -> bool:
    if response.content_type != PROBLEM or "text/html" not in request.headers.get("accept", "") or wants_json(request):
        return False
    if request.route is None:
        return not request.path.startswith("/api/")
    return getattr(request.route.ctx, "door", "") not in _MACHINES


def _answer(response: HTTPResponse) -> Answer:
    members = json.loads(response.body or b"{}")
    status = int(response.status)
    # What the server says of an unknown path speaks of its API.
    text = word("board.page_unknown").text if status in _NO_PAGE else str(members["detail"])
    return Answer("", str(members["code"]), str(members["spec_id"]), status, error=True, text=text)
