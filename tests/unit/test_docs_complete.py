"""The documents name what there is: links lead somewhere, and nothing that a reader can use or open is left out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from docs import generate
from relaybay.specs import specs_folder

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "changes").glob("*.md"), ROOT / "specs" / "README.md"]
)
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
WRITTEN_LATER = {"docs/conformance.md"}
"""Linked to, and written by a command after the tests have run."""

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SURFACES = tomllib.loads((specs_folder() / "surfaces.toml").read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the common hosts make them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [*PAGES, *REFERENCE], ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    broken = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if name_of(found) in WRITTEN_LATER:
            continue
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(target)
    assert not broken


def test_the_index_has_every_page() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    here = ROOT / "docs"
    pages = [str(p.relative_to(here)) for p in (*here.glob("*.md"), *REFERENCE) if p.name != "index.md"]
    assert pages
    assert [page for page in pages if f"({page})" not in text] == []


def test_the_readme_has_every_target_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony
    parts = {"lint", "format", "types", "imports", "templates", "docs-check"}  # `make check` is all of these.
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [t for t in phony[1].split() if t not in parts and f"make {t}" not in readme] == []


def test_the_map_has_every_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [p for p in (ROOT / "relaybay").iterdir() if not p.name.startswith(("_", "."))]
    missing = [p.name for p in rooms if f"`relaybay/{p.name}{'/' if p.is_dir() else ''}`" not in text]
    assert not missing


def test_the_map_has_no_room_that_is_gone() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:relaybay|specs|tests|docs|bench)/[\w./-]*)`", text)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_walk_names_files_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walk = text.partition("## The walk of one message")[2].partition("\n## ")[0]
    cells = [line.split("|")[2] for line in walk.splitlines() if re.match(r"\| \d", line)]
    assert len(cells) >= 8
    folder, gone = "", []
    for name in re.findall(r"`((?:[a-z]+/)?[a-z_]+\.py)`", " ".join(cells)):
        folder = name.rpartition("/")[0] if "/" in name else ("" if (ROOT / "relaybay" / name).exists() else folder)
        path = ROOT / "relaybay" / folder / name.rpartition("/")[2]
        if not path.exists():
            gone.append(str(path))
    assert not gone


def test_the_specs_page_has_every_table() -> None:
    text = (ROOT / "specs" / "README.md").read_text(encoding="utf-8")
    tables = {p.name if p.is_file() else f"{p.name}/" for p in (ROOT / "specs").iterdir() if p.name != "README.md"}
    assert [name for name in tables if f"`{name}" not in text] == []


def test_every_command_that_a_page_shows_exists() -> None:
    known = {command["name"] for command in SURFACES["command"]}
    heads = {name.split()[0] for name in known}
    unknown = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        lines = [line for block in shown for line in block.splitlines()] + re.findall(r"`(relaybay [^`]+)`", text)
        for line in lines:
            words = re.match(r"relaybay ([a-z]+)(?: ([a-z]+))?", line)
            if words and not (words[1] in heads and (words[1] in known or f"{words[1]} {words[2]}" in known)):
                unknown.add(line)
    assert not unknown


def test_drawn_pages_are_those_of_the_tables() -> None:
    assert generate.differences() == []
