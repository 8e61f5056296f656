"""Which use case a tool calls: the arguments of the one unpacked for the other, and nothing decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from relaybay.api import models
from relaybay.api.calls import UseCase
from relaybay.domain import Caller, Outcome
from relaybay.service import (
    binding,
    comment_lists,
    comments,
    feed,
    history,
    message_lists,
    messages,
    publishing,
    sessions,
    tasks,
)
from relaybay.service.relay import Relay
from relaybay.service.tasks import Change


def _message_send(tx: Any, relay: Relay, caller: Caller, given: models.MessageSend) -> Outcome:
    return messages.send(
        tx,
        relay,
        caller,
        body=given.body,
        to=given.to,
        task=given.task,
        in_reply_to=given.in_reply_to,
        request_id=given.request_id,
    )


def _message_publish(tx: Any, relay: Relay, caller: Caller, given: models.MessagePublish) -> Outcome:
    return publishing.publish(
        tx,
        relay,
        caller,
        body=given.body,
        topic=given.topic,
        broadcast=given.broadcast,
        request_id=given.request_id,
    )


def _sessions_list(tx: Any, relay: Relay, caller: Caller, _given: models.SessionsList) -> Outcome:
    return history.sessions_list(tx, relay, caller)


def _topic_read(tx: Any, relay: Relay, caller: Caller, given: models.TopicRead) -> Outcome:
    return history.topic_read(
        tx,
        relay,
        caller,
        topic=given.topic,
        broadcast=given.broadcast,
        before=given.before,
        limit_=given.limit,
    )


def _messages_list(tx: Any, relay: Relay, caller: Caller, given: models.MessagesList) -> Outcome:
    # Lists remember what they gave (message_ack without an id), so they run as writes.
    return message_lists.list_messages(
        tx,
        relay,
        caller,
        box=given.box,
        unread_only=given.unread_only,
        task=given.task,
        message_id=given.message_id,
        limit_=given.limit,
        before=given.before,
    )


def _message_ack(tx: Any, relay: Relay, caller: Caller, given: models.MessageAck) -> Outcome:
    return messages.acknowledge(tx, relay, caller, message_id=given.message_id)


def _comment_add(tx: Any, relay: Relay, caller: Caller, given: models.CommentAdd) -> Outcome:
    return comments.comment_add(tx, relay, caller, task=given.task, body=given.body, in_reply_to=given.in_reply_to)


def _comments_list(tx: Any, relay: Relay, caller: Caller, given: models.CommentsList) -> Outcome:
    return comment_lists.comments_list(
        tx,
        relay,
        caller,
        task=given.task,
        unread_only=given.unread_only,
        limit=given.limit,
        before=given.before,
    )


def _comment_ack(tx: Any, relay: Relay, caller: Caller, given: models.CommentAck) -> Outcome:
    return comments.comment_ack(tx, relay, caller, comment_id=given.id)


def _tasks_list(tx: Any, _relay: Relay, _caller: Caller, given: models.TasksList) -> Outcome:
    return tasks.tasks_list(
        tx,
        project=given.project,
        status=given.status or "",
        session=given.session,
        query=given.query,
        limit=given.limit,
        before=given.before,
    )


def _task_get(tx: Any, relay: Relay, caller: Caller, given: models.TaskGet) -> Outcome:
    return tasks.task_get(tx, relay, caller, task=given.task)


def _task_create(tx: Any, relay: Relay, caller: Caller, given: models.TaskCreate) -> Outcome:
    return tasks.task_create(
        tx, relay, caller, project=given.project, title=given.title, body=given.body, status=given.status
    )


def _task_update(tx: Any, relay: Relay, caller: Caller, given: models.TaskUpdate) -> Outcome:
    change = Change(given.title, given.body, given.status, given.step_add, given.step_done, given.step_undone)
    return tasks.task_update(tx, relay, caller, task=given.task, change=change)


def _task_bind_session(tx: Any, relay: Relay, caller: Caller, given: models.TaskBindSession) -> Outcome:
    return binding.task_bind_session(tx, relay, caller, task=given.task, session=given.session)


def events_since(tx: Any, _relay: Relay, *, cursor: str, types: Sequence[str], limit: int, q: str = "") -> Outcome:
    """The feed, in the form that a long poll calls. `q` is the owner's alone: tools have no filter."""
    return feed.events_since(tx, cursor=cursor, types=types, limit=limit, q=q)


def live_sessions(tx: Any, relay: Relay) -> Outcome:
    """Whom one can write to now, most recently seen first."""
    found: list[dict[str, Any]] = sessions.list_sessions(tx, relay, live=True).data["sessions"]
    return Outcome({"sessions": sorted(found, key=lambda one: str(one.get("last_seen_at", "")), reverse=True)})


USE_CASES: Final[Mapping[str, UseCase]] = {
    "message_send": _message_send,
    "message_publish": _message_publish,
    "sessions_list": _sessions_list,
    "topic_read": _topic_read,
    "messages_list": _messages_list,
    "message_ack": _message_ack,
    "comment_add": _comment_add,
    "comments_list": _comments_list,
    "comment_ack": _comment_ack,
    "tasks_list": _tasks_list,
    "task_get": _task_get,
    "task_create": _task_create,
    "task_update": _task_update,
    "task_bind_session": _task_bind_session,
    "events_since": events_since,
}

ON_READER: Final = frozenset({"tasks_list", "events_since", "sessions_list", "topic_read"})
"""Tools whose use case only reads. The other lists remember what they gave to whom."""
