"""The JSON API of channels: what scripts send, the history, reviews, the owner's controls of a session (page 50)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from sanic import HTTPResponse, Request

from relaybay.api import channel_models as io
from relaybay.api import channel_results, results
from relaybay.api.calls import respond, run
from relaybay.api.routes import Routes
from relaybay.domain import Outcome
from relaybay.service import history, publishing, reviews, scripts, session_controls, starts
from relaybay.service.relay import Relay

_SESSION: Final = "/api/v1/sessions/<ref:str>/messaging"
_MESSAGE: Final = "/api/v1/messages/<message_id:str>"


def register_channels(routes: Routes, relay: Relay) -> None:
    """Adds their routes."""
    _Scripts(routes, relay).register()
    _Reviews(routes, relay).register()
    _Controls(routes, relay).register()


class _Scripts:
    """What a script sends, and the log."""

    def __init__(self, routes: Routes, relay: Relay) -> None:
        self._routes, self._relay = routes, relay

    def register(self) -> None:
        op, receipt = self._routes.op, {201: results.Receipt}
        sent, published = io.ScriptMessage, io.ScriptPublication
        op("POST", "/api/v1/script/messages", "script_send", self._send, door="api", body=sent, responses=receipt)
        op(
            "POST",
            "/api/v1/script/publications",
            "script_publish",
            self._publish,
            door="api",
            body=published,
            responses={201: channel_results.Publication},
        )
        listed = {200: io.Log}
        op("GET", "/api/v1/log", "message_log", self._log, door="api", query=io.LogQuery, responses=listed)

    async def _send(self, _: Request, body: io.ScriptMessage) -> HTTPResponse:
        return respond(
            await run(
                self._relay, scripts.send, label=body.label, to=body.to, body=body.body, request_id=body.request_id
            ),
            201,
        )

    async def _publish(self, _: Request, body: io.ScriptPublication) -> HTTPResponse:
        given = body.model_dump(include={"label", "body", "topic", "broadcast", "request_id"})
        return respond(await run(self._relay, publishing.publish_as_script, **given), 201)

    async def _log(self, _: Request, query: io.LogQuery) -> HTTPResponse:
        given = query.model_dump(include={"topic", "broadcast", "before", "texts"})
        found = await run(self._relay, history.log, party=query.party, count=query.n, read=True, **given)
        return respond(_with_switch(self._relay, found))


def _with_switch(relay: Relay, found: Outcome) -> Outcome:
    """What can be read with the switch off as well says which it is, so that whoever reads it can tell the key."""
    return replace(found, data=found.data | {"channels": relay.messaging.channels})


class _Reviews:
    """What is held: listed, opened, approved, rejected; one message at a time."""

    def __init__(self, routes: Routes, relay: Relay) -> None:
        self._routes, self._relay = routes, relay

    def register(self) -> None:
        op = self._routes.op
        op(
            "GET",
            "/api/v1/held",
            "list_held",
            self._held,
            door="api",
            query=io.HeldQuery,
            responses={200: io.HeldMessages},
        )
        opened, decided = {200: io.Review}, {200: io.Decided}
        op("POST", f"{_MESSAGE}/review", "open_review", self._open, door="api", body=io.Opened, responses=opened)
        op(
            "POST",
            f"{_MESSAGE}/approve",
            "approve_message",
            self._approve,
            door="api",
            body=io.Decision,
            responses=decided,
        )
        op(
            "POST",
            f"{_MESSAGE}/reject",
            "reject_message",
            self._reject,
            door="api",
            body=io.Decision,
            responses=decided,
        )

    async def _held(self, _: Request, query: io.HeldQuery) -> HTTPResponse:
        found = await run(self._relay, reviews.held, session=query.session, read=True)
        return respond(_with_switch(self._relay, found))

    async def _open(self, _: Request, message_id: str, body: io.Opened) -> HTTPResponse:
        return respond(await run(self._relay, reviews.open_review, message_id=message_id, session=body.session))

    async def _approve(self, _: Request, message_id: str, body: io.Decision) -> HTTPResponse:
        given: dict[str, Any] = {"message_id": message_id, "token": body.review, "session": body.session}
        return respond(await run(self._relay, reviews.approve, **given))

    async def _reject(self, _: Request, message_id: str, body: io.Decision) -> HTTPResponse:
        given: dict[str, Any] = {"message_id": message_id, "token": body.review, "session": body.session}
        return respond(await run(self._relay, reviews.reject, **given))


class _Controls:
    """One session's policy, topics, broadcasts and name; and the tickets of a start."""

    def __init__(self, routes: Routes, relay: Relay) -> None:
        self._routes, self._relay = routes, relay

    def register(self) -> None:
        op, shown = self._routes.op, {200: io.SessionMessaging}
        op("GET", _SESSION, "get_session_messaging", self._panel, door="api", responses=shown)
        policy, topics, on, name = io.NewPolicy, io.NewTopics, io.NewBroadcasts, io.NewName
        op("POST", f"{_SESSION}/policy", "set_policy", self._policy, door="api", body=policy, responses=shown)
        op("POST", f"{_SESSION}/topics", "set_topics", self._topics, door="api", body=topics, responses=shown)
        op("POST", f"{_SESSION}/broadcasts", "set_broadcasts", self._broadcasts, door="api", body=on, responses=shown)
        op("POST", f"{_SESSION}/name", "set_name", self._name, door="api", body=name, responses=shown)
        start, ticket = io.Start, {201: io.Ticket}
        op("POST", "/api/v1/starts", "reserve_start", self._start, door="api", body=start, responses=ticket)

    async def _panel(self, _: Request, ref: str) -> HTTPResponse:
        return respond(await run(self._relay, session_controls.panel, session=ref, read=True))

    async def _policy(self, _: Request, ref: str, body: io.NewPolicy) -> HTTPResponse:
        given: dict[str, Any] = {"session": ref, "wanted": body.policy, "confirmed": body.confirmed, "seen": body.seen}
        return respond(await run(self._relay, session_controls.set_policy, **given))

    async def _topics(self, _: Request, ref: str, body: io.NewTopics) -> HTTPResponse:
        given: dict[str, Any] = {"session": ref, "add": body.add, "remove": body.remove}
        return respond(await run(self._relay, session_controls.subscribe, **given))

    async def _broadcasts(self, _: Request, ref: str, body: io.NewBroadcasts) -> HTTPResponse:
        return respond(await run(self._relay, session_controls.set_broadcasts, session=ref, on=body.on))

    async def _name(self, _: Request, ref: str, body: io.NewName) -> HTTPResponse:
        return respond(await run(self._relay, session_controls.choose_name, session=ref, name=body.name))

    async def _start(self, _: Request, body: io.Start) -> HTTPResponse:
        given: dict[str, Any] = {
            "name": body.name,
            "patterns": body.topics,
            "broadcasts": body.broadcasts,
            "groups": body.groups,
        }
        return respond(await run(self._relay, starts.reserve, **given), 201)
