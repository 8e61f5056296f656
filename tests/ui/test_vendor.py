"""Vendored scripts are what was published, listed with their licences, and served from the board itself."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.conftest import missing
from tests.ui.board_rig import Board
from tools import vendor

ROOT = Path(__file__).parents[2]


def test_every_vendored_file_is_listed_with_its_digest() -> None:
    assert vendor.differences_offline() == []
    for package in vendor.manifest():
        assert package["licence"] in ("MIT", "0BSD")
        assert any(entry["source"] == "LICENSE" for entry in package["files"]), package["name"]
        assert {e["file"]: e["source"] for e in package["files"]} == vendor.CHOSEN[package["name"]]["files"]


def test_versions_are_pinned_exactly_and_for_development_only() -> None:
    pins = json.loads(vendor.PINS.read_text(encoding="utf-8"))
    assert "dependencies" not in pins and pins["private"]
    assert all(version[0].isdigit() and version.count(".") == 2 for version in pins["devDependencies"].values())


def test_a_changed_a_lost_and_a_foreign_file_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "vendor"
    folder.mkdir()
    for path in vendor.FOLDER.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(vendor, "FOLDER", folder)
    monkeypatch.setattr(vendor, "MANIFEST", folder / "vendor.json")
    assert vendor.differences_offline() == []
    (folder / "htmx.min.js").write_bytes(b"changed")
    (folder / "hotkey.js").unlink()
    (folder / "other.js").write_bytes(b"")
    found = vendor.differences_offline()
    assert [line.partition(" ")[0] for line in found] == ["hotkey.js", "htmx.min.js", "other.js"]
    assert vendor.main(["--offline"]) == 1


def test_the_files_are_those_of_the_published_packages() -> None:
    try:
        assert vendor.differences() == []
    except vendor.CannotFetchError as error:
        missing("npm", str(error))


def test_an_address_that_is_no_asset_leads_nowhere(board: Board) -> None:
    page = board.page("/")
    script = next(e["src"] for e in page.all("script") if e["src"].endswith("/vendor/htmx.min.js"))
    served = board.get(script)
    assert served.status == 200
    assert served.body == (vendor.FOLDER / "htmx.min.js").read_text(encoding="utf-8")
    assert "immutable" in served.headers["cache-control"]
    version = script.split("/")[2]
    for name in ("vendor/vendor.json", "vendor/htmx.LICENSE.txt", "../pages.py", "vendor/../base.css", "vendor"):
        assert board.get(f"/static/{version}/{name}").status == 404, name
    assert board.get(script.replace(version, "0" * len(version))).status == 404


def test_the_package_takes_everything_below_relaybay() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"]["packages"] == ["relaybay"]
    assert {"tools", "package.json"} <= set(build["sdist"]["include"])
