"""What a request's body is: whether there is one, of which media type, and its JSON object or form field."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qs

from sanic import Request

from relaybay.answers import Answer, word
from relaybay.api.multipart import Part
from relaybay.api.strict_json import NotJson, loads

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
_FIELDS_MAX: Final = 100


def read_object(request: Request, *, unique_keys: bool = True) -> dict[str, Any] | Answer:
    """The body as one JSON object, or the refusal that says what it is instead (page 75: `body_not_json`, …)."""
    try:
        value = loads(request.body, unique_keys=unique_keys)
    except NotJson as error:
        return word("http.body_not_json", why=str(error))
    return value if isinstance(value, dict) else word("http.body_not_object")


def has_body(request: Request) -> bool:
    """Whether the headers announce a body."""
    headers = request.headers
    return "transfer-encoding" in headers or headers.get("content-length", "0").strip() != "0"


def is_media(value: str, wanted: tuple[str, ...]) -> bool:
    """Whether a Content-Type is one of `wanted`, in UTF-8 (named or not)."""
    media, *parameters = (part.strip(" \t").lower() for part in value.split(";"))
    charsets = [p.removeprefix("charset=").strip('"') for p in parameters if p.startswith("charset=")]
    return media in wanted and all(charset in ("utf-8", "utf8") for charset in charsets)


def form_field(request: Request, name: str) -> list[str]:
    """Every value that a form names so; none when the body is no form in UTF-8."""
    if is_media(request.headers.get("content-type", ""), (MULTIPART,)):
        parts: list[Part] = getattr(request.ctx, "parts", None) or []
        return [part.text for part in parts if part.name == name and part.filename is None]
    if not is_media(request.headers.get("content-type", ""), (FORM,)):
        return []
    try:
        fields = parse_qs(request.body.decode("utf-8"), keep_blank_values=True, max_num_fields=_FIELDS_MAX)
    except ValueError:
        return []
    return fields.get(name, [])
