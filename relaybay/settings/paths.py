"""Where relaybay's own files lie (page 75, Files). Nothing is read or made here, but by `Paths.make`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

APP = "relaybay"


@dataclass(frozen=True, slots=True)
class Paths:
    """Relaybay's own folders and the files in them (page 75, Files). Nothing is made by reading a path.

    Attributes:
        config_folder: holds `config.toml` and `automations.toml`; with `RELAYBAY_HOME` that folder itself.
        data: the database, its lock, and the copies of the command hook.
        state: logs, backups, setup's manifest and the spool.
        run: the socket, the keys, and what tells that a server runs. It has to outlive a reboot.
        home: `RELAYBAY_HOME`, or None with the platform's own folders.
    """

    config_folder: Path
    data: Path
    state: Path
    run: Path
    home: Path | None = None

    @classmethod
    def find(cls, env: Mapping[str, str]) -> Paths:
        """The places for an environment: below `RELAYBAY_HOME`, else the platform's (XDG variables honoured)."""
        given = env.get("RELAYBAY_HOME", "")
        if given:
            # Absolute at once: the server leaves the folder it was started in.
            home = Path(given).expanduser().absolute()
            return cls(home, home / "data", home / "state", home / "run", home)
        from platformdirs import PlatformDirs  # noqa: PLC0415 - only without RELAYBAY_HOME (PERF-10).

        dirs = PlatformDirs(APP, appauthor=False)
        state = dirs.user_state_path
        # Not the platform's runtime folder: a logout empties that, and setup has written the keys into the
        # client's own files.
        return cls(dirs.user_config_path, dirs.user_data_path, state, state / "run")

    @property
    def config_file(self) -> Path:
        """The user's configuration."""
        return self.config_folder / "config.toml"

    @property
    def automations(self) -> Path:
        """The owner's rules that answer messages."""
        return self.config_folder / "automations.toml"

    @property
    def database(self) -> Path:
        """The one SQLite file."""
        return self.data / "relaybay.db"

    @property
    def lock(self) -> Path:
        """Held by the server that has the data folder."""
        return self.data / "lock"

    @property
    def hook_script(self) -> Path:
        """The copy of the command hook that clients' settings name."""
        return self.data / "bin" / "hook.py"

    @property
    def server_log(self) -> Path:
        """What a detached server says."""
        return self.state / "server.log"

    @property
    def backups(self) -> Path:
        """Where `relaybay backup` puts its files."""
        return self.state / "backups"

    @property
    def spool(self) -> Path:
        """Hook events that wait for the server."""
        return self.state / "spool"

    @property
    def socket(self) -> Path:
        """The Unix socket: the door of the command line and of command hooks."""
        return self.run / "relaybay.sock"

    @property
    def token(self) -> Path:
        """The bearer token that agents hold."""
        return self.run / "token"

    @property
    def owner_key(self) -> Path:
        """The owner's key: opens `/api/v1` over the socket."""
        return self.run / "owner.key"

    @property
    def server_json(self) -> Path:
        """What the running server says of itself: `pid`, `port`, `url`, `version`."""
        return self.run / "server.json"

    def make(self) -> None:
        """Makes the folders that are missing, for this user alone. Raises OSError."""
        for folder in (self.config_folder, self.data, self.state, self.run):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
