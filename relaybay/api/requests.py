"""The request class of every app: one that can be made of any request line whatever."""

from __future__ import annotations

from typing import Any

from sanic import Request
from sanic.exceptions import BadURL


class AnyTargetRequest(Request):
    """A request whose target need not be one.

    Sanic's own cannot be made of a target such as `evil.example:443`, not even to answer it: the connection ends
    without a word, and every try costs a page of log. Here it becomes `*`, which the gate refuses as malformed.
    """

    __slots__ = ()

    def __init__(self, url_bytes: bytes, *args: Any, **named: Any) -> None:
        try:
            super().__init__(url_bytes, *args, **named)
        except BadURL:
            super().__init__(b"*", *args, **named)
