"""Messages on a real relay: calls of sessions, what they came to, and that nobody is shown a hook id on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relaybay.answers import word, word_refusal
from relaybay.domain import Caller, Outcome
from relaybay.service import message_lists, messages
from relaybay.service.linking import identify
from relaybay.service.waits import WaitEntry
from relaybay.store import messages as stored
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from tests.unit.card_rig import OWNER, CardRig
from tests.unit.linking_rig import SECOND

__all__ = ["OWNER", "SECOND", "MailRig"]


class MailRig(CardRig):
    """`bob` is a live session that one can write to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.bob = self.live("bob")

    # -- calls -----------------------------------------------------------------------------------------------

    def sending(self, caller: Caller, body: str = "Please look.", **said: str):
        said = said or {"to": "bob"}
        return lambda tx: messages.send(tx, self.relay, caller, body=body, **said)

    def send(self, caller: Caller, body: str = "Please look.", **said: str) -> dict[str, Any]:
        """A send that has to be taken: its receipt, with the codes of its warnings."""
        return self.told(self.sending(caller, body, **said))

    def no_send(self, caller: Caller, body: str = "Please look.", **said: str) -> tuple[str, str]:
        """A send that has to be refused and to change nothing: code and spec id."""
        return self.no(self.sending(caller, body, **said))

    def why(self, caller: Caller, body: str = "Please look.", **said: str) -> str:
        """The words of a refused send."""
        outcome = self.store.write(self.sending(caller, body, **said))
        assert outcome.refusal is not None, outcome.data
        return self.hushed(word_refusal(outcome.refusal).text)

    def read_marks(self, caller: Caller, message_id: str = "") -> dict[str, Any]:
        self.now += SECOND
        return self.told(lambda tx: messages.acknowledge(tx, self.relay, caller, message_id=message_id))

    def no_marks(self, caller: Caller, message_id: str = "") -> tuple[str, str]:
        return self.no(lambda tx: messages.acknowledge(tx, self.relay, caller, message_id=message_id))

    def listed(self, caller: Caller, **said: Any) -> dict[str, Any]:
        return self.told(lambda tx: message_lists.list_messages(tx, self.relay, caller, **said))

    def no_list(self, caller: Caller, **said: Any) -> tuple[str, str]:
        return self.no(lambda tx: message_lists.list_messages(tx, self.relay, caller, **said))

    def told(self, work) -> dict[str, Any]:
        """A call that has to be carried out: its data, and under `warned` the codes of its warnings."""
        outcome: Outcome = self.store.write(work)
        assert outcome.refusal is None, outcome.refusal
        warned = [word(answer, **values) for answer, values in outcome.warnings]
        self.hushed(json.dumps([outcome.data, [one.text for one in warned]]))
        return {**json.loads(json.dumps(outcome.data)), "warned": [one.code for one in warned]}

    def no(self, work) -> tuple[str, str]:
        outcome: Outcome | None = None

        def kept(tx) -> Outcome:
            nonlocal outcome
            outcome = work(tx)
            return outcome

        said = super().no(kept)
        assert outcome is not None and outcome.refusal is not None
        self.hushed(word_refusal(outcome.refusal).text)
        return said

    def hushed(self, text: str) -> str:
        """The text, in which no hook id that the board knows may stand (INV-3)."""
        ids = self.store.read(
            lambda tx: tx.rows(
                "SELECT hook_id FROM session WHERE hook_id IS NOT NULL UNION SELECT hook_id FROM hook_fate"
            )
        )
        for (hook_id,) in ids:
            assert hook_id.lower() not in text.lower(), f"{hook_id} is shown: {text}"
        return text

    # -- what there is ---------------------------------------------------------------------------------------

    def stored(self, message_id: str) -> Mail:
        found = self.store.read(lambda tx: stored.get(tx, message_id))
        assert found is not None
        return found

    def marks(self, message_id: str) -> tuple[str, str]:
        """State and how it was read."""
        mail = self.stored(message_id)
        return mail.state, mail.read_how

    def state(self, mail: Mail) -> str:
        return self.mail_now(mail).state

    def sends(self) -> int:
        return self.store.read(self.count)

    def waits(self, row: SessionRow) -> None:
        """The session's wake-up hook polls."""
        wait = WaitEntry(f"w-{row.id}", row.id, row.hook_id or "", self.now)
        self.relay.waits.open(wait, link_exact_live=True)
        self.relay.waits.begin_poll(wait, lambda: None)

    def claim(self, session: str = "", hook: str = "", title: str = "") -> Caller:
        """A call whose caller says all by itself."""
        return Caller(session, title, hook)

    def vouched(self, hook: str, session: str = "") -> Caller:
        """A call whose hook id the client vouches for."""
        return Caller(session, "", "", self.witness(hook))

    def identity(self, caller: Caller, call: str = "send"):
        return self.store.read(lambda tx: identify(tx, self.relay, caller, call, tx.now, "message_send", "d"))
