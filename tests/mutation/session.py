"""The pytest session that runs tests over mutants: records the map, then serves one child after the other.

There are two kinds of children. Most mutants are put into a process in which all tests are collected. One that only
shows while its module is loaded gets a process in which nothing of the project is loaded yet.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mutation import children, mutants, put_in
from tests.mutation.about import modules
from tests.mutation.anew import collected, load_changed
from tests.mutation.choose import Chooser, Readers
from tests.mutation.edits import Edit, Mutant
from tests.mutation.imports import reaches_the_core
from tests.mutation.recording import Map, TestMap, Tracer, asked_pairs, digest, digest_of
from tests.mutation.running import Reports, Verdict, by_modules, over, quick_disk, quick_examples, use_own_folder

TESTS = ("tests/unit", "tests/scenarios", "tests/stateful", "tests/mutation/each_directed_run.py")
"""Quick tests in one process. Those that start servers, clients or browsers are slow, and what they run can't be changed
here; `tests/explore/` goes through more states than one mutant is worth.
"""
TOO_LONG = (
    "tests/stateful/test_directed.py::test_every_pair_is_asked_by_the_running_code",
    "tests/stateful/test_random_walks.py::test_the_promises_hold_after_every_step",
    "tests/unit/test_service_hooks_memory.py::test_memory_and_transaction_come_to_the_same",
    "tests/unit/test_text.py::test_every_scalar_alone_is_one_line_and_comes_back",
)
"""Each takes seconds up to a minute, which no mutant is worth; the directed runs are run one by one instead. Whatever else
takes too long is found in the recording and told of.
"""
RECORDED_CPU_MAX = 10.0
_CONTROL_TESTS = 10
_LIBRARIES = ("sanic", "pydantic", "pony.orm", "statemachine", "hypothesis.stateful", "jinja2", "tomlkit", "filelock")


class Mutation:
    """The plugin. `chosen` are the mutants; `verdicts` has one for each when the session is over."""

    even_if_red = False
    """Whether to go on when tests fail without any change; they are not used then, and the run is not green."""

    def __init__(self, chosen: Sequence[Mutant], jobs: int, say: Callable[[str], None], without: Sequence[str]) -> None:
        self.without = frozenset(without)
        self.chosen, self.jobs, self.say = chosen, jobs, say
        self.verdicts: dict[int, Verdict] = {}
        self.unusable: dict[str, str] = {}
        self.broken: list[str] = []
        self.tests = 0
        self._told = 0
        self._caught = 0

    def pytest_collection(self, session: pytest.Session) -> bool:
        """In place of collecting: nothing of the project is loaded yet."""
        self.session = session
        session.config.pluginmanager.unregister(name="terminalreporter")
        quick_examples()
        for name in _LIBRARIES:
            importlib.import_module(name)
        self.folder = Path(tempfile.mkdtemp(prefix="mutation-", dir=quick_disk()))
        try:
            later = self._all_loaded_child()
            gc.freeze()
            self._run(later, lambda at: self._anew(at, later[at]), None)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        return True

    # -- a process with everything loaded ------------------------------------------------------------------------

    def _all_loaded_child(self) -> dict[int, list[str]]:
        """Serves what can be put in, in a child that loads everything. Gives what is left, with its tests."""
        answer = self.folder / "all-loaded"
        pid = os.fork()
        if not pid:
            code = 1
            try:
                answer.write_bytes(pickle.dumps(self._all_loaded()))
                code = 0
            except BaseException:
                sys.excepthook(*sys.exc_info())
            finally:
                sys.stdout.flush()
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        if status:
            raise children.ChildFailedError("the process with everything loaded failed")
        later: dict[int, list[str]]
        self.verdicts, self.unusable, self.broken, self.tests, later = pickle.loads(answer.read_bytes())
        self._told, self._caught = len(self.verdicts), sum(v.caught for v in self.verdicts.values())
        return later

    def _all_loaded(self) -> Any:
        tracer = Tracer()
        tracer.on()
        self.session.perform_collect([str(mutants.ROOT / path) for path in TESTS])
        loading = tracer.off()
        core = {file: reaches_the_core(file) for file in {i.nodeid.partition("::")[0] for i in self.session.items}}
        self.items = {
            item.nodeid: item
            for item in self.session.items
            if core[item.nodeid.partition("::")[0]] and item.nodeid.partition("[")[0] not in TOO_LONG
        }
        self._warm()
        self.loaded = put_in.Loaded()
        recorded = self._recorded(loading)
        self.unusable = {
            name: t.outcome for name, t in recorded.tests.items() if t.outcome not in ("passed", "skipped")
        }
        red = [name for name, outcome in self.unusable.items() if outcome == "failed"]
        if red and not self.even_if_red:
            self.broken = [f"{name}: fails without any change" for name in red]
            return {}, self.unusable, self.broken, 0, {}
        used = {name: t for name, t in recorded.tests.items() if name.partition("::")[0] not in self.without}
        self.chooser = Chooser(replace(recorded, tests=used))
        readers = Readers(self.loaded.functions)
        in_place: dict[int, str] = {}
        later: dict[int, list[str]] = {}
        for at, mutant in enumerate(self.chosen):
            way = self._way(mutant)
            if way:
                in_place[at] = way
            else:
                tests = readers.tests(mutant, self.chooser, mutants.files())
                # A test may read a module's value by its name, which no code of a function tells.
                tests |= self.chooser.of_modules(modules(mutant.file))
                tests |= self.chooser.of_lines(mutant.file, *mutant.lines) if mutant.outer else set()
                later[at] = self.chooser.in_order(mutant, tests)
        self._controls(in_place)
        self._run(in_place, lambda at: self._put_in(self.chosen[at], in_place[at]), self._learn)
        count = sum(1 for test in used.values() if test.outcome == "passed" and test.lines)
        return self.verdicts, self.unusable, self.broken, count, later

    def _warm(self) -> None:
        """Runs one test of each module, so that not every child has to load and work out the same for the libraries."""
        put_back = put_in.kept_values()
        firsts = {name.partition("::")[0]: item for name, item in reversed(self.items.items())}
        use_own_folder(self.session.config, self.folder)
        with Path(os.devnull).open("w", encoding="utf-8") as silence, redirect_stdout(silence):
            for name, item in firsts.items():
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
                assert not left, f"{name} leaves threads that no child would have: {left}"
        put_back()

    def _way(self, mutant: Mutant) -> str:
        """How a mutant is put in; empty when its module has to be loaded anew."""
        loading = self.chooser.map.loading.get(mutant.file, frozenset())
        at_loading = mutant.outer is None or not loading.isdisjoint(range(mutant.lines[0], mutant.lines[1] + 1))
        if not at_loading and mutant.outer and (mutant.file, *mutant.outer) in self.loaded.functions:
            return "body"
        return "machine" if at_loading and mutant.file in _machines() else ""

    def _controls(self, in_place: Mapping[int, str]) -> None:
        """Unchanged code, put in as a changed one is: all has to pass, or a verdict would say nothing."""
        firsts: dict[tuple[str, str], Mutant] = {}
        for at, way in in_place.items():
            mutant = self.chosen[at]
            tree = mutants.tree_of(mutant.file)
            firsts.setdefault((mutant.file, way), replace(mutant, edit=Edit(tree, "body", None, tree.body)))

        def done(key: tuple[str, str], ended: children.Ended) -> None:
            if ended.answer is None or ended.answer.caught:
                self.broken.append(f"{key[0]}, {key[1]}: {ended.answer}")

        children.run(
            firsts,
            lambda key: self._put_in(firsts[key], key[1], unchanged=True),
            done,
            jobs=self.jobs,
            folder=self.folder,
        )

    def _put_in(self, mutant: Mutant, way: str, *, unchanged: bool = False) -> Verdict:
        if way == "body":
            put_in.body(mutant, self.loaded)
            tests = self.chooser.of_lines(mutant.file, *mutant.lines)
        else:
            try:
                pairs = put_in.machine(mutant, self.loaded)
            except Exception as error:
                return Verdict("does not load", type(error).__name__)
            if not pairs and not unchanged:
                return Verdict("the same")
            tests = self.chooser.of_pairs(pairs) if pairs else self.chooser.of_machines([_machines()[mutant.file]])
        names = self.chooser.in_order(mutant, tests)[: _CONTROL_TESTS if unchanged else None]
        items = [self.items[name] for name in names]
        return over(items, self.chooser.map.tests, self.folder)

    def _learn(self, at: int, verdict: Verdict) -> None:
        self.chooser.learn(self.chosen[at], verdict.ran, verdict.test)

    # -- a process with nothing loaded ---------------------------------------------------------------------------

    def _anew(self, at: int, tests: Sequence[str]) -> Verdict:
        mutant = self.chosen[at]
        load_changed(mutant)
        ran: tuple[str, ...] = ()
        for part in by_modules(tests):
            children.bound(20.0, 20.0)
            items = collected(self.session, part)
            if items is None:
                return Verdict("does not load")
            verdict = over(items, {}, self.folder)
            if verdict.caught:
                return verdict
            ran += verdict.ran
        return Verdict("survived" if ran else "no test", ran=ran)

    # -- both ----------------------------------------------------------------------------------------------------

    def _run(
        self, tasks: Iterable[int], work: Callable[[int], Verdict], learn: Callable[[int, Verdict], None] | None
    ) -> None:
        def done(at: int, ended: children.Ended) -> None:
            verdict = ended.answer or Verdict("timed out" if ended.timed_out else "died")
            verdict = replace(verdict, cpu=ended.cpu)
            self.verdicts[at] = verdict
            if learn is not None:
                learn(at, verdict)
            if not verdict.caught and verdict.how != "the same":
                self.say(f"{verdict.how}: {self.chosen[at]}")
            self._told += 1
            self._caught += verdict.caught
            if self._told % 100 == 0:
                self.say(f"{self._told} of {len(self.chosen)} mutants, {self._caught} caught")

        children.run(tasks, work, done, jobs=self.jobs, folder=self.folder)

    def _recorded(self, loading: dict[str, frozenset[int]]) -> Map:
        """The map: of tests whose module has not changed since the last run over this tree, else recorded."""
        kept = mutants.ROOT / ".pytest_cache" / "relaybay-mutation" / digest()
        known: Map = pickle.loads(kept.read_bytes()) if kept.is_file() else Map({}, {})
        recorded = Map(loading, {}, {name.partition("::")[0]: "" for name in self.items})
        recorded.files = {file: digest_of(file) for file in recorded.files}
        for name in self.items:
            file = name.partition("::")[0]
            if name in known.tests and known.files.get(file) == recorded.files[file]:
                recorded.tests[name] = known.tests[name]
        missing = [name for name in self.items if name not in recorded.tests]
        began = time.monotonic()

        def done(name: str, ended: children.Ended) -> None:
            recorded.tests[name] = ended.answer or TestMap(outcome="too long" if ended.timed_out else "died")

        children.run(missing, self._record, done, jobs=self.jobs, folder=self.folder)
        self.say(f"recorded {len(missing)} of {len(self.items)} tests in {time.monotonic() - began:.0f} s")
        kept.parent.mkdir(parents=True, exist_ok=True)
        for old in kept.parent.iterdir():
            old.unlink()
        kept.write_bytes(pickle.dumps(recorded))
        return recorded

    def _record(self, name: str) -> TestMap:
        item, reports, tracer = self.items[name], Reports(), Tracer()
        self.session.config.pluginmanager.register(reports)
        use_own_folder(self.session.config, self.folder)
        self.loaded.forget()
        children.bound(RECORDED_CPU_MAX / children.CPU_TIMES, 2.0)
        pairs = asked_pairs()
        cpu, wall = time.process_time(), time.monotonic()
        tracer.on()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        lines = tracer.off()
        outcome = "failed" if reports.failed else "skipped" if "skipped" in reports.outcomes else "passed"
        return TestMap(lines, frozenset(pairs), time.process_time() - cpu, time.monotonic() - wall, outcome)


def _machines() -> dict[str, str]:
    """Files that hold one machine, and the name of its class."""
    stems = {file: Path(file).stem for file in mutants.files() if file.startswith("relaybay/machines/")}
    return {file: stem.capitalize() for file, stem in stems.items() if stem not in ("base", "__init__")}
