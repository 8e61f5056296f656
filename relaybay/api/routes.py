"""The route registry: one `op` per method and path, with its door, models and links.

It registers with Sanic, parses and validates what the models describe, and is what the gate and the OpenAPI
document read. No route is added to Sanic in any other way; the server does not start with one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_origin
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from sanic import HTTPResponse, Request, Sanic

from relaybay.answers import Answer, word
from relaybay.api.bodies import JSON, read_object
from relaybay.api.fast_path import Short
from relaybay.api.problems import problem
from relaybay.api.strict_json import dumps

Door = Literal["open", "board", "api", "hooks", "mcp"]
Handler = Callable[..., Coroutine[Any, Any, HTTPResponse | None]]
Link = Mapping[str, Any]

_QUERY_FIELDS_MAX: Final = 100
_ARGUMENT_NAME = re.compile(r"[^A-Za-z0-9_.-]")
_ARGUMENT_NAME_CHARS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Operation:
    """One registered operation. `path` is in Sanic's form: `/tasks/<key:str>`."""

    method: str
    path: str
    operation_id: str
    door: Door
    summary: str = ""
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    responses: Mapping[int, type[BaseModel] | None] = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)
    documented: bool = False


class Routes:
    """The operations of one app, in the order they were added."""

    def __init__(self, app: Sanic) -> None:  # type: ignore[type-arg]
        self.app = app
        self.operations: list[Operation] = []

    def op(
        self,
        method: str,
        path: str,
        operation_id: str,
        handler: Handler,
        *,
        door: Door,
        summary: str = "",
        body: type[BaseModel] | None = None,
        query: type[BaseModel] | None = None,
        responses: Mapping[int, type[BaseModel] | None] | None = None,
        links: Mapping[str, Link] | None = None,
        documented: bool | None = None,
        head: bool = True,
        cache: str | None = None,
        upload: bool = False,
        short: Short | None = None,
    ) -> Operation:
        """Adds one operation.

        Args:
            method: upper case; a GET answers HEAD too, unless `head` is false (streams, and `/login`).
            path: Sanic's form; parameters reach the handler by name, percent-decoded.
            operation_id: unique; also the name of the route.
            handler: `await handler(request, **path parameters, body=…, query=…)`, the last two when given a model.
            door: what the gate asks for.
            summary: one line for the OpenAPI document.
            body: the model of the JSON body; what it does not take is refused before the handler runs.
            query: the model of the query string.
            responses: status → model of the JSON answer, None for one without; refusals stand by themselves.
            links: OpenAPI links of the first 2xx response, by name.
            documented: whether it stands in the OpenAPI document; by default what is under `/api/`.
            head: whether HEAD is answered.
            cache: a Cache-Control for 200 answers (static files only); by default nothing is stored.
            upload: whether a form with files is taken (`multipart/form-data`).
            short: answers a body at once when a head is repeated (`fast_path.py`); behind the door `hooks` only.
        """
        operation = Operation(
            method=method,
            path=path,
            operation_id=operation_id,
            door=door,
            summary=summary,
            body=body,
            query=query,
            responses=responses or {},
            links=links or {},
            documented=path.startswith("/api/") if documented is None else documented,
        )
        assert all(known.operation_id != operation_id for known in self.operations), operation_id
        methods = [method, "HEAD"] if method == "GET" and head else [method]
        # `ignore_body`: the gate reads the body, after it has decided that it wants it.
        self.app.route(
            path,
            methods=methods,
            name=operation_id,
            ignore_body=True,
            unquote=True,
            ctx_door=door,
            ctx_cache=cache,
            ctx_upload=upload,
            ctx_short=short,
        )(_validating(handler, body, query))
        self.operations.append(operation)
        return operation


def unguarded(app: Sanic) -> list[str]:  # type: ignore[type-arg]
    """Every route of the app that has no door; must be empty."""
    return [f"{sorted(r.methods)} /{r.path}" for r in app.router.routes if not hasattr(r.ctx, "door")]


def reply(
    content: BaseModel | Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> HTTPResponse:
    """A JSON response from a model (its None members left out by the model's own rules) or a plain mapping."""
    value = content.model_dump(mode="json", by_alias=True) if isinstance(content, BaseModel) else content
    return HTTPResponse(dumps(value), status=status, headers=dict(headers or {}), content_type=JSON)


def _validating(handler: Handler, body: type[BaseModel] | None, query: type[BaseModel] | None) -> Handler:
    if body is None and query is None:
        return handler

    async def validated(request: Request, **path: Any) -> HTTPResponse | None:
        given: dict[str, BaseModel] = {}
        if query is not None:
            read = _read_query(request, query)
            if isinstance(read, Answer):
                return problem(read)
            given["query"] = read
        if body is not None:
            read = _read_body(request, body)
            if isinstance(read, Answer):
                return problem(read)
            given["body"] = read
        return await handler(request, **path, **given)

    return validated


def _read_body(request: Request, model: type[BaseModel]) -> BaseModel | Answer:
    members = read_object(request)
    if isinstance(members, Answer):
        return members
    try:
        # From the bytes again, not from `members`: only so do strict models take JSON's own forms of dates and enums.
        return model.model_validate_json(request.body)
    except ValidationError as error:
        return invalid(error)


def _read_query(request: Request, model: type[BaseModel]) -> BaseModel | Answer:
    try:
        pairs = parse_qsl(request.query_string, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError:
        return word("http.argument_invalid", name="query", why="too many arguments")
    members: dict[str, Any] = {}
    for name, value in pairs:
        known = model.model_fields.get(name)
        if known is not None and get_origin(known.annotation) in (list, tuple):
            members.setdefault(name, []).append(value)
        elif name in members:
            return word("http.argument_invalid", name=_named((name,)), why="it stands twice")
        else:
            members[name] = value
    try:
        return model.model_validate(members, strict=False)
    except ValidationError as error:
        return invalid(error)


def invalid(error: ValidationError) -> Answer:
    """The first thing a model did not take, as `argument_unknown` or `argument_invalid`. Never quotes the value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = _named(first["loc"])
    if first["type"] == "extra_forbidden":
        return word("http.argument_unknown", name=name)
    return word("http.argument_invalid", name=name, why=first["msg"])


def _named(loc: tuple[int | str, ...]) -> str:
    # The name is the caller's own text: it is shown, so nothing but plain characters of it survives.
    return _ARGUMENT_NAME.sub("?", ".".join(str(part) for part in loc))[:_ARGUMENT_NAME_CHARS_MAX] or "body"
