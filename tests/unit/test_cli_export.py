"""`relaybay export`: one call, the document on stdout as it is."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from relaybay.cli.root import run
from relaybay.cli.shell import AGENT_VARIABLES
from tests.unit.cli_server import serving

DOCUMENT = "---\nkey: a-1\n---\n\n# a-1: `é`\n"


@pytest.fixture
def stub(monkeypatch):
    # pytest's own folders are too deep for a socket's name.
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    for name in [*AGENT_VARIABLES, *(name for name in os.environ if name.startswith("RELAYBAY_"))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RELAYBAY_HOME", str(folder))
    with serving(folder) as found:
        yield found
    shutil.rmtree(folder)


@pytest.mark.spec("40", "70")
@pytest.mark.parametrize(
    ("words", "target"),
    [
        (["export", "task", "a-1"], "/api/v1/tasks/a-1/export"),
        (["export", "project", "a/b"], "/api/v1/projects/a%2Fb/export"),
    ],
)
def test_an_export_is_one_call_and_stands_on_stdout_alone(stub, capsys, words, target) -> None:
    stub.answer("GET", target, {"name": "a.md", "markdown": DOCUMENT})
    assert run(words) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == (DOCUMENT, "")
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"v": 1, "name": "a.md", "markdown": DOCUMENT}
    assert stub.asked == [("GET", target, None)] * 2


def test_an_unknown_task_is_told(stub, capsys) -> None:
    refusal = {"code": "task_unknown", "spec_id": "75", "detail": "no such task"}
    stub.answers["GET", "/api/v1/tasks/a-9/export"] = (404, refusal)
    assert run(["export", "task", "a-9"]) != 0
    said = capsys.readouterr()
    assert said.out == "" and "task_unknown" in said.err
