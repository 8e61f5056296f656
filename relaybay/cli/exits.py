"""Exit codes (page 75, Process), and the one exception by which a command ends with a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relaybay.answers import Answer

FAILED = 1
USAGE = 2
BAD_INPUT = 65
NO_SERVER = 69
STORE = 74
LOCKED = 75
REFUSED = 77
CONFIG = 78
INTERRUPTED = 130

_OF_STATUS = {400: BAD_INPUT, 404: BAD_INPUT, 410: BAD_INPUT, 413: BAD_INPUT, 415: BAD_INPUT, 422: BAD_INPUT}
_OF_STATUS |= {401: REFUSED, 403: REFUSED, 409: REFUSED, 423: REFUSED, 429: REFUSED, 507: STORE}


class Failure(Exception):  # noqa: N818 - it is how a command ends, and mostly no error of the program.
    """A command ends without having done what was asked: the words, the stable code, the spec id, the exit code."""

    def __init__(self, code: str, spec_id: str, text: str, exit_code: int) -> None:
        super().__init__(text)
        self.code = code
        self.spec_id = spec_id
        self.text = text
        self.exit_code = exit_code
        self.entries = ""
        """What the words speak of as standing below them: printed there, on the same stream."""

    @classmethod
    def of(cls, answer: Answer, exit_code: int) -> Failure:
        """From a worded answer."""
        return cls(answer.code, answer.spec_id, answer.text, exit_code)


def failure(answer_id: str, exit_code: int, /, **values: Any) -> Failure:
    """A failure worded by the table (`specs/answers/`)."""
    from relaybay.answers import word  # The tables take longer to read than most commands run.

    return Failure.of(word(answer_id, **values), exit_code)


def of_status(status: int) -> int:
    """The exit code for a refusal that the server gave by HTTP."""
    return _OF_STATUS.get(status, FAILED)
