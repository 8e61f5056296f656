"""Which use case a tool calls: the arguments of the one unpacked for the other, and nothing decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from relaybay.api import models
from relaybay.api.calls import UseCase
from relaybay.domain import Caller, Outcome
from relaybay.service import message_lists, messages
from relaybay.service.relay import Relay


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


USE_CASES: Final[Mapping[str, UseCase]] = {
    "message_send": _message_send,
    "messages_list": _messages_list,
    "message_ack": _message_ack,
}
