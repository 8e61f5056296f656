"""Templates → HTML. Everything is autoescaped; a missing value is a bug, not an empty place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from relaybay.service.clock import age
from relaybay.ui.assets import Assets
from relaybay.ui.facets import facets, grammar
from relaybay.ui.markdown import markdown_filter
from relaybay.ui.paths import has_page, url
from relaybay.ui.text import (
    body_filter,
    name_filter,
    opening_filter,
    option_filter,
    pieces_filter,
    raw_filter,
    text_filter,
    tight_filter,
    typed_filter,
    words_filter,
)

_TEMPLATES: Final = Path(__file__).parent / "templates"


class Renderer:
    """The board's templates, ready to be filled."""

    def __init__(self, assets: Assets) -> None:
        self._env = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._env.globals.update(url=url, has_page=has_page, asset=assets.address, facets=facets, grammar=grammar)
        self._env.filters.update(
            text=text_filter,
            name=name_filter,
            body=body_filter,
            option=option_filter,
            opening=opening_filter,
            pieces=pieces_filter,
            raw=raw_filter,
            tight=tight_filter,
            typed=typed_filter,
            words=words_filter,
            markdown=markdown_filter,
            ago=ago,
            lasting=lasting,
            stamp=stamp,
        )
        # A fragment is rendered alone as well as within its page, so the macros come from neither.
        self._env.globals["m"] = self._env.get_template("macros.html").module

    def render(self, template: str, values: Mapping[str, Any]) -> str:
        """One template with its values."""
        return self._env.get_template(template).render(values)


def ago(at: str, now: str) -> str:
    """How long before `now` a time was, in words; both RFC 3339."""
    seconds = int((datetime.fromisoformat(now) - datetime.fromisoformat(at)).total_seconds())
    return "just now" if seconds < 1 else f"{age(seconds)} ago"


def lasting(at: str, now: str) -> str:
    """How long it has been so at `now`, in words: no "ago"; both RFC 3339."""
    return age(max(0, int((datetime.fromisoformat(now) - datetime.fromisoformat(at)).total_seconds())))


def stamp(at: str) -> str:
    """A time in the machine's own zone, to the second: the board and its owner sit at the same machine."""
    return datetime.fromisoformat(at).replace(tzinfo=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
