"""What a form of the board sent, held against the fields that it has.

A form that lacks a field, has one twice, has one that is not its own or one longer than anybody looks at is not
carried out: `fault` says so, and the page is shown again with what was typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from sanic import Request

from relaybay.answers import Answer, word
from relaybay.rules.text import name_literal
from relaybay.ui.ports import Part

_FIELDS_MAX: Final = 50
_NUMBER_DIGITS_MAX: Final = 6
_BACK: Final = re.compile(
    r"/((inbox|sessions|messages|projects|tasks|map|search|events|settings|health|keys|palette)(/[A-Za-z0-9-]+)?"
    r"|channels(/[a-z0-9._%E-]+)?|broadcasts|sessions/S-[0-9]+/with/S-[0-9]+)?"
    r"(\?[A-Za-z0-9_=&%+.~-]*)?"
)
#: What the gate has read already; it may come as a header instead.
_TOKEN: Final = "csrf"  # noqa: S105 - a field's name.


@dataclass(frozen=True, slots=True)
class Field:
    """One field: how many characters are looked at, at most, and whether the form must bring it (it may be empty).

    The bound lies above what any use case takes, so that those refuse in their own words what is merely too long.
    """

    chars_max: int
    required: bool = True


LINE: Final = Field(4_000)
LINE_MAYBE: Final = Field(4_000, required=False)
TEXT: Final = Field(100_000)
TEXT_MAYBE: Final = Field(100_000, required=False)
#: Name of a form → its fields.
FIELDS: Final[Mapping[str, Mapping[str, Field]]] = {
    "task_create": {"project": LINE, "title": LINE, "body": TEXT_MAYBE, "status": LINE_MAYBE},
    "comment": {
        "body": TEXT,
        "in_reply_to": LINE_MAYBE,
        "step": LINE_MAYBE,
        "attachment": LINE_MAYBE,
        "at": LINE_MAYBE,
        "then": LINE_MAYBE,
    },
    "withdraw": {"task": LINE_MAYBE, "again": LINE_MAYBE},
    "edit": {"title": LINE, "body": TEXT},
    "replies_read": {"back": LINE_MAYBE},
    "bind": {"session": LINE, "back": LINE_MAYBE},
    "status": {"status": LINE, "back": LINE_MAYBE},
    "steps": {"text": TEXT_MAYBE, "done": LINE_MAYBE, "undone": LINE_MAYBE, "back": LINE_MAYBE},
    "attach": {"file": LINE},
    "detach": {},
    "project_add": {"slug": LINE, "title": LINE, "root": LINE},
    "message_seen": {"back": LINE_MAYBE},
    "entry_seen": {"kind": LINE, "ref": LINE, "back": LINE_MAYBE},
    "rename": {"title": LINE},
    "end": {},
    "unlink": {},
    "session_name": {"name": LINE},
    "session_policy": {"policy": LINE, "seen": LINE, "confirmed": LINE_MAYBE},
    "session_topics": {"add": LINE_MAYBE, "remove": LINE_MAYBE, "back": LINE_MAYBE},
    "session_broadcasts": {"on": LINE, "back": LINE_MAYBE},
    "review_open": {"session": LINE},
    "review_approve": {"review": LINE, "session": LINE},
    "review_reject": {"review": LINE, "session": LINE},
    "log_out": {},
    "view_save": {"page": LINE, "name": LINE, "q": LINE},
    "view_forget": {},
    "preferences": {"theme": LINE_MAYBE, "rows": LINE_MAYBE, "letters": LINE_MAYBE, "back": LINE_MAYBE},
}


class Form:
    """The fields of the form `name`, the first value of each."""

    def __init__(self, request: Request, name: str) -> None:
        self.name = name
        self._known = FIELDS[name]
        self.fault: Answer | None = None
        given: dict[str, list[str]] = {}
        self._files: dict[str, Part] = {}
        parts: list[Part] | None = getattr(request.ctx, "parts", None)
        if parts is not None:
            self._take(parts, given)
        else:
            self._read(request, given)
        given.pop(_TOKEN, None)
        self._fields = {field: values[0] for field, values in given.items() if field in self._known}
        self.fault = self.fault or self._wrong(given)

    def _take(self, parts: list[Part], given: dict[str, list[str]]) -> None:
        """Fields of a form with files; of a file its name stands among them."""
        for part in parts:
            given.setdefault(part.name, []).append(part.text if part.filename is None else part.filename)
            if part.filename:
                self._files[part.name] = part

    def _read(self, request: Request, given: dict[str, list[str]]) -> None:
        try:
            text = request.body.decode("utf-8")
            if text.count("&") >= _FIELDS_MAX:
                self.fault = word("board.form_too_many", most=_FIELDS_MAX)
                return
            given |= parse_qs(text, keep_blank_values=True, max_num_fields=_FIELDS_MAX, errors="strict")
        except ValueError:
            self.fault = word("board.form_unreadable")

    def _wrong(self, given: Mapping[str, list[str]]) -> Answer | None:
        for name, values in given.items():
            if name not in self._known:
                return word("board.form_unknown", name=name_literal(name))
            if len(values) > 1:
                return word("board.form_twice", name=name)
            chars, most = len(values[0]), self._known[name].chars_max
            if chars > most:
                return word("board.form_too_long", name=name, chars=chars, chars_max=most)
        missing = [name for name, field in self._known.items() if field.required and name not in given]
        return word("board.form_incomplete", name=missing[0]) if missing else None

    def get(self, name: str) -> str:
        """A field's value as it was sent; browsers send line breaks as CR LF, and admission makes them one."""
        assert name in self._known, name
        return self._fields.get(name, "")

    def one_of(self, *names: str) -> str:
        """Which one of several fields came; with none or more than one the form is at fault."""
        came = [name for name in names if name in self._fields]
        if not came:
            self.fault = self.fault or word("board.form_incomplete", name=names[0])
        if len(came) > 1:
            self.fault = self.fault or word("board.form_several", names=", ".join(came))
        return came[0] if came else names[0]

    def number(self, name: str) -> int:
        """A field as a whole number; 0, with the form at fault, when it is none."""
        text = self.get(name)
        if text.isascii() and text.isdigit() and len(text) <= _NUMBER_DIGITS_MAX:
            return int(text)
        self.fault = self.fault or word("board.form_number", name=name)
        return 0

    def number_maybe(self, name: str) -> int:
        """As `number`, 0 where the field did not come or is empty."""
        return self.number(name) if self.get(name) else 0

    def file(self, name: str) -> Part | None:
        """A file; without one the form is at fault."""
        found = self._files.get(name)
        if found is None:
            self.fault = self.fault or word("board.form_incomplete", name=name)
        return found

    @property
    def kept(self) -> dict[str, str]:
        """What a refused form is shown with again: every field that it has, also one that did not come."""
        return {name: self.get(name) for name in self._known}

    def back(self, default: str) -> str:
        """Where the form wants to return to: one of the board's own pages, else `default`."""
        wanted = self.get("back")
        return wanted if _BACK.fullmatch(wanted) else default
