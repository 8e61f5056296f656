"""What the server's own checks found, and for how long that stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from relaybay.service import house as houses
from relaybay.service.house import Checkup, House, Told
from relaybay.settings import Paths
from tests.unit.linking_rig import Rig


@dataclass
class Line:
    name: str
    ok: bool | None = True
    detail: str = ""
    fix: str = ""


@pytest.fixture
def rig(tmp_path: Path):
    made = Rig(tmp_path)
    yield made
    made.relay.close()


def test_each_check_stands_for_its_own_time(rig, monkeypatch) -> None:
    checked: list[Path] = []
    told: list[tuple[Told, dict[str, int], str]] = []
    wrong: list[str] = ["row 3 is gone", "and 4"]
    monkeypatch.setattr(houses.sqlite, "problems", lambda path: checked.append(path) or list(wrong))

    def doctor(said, heard, integrity):
        told.append((said, heard, integrity))
        return [Line(f"look {len(told)}")]

    bare = House.bare()
    checkup = Checkup(rig.relay, House(bare.paths, bare.running, bare.written, lambda: Told("http://x"), doctor))
    begun = rig.now
    first = checkup.look({"cli": 7})
    assert (first.integrity, first.at_us, first.checked_us) == ("row 3 is gone; and 4", begun, begun)
    assert told == [(Told("http://x"), {"cli": 7}, "row 3 is gone; and 4")] and checked == [rig.store.path]
    wrong.clear()
    for passed, looks, checks in (
        (houses.LOOK_AGAIN_US - 1, 1, 1),
        (houses.LOOK_AGAIN_US, 2, 1),
        (houses.LOOK_AGAIN_US + 1, 2, 1),
        (houses.CHECK_AGAIN_US - 1, 3, 1),
        (houses.CHECK_AGAIN_US, 3, 2),
    ):
        rig.now = begun + passed
        found = checkup.look({})
        assert (len(told), len(checked)) == (looks, checks), passed
        assert found.findings == (Line(f"look {looks}"),)
        assert found.checked_us == (begun if checks == 1 else rig.now)
    assert found.integrity == "ok"
    rig.now -= 2 * houses.LOOK_AGAIN_US
    checkup.look({})
    assert len(told) == 4, "a clock that was set back keeps nothing"


def test_a_board_without_a_server_or_a_doctor_says_only_how_its_database_is(rig) -> None:
    bare = House.bare()
    assert bare.written() == bare.running and bare.told() == Told()
    assert bare.paths == Paths(*(Path("/nonexistent"),) * 4) and bare.paths.home is None
    assert not bare.paths.data.exists()
    found = Checkup(rig.relay, bare).look({"cli": 7})
    assert (found.findings, found.integrity) == ((), "ok")
