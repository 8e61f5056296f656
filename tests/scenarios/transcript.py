"""The form of a transcript, and the option that writes it anew."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

RULE = "----"
_PUBLIC_ID = re.compile(r"\b([mc])_[0-9A-HJKMNP-TV-Z]{26}\b")
_SHORT_ID = re.compile(r"\b[mc]_[0-9]+\b")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite-scenarios", action="store_true", help="write the answers of tests/scenarios/*.txt anew")


@dataclass(frozen=True)
class Step:
    """One line of a story and what was answered to it. `told` are the lines of prose before it, as they stand."""

    told: list[str]
    line: str
    answer: str

    @property
    def words(self) -> list[str]:
        return [word for word in shlex.split(self.line) if "=" not in word]

    @property
    def said(self) -> dict[str, str]:
        """The arguments, `name=value`."""
        return dict(word.split("=", 1) for word in shlex.split(self.line) if "=" in word)


def read(text: str) -> tuple[list[Step], list[str]]:
    """The steps of a transcript, and what is told after the last one. An answer ends with an empty line."""
    lines = iter(text.splitlines())
    steps: list[Step] = []
    told: list[str] = []
    for line in lines:
        if not line or line.startswith("#"):
            told.append(line)
            continue
        steps.append(Step(told, line, "\n".join(_answer(lines))))
        told = []
    return steps, told


def _answer(lines: Iterator[str]) -> Iterator[str]:
    assert next(lines, None) in (RULE, None), "after a line of the story come the dashes"
    for line in lines:
        if not line:
            return
        yield line


def write(steps: list[Step], told: list[str]) -> str:
    """The transcript of these steps."""
    lines: list[str] = []
    for step in steps:
        lines += [*step.told, step.line, RULE, *step.answer.splitlines(), ""]
    return "\n".join([*lines, *told]).rstrip("\n") + "\n"


class ShortIds:
    """Public ids of messages and comments, which differ in every run, as `m_1`, `c_1` in the order they appear."""

    def __init__(self) -> None:
        self._short: dict[str, str] = {}

    def shorten(self, text: str) -> str:
        def short(match: re.Match[str]) -> str:
            number = sum(known.startswith(match[1]) for known in self._short.values()) + 1
            return self._short.setdefault(match[0], f"{match[1]}_{number}")

        return _PUBLIC_ID.sub(short, text)

    def lengthen(self, text: str) -> str:
        whole = {short: real for real, short in self._short.items()}
        return _SHORT_ID.sub(lambda match: whole.get(match[0], match[0]), text)


def check(path: Path, play: Callable[[Step], str], *, rewrite: bool) -> None:
    """Plays a story and compares it with what stands in its file, or writes that anew."""
    before = path.read_text(encoding="utf-8")
    steps, told = read(before)
    played = [Step(step.told, step.line, play(step)) for step in steps]
    after = write(played, told)
    if rewrite:
        path.write_text(after, encoding="utf-8")
        return
    assert after == before, f"{path.name} tells another story; see with --rewrite-scenarios what has changed"
