"""Names of sessions: one line, when two are equal, what a row may keep (page 10, Names; ROW-2, ROW-5).

Whether a name can be given at all is table `name` (`rules/sender.py: judge_name`); `shape` and `too_long` are two of
its facts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from relaybay.rules.unicode_ranges import DEFAULT_IGNORABLE

NAME_CHARS_MAX = 200
ALIASES_MAX = 16

GivenBy = Literal["client", "renaming", "call", "owner"]

# NUL and lone surrogates can be kept by no engine as text; nothing that a reader could see goes with them.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")
_IGNORABLE = re.compile(f"[{DEFAULT_IGNORABLE}]")
_REF = re.compile(r"s-[0-9]+")
_HANDLE = re.compile(r"@[a-z0-9][a-z0-9-]{0,31}")


def one_line(text: str) -> str:
    """The name as it is kept: line separators, tabs and runs of blanks are one blank, and the ends are trimmed."""
    return _BLANKS.sub(" ", _UNSTORABLE.sub("", text)).strip()


def key(text: str) -> str:
    """What two equal names have in common. Empty when nothing visible is left: the name counts as not given.

    Invisible characters go first and last, since folding may bring new ones; the form is then stable.
    """
    shown = _visible(one_line(text))
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", shown).casefold())
    return one_line(_visible(folded))


def _visible(text: str) -> str:
    """The text without control, format and other characters of no width."""
    return "".join(
        char
        for char in text
        if char.isspace() or (unicodedata.category(char) not in ("Cc", "Cf") and not _IGNORABLE.match(char))
    )


def is_given(text: str) -> bool:
    """Whether anything is left of a name that a caller passed."""
    return bool(key(text))


def too_long(text: str) -> bool:
    """Whether the name, as it would be kept, has more than `NAME_CHARS_MAX` characters (code points)."""
    return len(one_line(text)) > NAME_CHARS_MAX


def shape(text: str) -> Literal["ref", "handle", "other"]:
    """Whether a name looks like a public ref (`S-12`) or an `@name`, whatever its case or width of letters."""
    folded = key(text)
    if _REF.fullmatch(folded):
        return "ref"
    return "handle" if _HANDLE.fullmatch(folded) else "other"


def free_title(wanted: str, is_taken: Callable[[str], bool]) -> str:
    """`wanted`, or it with ` 2`, ` 3` … when other rows have that name (ROW-2, ROW-5).

    `is_taken` is asked for the key of each candidate. The number counts in the limit, so a long title is cut for it.
    """
    title = one_line(wanted)[:NAME_CHARS_MAX].rstrip()
    number = 1
    candidate = title
    while is_taken(key(candidate)):
        number += 1
        ending = f" {number}"
        candidate = title[: NAME_CHARS_MAX - len(ending)].rstrip() + ending
    return candidate


def folder_title(folder: str, *, is_hook_id: bool = False) -> str:
    """The title that a new row gets from its canonical folder (ROW-2), before numbering.

    A folder may be called anything. One that is no valid name (shaped like a ref or an `@name`, or a hook id, which
    would then stand in lists) is put in words, so that the row has a name it can be called by.
    """
    name = one_line(folder.rstrip("/").rpartition("/")[2])
    if is_hook_id or not is_given(name):
        return "session"
    if shape(name) != "other":
        return f"folder {name}"
    return name[:NAME_CHARS_MAX].rstrip()


@dataclass(frozen=True, slots=True)
class Alias:
    """One alias of a row, and who gave it: the client, a renaming (it was the title before), a call, the owner."""

    name: str
    given_by: GivenBy


@dataclass(frozen=True, slots=True)
class AliasChange:
    """What one more alias does: whether it is kept, and the position of the one it puts out, if any."""

    kept: bool
    put_out: int | None = None


def put_alias(aliases: Sequence[Alias], name: str, *, others: Sequence[str] = ()) -> AliasChange:
    """One more alias for a row that has `aliases`, oldest first, and the names `others` (its title, its `@name` …).

    A full row puts out the oldest that the client or a renaming gave: clients rename sessions by themselves, people
    and calls mean it. With none of those the new one is not kept; nor is a name the row has already, or a blank one.
    """
    wanted = key(name)
    if not wanted or wanted in {key(other) for other in others} or wanted in {key(a.name) for a in aliases}:
        return AliasChange(kept=False)
    if len(aliases) < ALIASES_MAX:
        return AliasChange(kept=True)
    for position, alias in enumerate(aliases):
        if alias.given_by in ("client", "renaming"):
            return AliasChange(kept=True, put_out=position)
    return AliasChange(kept=False)
