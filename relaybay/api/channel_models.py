"""Inputs and answers of the JSON API of channels that no tool has. Bodies are strict; queries are texts."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field

from relaybay.api.channel_results import Reached
from relaybay.api.models import Arguments, RequestId, whole
from relaybay.api.rest_models import Flag, Query
from relaybay.api.results import Addressee, Answered, Audience
from relaybay.rules.script_text import LABEL_DEFAULT
from relaybay.service.history import PAGE_DEFAULT

_LOG_MAX = 1_000
_LISTED_MAX = 64
LogLines = Annotated[int, Field(ge=1, le=_LOG_MAX), BeforeValidator(whole)]
Listed = Annotated[list[str], Field(max_length=_LISTED_MAX)]


class ScriptMessage(Arguments):
    """A script's message to one session; `from` is the script's label."""

    to: str
    body: str
    label: str = Field(LABEL_DEFAULT, alias="from")
    request_id: RequestId = ""


class ScriptPublication(Arguments):
    """A script's publication: to a topic, or to all that receive broadcasts."""

    body: str
    topic: str | None = None
    broadcast: bool = False
    label: str = Field(LABEL_DEFAULT, alias="from")
    request_id: RequestId = ""


class LogQuery(Query):
    """Which messages of the history, the newest `n` of them; `with` is an `@name` that a party had then. `texts=0`
    leaves out what did not get through.
    """

    topic: str = ""
    broadcast: Flag = False
    party: str = Field("", alias="with")
    n: LogLines = PAGE_DEFAULT
    before: str = ""
    texts: Flag = True


class Outcome(Reached):
    """One recipient of a message of the history, under the name it had then."""

    reason: str = ""
    automation: str = ""


class LogLine(BaseModel):
    """One message of the history. `body` is the text as it was sent; absent where it is withheld."""

    message_id: str
    sent_at: str
    audience: Audience
    sender: dict[str, Any] = Field(alias="from")
    recipients: list[Outcome]
    skipped: int = 0
    in_reply_to: str = ""
    task: str = ""
    withheld: bool = False
    body: str = ""


class Log(Answered):
    """The newest messages, oldest first. `channels`: whether the switch is on."""

    messages: list[LogLine]
    channels: bool
    before: str = ""


class HeldQuery(Query):
    """Whose held messages; without a session those of all."""

    session: str = ""


class Held(BaseModel):
    """One held message, without its text."""

    message_id: str
    recipient: Addressee
    sender: dict[str, Any] = Field(alias="from")
    audience: Audience
    state: str
    reason_code: str = ""
    reason: str
    passive: bool
    sent_at: str
    held_at: str


class HeldMessages(Answered):
    """What waits for the owner's decision, oldest first. `channels`: whether the switch is on."""

    held: list[Held]
    channels: bool
    count: int


class Opened(Arguments):
    """Which recipient's review is opened; needed where the message is held at several."""

    session: str = ""


class Decision(Arguments):
    """A decision, with the token of the open review."""

    review: str
    session: str = ""


class Review(Held):
    """An open review: the literal body and what the owner decides on; `token` while it is open and fits."""

    text: str
    body: str
    folder: str
    mode: str
    review: str
    blocked_by: str
    policy: str
    token: str = ""
    task: str = ""
    in_reply_to: str = ""


class Decided(Answered):
    """What was decided, and which message is held next."""

    message_id: str
    state: str
    reason: str
    next: dict[str, str] = Field(default={})


class SessionMessaging(BaseModel):
    """A session's messaging as its panel shows it."""

    ref: str
    title: str
    channels: bool
    policy: dict[str, Any]
    suppressed: bool
    topics: list[str]
    topics_max: int
    broadcasts: bool
    held: int
    name: str
    name_chosen: str
    name_held_by: dict[str, str] = Field(default={})
    seen: str
    text: str = ""


class NewPolicy(Arguments):
    """A policy, or `default`. `seen` is the panel's word for what a confirmation was asked over."""

    policy: str
    confirmed: bool = False
    seen: str = ""


class NewTopics(Arguments):
    """Patterns to add and to remove, all or none."""

    add: Listed = Field(default=[])
    remove: Listed = Field(default=[])


class NewBroadcasts(Arguments):
    """Whether broadcasts are received."""

    on: bool


class NewName(Arguments):
    """The chosen name; empty for the generated one."""

    name: str = ""


class Start(Arguments):
    """What `relaybay run` was asked for."""

    name: str = ""
    topics: Listed = Field(default=[])
    broadcasts: bool = False
    groups: Listed = Field(default=[])


class Ticket(BaseModel):
    """What the started client hands in, once."""

    ticket: str
    name: str
    patterns: list[str]
    broadcasts: bool
