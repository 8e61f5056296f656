"""The figures of the report: none is made up, none is left out, and the page that is checked in speaks of this tree."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.conformance import ids, report
from tests.conformance.figures import Mutants, campaigns, mutation, read_mutants, result_line

LINE = re.compile(r"conformance: ids (\d+)/(\d+), pairs (\d+)/(\d+), states (\d+), mutants caught (\d+)/(\d+)")


def verdict(folder: str, how: str) -> dict[str, object]:
    return {"file": f"{folder}/a.py", "line": 3, "words": "== for !=", "how": how}


def test_what_nobody_caught_is_told_from_what_somebody_did(tmp_path: Path) -> None:
    file = tmp_path / "mutants.json"
    hows = ["failed", "timed out", "died", "does not load", "survived", "no test"]
    file.write_text(
        json.dumps({"all": [verdict("relaybay/rules", how) for how in hows] + [verdict("relaybay/x", "failed")]})
    )
    found = read_mutants(file)
    assert found.folders == {"relaybay/rules": (4, 6), "relaybay/x": (1, 1)}
    assert (found.caught, found.all, len(found.survivors)) == (5, 7, 2)
    assert "| relaybay/rules | 6 | 4 |" in mutation(found)


def test_a_run_that_wrote_nothing_has_caught_nothing(tmp_path: Path) -> None:
    for content in (None, "", "{"):
        file = tmp_path / "none.json"
        if content is not None:
            file.write_text(content)
        assert read_mutants(file) == Mutants({}, ())


def test_each_campaign_has_a_row_and_its_own_figures_stand_last() -> None:
    rows = campaigns(
        {"FLT-2 points": 200, "FLT-2 fired": 199, "FLT-10 points": 1, "FLT-2 real": 3, "states explored": 7}
    )
    assert [row.split(" | ")[0] for row in rows if row.startswith("| FLT")] == ["| FLT-2", "| FLT-10"]
    assert any("| 200 | 199 | 0 | 0 | 0 | 0 | real 3 |" in row for row in rows)
    assert campaigns({"states explored": 7}) == []


def test_the_last_line_has_the_form_that_is_promised() -> None:
    mutants = Mutants({"relaybay/rules": (94, 100)}, ())
    line = result_line(3, 4, {"pairs reached": 5, "pairs that a caller asks": 6, "states explored": 7}, mutants)
    assert line == "conformance: ids 3/4, pairs 5/6, states 7, mutants caught 94/100"
    assert LINE.fullmatch(line)


def test_a_page_of_another_tree_is_told_from_one_of_this(tmp_path: Path) -> None:
    known = {**ids.read(), **ids.invariants()}.values()
    due = [one.id for one in known if not one.later]
    test = "`conformance/test_figures.py::test_a_page_of_another_tree_is_told_from_one_of_this`"
    rows = [f"| {spec_id} | 1 | 0 | {test} |" for spec_id in due]
    assert report.drift("\n".join(rows)) == []
    assert report.drift("\n".join(rows[1:])) == [f"{due[0]} has no line"]
    assert report.drift("\n".join([*rows, f"| SEND-99 | 1 | 0 | {test} |"])) == ["SEND-99 is no id that is due"]
    gone = "\n".join(rows).replace("told_from_one_of_this", "gone", 1)
    assert report.drift(gone) == ["tests/conformance/test_figures.py has no test_a_page_of_another_tree_is_gone"]
