"""The JSON API's list of channels: topics, broadcasts, and one session's direct conversations (page 50, OWN-6)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field
from sanic import HTTPResponse, Request

from relaybay.api.calls import respond, run
from relaybay.api.rest_models import Query
from relaybay.api.results import Answered
from relaybay.api.routes import Routes
from relaybay.rules.topics import Received
from relaybay.service import channel_lists
from relaybay.service.relay import Relay


class ChannelsQuery(Query):
    """Whose view of the channels; without a session nobody's."""

    session: str = ""


class Topic(BaseModel):
    """One topic: how many messages are kept of it, when the last one was sent, how the chosen session receives it."""

    topic: str
    count: int
    last_at: str = ""
    received: Received | None = None


class Broadcasts(BaseModel):
    """The broadcasts that are kept, and whether the chosen session receives them."""

    count: int
    last_at: str = ""
    received: bool | None = None


class Peer(BaseModel):
    """A session that the chosen one exchanged direct messages with."""

    ref: str
    title: str
    name: str
    count: int
    last_at: str


class Channels(Answered):
    """All channels, the one last written to first."""

    topics: list[Topic]
    broadcasts: Broadcasts
    conversations: list[Peer]
    session: dict[str, Any] = Field(default={})
    patterns: list[str] = Field(default=[])


def register_channel_lists(routes: Routes, relay: Relay) -> None:
    """Adds the route."""

    async def listed(_: Request, query: ChannelsQuery) -> HTTPResponse:
        return respond(await run(relay, channel_lists.channels, session=query.session, read=True))

    routes.op(
        "GET", "/api/v1/channels", "list_channels", listed, door="api", query=ChannelsQuery, responses={200: Channels}
    )
