"""Value types that the pure layers, the service and the surfaces share. No behaviour beyond construction.

What belongs here: frozen values that more than one layer passes on. What does not: anything that reads a
clock, a table or a store.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

StepKind = Literal["move", "repeat", "refuse"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a decision of `rules/` says.

    `spec_id` is the row that applied (`SEND-3`), `outcome` that row's outcome, a word that the table lists,
    and `answer` the id in `specs/answers.toml` when the row speaks to somebody, else the empty string.
    """

    spec_id: str
    outcome: str
    answer: str = ""

    @property
    def refused(self) -> bool:
        """Whether the row refuses the call: every table spells that outcome `refuse`."""
        return self.outcome == "refuse"


@dataclass(frozen=True, slots=True)
class Step:
    """What one event does to one machine: the row's `spec_id`, its kind, the next state, answer and effects.

    `effects` are words of the machine's own table (`mark:delivered_at`, `event:message.delivered`); the service
    carries them out. For a repeat or a refusal `state` is the state as it was.
    """

    spec_id: str
    kind: StepKind
    state: str
    answer: str = ""
    effects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """An expected no: the answer's id, the row that refused, and the values its sentence needs."""

    answer: str
    spec_id: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one use case came to. Exactly one of `refusal` and `data` speaks: a refused use case changed nothing.

    `data` is the structured answer (JSON-ready values), `warnings` a list of (answer id, values) that go with it.
    """

    data: dict[str, Any] = field(default_factory=dict)
    refusal: Refusal | None = None
    warnings: tuple[tuple[str, dict[str, Any]], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the use case was carried out."""
        return self.refusal is None


@dataclass(frozen=True, slots=True)
class Caller:
    """How a call says who speaks: the identity arguments of a tool, as given, and the tool-use id beside them.

    `owner` is true for the board and the command line, which speak as the owner and through no table of SEND.
    """

    session: str = ""
    session_title: str = ""
    hook_session: str = ""
    tool_use_id: str = ""
    owner: bool = False


@dataclass(frozen=True, slots=True)
class ClientProcess:
    """The agent client's process as the command client told it (HL-9): pid, start time in clock ticks since
    boot as text, pid namespace, host, entry point and version. Empty strings where nothing was told.
    """

    pid: int = 0
    started: str = ""
    pid_ns: str = ""
    host: str = ""
    entrypoint: str = ""
    version: str = ""

    @property
    def known(self) -> bool:
        """Whether there is a process to look for at all."""
        return self.pid > 0


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One hook event after translation from the client's own shape (page 20, Endpoints). Holds no prompt and no
    tool text: `prompt_kind` is all that is kept of the prompt (PROMPT-1, 2).

    `start_ticket` is what `relaybay run` gave the client on its way, `wanted_name` its `RELAYBAY_NAME`.

    `at_us` is when it happened (microseconds since the epoch), `event_id` the command client's own id or the
    empty string, `replayed` whether it came out of the spool.
    """

    hook_id: str
    name: str
    at_us: int
    cwd: str = ""
    replayed: bool = False
    event_id: str = ""
    agent_id: str = ""
    source: str = ""
    reason: str = ""
    prompt_id: str = ""
    prompt_kind: Literal["", "local", "machine"] = ""
    permission_mode: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    stop_hook_active: bool = False
    session_title: str = ""
    transcript_path: str = ""
    send_message_to: str = ""
    notification_type: str = ""
    client: str = "claude-code"
    process: ClientProcess = ClientProcess()
    start_ticket: str = ""
    wanted_name: str = ""
