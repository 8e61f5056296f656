"""The same call again, over the same tool-use id, gets the answer of the first (PROOF-6), refused ones too."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from relaybay.domain import Outcome, Refusal
from relaybay.service.identity import Identity
from relaybay.store import sessions
from relaybay.store.transaction import Tx


def digest(**arguments: Any) -> str:
    """What stands for a call's arguments: equal for equal arguments."""
    return sha256(json.dumps(arguments, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def keep(tx: Tx, identity: Identity, outcome: Outcome) -> Outcome:
    """Keeps the answer with the call's tool-use id, so that a repeat finds it. Gives the outcome back."""
    if identity.witnessed and identity.tool_use_id and not identity.repeat:
        text = json.dumps(asdict(outcome), ensure_ascii=False)
        if outcome.ok:
            sessions.answer_tool(tx, identity.tool_use_id, text)
        else:
            tx.trace(lambda later: sessions.answer_tool(later, identity.tool_use_id, text))
    return outcome


def first(identity: Identity) -> Outcome | None:
    """What the first call was answered, if this one is its repeat."""
    if not identity.repeat or not identity.first_answer:
        return None
    kept = json.loads(identity.first_answer)
    refusal = kept["refusal"]
    return Outcome(
        data=kept["data"],
        refusal=Refusal(**refusal) if refusal else None,
        warnings=tuple((str(a), dict(v)) for a, v in kept["warnings"]),
    )
