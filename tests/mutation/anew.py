"""Loads a changed module anew, and the tests that need it, in a process in which nothing of the project is loaded."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType

import pytest

from tests.mutation.edits import Mutant
from tests.mutation.mutants import ROOT, compiled
from tests.mutation.put_in import module_of


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module, changed."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(self._code, vars(module))


def load_changed(mutant: Mutant) -> None:
    """From now on the mutant's module is the changed one."""
    name = module_of(mutant.file)
    assert name not in sys.modules, f"{name} is loaded already"
    sys.meta_path.insert(0, _Changed(name, str(ROOT / mutant.file), compiled(mutant)))


class _Collecting:
    def __init__(self) -> None:
        self.failed = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.failed = self.failed or report.failed


def collected(session: pytest.Session, tests: Sequence[str]) -> list[pytest.Item] | None:
    """These tests, in their order, and those of their modules that an unchanged module would not have. None when a
    module could not be loaded.
    """
    hears = _Collecting()
    session.config.pluginmanager.register(hears)
    modules = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    items = {item.nodeid: item for item in session.perform_collect([str(ROOT / m) for m in modules])}
    session.config.pluginmanager.unregister(hears)
    return None if hears.failed else [items[name] for name in tests if name in items]
