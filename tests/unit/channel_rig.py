"""Sessions, scripts and the owner on a relay with channels on: what hooks carry, what is held, what the owner decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from relaybay.domain import Caller, Outcome
from relaybay.service import (
    controls,
    history,
    message_lists,
    messages,
    publishing,
    reviews,
    scripts,
    session_controls,
    starts,
    sweep,
)
from relaybay.service.hooks import HookAnswer
from relaybay.service.relay import open_relay
from relaybay.settings import Messaging
from relaybay.store import messages as stored
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from tests.unit.hook_events_rig import HookRig
from tests.unit.linking_rig import SECOND

ON = Messaging(channels=True)


class ChannelRig(HookRig):
    """`h1`, `h2` … are sessions of one folder that ask for permission, so one cohort, unless told otherwise."""

    def __init__(self, folder: Path, messaging: Messaging = ON) -> None:
        super().__init__(folder)
        self.messaging = messaging
        self.reopen()

    def reopen(self) -> None:
        self.relay.close()
        self._open()

    def kill(self) -> None:
        self.relay.store.close()
        self._open()

    def _open(self) -> None:
        path, transcripts = self.folder / "relaybay.db", self.transcripts
        messaging = getattr(self, "messaging", ON)
        self.relay = open_relay(path, lambda: self.now, transcripts, messaging)
        self.store = self.relay.store
        self._count_units()

    def start_again(self, **messaging: Any) -> None:
        """The server ends and starts again with other keys of `[messaging]`; it looks at all controls first."""
        self.messaging = replace(self.messaging, **messaging)
        self.reopen()
        self.look_at_controls()

    def look_at_controls(self) -> None:
        """What the timer does, and the start: rows that have something waiting are looked at."""
        self.store.write(lambda tx: controls.look_at_all(tx, self.relay))
        self.store.write(lambda tx: sweep.drop_published(tx, self.relay))
        self.check()

    # -- sessions ----------------------------------------------------------------------------------------------

    def project(self, text: str = "", name: str = "shop") -> str:
        """A real folder with this `.relaybay.toml`; without a text it has none. What `cwd` has to be."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        file = folder / ".relaybay.toml"
        if text:
            file.write_text(text)
        else:
            file.unlink(missing_ok=True)
        return str(folder)

    def session(self, hook: str = "h1", *, mode: str = "default", **more: Any) -> SessionRow:
        """A session that is exactly linked and has told its permission mode."""
        self.linked(hook, permission_mode=mode, **more)
        self.prompt(hook, permission_mode=mode, **more)
        self.stop(hook, permission_mode=mode, **more)
        return self.holder(hook)

    def caller(self, hook: str) -> Caller:
        return Caller("", "", "", self.witness(hook))

    def panel(self, row: SessionRow) -> dict[str, Any]:
        return self.do(lambda tx: session_controls.panel(tx, self.relay, session=row.ref))

    def policy(self, row: SessionRow, wanted: str, **more: Any) -> dict[str, Any]:
        self.now += SECOND
        more.setdefault("confirmed", True)
        return self.do(lambda tx: session_controls.set_policy(tx, self.relay, session=row.ref, wanted=wanted, **more))

    def subscribe(self, row: SessionRow, *patterns: str) -> dict[str, Any]:
        self.now += SECOND
        return self.do(lambda tx: session_controls.subscribe(tx, self.relay, session=row.ref, add=patterns))

    def broadcasts(self, row: SessionRow, *, on: bool = True) -> dict[str, Any]:
        return self.do(lambda tx: session_controls.set_broadcasts(tx, self.relay, session=row.ref, on=on))

    def name(self, row: SessionRow, name: str) -> dict[str, Any]:
        return self.do(lambda tx: session_controls.choose_name(tx, self.relay, session=row.ref, name=name))

    def reserve(self, **options: Any) -> str:
        """The ticket of `relaybay run`."""
        return self.do(lambda tx: starts.reserve(tx, self.relay, **options))["ticket"]

    # -- messages ----------------------------------------------------------------------------------------------

    def say(
        self, hook: str, to: SessionRow | str, body: str = "Please look.", *, after: float = 7, **more: Any
    ) -> dict[str, Any]:
        """A verified direct message, so many seconds later: its receipt."""
        self.now += round(after * SECOND)
        ref = to if isinstance(to, str) else to.ref
        return self.do(lambda tx: messages.send(tx, self.relay, self.caller(hook), body=body, to=ref, **more))

    def say_on(self, task: str, body: str = "Do it.") -> str:
        """The owner's comment on a task: its id."""
        return super().say(task, body)["id"]

    def publish(
        self, hook: str, topic: str | None = None, body: str = "It failed.", *, after: float = 7, **more: Any
    ) -> dict[str, Any]:
        self.now += round(after * SECOND)
        return self.do(lambda tx: publishing.publish(tx, self.relay, self.caller(hook), body=body, topic=topic, **more))

    def script(
        self, to: str, body: str = "Build failed.", label: str = "ci", *, after: float = 1, **more: Any
    ) -> dict[str, Any]:
        self.now += round(after * SECOND)
        return self.do(lambda tx: scripts.send(tx, self.relay, label=label, to=to, body=body, **more))

    def script_publish(
        self, topic: str | None, body: str = "Build failed.", label: str = "ci", *, after: float = 1, **more: Any
    ) -> dict[str, Any]:
        self.now += round(after * SECOND)
        return self.do(
            lambda tx: publishing.publish_as_script(tx, self.relay, label=label, topic=topic, body=body, **more)
        )

    def at(self, mid: str, row: SessionRow) -> Mail:
        """The delivery of a message at a row."""
        found = self.store.read(lambda tx: stored.get(tx, mid, (row.id,)))
        assert found is not None and found.recipient_id == row.id
        return found

    def state_at(self, mid: str, row: SessionRow) -> tuple[str, str]:
        """State and reason code of that delivery."""
        mail = self.at(mid, row)
        return mail.state, mail.reason_code

    def carried(self, hook: str, at: str = "prompt", **more: Any) -> str:
        """What the session's next event brings it. A prompt's turn is stopped again, if nothing keeps it going."""
        more.setdefault("permission_mode", "default")
        said = self.text({"prompt": self.prompt, "tool": self.tool, "stop": self.stop}[at](hook, **more))
        if at == "prompt":
            self.stop(hook, **more)
        return said

    def inbox(self, hook: str | Caller, **more: Any) -> list[dict[str, Any]]:
        """`messages_list` as the session's client calls it."""
        caller = self.caller(hook) if isinstance(hook, str) else hook
        return self.do(lambda tx: message_lists.list_messages(tx, self.relay, caller, **more))["messages"]

    def read(self, hook: str, **more: Any) -> dict[str, Any]:
        return self.do(lambda tx: history.topic_read(tx, self.relay, self.caller(hook), **more))

    # -- the owner's reviews -----------------------------------------------------------------------------------

    def review(self, mid: str, row: SessionRow | None = None) -> dict[str, Any]:
        session = row.ref if row else ""
        return self.do(lambda tx: reviews.open_review(tx, self.relay, message_id=mid, session=session))

    def decide(self, event: str, mid: str, token: str, row: SessionRow | None = None) -> Outcome:
        session = row.ref if row else ""
        decision = reviews.approve if event == "approve" else reviews.reject
        return self.store.write(lambda tx: decision(tx, self.relay, message_id=mid, token=token, session=session))

    def approve(self, mid: str, row: SessionRow | None = None) -> dict[str, Any]:
        token = self.review(mid, row)["token"]
        outcome = self.decide("approve", mid, token, row)
        assert outcome.refusal is None, outcome.refusal
        return outcome.data

    # -- promises ----------------------------------------------------------------------------------------------

    def text(self, said: HookAnswer) -> str:
        return said.done.text if said.done else ""

    def check(self) -> None:
        """The index equals a count over the store: what only rides along is counted apart."""
        if not self.relay.messaging.channels:
            return  # Nothing published counts then: the base's own rigs look at the index without channels.
        counts = self.store.read(
            lambda tx: tx.rows(
                "SELECT s.id,"
                " (SELECT count(*) FROM delivery d WHERE d.recipient_id = s.id AND d.state = 'sent' AND d.passive = 0),"
                " (SELECT count(*) FROM delivery d WHERE d.recipient_id = s.id AND d.state = 'sent' AND d.passive = 1),"
                " (SELECT count(*) FROM delivery d WHERE d.recipient_id = s.id AND d.state = 'delivered' AND d.passive = 0)"
                " FROM session s"
            )
        )
        for key, *wanted in counts:
            found = self.relay.mailbox.of(key)
            known = [found.messages_sent, found.passive, found.messages_delivered]
            assert known == wanted, f"S-{key}: the mailbox says {known}, the store {wanted} (INV-10)"
