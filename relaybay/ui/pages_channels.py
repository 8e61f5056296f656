"""`/channels`, `/channels/TOPIC`, `/broadcasts` and `/sessions/S-12/with/S-7`, each with its `.json` twin (page 50).

An older page of a reader stays as it is; only the newest end follows.
"""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import unquote

from sanic import HTTPResponse, Request

from relaybay.service import views_channels
from relaybay.ui.desk import Desk, Page, wants_json
from relaybay.ui.paths import url
from relaybay.ui.ports import RouteTable

_CHANNELS: Final = Page("channels.html", "channels", ("channel_list",))
_READER: Final = Page("reader.html", "channels", ("reader",))
_JSON: Final = ".json"


def register(routes: RouteTable, desk: Desk) -> None:
    """Adds the routes. The twin of a topic's page is told by the end of the address, in which a topic's own last dot
    is written as `%2E` where one could be taken for the other.
    """
    pages = _Channels(desk)
    both = (("/channels", "channels", pages.channels), ("/broadcasts", "broadcasts", pages.broadcasts))
    for path, name, handler in both:
        routes.op("GET", path, f"page_{name}", handler, door="board")
        routes.op("GET", f"{path}.json", f"page_{name}_json", handler, door="board")
    routes.op("GET", "/channels/<topic:str>", "page_channel", pages.topic, door="board")
    routes.op("GET", "/sessions/<ref:str>/with/<other:str>", "page_conversation", pages.conversation, door="board")


class _Channels:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def channels(self, request: Request) -> HTTPResponse:
        """`/channels`, and how the session in `?session=` receives each."""
        given = {"session": request.args.get("session", "")}
        given["all_of"] = "channels" if wants_json(request) else request.args.get("all_of", "")
        return await self._desk.show(
            request, _CHANNELS, views_channels.channels_page, url("channels", **given), "Channels", **given
        )

    async def topic(self, request: Request, topic: str) -> HTTPResponse:
        """`/channels/TOPIC`."""
        given: dict[str, Any] = {
            "topic": unquote(topic.removesuffix(_JSON) if wants_json(request) else topic),
            **_asked(request),
        }
        view, address = views_channels.topic_page, url("channel", **given)
        more = _around("channel", topic=given["topic"], session=given["session"])
        return await self._desk.show(request, _READER, view, address, given["topic"], more=more, **given)

    async def broadcasts(self, request: Request) -> HTTPResponse:
        """`/broadcasts`."""
        given: dict[str, Any] = _asked(request)
        view, address = views_channels.broadcasts_page, url("broadcasts", **given)
        more = _around("broadcasts", session=given["session"])
        return await self._desk.show(request, _READER, view, address, "Broadcasts", more=more, **given)

    async def conversation(self, request: Request, ref: str, other: str) -> HTTPResponse:
        """`/sessions/S-12/with/S-7`."""
        other = other.removesuffix(_JSON) if wants_json(request) else other
        given: dict[str, Any] = {"ref": ref, "other": other, "before": request.args.get("before", "")}
        view, address = views_channels.conversation_page, url("conversation", **given)
        more = _around("conversation", ref=ref, other=other)
        return await self._desk.show(request, _READER, view, address, f"{ref} with {other}", more=more, **given)


def _asked(request: Request) -> dict[str, str]:
    return {name: request.args.get(name, "") for name in ("session", "before")}


def _around(name: str, **values: str) -> dict[str, Any]:
    """The address of the newest end, to come back to, and the same without a session, which a form then chooses."""
    plain = {one: value for one, value in values.items() if one != "session"}
    return {"newest": url(name, **values), "plain": url(name, **plain)}
