"""What tools and the JSON API answer: one model each, for output schemas and the OpenAPI document.

The answers themselves are the use cases' data, which these describe; tests hold the two against each other. A member
that may be missing has a default here and is never null on the wire.
"""

from __future__ import annotations

import json
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

OUTPUT_SCHEMA_CHARS_MAX: Final = 800


class Warn(BaseModel):
    """Something the caller should know of an accepted call."""

    code: str
    text: str


class Answered(BaseModel):
    """Base of all results: the sentence, and warnings when there are any."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    text: str
    warnings: list[Warn] = []


class Recipient(BaseModel):
    """Whom a receipt is about."""

    ref: str
    title: str
    name: str = ""


class Receipt(Answered):
    """`message_send`."""

    message_id: str
    recipient: Recipient
    sender_verified: bool
    state: str
    reason_code: str = ""
    repeat: bool = False


class Sender(BaseModel):
    """Who wrote a message."""

    title: str
    name: str = ""
    verified: bool


class Addressee(BaseModel):
    """To whom a message went; without a ref when the row is gone."""

    title: str = ""
    name: str = ""
    ref: str = ""


class Audience(BaseModel):
    """Whether a message went to one session, a topic or all."""

    kind: str
    topic: str = ""


class Message(BaseModel):
    """One message with its delivery; `body` is one JSON string literal."""

    message_id: str
    direction: Literal["in", "out"]
    sender: Sender = Field(alias="from")
    to: Addressee
    audience: Audience
    task: str = ""
    in_reply_to: str = ""
    depth: int
    state: str
    reason_code: str = ""
    sent_at: str
    delivered_at: str = ""
    in_context_at: str = ""
    read_at: str = ""
    read_how: str = ""
    body: str


class Messages(Answered):
    """`messages_list`."""

    messages: list[Message]
    before: str = ""
    unread: int


class Acknowledged(Answered):
    """`message_ack`."""

    acknowledged: list[str]
    already_read: list[str]
    waiting: int


class Bound(BaseModel):
    """A session in an answer about something else; without a ref when its row is gone."""

    ref: str = ""
    title: str
    name: str = ""


class Author(BaseModel):
    """Who wrote a comment."""

    kind: str
    title: str = ""
    ref: str = ""
    verified: bool = False


class OnFile(BaseModel):
    """The file of its task that a comment is about; without a number when it was taken off since."""

    id: int = 0
    name: str


class Comment(BaseModel):
    """One comment; `body` is one JSON string literal."""

    id: str
    task: str
    author: Author
    in_reply_to: str = ""
    step: int = 0
    attachment: OnFile | None = None
    state: str
    reason_code: str = ""
    reason: str = ""
    created_at: str
    delivered_at: str = ""
    delivered_to: Bound | None = None
    in_context_at: str = ""
    read_at: str = ""
    read_how: str = ""
    body: str


class CommentAnswer(Comment, Answered):
    """`comment_add`."""


class Comments(Answered):
    """`comments_list`."""

    comments: list[Comment]
    before: str = ""


class CommentRead(Answered):
    """`comment_ack`."""

    id: str
    state: str
    read_how: str = ""


class TaskStep(BaseModel):
    """One step of a task, numbered from 1."""

    n: int
    text: str
    done: bool


class Task(BaseModel):
    """One task."""

    key: str
    project: str
    title: str
    status: str
    author: Author
    session: Bound | None = None
    steps: list[TaskStep]
    unread_comments: int
    created_at: str
    updated_at: str
    body: str = ""


class TaskAnswer(Task, Answered):
    """`task_create`, `task_update`, `task_bind_session`."""


class TaskShown(TaskAnswer):
    """`task_get`: the task, and its newest comments."""

    comments: list[Comment]
    before: str = ""


class Tasks(Answered):
    """`tasks_list`."""

    tasks: list[Task]
    before: str = ""


class Event(BaseModel):
    """One event of the feed: names, ids, marks and reasons, never a text."""

    id: int
    type: str
    at: str
    data: dict[str, Any]


class Events(Answered):
    """`events_since`."""

    events: list[Event]
    cursor: str


def output_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A tool's output schema without titles and defaults. Where it would grow too long, inner objects lose detail."""
    full = model.model_json_schema(mode="serialization")
    needed = [name for name in model.model_json_schema().get("required", []) if name in full["properties"]]
    schema: dict[str, Any] = {}
    for depth in (3, 2, 1):
        members = {
            name: _shown(member, full.get("$defs", {}), depth=depth)
            for name, member in full["properties"].items()
            if name != "warnings"
        }
        schema = {"type": "object", "properties": members, "required": needed}
        if len(json.dumps(schema, separators=(",", ":"))) <= OUTPUT_SCHEMA_CHARS_MAX:
            break
    return schema


def _shown(member: dict[str, Any], definitions: dict[str, Any], *, depth: int) -> dict[str, Any]:
    if "$ref" in member:
        member = definitions[member["$ref"].rsplit("/", 1)[1]]
    kinds = [kind for kind in member.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        return _shown(kinds[0], definitions, depth=depth)
    kind = member.get("type")
    if kind == "array":
        return {"type": "array", "items": _shown(member["items"], definitions, depth=depth - 1)}
    if kind == "object" and depth > 1 and "properties" in member:
        inner = {n: _shown(m, definitions, depth=depth - 1) for n, m in member["properties"].items()}
        return {"type": "object", "properties": inner}
    return {"type": kind} if isinstance(kind, str) else {}
