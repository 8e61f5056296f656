"""Why something has not reached a session, in the owner's words: what brings it, and what the owner can do.

The server's own sentences speak to agents, who have tools; who types a command has a terminal.
"""

from __future__ import annotations

from relaybay.specs import answers

_REACH = "cli.reach_"
_MARK = "mark."


def sentence(reason_code: str, session: str) -> str:
    """The sentence for a reason code of page 75; empty for a code without one. `session` is put in as it is."""
    from relaybay.answers import word

    for answer_id in (_REACH + reason_code, _MARK + reason_code):
        if answer_id in answers():
            return word(answer_id, **({"session": session} if answer_id.startswith(_REACH) else {})).text
    return ""


def kept_out(state: str, reason_code: str) -> str:
    """Why a message is held or closed, where that sentence needs nothing that only the server knows; else empty."""
    spec = answers().get(f"{'held' if state == 'held' else 'closed'}.{reason_code}")
    return spec.text if spec is not None and "{" not in spec.text else ""
