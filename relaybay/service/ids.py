"""The only place that makes ids: ULIDs with a prefix, sortable by time, of 80 random bits."""

from __future__ import annotations

import secrets

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BITS = 5
_LENGTH = 26


def ulid(now_us: int) -> str:
    """A ULID: 48 bits of milliseconds, 80 random bits, in Crockford's base 32."""
    number = ((now_us // 1_000) & (2**48 - 1)) << 80 | secrets.randbits(80)
    return "".join(_ALPHABET[number >> _BITS * i & 31] for i in reversed(range(_LENGTH)))


def message_id(now_us: int) -> str:
    """A message's public id, `m_` + ULID (page 75)."""
    return f"m_{ulid(now_us)}"


def comment_id(now_us: int) -> str:
    """A comment's public id, `c_` + ULID."""
    return f"c_{ulid(now_us)}"


def handover_id(now_us: int) -> str:
    """The id of one hand-over: what an answer that could not be written takes back (PACK-7)."""
    return ulid(now_us)
