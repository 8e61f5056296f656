"""Refusals on the wire: `application/problem+json` (RFC 9457) with `code` and `spec_id`, and nothing else ever.

Sanic's own error pages are replaced whole, so no answer of this server can be a page we did not word, and no 500
can come without the code `internal`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus

from sanic import HTTPResponse, Request
from sanic.constants import HTTP_METHODS
from sanic.exceptions import (
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    RequestTimeout,
    SanicException,
    ServiceUnavailable,
    URITooLong,
)
from sanic.handlers import ErrorHandler

from relaybay.answers import Answer, word
from relaybay.api.strict_json import dumps
from relaybay.errors import StoreError, StoreFull, StoreReadOnly

PROBLEM_TYPE = "application/problem+json"
_log = logging.getLogger(__name__)


def problem(answer: Answer, headers: Mapping[str, str] | None = None) -> HTTPResponse:
    """The response for one worded refusal: its status, and the five members of page 70 (HTTP)."""
    members = {
        "type": "about:blank",
        "title": HTTPStatus(answer.status).phrase,
        "status": answer.status,
        "detail": answer.text,
        "code": answer.code,
        "spec_id": answer.spec_id,
    }
    return HTTPResponse(dumps(members), status=answer.status, headers=dict(headers or {}), content_type=PROBLEM_TYPE)


def allowed_methods(request: Request) -> list[str]:
    """The methods that some route takes at this path.

    Asked of the router one by one, because it forgets to name them for a path with parameters.
    """
    found = []
    for method in HTTP_METHODS:
        try:
            request.app.router.get(request.path, str(method), None)
        except (NotFound, MethodNotAllowed):
            continue
        found.append(str(method))
    return sorted(found)


class ProblemHandler(ErrorHandler):
    """Turns every exception that leaves a handler into a problem. Known ones by type, all others are bugs."""

    def response(self, request: Request, exception: BaseException) -> HTTPResponse:
        """The one response to an exception; never raises, because Sanic would answer with a page of its own."""
        if isinstance(exception, MethodNotAllowed):
            return problem(word("http.method_not_allowed"), {"Allow": ", ".join(allowed_methods(request))})
        answer_id = _answer_id(request, exception)
        if answer_id == "http.internal":
            # The path alone: a query can carry what no log should keep.
            _log.error("%s %s failed", request.method, request.path, exc_info=exception)
        return problem(word(answer_id))

    def default(self, request: Request, exception: BaseException) -> HTTPResponse:
        """What Sanic calls when the handling of an error failed in its turn: the same mapping."""
        return self.response(request, exception)


def _answer_id(request: Request, exception: BaseException) -> str:
    if isinstance(exception, NotFound):
        return "http.not_found"
    if isinstance(exception, PayloadTooLarge):
        # The gate refuses large bodies itself; what is left comes from the header reader.
        return "http.headers_too_large"
    if isinstance(exception, URITooLong):
        return "http.url_too_long"
    if isinstance(exception, RequestTimeout):
        return "http.body_too_slow"
    if isinstance(exception, ServiceUnavailable) or not isinstance(exception, Exception):
        # The second kind is a cancelled handler whose peer still listens: the server is going down.
        return "http.unavailable"
    if isinstance(exception, (StoreFull, StoreReadOnly)):
        return "http.store_full"
    if isinstance(exception, StoreError):
        _log.error("%s %s: %s", request.method, request.path, exception)
        return "http.store_unavailable"
    if isinstance(exception, SanicException) and exception.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
        return "http.malformed"
    return "http.internal"
