"""The record and its report: what counts as executed, and that a gap is seen."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance import ids, record, report


def phase(name: str, when: str, outcome: str = "passed", properties=()) -> pytest.TestReport:
    return pytest.TestReport(name, (name, 0, name), {}, outcome, None, when, user_properties=list(properties))


def recorded(*phases: pytest.TestReport) -> dict[str, record.TestRecord]:
    recorder = record.Recorder()
    for one in phases:
        recorder.pytest_runtest_logreport(one)
    return recorder.tests


PROVES = [("spec", "SEND-3 SEND-4"), ("executed", "LINK-5"), ("count:states explored", 7)]


def test_a_passed_test_executes_what_it_is_marked_with_and_what_the_code_returned() -> None:
    tests = recorded(phase("t", "setup"), phase("t", "call"), phase("t", "teardown", properties=PROVES))
    assert tests["t"].ids == {"SEND-3", "SEND-4", "LINK-5"}
    assert tests["t"].counts == {"states explored": 7}


@pytest.mark.parametrize(
    ("when", "outcome"), [("setup", "skipped"), ("call", "skipped"), ("call", "failed"), ("teardown", "failed")]
)
def test_a_test_that_did_not_pass_whole_executes_nothing(when: str, outcome: str) -> None:
    phases = {name: phase("t", name, properties=PROVES) for name in ("setup", "call", "teardown")}
    phases[when] = phase("t", when, outcome, PROVES)
    assert recorded(*phases.values())["t"].ids == set()


def test_the_group_of_xdist_is_no_part_of_the_name() -> None:
    assert set(recorded(phase("tests/a.py::t@live", "call"), phase("tests/a.py::t", "teardown"))) == {"tests/a.py::t"}


def test_a_record_of_another_tree_counts_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    record.save(record.Record("one tree", True, recorded(phase("t", "call", properties=PROVES))), file)
    assert record.load(file, "one tree").tests["t"].executed == {"LINK-5"}
    other = record.load(file, "another tree")
    assert (other.whole, other.tests) == (False, {})


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"tree": "t"}', '{"tree": "t", "whole": true, "tests": {"a": {}}}']
)
def test_a_damaged_record_counts_for_nothing(tmp_path: Path, content: str) -> None:
    file = tmp_path / "record.json"
    file.write_text(content)
    assert record.load(file, "t") == record.Record("t")


def test_the_digest_changes_with_every_file_that_can_change_an_outcome(tmp_path: Path) -> None:
    for name in record.TREES:
        target = tmp_path / name
        if "." in name:
            target.write_text("x")
        else:
            target.mkdir()
            (target / "a.py").write_text("x")
    seen = {record.tree_digest(tmp_path)}
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file():
            path.write_text("y")
            seen.add(record.tree_digest(tmp_path))
    assert len(seen) == 1 + len(record.TREES)
    cache = tmp_path / "relaybay" / "__pycache__"
    cache.mkdir()
    (cache / "a.cpython-311.pyc").write_text("z")
    assert record.tree_digest(tmp_path) in seen


def write_all_but(file: Path, left_out: str) -> None:
    due = {i.id for i in {**ids.read(), **ids.invariants()}.values() if not i.later} - {left_out}
    record.save(record.Record(record.tree_digest(), True, {"t": record.TestRecord(executed=due)}), file)


def test_one_id_without_a_test_fails_the_report_and_is_named(tmp_path: Path, capsys) -> None:
    file, target = tmp_path / "record.json", tmp_path / "conformance.md"
    write_all_but(file, "SEND-3")
    assert report.main(["--write"], file=file, target=target) == 1
    assert "SEND-3: no test executed it" in capsys.readouterr().out
    assert "| SEND-3 | 0 | 0 | **none** |" in target.read_text()


def test_a_full_record_passes_and_later_ids_stand_apart(tmp_path: Path, capsys) -> None:
    file, target = tmp_path / "record.json", tmp_path / "conformance.md"
    write_all_but(file, "")
    assert report.main(["--write"], file=file, target=target) == 0
    assert " 0 without a test" in capsys.readouterr().out
    rows, _, later = target.read_text().partition("## Not due yet")
    assert "| SEND-3 | 1 | 1 | `t` |" in rows
    assert "WRK-1" in later
    assert "WRK-1" not in rows


def test_without_a_record_it_says_what_to_run(tmp_path: Path, capsys) -> None:
    assert report.main([], file=tmp_path / "none.json", target=tmp_path / "c.md") == 2
    assert "make conformance" in capsys.readouterr().err


def test_workers_report_to_one_file(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider"]
    command += [f"--spec-record={file}", "tests/conformance/test_decisions.py", "-k", "sender or proof"]
    done = subprocess.run(command, cwd=record.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    found = record.load(file, json.loads(file.read_text())["tree"])
    assert {"SEND-1", "PROOF-1"} <= set().union(*(t.ids for t in found.tests.values()))
    assert not found.whole, "a run that was narrowed by -k is no whole run"
