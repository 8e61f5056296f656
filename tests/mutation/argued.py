"""The list of survivors that no test can notice, each with its reason: `argued.toml`.

An entry names the file, the function, the source line and the change (`words`), as a run reports them; `nth` where the
same change could be made twice in equal lines. Several changes of one line may share one entry: `words` is a list then.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.edits import Mutant
from tests.mutation.running import Verdict

FILE = Path(__file__).with_name("argued.toml")
_Key = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Argued:
    """One survivor: what it is called by, and why it may survive."""

    key: _Key
    why: str

    def __str__(self) -> str:
        file, where, text, words, nth = self.key
        return f"{file}, {where or 'the module'}: {words}{f' (no. {nth + 1})' if nth else ''} in `{text}`"


def read(file: Path = FILE) -> list[Argued]:
    """The entries. One without a reason, or that stands twice, is an error."""
    found = []
    for entry in tomllib.loads(file.read_text(encoding="utf-8")).get("survivor", []):
        assert entry["why"].strip(), f"no reason: {entry}"
        listed = [entry["words"]] if isinstance(entry["words"], str) else entry["words"]
        for words in listed:
            key = (entry["file"], entry.get("where", ""), entry["text"], words, entry.get("nth", 0))
            found.append(Argued(key, entry["why"]))
    assert len({one.key for one in found}) == len(found), "a survivor stands twice"
    return found


def compared(
    verdicts: Sequence[tuple[Mutant, Verdict]], known: Collection[Argued], *, whole: bool
) -> tuple[list[tuple[Mutant, Verdict]], list[str]]:
    """Survivors without an argument, and arguments that are stale: for what is no mutant any more, or is caught now."""
    by_key = {mutant.key: verdict for mutant, verdict in verdicts}
    keys = {one.key for one in known}
    unargued = [(m, v) for m, v in verdicts if not v.caught and m.key not in keys]
    stale = []
    for one in known:
        verdict = by_key.get(one.key)
        if verdict is None and whole:
            stale.append(f"no mutant any more: {one}")
        elif verdict is not None and verdict.caught:
            stale.append(f"caught now by {verdict.test or verdict.how}: {one}")
    return unargued, stale
