"""A machine for the tests of setup: a home, relaybay's folders, a project, and short ways to set up and undo."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from relaybay import setup
from relaybay.setup import Applied, Choices, Folders, Install, Plan

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
VERSION = "2.1.332 (Claude Code)"
TOKEN, HOOK_KEY = "t0ken-" + "a" * 37, "h00k-" + "b" * 37


class World:
    """One machine below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.realpath(root))
        self.home, self.project = self.root / "home", self.root / "project"
        relay = self.root / "relaybay"
        self.folders = Folders(relay / "config.toml", relay / "data", relay / "state", relay / "run")
        for folder in (self.home, self.project):
            folder.mkdir()
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull}

    @property
    def settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    @property
    def claude_json(self) -> Path:
        return self.home / ".claude.json"

    @property
    def local_settings(self) -> Path:
        return self.project / ".claude" / "settings.local.json"

    def install(self, port=7717, token=TOKEN, hook_key=HOOK_KEY) -> Install:
        url = f"http://127.0.0.1:{port}"
        return Install(
            url=url,
            mcp_url=url + "/mcp",
            token=token,
            hook_key=hook_key,
            python="/usr/bin/python3",
            hook_script=str(self.folders.data / "bin" / "hook.py"),
            run_dir=str(self.folders.run),
            state_dir=str(self.folders.state),
        )

    def read(self, scope="user"):
        return setup.read_claude_code(self.folders, scope, self.project, self.env)

    def plan(self, scope="user", install=None, **choices):
        chosen = Choices(scope=scope, **({"client_version": VERSION} | choices))
        return setup.plan_claude_code(self.read(scope), install or self.install(), chosen)

    def set_up(self, scope="user", install=None, **choices):
        plan = self.plan(scope, install, **choices)
        assert isinstance(plan, Plan), plan
        done = setup.apply(plan, self.folders, NOW)
        assert isinstance(done, Applied), done
        return done

    def undo(self, scope="user", install=None):
        done = setup.undo(self.read(scope), install or self.install(), self.folders, NOW)
        assert isinstance(done, Applied), done
        return done

    def git_init(self, folder: Path) -> None:
        subprocess.run(["git", "init", "-q", str(folder)], check=True, env=self.env)

    def write(self, path: Path, value) -> bytes:
        path.parent.mkdir(parents=True, exist_ok=True)
        data = value if isinstance(value, bytes) else json.dumps(value, indent=2).encode()
        path.write_bytes(data)
        return data

    def snapshot(self) -> dict[str, tuple[bytes, int]]:
        """Every file of the person: bytes and mode. Relaybay's own folders and git's insides are not theirs."""
        found = {}
        for top in (self.home, self.project):
            for path in sorted(top.rglob("*")):
                if path.is_file() and ".git" not in path.relative_to(top).parts:
                    found[str(path)] = (path.read_bytes(), path.stat().st_mode & 0o7777)
        return found


def load(path: Path):
    return json.loads(path.read_text(encoding="utf-8-sig"))


def handlers(document):
    """Every hook of a settings document: event, matcher, handler."""
    return [
        (event, group.get("matcher"), handler)
        for event, groups in document.get("hooks", {}).items()
        for group in groups
        for handler in group["hooks"]
    ]
