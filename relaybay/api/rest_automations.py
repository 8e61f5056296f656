"""The JSON API of the owner's rules: those that are in use, and what they did (page 50, Automations)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, Field
from sanic import HTTPResponse, Request

from relaybay.api.calls import respond, run
from relaybay.api.models import whole
from relaybay.api.rest_models import Query
from relaybay.api.results import Answered
from relaybay.api.routes import Routes
from relaybay.service import automation_lists
from relaybay.service.arguments import LIST_DEFAULT, LIST_MAX
from relaybay.service.relay import Relay

Lines = Annotated[int, Field(ge=1, le=LIST_MAX), BeforeValidator(whole)]


class FiringsQuery(Query):
    """Whose firings, how many at most, and below which number."""

    rule: str = ""
    limit: Lines = LIST_DEFAULT
    before: str = ""


class Automation(BaseModel):
    """One rule, with how many firings it has in each state."""

    name: str
    session: str
    on: str
    actions: list[str]
    consume: bool
    firings_per_hour: int
    cool_down_seconds: int
    line: int
    firings: dict[str, int]


class Automations(Answered):
    """The rules, or what is wrong in their file."""

    file: str
    automations: list[Automation]
    problems: list[str]


class About(BaseModel):
    """The session that a firing is about, under its title of then."""

    title: str
    ref: str | None = None


class Firing(BaseModel):
    """One message that set off one rule, and how that ended."""

    id: str
    automation: str
    message_id: str
    session: About
    admission: str
    catch_up: bool
    consumed: bool
    state: str
    sent: int
    queued_at: str
    started_at: str | None = None
    ended_at: str | None = None
    reason_code: str | None = None
    reason: str | None = None


class Firings(Answered):
    """Firings, newest first; `before` goes on."""

    firings: list[Firing]
    before: str | None = None


def register_automation_lists(routes: Routes, relay: Relay) -> None:
    """Adds their routes."""

    async def listed(_: Request) -> HTTPResponse:
        return respond(await run(relay, automation_lists.listed, read=True))

    async def log(_: Request, query: FiringsQuery) -> HTTPResponse:
        return respond(await run(relay, automation_lists.log, read=True, **query.model_dump()))

    op = routes.op
    op("GET", "/api/v1/automations", "list_automations", listed, door="api", responses={200: Automations})
    op(
        "GET",
        "/api/v1/automations/log",
        "automation_log",
        log,
        door="api",
        query=FiringsQuery,
        responses={200: Firings},
    )
