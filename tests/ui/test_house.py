"""`/settings` and `/health`: what the server was started with and where from, and doctor's checks with what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from relaybay.api.routes import Routes
from relaybay.api.serving import ServerThread, make_app
from relaybay.service import house as houses
from relaybay.service.house import Checkup, House, Told
from relaybay.settings import KEYS, Paths, load
from relaybay.ui.pages import register_board
from tests.ui.board_rig import SECOND, START, Board


@dataclass
class Line:
    name: str
    ok: bool | None
    detail: str
    fix: str = ""


class Housed(Board):
    """The rig, with a server's surroundings that a test may change."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.server.stop()
        self.paths = Paths.find({"RELAYBAY_HOME": str(folder)})
        self.env: dict[str, str] = {"HOME": str(folder)}
        self.told = Told("http://127.0.0.1:7717", START - 60 * SECOND)
        self.lines: list[Line] = []
        self.asked: list[tuple[Told, dict[str, int], str]] = []
        self.restart()

    def restart(self, doctor: bool = True, **flags: Any) -> None:
        def look(*given: Any) -> list[Line]:
            self.asked.append(given)
            return self.lines

        running = load(self.paths, self.env, None, flags)
        written = lambda: load(self.paths, self.env)  # noqa: E731
        house = House(self.paths, running, written, lambda: self.told, look if doctor else None)
        app = make_app()
        self.routes = Routes(app)
        register_board(self.routes, self.relay, self.gate, house)
        self.gate.install(app)
        self.server = ServerThread(app).start()
        self.cookie = ""
        self.log_in()

    def config(self, text: str) -> None:
        self.paths.config_file.write_text(text, encoding="utf-8")


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Housed]:
    rig = Housed(tmp_path)
    try:
        yield rig
    finally:
        rig.close()


def rows(board: Board) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in board.get("/settings.json").json["settings"]}


@pytest.mark.spec("70")
def test_every_key_stands_there_with_its_value_and_its_origin(board: Housed) -> None:
    found = rows(board)
    assert list(found) == list(KEYS)
    assert all(row["source"] == "default" and row["value"] == KEYS[key].default for key, row in found.items())
    board.config("[wake]\nminutes = 5\n")
    board.env["RELAYBAY_SESSIONS_SILENT_HOURS"] = "3"
    board.server.stop()
    board.restart(**{"claude_code.folder": "/x"})
    found = rows(board)
    assert {key: (row["value"], row["source"]) for key, row in found.items() if row["source"] != "default"} == {
        "wake.minutes": (5, "config"), "sessions.silent_hours": (3, "environment"), "claude_code.folder": ("/x", "flag"),
    }  # fmt: skip
    assert "config.toml:2" in found["wake.minutes"]["origin"]
    assert "RELAYBAY_SESSIONS_SILENT_HOURS" in found["sessions.silent_hours"]["origin"]
    assert not any("pending" in row for row in found.values()), "a flag's value is not waiting to become the default"
    page = board.page("/settings")
    text = page.by_id("setting-wake-minutes").text
    assert "5" in text and "default: 25" in text and "relaybay config set wake.minutes VALUE" in text
    assert "your config.toml" in text and "RELAYBAY_WAKE_MINUTES" in text


def test_a_value_that_waits_for_the_next_start_is_told(board: Housed) -> None:
    board.config("[wake]\nminutes = 5\n[messaging]\nchannels = true\n")
    found = board.get("/settings.json").json
    assert found["pending"] == 2 and found["channels"] is False
    assert rows(board)["wake.minutes"]["pending"]["value"] == 5 and rows(board)["wake.minutes"]["value"] == 25
    text = board.page("/settings").by_id("setting_list").text
    assert "2 values wait for the next start" in text and "relaybay up" in text and "Channels are off" in text
    board.server.stop()
    board.restart()
    assert board.get("/settings.json").json["pending"] == 0
    said = board.page("/settings").by_id("setting_list").text
    assert "Channels are on" in said and "Channels are off" not in said


def test_a_configuration_that_cannot_be_read_any_more_is_told_and_harms_nothing(board: Housed) -> None:
    board.config("[wake]\nminutes = 500\n")
    answer = board.get("/settings.json")
    assert answer.status == 200 and "config.toml:2" in answer.json["fault"]["where"]
    assert answer.json["pending"] == 0 and rows(board)["wake.minutes"]["value"] == 25
    assert "the next one would not start" in board.page("/settings").by_id("setting_list").text


def test_the_port_of_this_start_alone(board: Housed) -> None:
    board.told = replace(board.told, url="http://127.0.0.1:40123")
    row = rows(board)["server.port"]
    assert (row["value"], row["source"], row["origin"]) == (40123, "flag", '"--port"')
    board.told = replace(board.told, url="http://[::1]:7717")
    assert rows(board)["server.port"]["source"] == "default"


@pytest.mark.spec("70", "20")
def test_checks_stand_in_a_line_each_the_worst_first_with_what_to_do(board: Housed) -> None:
    board.lines = [
        Line("server", True, "answers"),
        Line("hooks", None, "none yet", "send one prompt"),
        Line("disk", False, "<b>full</b>\u202e", "make room"),
        Line("sqlite", None, "old"),
    ]
    found = board.get("/health.json").json
    assert [check["name"] for check in found["checks"]] == ["disk", "hooks", "sqlite", "server"]
    assert (found["broken"], found["warned"], found["doctor"]) == (1, 2, True)
    page = board.page("/health")
    said = [page.by_id(f"check-{n}").text for n in range(1, 5)]
    assert said[0].startswith("To mend disk") and "To do: make room" in said[0] and "U+202E" in said[0]
    assert said[1].startswith("Worth knowing hooks") and said[3] == "Well server answers"
    assert "1 to mend" in page.by_id("health_checks").text and "2 worth knowing" in page.by_id("health_checks").text
    assert "<b>full" not in page.raw


def test_all_well_and_no_doctor_at_all(board: Housed) -> None:
    board.lines = [Line("server", True, "answers"), Line("disk", True, "5 GiB free")]
    assert "All 2 checks are well" in board.page("/health").by_id("health_checks").text
    board.server.stop()
    board.restart(doctor=False)
    assert board.get("/health.json").json["doctor"] is False
    assert "relaybay doctor" in board.page("/health").by_id("health_checks").text


def test_doctor_hears_what_the_server_knows(board: Housed) -> None:
    board.session("a", client="claude-code")
    board.told = replace(board.told, heard={"other": {"Stop": 5, "SessionStart": 7}})
    board.get("/health.json")
    told, heard, integrity = board.asked[-1]
    assert (told, heard, integrity) == (board.told, {"claude-code": START, "other": 7}, "ok")
    hooks = board.get("/health.json").json["hooks"]
    assert [(one["client"], [e["event"] for e in one["events"]]) for one in hooks] == [
        ("other", ['"SessionStart"', '"Stop"'])
    ]


def test_the_servers_own_figures(board: Housed) -> None:
    a, b = board.session("a"), board.session("b")
    for n in range(3):
        board.send(a, b.ref, f"x{n}")
    board.hand_over(b)
    board.relay.store.write(lambda tx: tx.run("UPDATE delivery SET in_context_us = 1 WHERE id = 1"))
    board.relay.store.write(lambda tx: tx.run("UPDATE delivery SET reason_code = 'not_in_context' WHERE id IN (2, 3)"))
    board.told = replace(board.told, streams=4, mcp_seen_us=START)
    found = board.get("/health.json").json
    assert found["server"]["streams"] == 4 and found["server"]["waits"] == 0 and found["server"]["mcp_last_call_at"]
    assert (
        found["database"]["integrity"] == "ok" and found["database"]["bytes"] > 0 and found["database"]["schema"] >= 1
    )
    assert (found["context"]["seen"], found["context"]["given_up"], found["context"]["looked_for"]) == (1, 2, 0)
    text = board.page("/health").by_id("health_server").text
    assert "Sound" in text and "4 browsers" in text and "No hook event has come" in text


def test_checks_stand_for_a_while_and_are_then_made_anew(board: Housed, monkeypatch) -> None:
    checked: list[Path] = []
    monkeypatch.setattr(houses.sqlite, "problems", lambda path: checked.append(path) or [])
    house = House(
        board.paths, load(board.paths, {}), lambda: load(board.paths, {}), Told, lambda *_: [Line("x", True, "")]
    )
    asked: list[int] = []
    house = replace(house, doctor=lambda *_: asked.append(board.now) or [])
    checkup = Checkup(board.relay, house)
    steps = [(0, 1, 1), (houses.LOOK_AGAIN_US - 1, 1, 1), (1, 2, 1), (houses.CHECK_AGAIN_US, 3, 2)]
    for passed, looks, checks in steps:
        board.now += passed
        looked = checkup.look({})
        assert (len(asked), len(checked)) == (looks, checks)
        assert looked.at_us == asked[-1]
    board.now -= houses.LOOK_AGAIN_US
    checkup.look({})
    assert len(asked) == 4, "a clock that was set back keeps nothing"


def test_damage_is_told(board: Housed, monkeypatch) -> None:
    monkeypatch.setattr(houses.sqlite, "problems", lambda _path: ["row 3 is gone", "and 4"])
    board.server.stop()
    board.restart()
    found = board.get("/health.json").json["database"]
    assert found["integrity"] == '"row 3 is gone; and 4"'
    assert "relaybay restore" in board.page("/health").by_id("health_server").text


@pytest.mark.parametrize("path", ["/settings?fragment=setting_list", "/health?fragment=health_checks", "/health?fragment=health_server"])  # fmt: skip
def test_the_live_fragments_alone(board: Housed, path: str) -> None:
    assert board.get(path).document.by_id(path.partition("=")[2])["data-live"]


def test_a_board_without_a_server_around_it_shows_the_defaults(tmp_path: Path) -> None:
    bare = House.bare()
    assert bare.written() == bare.running and bare.told() == Told() and bare.doctor is None
