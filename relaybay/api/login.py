"""One-time login codes and browser logins, in memory: a restart logs every browser out.

Holds and counts; whether a request may pass is decided in `gate.py` alone. Only digests are kept, so nothing here
can leak a code or a cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable

CODE_BYTES = 32
CODE_LIFE_US = 10 * 60 * 1_000_000
CODES_MAX = 32
LOGIN_LIFE_US = 30 * 24 * 3600 * 1_000_000
LOGINS_MAX = 64


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).digest()


class Logins:
    """The open login codes and the logins made from them.

    Both are bounded; the oldest gives way. `now_us` gives microseconds since the epoch.
    """

    def __init__(self, now_us: Callable[[], int], cookie_secret: bytes) -> None:
        self._now_us = now_us
        self._secret = cookie_secret
        self._codes: dict[bytes, int] = {}
        self._logins: dict[bytes, int] = {}

    def mint_code(self) -> str:
        """A new code of 256 bits, good once and for ten minutes."""
        code = secrets.token_urlsafe(CODE_BYTES)
        _keep(self._codes, _digest(code), self._now_us(), CODES_MAX)
        return code

    def redeem(self, code: str) -> str | None:
        """The cookie value for a code that was never used and is not too old, else None."""
        minted = self._codes.pop(_digest(code), None)
        if minted is None or not self._fresh(minted, CODE_LIFE_US):
            return None
        cookie = secrets.token_urlsafe(CODE_BYTES)
        _keep(self._logins, _digest(cookie), self._now_us(), LOGINS_MAX)
        return cookie

    def knows(self, cookie: str) -> bool:
        """Whether the cookie stands for a login that is still good."""
        key = _digest(cookie)
        begun = self._logins.get(key)
        if begun is None:
            return False
        if not self._fresh(begun, LOGIN_LIFE_US):
            del self._logins[key]
            return False
        return True

    def end(self, cookie: str) -> None:
        """Forgets a login; unknown ones are ignored."""
        self._logins.pop(_digest(cookie), None)

    def csrf_token(self, cookie: str) -> str:
        """The token that forms of this login carry: bound to its cookie, useless with any other."""
        message = b"csrf\0" + cookie.encode("utf-8", "surrogateescape")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()

    def _fresh(self, since_us: int, life_us: int) -> bool:
        # A clock set back must not make a code good for longer than its life (FLT-5).
        return abs(self._now_us() - since_us) <= life_us


def _keep(held: dict[bytes, int], key: bytes, at_us: int, count_max: int) -> None:
    while len(held) >= count_max:
        del held[next(iter(held))]
    held[key] = at_us
