"""Why a message is held, or closed, in words, and what would change it (page 50; reason codes of page 75)."""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.rules import rates
from relaybay.rules.text import literal
from relaybay.service import floors
from relaybay.specs import limit
from relaybay.store import admissions, sessions
from relaybay.store.admissions import Author
from relaybay.store.messages import Mail
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_COUNTED = ("recipient", "sender")


def why(tx: Tx, mail: Mail) -> str:
    """The sentence of a delivery's reason code, as it is now."""
    return of(tx, mail, "held" if mail.state == "held" else "closed")


def of(tx: Tx, mail: Mail, kind: str) -> str:
    """The same for one of the two kinds, `held` or `closed`."""
    row = sessions.get(tx, mail.recipient_id)
    place = floors.of(row.cwd).place if row is not None and mail.reason_code == "project_file" else ""
    seconds = _seconds(tx, mail) if mail.reason_code in _COUNTED else 0
    values: dict[str, Any] = {"place": literal(place), "seconds": seconds, "automation": mail.taken_by}
    return word(f"{kind}.{mail.reason_code}", **values).text


def _seconds(tx: Tx, mail: Mail) -> int:
    """In how many seconds the oldest message of the full window leaves it; at most a window."""
    window = limit("rate_window_seconds")
    if mail.recipient_id is None:
        return window
    author = None
    if mail.reason_code == "sender":
        author = Author(label=mail.sender_title) if mail.by_script else Author(mail.sender_id)
    times = admissions.admitted(tx, mail.recipient_id, tx.now - window * _SECOND, author)
    return rates.seconds_until_allowed(times, tx.now, max(len(times), 1), window)
