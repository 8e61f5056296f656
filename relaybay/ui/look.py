"""How the owner likes the board to look and to be worked: theme, height of rows, keys of one letter.

Kept in one cookie, so that the server draws the page right the first time, without a flash and without a script.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sanic import Request

COOKIE: Final = "relaybay_look"
#: Choice → its values; the first is what stands without a cookie.
CHOICES: Final = {
    "theme": ("system", "light", "dark"),
    "rows": ("normal", "compact"),
    "letters": ("on", "off"),
}


@dataclass(frozen=True, slots=True)
class Look:
    """One value of each of `CHOICES`."""

    theme: str = "system"
    rows: str = "normal"
    letters: str = "on"

    @property
    def cookie(self) -> str:
        """The cookie's value: the three in their order, with dots."""
        return f"{self.theme}.{self.rows}.{self.letters}"


def look_of(request: Request) -> Look:
    """What the request's cookie says; whatever it says that is no choice counts as not said."""
    given = (request.cookies.get(COOKIE) or "").split(".")
    chosen = {
        name: value
        for (name, values), value in zip(CHOICES.items(), given, strict=False)
        if value in values
    }  # fmt: skip
    return Look(**chosen)
