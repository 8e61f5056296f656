"""The OpenAPI 3.1 document, from the route registry and the very models that validate (page 70, HTTP)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from relaybay.api.gate import COOKIE, CSRF_HEADER, OWNER_HEADER
from relaybay.api.problems import PROBLEM_TYPE
from relaybay.api.routes import Door, Operation

_PARAMETER = re.compile(r"<(\w+)(?::([^>]+))?>")
_REF: Final = "#/components/schemas/{model}"
_READING: Final = frozenset({"GET", "HEAD"})

_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "spec_id"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What was refused, why, and what to do."},
        "code": {"type": "string", "description": "Stable; made for programs."},
        "spec_id": {"type": "string", "description": "The rule that refused."},
    },
}

_SCHEMES: Final[dict[str, Any]] = {
    "login": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "From a one-time login link."},
    "form": {"type": "apiKey", "in": "header", "name": CSRF_HEADER, "description": "Beside the cookie, on writes."},
    "owner": {"type": "apiKey", "in": "header", "name": OWNER_HEADER, "description": "Unix socket only."},
    "bearer": {"type": "http", "scheme": "bearer", "description": "Token, or hook key for /hooks."},
}


def document(operations: Iterable[Operation], *, title: str, version: str) -> dict[str, Any]:
    """The document of all operations that are `documented`, in their order."""
    shown = [one for one in operations if one.documented]
    schemas = _schemas(shown)
    paths: dict[str, dict[str, Any]] = {}
    for one in shown:
        path = _PARAMETER.sub(lambda found: "{" + found[1] + "}", one.path)
        paths.setdefault(path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {
            "schemas": {**schemas["$defs"], "Problem": _PROBLEM},
            "securitySchemes": _SCHEMES,
        },
    }


def _schemas(operations: list[Operation]) -> dict[str, Any]:
    read = {model for one in operations for model in (one.body, one.query) if model is not None}
    written = {model for one in operations for model in one.responses.values() if model is not None}
    wanted: list[tuple[type[BaseModel], Any]] = [(model, "validation") for model in read]
    wanted += [(model, "serialization") for model in written]
    wanted.sort(key=lambda pair: (pair[0].__name__, pair[1]))
    refs, definitions = models_json_schema(wanted, ref_template=_REF)
    return {"refs": refs, "$defs": definitions.get("$defs", {})}


def _operation(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": one.operation_id, "security": _security(one.door, one.method)}
    if one.summary:
        described["summary"] = one.summary
    parameters = _path_parameters(one.path) + _query_parameters(one, schemas)
    if parameters:
        described["parameters"] = parameters
    if one.body is not None:
        schema = schemas["refs"][one.body, "validation"]
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    described["responses"] = _responses(one, schemas)
    return described


def _security(door: Door, method: str) -> list[dict[str, list[str]]]:
    if door == "open":
        return [{}]
    if door in ("mcp", "hooks"):
        return [{"bearer": []}]
    by_cookie: dict[str, list[str]] = {"login": []}
    if method not in _READING:
        by_cookie["form"] = []
    return [by_cookie, {"owner": []}] if door == "api" else [by_cookie]


def _path_parameters(path: str) -> list[dict[str, Any]]:
    kinds = {"int": {"type": "integer"}, "float": {"type": "number"}}
    return [
        {"name": name, "in": "path", "required": True, "schema": kinds.get(kind, {"type": "string", "minLength": 1})}
        for name, kind in _PARAMETER.findall(path)
    ]


def _query_parameters(one: Operation, schemas: dict[str, Any]) -> list[dict[str, Any]]:
    if one.query is None:
        return []
    schema = one.query.model_json_schema(ref_template=_REF)
    # What the query's own schema defines on the side must stand where its references point.
    for name, definition in schema.get("$defs", {}).items():
        schemas["$defs"].setdefault(name, definition)
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": member}
        for name, member in schema.get("properties", {}).items()
    ]


def _responses(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, model in one.responses.items():
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if model is not None:
            schema = schemas["refs"][model, "serialization"]
            answer["content"] = {"application/json": {"schema": schema}}
        answers[str(status)] = answer
    first = next((answers[s] for s in answers if s.startswith("2")), None)
    if first is not None and one.links:
        first["links"] = {name: dict(link) for name, link in one.links.items()}
    refusal = {"$ref": _REF.format(model="Problem")}
    answers["default"] = {
        "description": "Refused, or failed: see `code`.",
        "content": {PROBLEM_TYPE: {"schema": refusal}},
    }
    return answers
