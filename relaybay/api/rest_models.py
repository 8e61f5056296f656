"""Inputs and answers of the JSON API that no tool has. Bodies are strict; queries are texts and read as such."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from relaybay.api.models import (
    EVENT_TYPES_MAX,
    LIST_DEFAULT,
    STEP_MAX,
    Arguments,
    Box,
    Count,
    Status,
    StepNumber,
    WaitSeconds,
    whole,
)
from relaybay.api.results import Answered, Author, Bound
from relaybay.service.views_search import PAGE_FOUND as SEARCH_DEFAULT
from relaybay.service.views_search import SKIP_MAX as SEARCH_SKIP_MAX


def _flag(value: Any) -> Any:
    # The library would also take "on", "y" and their kin; a query has one way to say yes, and one of the board's.
    if isinstance(value, str):
        if value not in ("0", "1", "false", "true"):
            raise ValueError("it has to be 1 or 0")
        return value in ("1", "true")
    return value


Flag = Annotated[bool, BeforeValidator(_flag)]


class Query(BaseModel):
    """Base of all queries."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SessionsQuery(Query):
    """Which sessions. `q` is a filter; all that is given has to fit."""

    live: Flag = False
    q: str = ""


class TasksQuery(Query):
    """Which tasks. `query` is a plain text to be found in them, `q` a filter; all that is given has to fit."""

    project: str = ""
    status: Status | None = None
    session: str = ""
    query: str = ""
    q: str = ""
    limit: Count = LIST_DEFAULT
    before: str = ""


class CommentsQuery(Query):
    """Which comments."""

    task: str
    unread_only: Flag = False
    limit: Count = LIST_DEFAULT
    before: str = ""


class SearchQuery(Query):
    """What to look for in tasks and comments; `skip` is how many of the best to leave out."""

    q: str = ""
    limit: Count = SEARCH_DEFAULT
    skip: Annotated[int, Field(ge=0, le=SEARCH_SKIP_MAX), BeforeValidator(whole)] = 0


class MessagesQuery(Query):
    """Which messages. Without a session those of all; then `box` says nothing. `q` is a filter."""

    session: str = ""
    box: Box = "all"
    unread_only: Flag = False
    task: str = ""
    q: str = ""
    limit: Count = LIST_DEFAULT
    before: str = ""


class EventsQuery(Query):
    """Which events. `types` may stand several times, or hold several joined by commas."""

    cursor: str = ""
    types: list[str] = Field(default=[], max_length=EVENT_TYPES_MAX)
    q: str = ""
    limit: Count = LIST_DEFAULT
    wait_s: WaitSeconds = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """The types, one by one."""
        return tuple(kind for given in self.types for kind in given.split(",") if kind)


class DesktopSession(Arguments):
    """A desktop app's session (ROW-6)."""

    desktop: str
    title: str
    alias: str = ""
    cwd: str = ""


class NewTitle(Arguments):
    """A renaming."""

    title: str


class NewProject(Arguments):
    """A project, new or to be changed."""

    slug: str
    title: str = ""
    root: str = ""


class NewTask(Arguments):
    """A task."""

    project: str
    title: str
    body: str = ""
    status: Status = "inbox"


class TaskChange(Arguments):
    """What to change of a task."""

    title: str | None = None
    body: str | None = None
    status: Status | None = None
    step_add: str | None = None
    step_done: StepNumber | None = None
    step_undone: StepNumber | None = None


class WhomToBind(Arguments):
    """The session to bind: ref, title or `@name`."""

    session: str


class NewComment(Arguments):
    """A comment of the owner's. `step` counts from 1; 0 is none. `attachment` is the number of a file of the task."""

    body: str
    in_reply_to: str = ""
    attachment: str = ""
    step: Annotated[int, Field(ge=0, le=STEP_MAX), BeforeValidator(whole)] = 0


class InboxEntrySeen(Arguments):
    """Which entry of the Inbox the owner has seen."""

    kind: str
    ref: str


class Piece(BaseModel):
    """A piece of a text, as one JSON string literal, and whether it was looked for."""

    text: str
    hit: bool


class Text(BaseModel):
    """A task or a comment that was found. `task` is the key of the task that it is, or is on."""

    kind: Literal["task", "comment"]
    task: str
    project: str
    status: str
    title: list[Piece]
    snippet: list[Piece]
    at: str
    author: Author
    comment_id: str = ""


class Texts(Answered):
    """What a search found: the query in its shortest form, a page of `count`, and where the next begins."""

    query: str
    found: list[Text]
    count: int
    skip: int
    next: int | None = None
    texts: int


class Session(BaseModel):
    """One session as the owner sees it."""

    model_config = ConfigDict(extra="allow")

    ref: str
    title: str
    name: str = ""
    kind: str
    client: str
    activity: str
    link: str
    live: bool
    unread_messages: int
    tasks: list[str]
    text: str


class Sessions(BaseModel):
    """A list of sessions."""

    sessions: list[Session]


class Project(BaseModel):
    """One project; texts are JSON string literals."""

    slug: str
    title: str
    root: str = ""
    open_tasks: int
    created_at: str


class ProjectAnswer(Project, Answered):
    """A project that was added or changed."""


class Projects(Answered):
    """All projects."""

    projects: list[Project]


class InboxEntry(BaseModel):
    """One thing that waits for the owner."""

    model_config = ConfigDict(extra="allow")

    kind: str
    ref: str
    since: str
    title: str
    task: str = ""
    session: Bound | None = None
    text: str
    action: str


class Inbox(Answered):
    """The Inbox."""

    entries: list[InboxEntry]
    count: int


class RepliesRead(Answered):
    """How many replies of a task are read now."""

    task: str
    read: int


class LoginLink(BaseModel):
    """A link that logs a browser in, once, within ten minutes."""

    url: str


class ServerStatus(BaseModel):
    """Which server this is, and how much it holds."""

    model_config = ConfigDict(extra="allow")

    v: int
    url: str
    mcp_url: str
    token_file: str
    database: str
    pid: int
    version: str
    started_at: str


class DoctorFacts(BaseModel):
    """What only a running server knows of its health."""

    url: str
    last_events: dict[str, str]
    mcp_seen: bool
    mcp_last_seen_at: str = ""
    integrity: str
    project_files: list[str] = []
