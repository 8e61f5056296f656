"""What the tools of channels answer (page 50): publications, topics, live sessions."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from relaybay.api.results import Answered, Audience


class Reached(BaseModel):
    """One recipient of a publication, with its own state; without a ref when its row is gone."""

    ref: str = ""
    title: str
    name: str = ""
    state: str
    reason_code: str = ""
    reach: str = ""


class Queued(BaseModel):
    """A work item that a publication made for a group."""

    group: str
    work: str


class Publication(Answered):
    """`message_publish`."""

    message_id: str
    audience: Audience
    recipients: list[Reached]
    skipped: int
    queued: list[Queued]
    repeat: bool = False


class Said(BaseModel):
    """A message of a topic or a broadcast; `body` is one JSON string literal."""

    message_id: str
    sender: dict[str, Any] = Field(alias="from")
    topic: str = ""
    sent_at: str
    body: str


class Topic(BaseModel):
    """One topic of the history."""

    topic: str
    count: int
    last_at: str


class TopicPage(Answered):
    """`topic_read`: topics, or a page of messages."""

    topics: list[Topic] = Field(default=[])
    topic: str = ""
    messages: list[Said] = Field(default=[])
    withheld: int = 0
    before: str = ""


class Peer(BaseModel):
    """A live session."""

    ref: str
    title: str
    name: str = ""
    cwd: str
    activity: str
    policy: str
    you: bool = False
    topics: list[str] = Field(default=[])
    broadcasts: bool


class Peers(Answered):
    """`sessions_list`."""

    sessions: list[Peer]
