"""One-time login codes and browser logins. Logins outlive the server (`login_file.py`), codes do not.

Holds and counts; whether a request may pass is decided in `gate.py` alone. Only digests are kept, so nothing here
can leak a code or a cookie.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable

from relaybay.api.login_file import LoginFile

CODE_BYTES = 32
CODE_LIFE_US = 10 * 60 * 1_000_000
CODES_MAX = 32
LOGIN_LIFE_US = 30 * 24 * 3600 * 1_000_000
LOGINS_MAX = 64


def _digest(value: str) -> bytes:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).digest()


class Logins:
    """The open login codes and the logins made from them.

    Both are bounded; the oldest gives way. `now_us` gives microseconds since the epoch; `file` keeps the logins over
    a restart.
    """

    def __init__(self, now_us: Callable[[], int], file: LoginFile | None = None) -> None:
        self._now_us = now_us
        self._file = file
        self._codes: dict[bytes, int] = {}
        self._logins: dict[bytes, int] = file.read() if file is not None else {}

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
        self._save()
        return cookie

    def knows(self, cookie: str) -> bool:
        """Whether the cookie stands for a login that is still good."""
        key = _digest(cookie)
        begun = self._logins.get(key)
        if begun is None:
            return False
        if not self._fresh(begun, LOGIN_LIFE_US):
            del self._logins[key]
            self._save()
            return False
        return True

    def end(self, cookie: str) -> None:
        """Forgets a login; unknown ones are ignored."""
        if self._logins.pop(_digest(cookie), None) is not None:
            self._save()

    def csrf_token(self, cookie: str) -> str:
        """The token that forms of this login carry: bound to its cookie, useless with any other.

        The cookie is the key, so that a form which stands open over a restart can still be sent.
        """
        return hmac.new(cookie.encode("utf-8", "surrogateescape"), b"relaybay csrf", hashlib.sha256).hexdigest()

    def _save(self) -> None:
        if self._file is not None:
            self._file.write(self._logins)

    def _fresh(self, since_us: int, life_us: int) -> bool:
        # A clock set back must not make a code good for longer than its life (FLT-5).
        return abs(self._now_us() - since_us) <= life_us


def _keep(held: dict[bytes, int], key: bytes, at_us: int, count_max: int) -> None:
    while len(held) >= count_max:
        del held[next(iter(held))]
    held[key] = at_us
