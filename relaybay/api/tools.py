"""The registry of the MCP tools: names, what a model reads of them, annotations, and the models of both directions.

Which use case a tool calls stands in `use_cases.py`. The order here is the order clients see.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import mcp_types as types

from relaybay.api import channel_results, models, results
from relaybay.api.models import Arguments, input_schema
from relaybay.api.results import Answered, output_schema

TOOLS_LIST_CHARS_MAX: Final = 8_000
ALL_TOOLS_CHARS_MAX: Final = 11_000
CHANNEL_TOOLS: Final = frozenset({"message_publish", "sessions_list", "topic_read"})
"""Tools that are there with the switch `messaging.channels` only (page 50, CH-3)."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `reads`: it changes nothing that a caller could see; `repeats`: calling it again changes nothing
    more; `overwrites`: it may replace what somebody wrote. No tool reaches outside this machine.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    result: type[Answered]
    reads: bool = False
    repeats: bool = False
    overwrites: bool = False

    def shown(self) -> types.Tool:
        """The tool as `tools/list` gives it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=input_schema(self.arguments),
            output_schema=output_schema(self.result),
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.reads,
                destructive_hint=self.overwrites,
                idempotent_hint=self.repeats or self.reads,
                open_world_hint=False,
            ),
        )


TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        "message_send",
        "Send a message to a session",
        "Sends one message to another agent session. Name the recipient with to, in_reply_to or task. The receipt says"
        " whether it was delivered, and if not, what will bring it. Do not send thanks alone.",
        models.MessageSend,
        results.Receipt,
    ),
    Tool(
        "message_publish",
        "Publish a message",
        "Sends one message to all sessions that subscribe to a topic, or with broadcast true to all that receive"
        " broadcasts. The receipt has each recipient's state; reaching nobody is no error.",
        models.MessagePublish,
        channel_results.Publication,
    ),
    Tool(
        "sessions_list",
        "List live sessions",
        "Lists the sessions one can write to now: ref, title, @name, folder, activity, policy, topics.",
        models.SessionsList,
        channel_results.Peers,
        reads=True,
    ),
    Tool(
        "topic_read",
        "Read a topic",
        "Reads earlier messages of a topic, a pattern or broadcasts, newest first; without them, the topics there are."
        " Your policy decides what is shown. Marks nothing read.",
        models.TopicRead,
        channel_results.TopicPage,
        reads=True,
    ),
    Tool(
        "messages_list",
        "List messages",
        "Lists a session's messages with their marks, newest first. Marks nothing read: message_ack does.",
        models.MessagesList,
        results.Messages,
        reads=True,
    ),
    Tool(
        "message_ack",
        "Acknowledge messages",
        "Marks messages as read by you: one by its id, or all that you were given and have not read.",
        models.MessageAck,
        results.Acknowledged,
        repeats=True,
    ),
    Tool(
        "comment_add",
        "Comment on a task",
        "Writes a comment on a task for the owner. With in_reply_to it answers the owner's comment.",
        models.CommentAdd,
        results.CommentAnswer,
    ),
    Tool(
        "comments_list",
        "List comments",
        "Lists a task's comments, newest first, each with its author's kind (owner or session) and marks.",
        models.CommentsList,
        results.Comments,
        reads=True,
    ),
    Tool(
        "comment_ack",
        "Acknowledge a comment",
        "Marks the owner's comment as read by the session bound to its task.",
        models.CommentAck,
        results.CommentRead,
        repeats=True,
    ),
    Tool(
        "tasks_list",
        "List tasks",
        "Lists the owner's tasks, newest first, by project, status, bound session or words.",
        models.TasksList,
        results.Tasks,
        reads=True,
    ),
    Tool(
        "task_get",
        "Read a task",
        "One task: text, steps, status, bound session, and its newest comments.",
        models.TaskGet,
        results.TaskShown,
        reads=True,
    ),
    Tool(
        "task_create",
        "Create a task",
        "Makes a task on the owner's board.",
        models.TaskCreate,
        results.TaskAnswer,
    ),
    Tool(
        "task_update",
        "Change a task",
        "Changes a task's title, text or status, adds a step, or marks one done or not done.",
        models.TaskUpdate,
        results.TaskAnswer,
        overwrites=True,
    ),
    Tool(
        "task_bind_session",
        "Bind a session to a task",
        "Makes a session the one that the owner's comments on the task go to. The session must exist.",
        models.TaskBindSession,
        results.TaskAnswer,
        repeats=True,
        overwrites=True,
    ),
    Tool(
        "events_since",
        "Read the event feed",
        "Events after a cursor, oldest first, and the next cursor; events carry ids and marks, no text.",
        models.EventsSince,
        results.Events,
        reads=True,
    ),
)


def size(tools: tuple[Tool, ...]) -> int:
    """What the tools cost a model's context: name, description and input schema, in characters of compact JSON."""
    return sum(len(compact([tool.name, tool.description, input_schema(tool.arguments)])) for tool in tools)


def compact(value: Any) -> str:
    """Compact JSON, as it is measured."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
