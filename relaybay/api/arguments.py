"""Reads a tool's arguments with its model, and words what it does not take: unknown ones first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from relaybay.answers import Answer, word
from relaybay.api.models import Arguments, input_schema
from relaybay.rules.text import name_literal
from relaybay.specs import limit

A = TypeVar("A", bound=Arguments)

# The library's kind of error → our sentence, and the member of its context that the sentence needs.
_WHY: Final[dict[str, tuple[str, str]]] = {
    "missing": ("argument.missing", ""),
    "string_type": ("argument.string", ""),
    "int_type": ("argument.integer", ""),
    "bool_type": ("argument.boolean", ""),
    "list_type": ("argument.list", ""),
    "literal_error": ("argument.enum", "expected"),
    "greater_than_equal": ("argument.least", "ge"),
    "less_than_equal": ("argument.most", "le"),
    "string_too_long": ("argument.long", "max_length"),
    "too_long": ("argument.long", "max_length"),
}

SHORT_CHARS_MAX: Final = 1_000
"""How long a name, an id or a cursor may be. None that means anything is nearly so long, and to fold, compare and look
up a name of a million characters would hold the writer up (measured: a second and more)."""

_TEXTS: Final = frozenset({"body", "title", "step_add", "query"})


def read_arguments(tool: str, model: type[A], given: Mapping[str, Any]) -> A | Answer:
    """The arguments as the model has them, or the refusal: `argument_unknown`, `argument_invalid` (page 75)."""
    known = _known(model)
    for name in given:
        if name not in known:
            return word("tool.argument_unknown", tool=tool, name=name_literal(name), known=", ".join(known))
    for name, value in given.items():
        if value is None:
            return word("tool.argument_invalid", tool=tool, name=name, why=word("argument.null").text)
        most = limit("hook_session_chars_max") if name == "hook_session" else SHORT_CHARS_MAX
        if isinstance(value, str) and len(value) > most and name not in _TEXTS:
            long = {"type": "string_too_long", "ctx": {"max_length": most}}
            return word("tool.argument_invalid", tool=tool, name=name, why=why(long))
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return word("tool.argument_invalid", tool=tool, name=".".join(map(str, first["loc"])), why=why(first))


@cache
def _known(model: type[Arguments]) -> tuple[str, ...]:
    # In the schema's order. Making the schema costs more than the whole rest of a send (measured: 1 ms of 2.5).
    return tuple(input_schema(model)["properties"])


def why(error: Mapping[str, Any]) -> str:
    """What one argument should have been. Never quotes the value."""
    answer_id, member = _WHY.get(error["type"], ("argument.other", ""))
    bound = error.get("ctx", {}).get(member, "") if member else ""
    return word(answer_id, bound=bound, allowed=str(bound).replace("'", "").replace(" or ", ", ")).text
