"""Vendored front-end files against their npm packages: ``python -m tools.vendor`` checks, ``--write`` copies.

``package.json`` says which package in which version, ``vendor.json`` beside the files which file of it, with digest. A
check without ``--offline`` fetches the packages with ``npm pack`` (npm compares them with its own digests), so what the
board serves is byte for byte what was published. Standard library only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "relaybay" / "ui" / "static" / "vendor"
MANIFEST: Final = FOLDER / "vendor.json"
PINS: Final = ROOT / "package.json"
PACK_SECONDS_MAX: Final = 120

#: Package → its licence, and which of its files is copied under which name.
CHOSEN: Final[Mapping[str, Mapping[str, Any]]] = {
    "@github/hotkey": {
        "licence": "MIT",
        "files": {"hotkey.js": "dist/index.js", "hotkey.LICENSE.txt": "LICENSE"},
    },
    "htmx.org": {
        "licence": "0BSD",
        "files": {"htmx.min.js": "dist/htmx.min.js", "htmx.LICENSE.txt": "LICENSE"},
    },
}


class CannotFetchError(Exception):
    """The packages could not be had: no npm here, or no registry that answers."""


def pins() -> dict[str, str]:
    """Package → exact version, from `package.json`."""
    return dict(json.loads(PINS.read_text(encoding="utf-8"))["devDependencies"])


def manifest() -> list[dict[str, Any]]:
    """The packages of `vendor.json`: `{name, version, licence, files: [{file, source, sha256}]}`."""
    return list(json.loads(MANIFEST.read_text(encoding="utf-8"))["packages"])


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def differences_offline() -> list[str]:
    """What does not fit among pins, manifest and files, each in a sentence; nothing is fetched."""
    found = []
    pinned, listed = pins(), {one["name"]: one["version"] for one in manifest()}
    if pinned != listed:
        found.append(f"package.json pins {pinned}, vendor.json lists {listed}")
    named = {MANIFEST.name}
    for package in manifest():
        for entry in package["files"]:
            named.add(entry["file"])
            path = FOLDER / entry["file"]
            if not path.is_file():
                found.append(f"{entry['file']} is listed and not there")
            elif digest(path.read_bytes()) != entry["sha256"]:
                found.append(f"{entry['file']} is not what vendor.json says")
    found += [f"{path.name} is there and not listed" for path in sorted(FOLDER.iterdir()) if path.name not in named]
    return found


def fetch(name: str, version: str) -> dict[str, bytes]:
    """Every file of a published package, by its path in it. Raises CannotFetchError."""
    npm = shutil.which("npm")
    if npm is None:
        raise CannotFetchError("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(  # noqa: S603 - our own pins, and no shell.
                [npm, "pack", "--silent", "--ignore-scripts", f"{name}@{version}"],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=PACK_SECONDS_MAX,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CannotFetchError(f"npm did not answer within {PACK_SECONDS_MAX} s") from error
        packed = sorted(Path(folder).glob("*.tgz"))
        if done.returncode or len(packed) != 1:
            said = done.stderr.strip().splitlines()
            raise CannotFetchError(f"npm pack {name}@{version} failed: {said[0] if said else 'without a word'}")
        with tarfile.open(packed[0]) as archive:
            members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
            return {
                member.name.removeprefix("package/"): opened.read() for member, opened in members if opened is not None
            }


def differences() -> list[str]:
    """What differs between the vendored files and the published packages. Raises CannotFetchError."""
    found = differences_offline()
    for package in manifest():
        published = fetch(package["name"], package["version"])
        for entry in package["files"]:
            theirs = published.get(entry["source"])
            if theirs is None:
                found.append(f"{package['name']} {package['version']} has no {entry['source']}")
            elif theirs != (FOLDER / entry["file"]).read_bytes():
                found.append(f"{entry['file']} differs from {entry['source']} of {package['name']}")
    return found


def write() -> None:
    """Copies the chosen files of the pinned packages and writes `vendor.json`. Raises CannotFetchError."""
    packages = []
    FOLDER.mkdir(exist_ok=True)
    for name, version in sorted(pins().items()):
        published = fetch(name, version)
        files = []
        for file, source in sorted(CHOSEN[name]["files"].items()):
            (FOLDER / file).write_bytes(published[source])
            files.append({"file": file, "source": source, "sha256": digest(published[source])})
        packages.append({"name": name, "version": version, "licence": CHOSEN[name]["licence"], "files": files})
    MANIFEST.write_text(json.dumps({"packages": packages}, indent=2) + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """0 when all is as published, 1 when something differs, 2 when the packages could not be had."""
    parser = argparse.ArgumentParser(prog="python -m tools.vendor", description=__doc__)
    parser.add_argument("--write", action="store_true", help="copy the files anew")
    parser.add_argument("--offline", action="store_true", help="compare with vendor.json only")
    given = parser.parse_args(arguments)
    try:
        if given.write:
            write()
        found = differences_offline() if given.offline or given.write else differences()
    except CannotFetchError as error:
        sys.stderr.write(f"vendor: {error}\n")
        return 2
    for line in found:
        sys.stderr.write(f"vendor: {line}\n")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
