"""A form with files (`multipart/form-data`, RFC 7578) → its parts; nothing when it is not one from end to end.

What browsers send is read, and no more: one boundary, no nesting, no encodings, names in UTF-8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sanic.headers import parse_content_header

_PARTS_MAX: Final = 20
_HEAD_BYTES_MAX: Final = 4_096
_BOUNDARY_CHARS_MAX: Final = 70


@dataclass(frozen=True, slots=True)
class Part:
    """One part: `filename` is None for a field that is no file."""

    name: str
    filename: str | None
    media_type: str
    content: bytes

    @property
    def text(self) -> str:
        """The content as UTF-8. Raises UnicodeDecodeError for a file; a field was looked at when it was read."""
        return self.content.decode("utf-8")


def read_parts(content_type: str, body: bytes) -> list[Part] | None:
    """All parts in their order, or None for a body that is no such form."""
    boundary = str(parse_content_header(content_type)[1].get("boundary", ""))
    if not 0 < len(boundary) <= _BOUNDARY_CHARS_MAX or not boundary.isascii():
        return None
    # The first boundary has no line break of its own before it, the last ends in two hyphens.
    before, *pieces = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("ascii"))
    if before or not pieces or pieces[-1] not in (b"--", b"--\r\n") or len(pieces) > _PARTS_MAX + 1:
        return None
    parts = [_part(piece) for piece in pieces[:-1]]
    return None if None in parts else [part for part in parts if part is not None]


def _part(piece: bytes) -> Part | None:
    head, found, content = piece.partition(b"\r\n\r\n")
    if not found or not head.startswith(b"\r\n") or len(head) > _HEAD_BYTES_MAX:
        return None
    try:
        lines = head.decode("utf-8").split("\r\n")[1:]
    except UnicodeDecodeError:
        return None
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name.lower() in headers:
            return None
        headers[name.lower()] = value.strip(" \t")
    kind, said = parse_content_header(headers.get("content-disposition", ""))
    name = str(said.get("name", ""))
    if kind != "form-data" or not name:
        return None
    filename = said.get("filename")
    part = Part(
        name,
        None if filename is None else str(filename),
        headers.get("content-type", "").partition(";")[0],
        content,
    )
    return part if part.filename is not None or _is_text(content) else None


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
