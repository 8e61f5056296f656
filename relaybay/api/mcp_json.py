"""Strict JSON before the SDK: what each of its two readers would read differently reaches neither.

One of them takes NaN for a number, both take the last of two members with one name, and what one of them calls JSON
the other may not. So a body is read once by our own rules, and refused in the protocol's own words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus
from typing import Any, Final

from relaybay.answers import with_code, word
from relaybay.api.mcp_bridge import AsgiApp, Manager, Message
from relaybay.api.strict_json import NotJson, dumps, loads

PARSE_ERROR: Final = -32700


class StrictJson:
    """A manager for `mcp_bridge.mount` that asks another one only about bodies that are strict JSON."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def run(self) -> AbstractAsyncContextManager[None]:
        """Entered and left once, by one task."""
        return self._manager.run()

    @property
    def asgi_app(self) -> AsgiApp:
        """The application to call while `run` is entered."""
        app = self._manager.asgi_app

        async def strict(
            scope: MutableMapping[str, Any],
            receive: Callable[[], Awaitable[Message]],
            send: Callable[[Message], Awaitable[None]],
        ) -> None:
            first: Message | None = await receive()  # The bridge gives the body whole.
            refusal = _refusal(first.get("body", b"")) if first is not None else None
            if refusal is not None:
                await _answer(send, refusal)
                return

            async def again() -> Message:
                nonlocal first
                if first is None:
                    return await receive()
                message, first = first, None
                return message

            await app(scope, again, send)

        return strict


def _refusal(body: bytes) -> bytes | None:
    if not body:
        return None
    try:
        loads(body)
    except NotJson as error:
        message = with_code(word("http.body_not_json", why=str(error)))
        return dumps({"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": message}})
    return None


async def _answer(send: Callable[[Message], Awaitable[None]], body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": int(HTTPStatus.BAD_REQUEST), "headers": headers})
    await send({"type": "http.response.body", "body": body})
