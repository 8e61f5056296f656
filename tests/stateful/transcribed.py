"""What clients write into their transcripts of a text they were handed, and the server's looks into them (table CTX)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from relaybay.service import context_proof
from relaybay.specs import limit
from tests.stateful.cards import Cards
from tests.stateful.promises import Given, Step
from tests.stateful.scenery import FOREIGN, HOOKS
from tests.unit.transcript_rig import Transcript

TakesUp = Literal["shows", "shows it at once", "drops", "cuts"]
SETTLE_SECONDS = limit("context_settle_seconds") + 0.5


class Transcribed(Cards):
    """The part of the world that has transcripts: one file for each hook id that speaks Claude Code's language."""

    machinery: Any
    given: list[Given]

    def begin_transcripts(self) -> None:
        self.scripts: dict[int, Transcript] = {}
        self.interrupted: set[str] = set()

    @property
    def client_folder(self) -> Path:
        return self.machinery.folder / "claude"  # type: ignore[no-any-return]

    def script(self, h: int) -> Transcript:
        """The transcript of a client session; made when it is asked for first."""
        if h not in self.scripts:
            self.scripts[h] = Transcript(self.client_folder, HOOKS[h])
        return self.scripts[h]

    def transcript_path(self, h: int) -> str:
        return "" if HOOKS[h] == FOREIGN else str(self.script(h).path)

    def take_up(self, which: int = -1, how: TakesUp = "shows") -> None:
        """A client does something with an answer that it was given; whether its model sees it, only its transcript tells.
        An answer that was taken up did reach its client: it is not written in vain any more.
        """
        mine = [one for one in self.given if one.done.hook_id != FOREIGN]
        if not mine:
            return
        given = mine[which % len(mine)]
        self.given.remove(given)
        done, script = given.done, self.script(HOOKS.index(given.done.hook_id))
        if how == "drops":
            script.hook_ran(done.text)
        elif how == "cuts":
            script.shown(f"<persisted-output> {done.text[:2_000]}")
        else:
            self.promises.transcribed |= {(done.hook_id, self.public_id(item)) for item in done.items}
            if done.at != "wake":
                script.shown(done.text)
            elif how == "shows":
                script.woken(done.text)
            else:
                script.queued(done.text)

    def public_id(self, item: tuple[str, int]) -> str:
        if item[0] == "comment":
            return str(self.seen.owner_comments[item[1]]["cid"])
        return str(self.seen.messages[self.seen.deliveries[item[1]]["message_id"]]["mid"])

    def model_steps(self, h: int, count: int = 2) -> None:
        """The model speaks so many times: by then a text that it was shown stands before."""
        if HOOKS[h] != FOREIGN:
            for _ in range(count):
                self.script(h).step()

    def look_into_transcripts(self, seconds: float = 0.5) -> int:
        """The timer's round: marks what is there, offers again what is not (CTX-1, 2)."""
        self.tick(seconds)
        settled = context_proof.look(self.relay)
        self.hold(Step(looked=True))
        return settled

    def look_long(self) -> int:
        """Until what is missing counts as dropped, however it was written."""
        return self.look_into_transcripts() + self.look_into_transcripts(SETTLE_SECONDS)

    def miss(self, h: int) -> None:
        """What the session was handed last never reaches its model, and the server finds that out (CTX-2)."""
        self.take_up(how="drops")
        self.model_steps(h)
        self.look_long()

    def interrupt(self, h: int) -> int:
        """The user breaks a running turn off; no hook tells (CTX-5). How many turns the server took for broken off."""
        row = self.seen.holder(HOOKS[h])
        working = self._working()
        if HOOKS[h] == FOREIGN or row is None or row["id"] not in working:
            return 0
        self.tick()
        self.script(h).interrupted(self.now)
        self.interrupted.add(HOOKS[h])
        live = self.relay.presence.by_row(row["id"])
        # A clock that was set back since the last event makes the entry an old one: then no claim is made.
        newer = live is not None and self.now > max(live.prompted_us, live.last_event_us)
        self.tick(1)
        waits = newer and self.relay.mailbox.of(row["id"]).anything
        found = context_proof.look_for_interruptions(self.relay)
        self.hold(Step())
        ended = working - self._working()
        assert found == len(ended), "CTX-5: another count than of sessions that became idle"
        assert not waits or row["id"] in ended, "CTX-5: the turn was broken off and the session works on"
        for key in ended:
            after = self.seen.sessions[key]
            assert after["activity"] == "idle"
            assert after["hook_id"] in self.interrupted, "CTX-5: nobody broke this turn off"
        return found

    def _working(self) -> set[int]:
        """Rows that work, over an exact link, as memory knows them."""
        return {live.row.id for live in self.relay.presence.working()}
