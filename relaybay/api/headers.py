"""The names this server answers to and the headers it puts on every response."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from sanic import HTTPResponse, Request

_CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

# No referrer at all would make browsers send forms with "Origin: null", which the gate refuses.
SECURITY_HEADERS: Final[tuple[tuple[str, str], ...]] = (
    ("content-security-policy", _CONTENT_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
)

MACHINE_HEADERS: Final[tuple[tuple[str, str], ...]] = (
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
)
"""What answers to hooks and MCP calls carry: no browser shows them, and every header costs time in a hook."""


def machine_answer(body: bytes, content_type: str) -> bytes:
    """A whole response of status 200 for machines over a connection that stays open, as it goes on the wire."""
    headers = (
        *MACHINE_HEADERS,
        ("cache-control", "no-store"),
        ("content-length", str(len(body))),
        ("connection", "keep-alive"),
        ("content-type", content_type),
    )
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return f"HTTP/1.1 200 OK\r\n{head}\r\n".encode("ascii") + body


def own_hosts(port: int) -> frozenset[str]:
    """The exact Host values of a server on this port (page 80, Attacks: no name is matched by pattern)."""
    return frozenset({f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"})


def own_origins(port: int) -> frozenset[str]:
    """The exact Origin values of pages that this server itself gave out."""
    return frozenset(f"http://{host}" for host in own_hosts(port))


def add_security_headers(request: Request, response: HTTPResponse) -> None:
    """Response middleware: what browsers must not do with it; only a route that says so may be cached."""
    headers = response.headers
    route = request.route
    for name, value in MACHINE_HEADERS if _is_for_machines(route, response) else SECURITY_HEADERS:
        headers[name] = value
    cache = getattr(route.ctx, "cache", None) if route is not None and response.status == HTTPStatus.OK else None
    headers["cache-control"] = cache or "no-store"


def _is_for_machines(route: Any, response: HTTPResponse) -> bool:
    # Answers that only a bearer of a key can have got, at a rate where each header is felt (PERF-1).
    return route is not None and response.status == HTTPStatus.OK and route.ctx.door in ("hooks", "mcp")
