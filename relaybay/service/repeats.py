"""The same call again, over the same tool-use id, gets the answer of the first (PROOF-6), refused ones too."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from relaybay.domain import Caller, Outcome, Refusal
from relaybay.store import tool_uses
from relaybay.store.transaction import Tx

if TYPE_CHECKING:
    from relaybay.service.identity import Identity


def digest(**arguments: Any) -> str:
    """What stands for a call's arguments: equal for equal arguments."""
    return sha256(json.dumps(arguments, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def mark(caller: Caller, /, **arguments: Any) -> str:
    """The same for everything a call says, who speaks included: another name makes it another call (PROOF)."""
    said = [caller.session, caller.session_title, caller.hook_session]
    return digest(said=said, arguments=arguments)


def form(outcome: Outcome) -> str:
    """An answer as it is kept."""
    return json.dumps(asdict(outcome), ensure_ascii=True)


def read(kept: str) -> Outcome:
    """An answer that was kept."""
    found = json.loads(kept)
    refusal = found.get("refusal")
    return Outcome(
        data=found["data"],
        refusal=Refusal(**refusal) if refusal else None,
        warnings=tuple((str(answer), dict(values)) for answer, values in found.get("warnings", ())),
    )


def keep(tx: Tx, identity: Identity, outcome: Outcome) -> Outcome:
    """Keeps the answer with the call's tool-use id, so that a repeat finds it; the first one stays. Gives the outcome
    back.
    """
    if identity.witnessed:
        text = form(outcome)
        if outcome.ok:
            tool_uses.keep_answer(tx, identity.tool_use_id, text)
        else:
            tx.trace(lambda later: tool_uses.keep_answer(later, identity.tool_use_id, text))
    return outcome


def first(identity: Identity) -> Outcome | None:
    """What the first call was answered, if this one is its repeat."""
    return read(identity.first_answer) if identity.repeat and identity.first_answer else None
