"""Rows on the board: sessions, their names, the hook ids they hold and what became of others."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from relaybay.domain import ClientProcess
from relaybay.store import seals
from relaybay.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One row of table `session`, column by column; 0, '' or None where nothing is known. Times in µs."""

    id: int
    title: str
    title_key: str
    kind: str
    client: str
    client_version: str
    cwd: str
    project_id: int | None
    activity: str
    link_state: str
    hook_id: str | None
    moved_to: int | None
    link_named: int
    title_given: int
    unlinked: int
    desktop_id: str | None
    name: str | None
    hook_since_us: int
    first_seen_us: int
    last_seen_us: int
    last_event_us: int
    ended_us: int
    ended_reason: str
    turn_state: str
    turn_prompt_id: str
    turn_serial: int
    permission_mode: str
    transcript_path: str
    process_pid: int
    process_started: str
    process_ns: str
    process_host: str
    process_entry: str
    asks: str
    asks_since_us: int
    name_chosen: str
    inbound: str
    broadcasts: int
    suppressed: int
    epoch: int
    controls: str

    @property
    def ref(self) -> str:
        """The public reference, `S-12`."""
        return f"S-{self.id}"

    @property
    def linked_itself(self) -> bool:
        """Whether the row has, or had, an exact link that was seen (page 10, Link machine)."""
        return self.link_state in ("exact", "ended_exact", "moved")

    @property
    def occupied(self) -> bool:
        """Whether a live link that is exact, or that the row's own events made, holds the row."""
        return self.link_state == "exact" or (self.link_state == "guessed" and self.kind == "hook")

    @property
    def unnamed(self) -> bool:
        """A hook row whose live, exact link only calls without a name made, under its first title still."""
        return self.kind == "hook" and self.link_state == "exact" and not self.link_named and not self.title_given

    @property
    def process(self) -> ClientProcess:
        """The client's process, as the command client told it."""
        return ClientProcess(
            self.process_pid,
            self.process_started,
            self.process_ns,
            self.process_host,
            self.process_entry,
            self.client_version,
        )


_COLUMNS = ", ".join(f.name for f in fields(SessionRow))
_SELECT = f"SELECT {_COLUMNS} FROM session"  # noqa: S608 - the names are the dataclass's own.
_MAY_END = (
    "(link_state IN ('exact','guessed') OR link_state IN ('exact_unseen','guessed_unseen') AND activity <> 'ended')"
)


def get(tx: Tx, key: int | None) -> SessionRow | None:
    """The row with this numeric key."""
    found = None if key is None else tx.row(f"{_SELECT} WHERE id = ?", key)
    return None if found is None else SessionRow(*found)


def need(tx: Tx, key: int) -> SessionRow:
    """As `get`, where the row must exist."""
    row = get(tx, key)
    assert row is not None, f"no session {key}"
    return row


def every(tx: Tx) -> list[SessionRow]:
    """All rows, newest first."""
    return [SessionRow(*r) for r in tx.rows(f"{_SELECT} ORDER BY id DESC")]


def by_hook(tx: Tx, hook_id: str) -> SessionRow | None:
    """The row that holds this hook id, live, unseen or ended."""
    found = tx.row(f"{_SELECT} WHERE hook_id = ?", hook_id)
    return None if found is None else SessionRow(*found)


def by_ref(tx: Tx, text: str) -> SessionRow | None:
    """The row with this public reference (`S-12`, any case)."""
    number = text[2:] if text[:2].upper() == "S-" else ""
    return get(tx, int(number)) if number.isascii() and number.isdigit() and len(number) < 18 else None  # noqa: PLR2004


def by_name(tx: Tx, key: str) -> list[SessionRow]:
    """Rows that a name's key fits: title, alias, desktop id, ref, and `@name` of live rows (page 10, Names)."""
    found = {
        r[0]
        for r in tx.rows(
            "SELECT id FROM session WHERE title_key = ? UNION SELECT session_id FROM alias WHERE text_key = ?"
            " UNION SELECT id FROM session WHERE lower(desktop_id) = ?",
            key,
            key,
            key,
        )
    }
    if key.startswith("@"):
        found |= {
            r[0]
            for r in tx.rows("SELECT id FROM session WHERE name = ? AND link_state IN ('exact','guessed')", key[1:])
        }
    referred = by_ref(tx, key)
    if referred is not None:
        found.add(referred.id)
    return [need(tx, i) for i in sorted(found)]


_ASKING = "asks <> '' AND link_state = 'exact' AND activity <> 'ended'"


def asking(tx: Tx) -> list[SessionRow]:
    """Rows that ask the owner for something over a link that still stands, those that asked first first."""
    return [SessionRow(*r) for r in tx.rows(f"{_SELECT} WHERE {_ASKING} ORDER BY asks_since_us, id")]


def asking_count(tx: Tx) -> int:
    """How many rows `asking` would give."""
    return int(tx.value(f"SELECT count(*) FROM session WHERE {_ASKING}"))  # noqa: S608 - own words.


def title_taken(tx: Tx, key: str) -> bool:
    """Whether any row has this title or alias."""
    return bool(
        tx.value("SELECT 1 FROM session WHERE title_key = ? UNION SELECT 1 FROM alias WHERE text_key = ?", key, key)
    )


def folder_candidates(tx: Tx, cwd: str) -> list[SessionRow]:
    """Rows that ROW-1 could guess: no hook row, not unlinked, not ended, no link, the same folder."""
    rows = tx.rows(
        f"{_SELECT} WHERE cwd = ? AND cwd <> '' AND kind <> 'hook' AND unlinked = 0 AND activity <> 'ended'"
        " AND link_state = 'none'",
        cwd,
    )
    return [SessionRow(*r) for r in rows]


def live_others(tx: Tx, but: int | None, most: int) -> list[SessionRow]:
    """Live sessions one can write to, most recently seen first."""
    rows = tx.rows(
        f"{_SELECT} WHERE link_state IN ('exact','guessed') AND activity <> 'ended' AND id <> ?"
        " ORDER BY (link_state = 'exact') DESC, last_seen_us DESC LIMIT ?",
        but or 0,
        most,
    )
    return [SessionRow(*r) for r in rows]


def titles(tx: Tx, but: int | None, most: int) -> list[tuple[str, bool]]:
    """Titles of rows, and whether the row is live: live ones first, then those seen last; one row left out."""
    rows = tx.rows(
        "SELECT title, link_state IN ('exact','guessed') AS live FROM session WHERE id <> ?"
        " ORDER BY live DESC, last_seen_us DESC, id DESC LIMIT ?",
        but or 0,
        most,
    )
    return [(str(title), bool(live)) for title, live in rows]


def with_process(tx: Tx) -> list[SessionRow]:
    """Rows whose link is live, or unseen and not ended yet, and whose client process is known (HL-9)."""
    return [SessionRow(*r) for r in tx.rows(f"{_SELECT} WHERE process_pid > 0 AND {_MAY_END}")]


def silent_since(tx: Tx, before_us: int) -> list[SessionRow]:
    """Rows with a link that is live, or unseen and not ended yet, no known process, and no event since `before_us`
    (HL-10). An id that a call put on its row may not have had any event: it counts from then on.
    """
    where = f"process_pid = 0 AND {_MAY_END} AND last_event_us < ? AND hook_since_us < ?"
    return [SessionRow(*r) for r in tx.rows(f"{_SELECT} WHERE {where}", before_us, before_us)]


def of_process(tx: Tx, process: ClientProcess) -> list[SessionRow]:
    """Rows that were last seen from this very client process (HL-3)."""
    return [
        SessionRow(*r)
        for r in tx.rows(
            f"{_SELECT} WHERE process_pid = ? AND process_started = ? AND process_ns = ? AND process_host = ?",
            process.pid,
            process.started,
            process.pid_ns,
            process.host,
        )
    ]


def add(tx: Tx, *, title: str, title_key: str, kind: str, **columns: Any) -> SessionRow:
    """A new row. `columns` are further columns of the table; activity and link default to unknown and none."""
    values = {"activity": "unknown", "link_state": "none", "first_seen_us": tx.now, **columns}
    key = tx.insert("session", title=title, title_key=title_key, kind=kind, **values)
    tx.touch(key)
    return need(tx, key)


def change(tx: Tx, key: int, **columns: Any) -> SessionRow:
    """Sets columns and gives the row as it now is."""
    tx.update("session", key, **columns)
    tx.touch(key)
    return need(tx, key)


def remove(tx: Tx, key: int) -> None:
    """Deletes a row. What belonged to it must have been moved or orphaned before (MOVE)."""
    tx.run("DELETE FROM session WHERE id = ?", key)
    tx.touch(key)


def aliases(tx: Tx, key: int) -> list[tuple[int, str, str, str]]:
    """A row's aliases, oldest first: (id, text, key, given_by)."""
    return [
        (r[0], r[1], r[2], r[3])
        for r in tx.rows("SELECT id, text, text_key, given_by FROM alias WHERE session_id = ? ORDER BY id", key)
    ]


def add_alias(tx: Tx, key: int, text: str, text_key: str, given_by: str) -> None:
    """Keeps an alias; a name the row has already is not kept twice."""
    if tx.value("SELECT 1 FROM alias WHERE session_id = ? AND text_key = ?", key, text_key) is None:
        tx.insert("alias", session_id=key, text=text, text_key=text_key, given_by=given_by, created_us=tx.now)
    tx.touch(key)


def drop_alias(tx: Tx, alias_id: int) -> None:
    """Forgets one alias."""
    tx.run("DELETE FROM alias WHERE id = ?", alias_id)


def fate(tx: Tx, hook_id: str) -> str:
    """What became of a hook id that no row holds: `never`, `taken_off` or `replaced` (HL-7)."""
    return str(tx.value("SELECT fate FROM hook_fate WHERE hook_id = ?", hook_id) or "never")


def set_fate(tx: Tx, hook_id: str, fate_: str, *, turn_state: str = "none", turn_prompt_id: str = "") -> None:
    """Remembers that an id was taken off its row, or replaced, and the turn that goes with the id (MOVE-9)."""
    tx.run("DELETE FROM hook_fate WHERE hook_id = ?", hook_id)
    tx.run(
        "INSERT INTO hook_fate (hook_id, fate, turn_state, turn_prompt_id, at_us) VALUES (?, ?, ?, ?, ?)",
        hook_id,
        fate_,
        turn_state,
        turn_prompt_id,
        tx.now,
    )


def turn_of(tx: Tx, hook_id: str) -> dict[str, Any]:
    """The turn of an id that comes to a row, as columns: what it had when it was taken off one, else none (MOVE-9)."""
    found = tx.row("SELECT turn_state, turn_prompt_id FROM hook_fate WHERE hook_id = ?", hook_id)
    return {"turn_state": found[0] if found else "none", "turn_prompt_id": found[1] if found else ""}


def known_hook_id(tx: Tx, text: str) -> bool:
    """Whether a text is a hook id that the board knows: it may then be nobody's name (`name_invalid`)."""
    return bool(
        tx.value(
            "SELECT 1 FROM session WHERE lower(hook_id) = ? UNION SELECT 1 FROM hook_fate WHERE lower(hook_id) = ?",
            text.lower(),
            text.lower(),
        )
    )


def retitle_kept(tx: Tx, old: str, new: str) -> None:
    """Puts another title where mail and comments kept one: a name that must not be shown any more."""
    seals.change(tx, seals.MESSAGE, "sender_title", old, new)
    tx.run("UPDATE delivery SET recipient_title = ? WHERE recipient_title = ?", new, old)
    seals.change(tx, seals.COMMENT, "author_title", old, new)
    tx.run("UPDATE comment SET delivered_title = ? WHERE delivered_title = ?", new, old)
