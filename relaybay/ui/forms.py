"""What a form of the board sent."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qs

from sanic import Request

_FIELDS_MAX: Final = 50
_BACK: Final = re.compile(r"/(inbox|sessions|messages|projects|tasks)?(/[A-Za-z0-9-]+)?(\?[A-Za-z0-9_=&%.-]*)?")


class Form:
    """Its fields, the first value of each. One that is not readable as a form has none."""

    def __init__(self, request: Request) -> None:
        try:
            text = request.body.decode("utf-8")
            fields = parse_qs(text, keep_blank_values=True, max_num_fields=_FIELDS_MAX)
        except ValueError:
            fields = {}
        self._fields = {name: values[0] for name, values in fields.items()}

    def get(self, name: str) -> str:
        """A field's value as it was sent; browsers send line breaks as CR LF, and admission makes them one."""
        return self._fields.get(name, "")

    def number(self, name: str) -> int | None:
        """A field as a whole number, None when it is none."""
        text = self.get(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else None  # noqa: PLR2004

    @property
    def kept(self) -> dict[str, str]:
        """What a refused form is shown with again."""
        return {name: value for name, value in self._fields.items() if name != "csrf"}

    def back(self, default: str) -> str:
        """Where the form wants to return to: one of the board's own pages, else `default`."""
        wanted = self.get("back")
        return wanted if _BACK.fullmatch(wanted) else default
