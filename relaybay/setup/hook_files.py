"""The copy of the command hook under `data/bin/`: a client's settings name it, so it has to outlive an upgrade.

The package's own folder may be a tool's private environment that moves or vanishes with the next version.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from relaybay import client
from relaybay.setup.files import read_file, write_file
from relaybay.setup.manifest import sha256
from relaybay.setup.values import SECRET_MODE


def source() -> dict[str, bytes]:
    """The files of the hook as this relaybay ships them. The program itself comes last, so that it is never
    there without what it imports.
    """
    folder = Path(client.__file__).parent
    names = sorted(client.FILES, key=lambda name: name == "hook.py")
    return {name: (folder / name).read_bytes() for name in names}


def differing(script: Path, shipped: dict[str, bytes]) -> list[str]:
    """Names of the hook's files whose copies beside `script` are missing or not as shipped.

    Raises:
        OSError: a copy is there and cannot be read.
    """
    return [name for name, data in shipped.items() if _copy(script, name) != data]


def _copy(script: Path, name: str) -> bytes | None:
    found = read_file(script.with_name(name))
    return None if found is None else found[0]


def install(script: Path, shipped: dict[str, bytes]) -> tuple[str, ...]:
    """Copies what differs; returns the paths of the files that are different now.

    Raises:
        OSError: a copy cannot be written.
    """
    script.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    changed = []
    for name in differing(script, shipped):
        write_file(script.with_name(name), shipped[name], SECRET_MODE)
        changed.append(str(script.with_name(name)))
    return tuple(changed)


def digests(shipped: dict[str, bytes]) -> dict[str, str]:
    """What the manifest remembers of the copies."""
    return {name: sha256(data) for name, data in shipped.items()}


def remove(script: Path, recorded: dict[str, str]) -> None:
    """Removes the copies that are as setup left them, with what the interpreter made of them. A hook that a
    client still runs ends with 0 without them.
    """
    for name, digest in recorded.items():
        with suppress(OSError):
            found = _copy(script, name)
            if found is not None and sha256(found) == digest:
                script.with_name(name).unlink()
    shutil.rmtree(script.parent / "__pycache__", ignore_errors=True)
    with suppress(OSError):
        script.parent.rmdir()
