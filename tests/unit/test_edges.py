"""Situations on both sides of an edge: two that differ in one thing only, and what the rule or the machine says to each.

A line of `edges/` is one situation, an arrow, and what is said: the row's spec id first. The situations are chosen, each
to stand beside a neighbour that is answered otherwise; what is said can be written anew with `--rewrite-scenarios` and
is reviewed in the diff, against the page that the file's head names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from relaybay.machines.base import Machine, step

FOLDER = Path(__file__).with_name("edges")
ARROW = " → "
_YES_NO = {"yes": True, "no": False}


def said_of_a_decision(asked: str) -> Callable[[str], str]:
    """`module function Facts` as a function of a line's situation, `name=value …`."""
    module_name, function_name, facts_name = asked.split()
    module = import_module(module_name)
    function, facts = getattr(module, function_name), getattr(module, facts_name)
    hints = get_type_hints(facts)

    def value(name: str, text: str) -> Any:
        if hints[name] is bool:
            return _YES_NO[text]
        return next(one for one in get_args(hints[name]) if str(one) == text)

    def said(situation: str) -> str:
        pairs = (word.split("=", 1) for word in situation.split())
        verdict = function(facts(**{name: value(name, text) for name, text in pairs}))
        return " ".join(part for part in (verdict.spec_id, verdict.outcome, verdict.answer) if part)

    return said


def said_of_a_machine(asked: str) -> Callable[[str], str]:
    """`module Class` as a function of `state event: fact …`; the facts that hold are named, all others do not hold."""
    module_name, class_name = asked.split()
    machine: type[Machine] = getattr(import_module(module_name), class_name)

    def said(situation: str) -> str:
        pair, _, holding = situation.partition(":")
        state, event = pair.split()
        facts = dict.fromkeys(machine.FACTS, False) | dict.fromkeys(holding.split(), True)
        result = step(machine, state, event, facts)
        moved = f"{result.kind} {result.state}" if result.kind == "move" else result.kind
        assert result.kind == "move" or result.state == state
        return " ".join([result.spec_id, moved, *filter(None, [result.answer]), *result.effects])

    return said


def lines(text: str, said: Callable[[str], str]) -> Iterator[str]:
    """The file's lines with what is said now."""
    for line in text.splitlines():
        situation, arrow, _ = line.partition(ARROW)
        yield f"{situation}{ARROW}{said(situation)}" if arrow else line


KINDS = {"decisions": said_of_a_decision, "machines": said_of_a_machine}
FILES = [path for kind in KINDS for path in sorted((FOLDER / kind).glob("*.txt"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_both_sides_of_an_edge_are_answered_as_the_page_says(path: Path, request) -> None:
    before = path.read_text(encoding="utf-8")
    asked = next(line for line in before.splitlines() if line.startswith("ask ")).removeprefix("ask ")
    after = "\n".join(lines(before, KINDS[path.parent.name](asked))) + "\n"
    if request.config.getoption("--rewrite-scenarios"):
        path.write_text(after, encoding="utf-8")
        return
    assert after.splitlines() == before.splitlines()


def test_every_file_has_situations_and_none_stands_twice() -> None:
    for path in FILES:
        situations = [x.partition(ARROW)[0] for x in path.read_text(encoding="utf-8").splitlines() if ARROW in x]
        assert situations, f"{path.name} has no situation"
        assert len(set(situations)) == len(situations), f"{path.name}: a situation stands twice"
