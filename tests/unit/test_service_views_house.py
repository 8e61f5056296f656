"""What the pages of the server itself say: `/health` and `/settings`, whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from relaybay.errors import SettingsError
from relaybay.service import views_health, views_settings
from relaybay.service.clock import rfc3339
from relaybay.service.house import House, Looked, Told
from relaybay.settings import KEYS, Paths, Settings, load
from relaybay.store import migrations, tasks
from relaybay.transcript import Transcripts
from tests.unit.linking_rig import Rig

SECOND = 1_000_000


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path / "store")
    yield made
    made.relay.close()


@dataclass(frozen=True)
class Line:
    name: str
    ok: bool | None
    detail: str
    fix: str = ""


def _house(folder: Path, told: Told, written: Callable[[], Settings] | None = None, **more: Any) -> House:
    paths = Paths.find({"RELAYBAY_HOME": str(folder)})
    running = load(paths, {}, **more)
    return House(paths, running, written or (lambda: running), lambda: told, more.pop("doctor", None))


def _health(rig: Rig, house: House, looked: Looked) -> dict[str, Any]:
    return rig.store.read(lambda tx: views_health.health_page(tx, rig.relay, house=house, looked=looked)).data


def test_health_of_a_server_that_nobody_has_called(rig: Rig, tmp_path: Path) -> None:
    rig.store.write(lambda tx: tasks.add_project(tx, "shop", "Shop", ""))
    found = _health(rig, _house(tmp_path, Told()), Looked((), 3 * SECOND, "ok", 2 * SECOND))
    database = found.pop("database")
    assert database.pop("bytes") == rig.store.path.stat().st_size
    assert database.pop("log_bytes") == rig.store.path.with_name(rig.store.path.name + "-wal").stat().st_size > 0
    assert database == {
        "path": f'"{rig.store.path}"',
        "schema": len(migrations.STEPS),
        "integrity": "ok",
        "checked_at": rfc3339(2 * SECOND),
    }
    context = found.pop("context")
    folders = [{"path": f'"{tmp_path}/store/claude"', "there": False}]
    assert (context.pop("folders"), context.pop("looked_for"), context.pop("unreadable")) == (folders, 0, 0)
    assert found == {
        "checks": [],
        "doctor": False,
        "looked_at": rfc3339(3 * SECOND),
        "broken": 0,
        "warned": 0,
        "server": {"url": None, "started_at": None, "streams": 0, "waits": 0, "mcp_last_call_at": None},
        "hooks": [],
    }


def test_health_of_a_busy_one_with_the_worst_first(rig: Rig, tmp_path: Path) -> None:
    heard = {
        "gemini": {"AfterAgent": 5 * SECOND},
        "claude_code": {"Stop": 7 * SECOND, "SessionStart": 9 * SECOND, "PostToolUse": 7 * SECOND},
    }
    told = Told("http://127.0.0.1:1", 4 * SECOND, heard, 6 * SECOND, 3)
    lines = (
        Line("fine", ok=True, detail="all well"),
        Line("so so", ok=None, detail="worth knowing", fix="look"),
        Line("bad", ok=False, detail="it\nbroke", fix="relaybay setup"),
        Line("fine too", ok=True, detail=""),
        Line("bad too", ok=False, detail="x"),
    )
    house = _house(tmp_path, told)
    with_doctor = House(house.paths, house.running, house.written, house.told, lambda *_: lines)
    found = _health(rig, with_doctor, Looked(lines, 1, "row 3 missing", 1))
    assert found["checks"] == [
        {"name": "bad", "ok": False, "detail": '"it\\nbroke"', "fix": '"relaybay setup"'},
        {"name": "bad too", "ok": False, "detail": '"x"', "fix": None},
        {"name": "so so", "ok": None, "detail": '"worth knowing"', "fix": '"look"'},
        {"name": "fine", "ok": True, "detail": '"all well"', "fix": None},
        {"name": "fine too", "ok": True, "detail": '""', "fix": None},
    ]
    assert (found["doctor"], found["broken"], found["warned"]) == (True, 2, 1)
    assert found["server"] == {
        "url": "http://127.0.0.1:1",
        "started_at": rfc3339(4 * SECOND),
        "streams": 3,
        "waits": 0,
        "mcp_last_call_at": rfc3339(6 * SECOND),
    }
    assert found["hooks"] == [
        {
            "client": "claude_code",
            "events": [
                {"event": '"SessionStart"', "at": rfc3339(9 * SECOND)},
                {"event": '"PostToolUse"', "at": rfc3339(7 * SECOND)},
                {"event": '"Stop"', "at": rfc3339(7 * SECOND)},
            ],
        },
        {"client": "gemini", "events": [{"event": '"AfterAgent"', "at": rfc3339(5 * SECOND)}]},
    ]
    assert found["database"]["integrity"] == '"row 3 missing"'


def test_health_says_where_the_proof_is_looked_for(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there, gone = tmp_path / "there", tmp_path / "gone"
    there.mkdir()
    monkeypatch.setattr(rig.relay.contexts, "transcripts", Transcripts((there, gone)))
    monkeypatch.setattr(rig.relay.contexts, "watched", lambda: [("read", 2), ("unknown", 3), ("absent", 4)])
    context = _health(rig, _house(tmp_path, Told()), Looked((), 1, "ok", 1))["context"]
    assert context["folders"] == [{"path": f'"{there}"', "there": True}, {"path": f'"{gone}"', "there": False}]
    assert (context["looked_for"], context["unreadable"]) == (9, 7)


def test_a_database_whose_file_is_gone_has_no_size(tmp_path: Path) -> None:
    assert views_health._size(tmp_path / "gone") == 0


def _settings(rig: Rig, house: House) -> dict[str, Any]:
    found = rig.store.read(lambda tx: views_settings.settings_page(tx, rig.relay, house=house)).data
    return found | {"settings": {row["key"]: row for row in found["settings"]}}


def test_settings_of_a_start_without_any_source(rig: Rig, tmp_path: Path) -> None:
    found = _settings(rig, _house(tmp_path, Told()))
    assert list(found["settings"]) == list(KEYS)
    assert {name: found[name] for name in ("channels", "config_file", "pending", "fault")} == {
        "channels": False,
        "config_file": f'"{tmp_path}/config.toml"',
        "pending": 0,
        "fault": None,
    }
    key = KEYS["wake.minutes"]
    assert found["settings"]["wake.minutes"] == {
        "key": "wake.minutes",
        "value": 25,
        "default": 25,
        "source": "default",
        "origin": '"default"',
        "help": key.help,
        "wanted": key.wanted,
        "variable": "RELAYBAY_WAKE_MINUTES",
        "in_project": False,
    }
    assert found["settings"]["project.slug"]["in_project"] is True


def test_settings_that_wait_for_the_next_start_and_a_port_of_this_one(rig: Rig, tmp_path: Path) -> None:
    paths = Paths.find({"RELAYBAY_HOME": str(tmp_path)})
    file = tmp_path / "config.toml"
    file.write_text("[wake]\nminutes = 7\n")
    running = load(paths, {}, None, {"wake.minutes": 9})
    file.write_text("[wake]\nminutes = 5\n[server]\nport = 4000\n")
    told = Told("http://127.0.0.1:8123")
    found = _settings(rig, House(paths, running, lambda: load(paths, {}), lambda: told))
    rows = found["settings"]
    assert (rows["wake.minutes"]["value"], rows["wake.minutes"]["source"]) == (9, "flag")
    assert "pending" not in rows["wake.minutes"], "what a flag has set is gone with this start"
    port = rows["server.port"]
    assert (port["value"], port["source"], port["origin"]) == (8123, "flag", '"--port"') and "pending" not in port
    assert rows["server.host"]["value"] == "127.0.0.1" and found["pending"] == 0
    running = load(paths, {})
    file.write_text("[wake]\nminutes = 6\n")
    found = _settings(rig, House(paths, running, lambda: load(paths, {}), lambda: Told("http://127.0.0.1:4000")))
    rows = found["settings"]
    assert rows["wake.minutes"]["value"] == 5 and rows["wake.minutes"]["pending"] == {
        "value": 6, "origin": f'"{file}:2"',
    }  # fmt: skip
    assert rows["server.port"]["pending"]["value"] == 7717 and rows["server.port"]["source"] == "config"
    assert found["pending"] == 2


def test_settings_that_cannot_be_read_any_more_are_told_and_nothing_waits(rig: Rig, tmp_path: Path) -> None:
    def broken() -> Settings:
        raise SettingsError("config.toml:3", "no such key")

    found = _settings(rig, _house(tmp_path, Told(), broken))
    assert found["fault"] == {"where": '"config.toml:3"', "why": '"no such key"'} and found["pending"] == 0
