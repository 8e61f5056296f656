"""Which tests are run over a mutant, and in which order."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from types import CodeType

from tests.mutation.about import modules
from tests.mutation.edits import Mutant
from tests.mutation.mutants import FOLDERS, tree_of
from tests.mutation.put_in import Functions
from tests.mutation.recording import Map, Pair

TESTS_MAX = 60
"""So many tests are run over one mutant at most, besides `ALWAYS` and those about its file. Which they are hangs on the lines they run alone and
never on seconds, so that a survivor is one on every machine; which of them comes first may hang on anything.
"""
_SPECIFIC_OF_MODULE = 15
ALWAYS = "tests/scenarios/"
"""Stories that look at whole answers, pages and rows: all that come by are run."""
_STARTED = 0.03
"""What a test costs besides: a quick one is not ten times better than one that is slower by a hundredth of a second."""
_WEIGHTS = (8.0, 1.0, 0.1)
"""How much it tells that a test noticed, or missed, another change of this function, of this file, of any file."""
_PRIOR = (0.1, 0.3)
"""What is expected of a test that was not run over a change yet: of any, and of one about this file."""


class Chooser:
    """Picks tests out of the map; learns which tests notice changes of which function."""

    def __init__(self, recorded: Map) -> None:
        self.map = recorded
        self._noticed: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._ran: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._by_pair: dict[Pair, set[str]] = defaultdict(set)
        self._lines = {name: sum(map(len, test.lines.values())) for name, test in recorded.tests.items()}
        for name, test in recorded.tests.items():
            if test.outcome != "passed":
                continue
            for file, lines in test.lines.items():
                for line in lines:
                    self._by_line[file, line].add(name)
            for pair in test.pairs:
                self._by_pair[pair].add(name)

    def learn(self, mutant: Mutant, ran: Sequence[str], failed: str) -> None:
        """Remembers which tests were run over a mutant, and which of them failed."""
        for near in _nearness(mutant):
            self._ran[near].update(ran)
            if failed in self.map.tests:
                self._noticed[near][failed] += 1

    def of_lines(self, file: str, first: int, last: int) -> set[str]:
        found: set[str] = set()
        for line in range(first, last + 1):
            found |= self._by_line.get((file, line), set())
        return found

    def of_pairs(self, pairs: Iterable[Pair]) -> set[str]:
        return {test for pair in pairs for test in self._by_pair.get(pair, ())}

    def of_machines(self, names: Collection[str]) -> set[str]:
        return {test for pair, tests in self._by_pair.items() if pair[0] in names for test in tests}

    def of_modules(self, names: Collection[str]) -> set[str]:
        """All tests of these modules that can be used."""
        known = self.map.tests.items()
        return {name for name, test in known if test.outcome == "passed" and name.partition("::")[0] in names}

    def in_order(self, mutant: Mutant, tests: Collection[str]) -> list[str]:
        """The tests to run over a mutant, those first that are likeliest to notice it for their time."""
        known = [(w, self._noticed[n], self._ran[n]) for w, n in zip(_WEIGHTS, _nearness(mutant), strict=True)]
        about = modules(mutant.file)

        def worth(test: str) -> float:
            noticed = _PRIOR[test.partition("::")[0] in about] + sum(
                weight * counts[test] for weight, counts, _ in known
            )
            ran = 1.0 + sum(weight * counts[test] for weight, _, counts in known)
            return noticed / ran / (self.map.tests[test].cpu + _STARTED)

        return sorted(self._some(tests, about), key=lambda test: (-worth(test), test))

    def _some(self, tests: Collection[str], about: Collection[str]) -> list[str]:
        """Of many tests those that run the least besides, since they are about this; then some of each module. Those of
        the modules `about` the file are among them in any case.
        """
        always = [test for test in tests if test.startswith(ALWAYS) or test.partition("::")[0] in about]
        by_module: dict[str, list[str]] = defaultdict(list)
        for test in sorted(set(tests) - set(always), key=lambda test: (self._lines[test], test)):
            by_module[test.partition("::")[0]].append(test)
        specific = sorted(
            (test for tests_ in by_module.values() for test in tests_[:_SPECIFIC_OF_MODULE]),
            key=lambda test: (self._lines[test], test),
        )[: TESTS_MAX // 2]
        rounds = zip_longest(*(by_module[module] for module in sorted(by_module)))
        rest = (test for each in rounds for test in each if test is not None)
        return [*always, *islice(dict.fromkeys([*specific, *rest]), TESTS_MAX)]


def _nearness(mutant: Mutant) -> tuple[tuple[str, str], ...]:
    """The function, the file, everything."""
    return (mutant.file, mutant.where), (mutant.file, ""), ("", "")


class Readers:
    """For what a module binds: the functions of the core that read it, themselves or through other bound values."""

    def __init__(self, known: Functions) -> None:
        self._functions: dict[str, set[tuple[str, int, int]]] = defaultdict(set)
        self._tests: dict[str, set[str]] = defaultdict(set)
        for (file, _, _), objects in known.items():
            for function in objects:
                code = function.__code__
                for name in set(_names(code)):
                    if file.startswith(FOLDERS):
                        lines = [line for _, _, line in code.co_lines() if line]
                        self._functions[name].add((file, min(lines), max(lines)))
                    elif file.startswith("tests/"):
                        self._tests[name].add(file)

    def tests(self, mutant: Mutant, chooser: Chooser, files: Iterable[str]) -> set[str]:
        """Tests that run a function which reads what the mutant's statement binds, or that read it themselves."""
        names = _closure(mutant, files)
        found: set[str] = set()
        for file, name in names:
            private = name.startswith("_")
            for at, first, last in self._functions.get(name, ()):
                if at == file or not private:
                    found |= chooser.of_lines(at, first, last)
            readers = self._tests.get(name, set())
            found |= {t for t in chooser.map.tests if t.partition("::")[0] in readers and chooser.map.tests[t].lines}
        return {t for t in found if chooser.map.tests[t].outcome == "passed"}


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _closure(mutant: Mutant, files: Iterable[str]) -> set[tuple[str, str]]:
    """The names bound by the mutant's statement, and all that module-level statements make of them."""
    reached = {(mutant.file, name) for name in mutant.names}
    if mutant.outer is not None or not mutant.names:
        reached.add((mutant.file, mutant.where.partition(".")[0]))
    while True:
        more = {
            (file, bound)
            for file in files
            for uses, binds in _statements(file)
            if any(name in uses and (at == file or not name.startswith("_")) for at, name in reached)
            for bound in binds
        } - reached
        if not more:
            return reached
        reached |= more


_KNOWN: dict[str, list[tuple[frozenset[str], tuple[str, ...]]]] = {}


def _statements(file: str) -> list[tuple[frozenset[str], tuple[str, ...]]]:
    """What each module-level statement reads and binds; a function reads nothing while it is only defined."""
    if file not in _KNOWN:
        found = []
        for node in tree_of(file).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Import | ast.ImportFrom):
                continue
            loads = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
            loads |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
            stores = [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            binds = (node.name,) if isinstance(node, ast.ClassDef) else tuple(stores)
            found.append((frozenset(loads), binds))
        _KNOWN[file] = found
    return _KNOWN[file]
