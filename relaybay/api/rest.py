"""The JSON API under `/api/v1`, through which the owner's commands and the board act: one route, one use case.

Whoever passes its door is the owner (a browser's login, or the owner's key over the Unix socket).
"""

from __future__ import annotations

import os
from typing import Any, Protocol

from sanic import HTTPResponse, Request

from relaybay import __version__
from relaybay.answers import word
from relaybay.api import rest_models as io
from relaybay.api import results
from relaybay.api.calls import answered, respond, run, run_feed
from relaybay.api.commits import Commits
from relaybay.api.gate import Gate
from relaybay.api.keys import KeyFolder
from relaybay.api.openapi import document
from relaybay.api.rest_automations import register_automation_lists
from relaybay.api.rest_channel_lists import register_channel_lists
from relaybay.api.rest_channels import register_channels
from relaybay.api.rest_tasks import register_tasks
from relaybay.api.routes import Routes, reply
from relaybay.api.use_cases import events_since
from relaybay.domain import Caller
from relaybay.service import figures, inbox, message_lists, sessions, views_search
from relaybay.service.clock import rfc3339
from relaybay.service.relay import Relay
from relaybay.settings import Paths


class Heard(Protocol):
    """When each client's hooks were last heard: client → event name → µs."""

    last: dict[str, dict[str, int]]


class Surface(Protocol):
    """What the doctor asks of the MCP surface: when a client last called, in µs; 0 for never since the start."""

    last_seen_us: int


def register_rest(
    routes: Routes,
    relay: Relay,
    gate: Gate,
    commits: Commits,
    *,
    folder: KeyFolder,
    seen: Heard,
    surface: Surface,
    paths: Paths,
) -> None:
    """Adds everything under `/api/v1` but the stream."""
    _Server(routes, relay, gate, folder, seen, surface, paths).register()
    _Sessions(routes, relay).register()
    register_tasks(routes, relay)
    _Mail(routes, relay, commits).register()
    register_channels(routes, relay)
    register_automation_lists(routes, relay)
    register_channel_lists(routes, relay)


class _Server:
    """The server itself: status, logins, keys, health, the document."""

    def __init__(
        self, routes: Routes, relay: Relay, gate: Gate, folder: KeyFolder, seen: Heard, surface: Surface, paths: Paths
    ) -> None:
        self._routes, self._relay, self._gate, self._folder = routes, relay, gate, folder
        self._seen, self._surface, self._paths = seen, surface, paths
        self._started_us = relay.clock()
        self._document: dict[str, Any] = {}

    def register(self) -> None:
        op = self._routes.op
        ok = {200: io.ServerStatus}
        op("GET", "/api/v1/status", "get_status", self._status, door="api", summary="Which server runs", responses=ok)
        op("GET", "/api/v1/doctor", "get_doctor", self._doctor, door="api", responses={200: io.DoctorFacts})
        link = {201: io.LoginLink}
        op("POST", "/api/v1/login-codes", "make_login_code", self._login_code, door="api", responses=link)
        rotated = {200: results.Answered}
        op("POST", "/api/v1/token/rotate", "rotate_token", self._rotate, door="api", responses=rotated)
        op("GET", "/api/v1/openapi.json", "get_openapi", self._openapi, door="api", documented=False)

    @property
    def _url(self) -> str:
        url: str = self._routes.app.ctx.listening.url
        return url

    async def _status(self, _: Request) -> HTTPResponse:
        counts = await run(self._relay, figures.figures, read=True)
        said = {
            "v": 1,
            "url": self._url,
            "mcp_url": f"{self._url}/mcp",
            "token_file": str(self._paths.token),
            "database": str(self._paths.database),
            "pid": os.getpid(),
            "version": __version__,
            "started_at": rfc3339(self._started_us),
            "sessions_live": counts.data["sessions_live"],
            "inbox": counts.data["inbox"],
        }
        return reply(said)

    async def _doctor(self, _: Request) -> HTTPResponse:
        heard = {client: max(events.values()) for client, events in self._seen.last.items() if events}
        outcome = await run(self._relay, figures.doctor, heard=heard, read=True)
        last = self._surface.last_seen_us
        mcp = {"mcp_seen": bool(last), **({"mcp_last_seen_at": rfc3339(last)} if last else {})}
        return reply({"url": self._url, **mcp, **answered(outcome)})

    async def _login_code(self, _: Request) -> HTTPResponse:
        return reply({"url": f"{self._url}/login?code={self._gate.logins.mint_code()}"}, 201)

    async def _rotate(self, _: Request) -> HTTPResponse:
        # The keys stand in files alone: whoever may read those may have them, and no answer carries one.
        self._folder.rotate("token")
        self._folder.rotate("hook_key")
        self._gate.use(self._folder.load())
        return reply({"text": word("token.rotated").text})

    async def _openapi(self, _: Request) -> HTTPResponse:
        if not self._document:
            self._document = document(self._routes.operations, title="relaybay", version=__version__)
        return reply(self._document)


class _Sessions:
    """Rows: list, show, add, rename, end, unlink."""

    def __init__(self, routes: Routes, relay: Relay) -> None:
        self._routes, self._relay = routes, relay

    def register(self) -> None:
        op, one = self._routes.op, "/api/v1/sessions/<ref:str>"
        shown = {200: io.Session}
        links = {"Show": {"operationId": "get_session", "parameters": {"ref": "$response.body#/ref"}}}
        op(
            "GET",
            "/api/v1/sessions",
            "list_sessions",
            self._list,
            door="api",
            query=io.SessionsQuery,
            responses={200: io.Sessions},
        )
        op(
            "POST",
            "/api/v1/sessions",
            "add_session",
            self._add,
            door="api",
            body=io.DesktopSession,
            responses={201: io.Session},
            links=links,
        )
        op("GET", one, "get_session", self._show, door="api", responses=shown)
        op("POST", f"{one}/rename", "rename_session", self._rename, door="api", body=io.NewTitle, responses=shown)
        op("POST", f"{one}/end", "end_session", self._end, door="api", responses=shown)
        op("POST", f"{one}/unlink", "unlink_session", self._unlink, door="api", responses=shown)

    async def _list(self, _: Request, query: io.SessionsQuery) -> HTTPResponse:
        return respond(await run(self._relay, sessions.list_sessions, live=query.live, q=query.q, read=True))

    async def _show(self, _: Request, ref: str) -> HTTPResponse:
        return respond(await run(self._relay, sessions.show_session, ref, read=True))

    async def _add(self, _: Request, body: io.DesktopSession) -> HTTPResponse:
        return respond(await run(self._relay, sessions.add_desktop, **body.model_dump()), 201)

    async def _rename(self, _: Request, ref: str, body: io.NewTitle) -> HTTPResponse:
        return respond(await run(self._relay, sessions.rename, ref, body.title))

    async def _end(self, _: Request, ref: str) -> HTTPResponse:
        return respond(await run(self._relay, sessions.end, ref))

    async def _unlink(self, _: Request, ref: str) -> HTTPResponse:
        return respond(await run(self._relay, sessions.unlink, ref))


class _Mail:
    """Messages, the Inbox and the feed."""

    def __init__(self, routes: Routes, relay: Relay, commits: Commits) -> None:
        self._routes, self._relay, self._commits = routes, relay, commits

    def register(self) -> None:
        op = self._routes.op
        listed = {200: results.Messages}
        op(
            "GET",
            "/api/v1/messages",
            "list_messages",
            self._list,
            door="api",
            query=io.MessagesQuery,
            responses=listed,
        )
        op(
            "GET",
            "/api/v1/messages/<message_id:str>",
            "get_message",
            self._show,
            door="api",
            responses={200: results.Message},
        )
        found = {200: io.Texts}
        op("GET", "/api/v1/search", "search", self._search, door="api", query=io.SearchQuery, responses=found)
        op("GET", "/api/v1/inbox", "get_inbox", self._inbox, door="api", responses={200: io.Inbox})
        seen = {200: results.Answered}
        op(
            "POST",
            "/api/v1/inbox/seen",
            "see_inbox_entry",
            self._seen,
            door="api",
            body=io.InboxEntrySeen,
            responses=seen,
        )
        feed = {200: results.Events}
        op("GET", "/api/v1/events", "list_events", self._events, door="api", query=io.EventsQuery, responses=feed)

    async def _list(self, _: Request, query: io.MessagesQuery) -> HTTPResponse:
        caller = Caller(session=query.session, owner=True)
        given = query.model_dump(include={"box", "unread_only", "task", "before", "q"})
        return respond(
            await run(self._relay, message_lists.list_messages, caller, limit_=query.limit, read=True, **given)
        )

    async def _show(self, _: Request, message_id: str) -> HTTPResponse:
        return respond(await run(self._relay, message_lists.show_message, message_id=message_id, read=True))

    async def _search(self, _: Request, query: io.SearchQuery) -> HTTPResponse:
        return respond(await run(self._relay, views_search.search_texts, read=True, **query.model_dump()))

    async def _inbox(self, _: Request) -> HTTPResponse:
        channels = self._relay.messaging.channels
        return respond(await run(self._relay, lambda tx, _: inbox.inbox(tx, channels=channels), read=True))

    async def _seen(self, _: Request, body: io.InboxEntrySeen) -> HTTPResponse:
        return respond(await run(self._relay, lambda tx, _: inbox.seen(tx, kind=body.kind, ref=body.ref)))

    async def _events(self, _: Request, query: io.EventsQuery) -> HTTPResponse:
        outcome = await run_feed(
            self._relay,
            self._commits,
            events_since,
            cursor=query.cursor,
            wait_s=query.wait_s,
            types=query.kinds,
            limit=query.limit,
            q=query.q,
        )
        return respond(outcome)
