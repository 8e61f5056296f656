"""What the tools take: one strict model each, with the words a model reads about every argument.

Strict means: no argument that is not named here, no string for a number, no value moved into its range. JSON has one
kind of number, and its schema language calls `5.0` an integer; so a whole number with a fraction of zero is taken.
Texts, names and ids are judged by the use cases, which have better answers for them than a schema could give.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from relaybay.domain import Caller

LIST_MAX: Final = 200
LIST_DEFAULT: Final = 50
WAIT_SECONDS_MAX: Final = 25
TOPIC_PAGE_MAX: Final = 50
EVENT_TYPES_MAX: Final = 50
REQUEST_ID_CHARS_MAX: Final = 64
STEP_MAX: Final = 10_000
_WHOLE = re.compile(r"-?[0-9]{1,18}(\.0+)?")


def whole(value: Any) -> Any:
    """Reads `5.0` as 5, and lets no other spelling of a number through than digits. For `BeforeValidator`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        # Only queries get this far with a string; the library would also read "1_0" and " 5 " as numbers.
        raise ValueError("it is no whole number")
    return value


# The check stands last, or the bounds before it would be missing from the schema.
Count = Annotated[int, Field(ge=1, le=LIST_MAX), BeforeValidator(whole)]
TopicCount = Annotated[int, Field(ge=1, le=TOPIC_PAGE_MAX), BeforeValidator(whole)]
StepNumber = Annotated[int, Field(ge=1, le=STEP_MAX), BeforeValidator(whole)]
WaitSeconds = Annotated[int, Field(ge=0, le=WAIT_SECONDS_MAX), BeforeValidator(whole)]
Status = Literal["inbox", "todo", "doing", "review", "done", "dropped"]
Box = Literal["in", "out", "all"]
RequestId = Annotated[str, Field(max_length=REQUEST_ID_CHARS_MAX)]


class Arguments(BaseModel):
    """Base of all inputs: unknown members are refused, nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Spoken(Arguments):
    """Arguments by which a call may say who speaks. All may be missing: a witnessed call needs none."""

    session: str = Field("", description="you: title, @name or S- ref")
    session_title: str = ""
    hook_session: str = ""

    def caller(self, tool_use_id: str = "") -> Caller:
        """The caller as the service takes it."""
        return Caller(self.session, self.session_title, self.hook_session, tool_use_id)


class MessageSend(Spoken):
    """`message_send`."""

    body: str = Field(description="plain text, at most 4000 characters")
    to: str = Field("", description="recipient: title, @name or S- ref")
    task: str = Field("", description="task key it is about; gives the recipient if nothing else does")
    in_reply_to: str = Field("", description="message id you answer; marks it read")
    request_id: RequestId = Field("", description="your own id: a repeat is not sent twice")


class MessagePublish(Spoken):
    """`message_publish`."""

    body: str = Field(description="plain text, at most 32 KiB")
    topic: str | None = Field(None, description="concrete topic, e.g. ci.failures")
    broadcast: bool = Field(default=False, description="true: to all that receive broadcasts")
    request_id: RequestId = Field("", description="your own id: a repeat is not sent twice")


class TopicRead(Spoken):
    """`topic_read`."""

    topic: str | None = Field(None, description="topic or pattern; none: list of topics")
    broadcast: bool = False
    before: str = Field("", description="from the last page")
    limit: TopicCount | None = None


class SessionsList(Spoken):
    """`sessions_list`."""


class MessagesList(Arguments):
    """`messages_list`."""

    box: Box = "in"
    unread_only: bool = False
    task: str = ""
    message_id: str = Field("", description="this one only")
    limit: Count = LIST_DEFAULT
    before: str = Field("", description="id from the last page")
    session: str = Field("", description="whose: title, @name or S- ref")
    hook_session: str = ""

    def caller(self, tool_use_id: str = "") -> Caller:
        """The caller as the service takes it."""
        return Caller(self.session, "", self.hook_session, tool_use_id)


class MessageAck(Spoken):
    """`message_ack`."""

    message_id: str = Field("", description="absent: all you were given")


class CommentAdd(Spoken):
    """`comment_add`."""

    task: str
    body: str = Field(description="Markdown, at most 6000 characters")
    in_reply_to: str = Field("", description="comment id you answer; marks it read")


class CommentsList(Spoken):
    """`comments_list`."""

    task: str
    unread_only: bool = False
    limit: Count = LIST_DEFAULT
    before: str = ""


class CommentAck(Spoken):
    """`comment_ack`."""

    id: str = Field(description="comment id, c_…")


class TasksList(Arguments):
    """`tasks_list`."""

    project: str = Field("", description="slug")
    status: Status | None = None
    session: str = Field("", description="bound session")
    query: str = Field("", description="full-text search")
    limit: Count = LIST_DEFAULT
    before: str = ""


class TaskGet(Spoken):
    """`task_get`."""

    task: str = Field(description="key, e.g. acme-shop-12")


class TaskCreate(Spoken):
    """`task_create`."""

    project: str = Field(description="slug; an unknown one is made")
    title: str
    body: str = Field("", description="Markdown")
    status: Status = "inbox"


class TaskUpdate(Spoken):
    """`task_update`."""

    task: str
    title: str | None = None
    body: str | None = None
    status: Status | None = None
    step_add: str | None = Field(None, description="text of a new step")
    step_done: StepNumber | None = Field(None, description="number of a step")
    step_undone: StepNumber | None = None


class TaskBindSession(Arguments):
    """`task_bind_session`. `session` is whom to bind, not who calls."""

    task: str
    session: str = Field(description="whom to bind: title, @name or S- ref")
    hook_session: str = ""

    def caller(self, tool_use_id: str = "") -> Caller:
        """The caller: at most its hook session is known."""
        return Caller("", "", self.hook_session, tool_use_id)


class EventsSince(Arguments):
    """`events_since`."""

    cursor: str = Field("", description="from your last call; absent: only the present one")
    types: list[str] = Field(default=[], max_length=EVENT_TYPES_MAX, description='"message.read" or "task.*"')
    limit: Count = LIST_DEFAULT
    wait_s: WaitSeconds = Field(0, description="seconds to wait for one")


IDENTITY: Final = ("session", "session_title", "hook_session")


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A tool's input schema as clients get it: the model's own, without what only costs a reader room.

    Titles and empty defaults are left out, and the arguments that say who speaks stand last unless required.
    """
    schema = model.model_json_schema()
    required = schema.get("required", [])
    members = {name: _short(member) for name, member in schema.get("properties", {}).items()}
    last = [name for name in IDENTITY if name in members and name not in required]
    properties = {name: members[name] for name in [*(n for n in members if n not in last), *last]}
    short: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        short["required"] = [name for name in properties if name in required]
    return short


def _short(member: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in member.items() if name not in ("title", "anyOf")}
    # "Absent" is None in the model, for tellings-apart like a title that is set to nothing; on the wire it is no value.
    given = [kind for kind in member.get("anyOf", ()) if kind != {"type": "null"}]
    for kind in given:
        kept.update(kind)
    if kept.get("default", 1) in ("", None, False, [], 0):
        del kept["default"]
    return kept


def absent_not_null(members: dict[str, Any]) -> str:
    """The name of the first argument given as null, or the empty string: schemas say that none may be."""
    return next((name for name, value in members.items() if value is None), "")
