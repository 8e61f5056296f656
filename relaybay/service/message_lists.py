"""Reading messages: `messages_list` for agents, and the owner's list (page 30, Calls; page 70). Marks nothing read."""

from __future__ import annotations

import json
from typing import Any, Literal

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules.text import name_literal, units
from relaybay.service import naming, receipts
from relaybay.service.identity import identify
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import messages, tasks
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

Box = Literal["in", "out", "all"]
_BOXES = {"in": "d.recipient_id = ?", "out": "m.sender_id = ?"}
_UNREAD = "d.state IN ('sent','delivered')"


def list_messages(
    tx: Tx,
    relay: Relay,
    caller: Caller,
    *,
    box: Box = "in",
    unread_only: bool = False,
    task: str = "",
    message_id: str = "",
    limit_: int = 50,
    before: str = "",
) -> Outcome:
    """A page of a session's messages, newest first. The owner may leave the session out and then sees all of them.

    That a row which never linked itself was given texts by its Inbox is remembered (`message_ack` without an id).
    """
    row = _whose(tx, relay, caller)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    where, values = _conditions(row, box, unread_only=unread_only)
    refusal = _narrow(tx, where, values, task, message_id, before)
    if refusal is not None:
        return Outcome(refusal=refusal)
    found = messages.listed(tx, " AND ".join(where) or "1 = 1", values, limit_ + 1)
    items, more = _fitting(tx, relay, row, found, limit_)
    given = [mail.id for mail in found[: len(items)] if row and mail.recipient_id == row.id]
    if row is not None and not row.linked_itself and box != "out" and not caller.owner:
        messages.give(tx, given)
    counts = messages.counts(tx, row.id) if row else {}
    unread = counts.get("sent", 0) + counts.get("delivered", 0)
    data: dict[str, Any] = {"messages": items, "unread": unread}
    said: dict[str, Any] = {"count": len(items), "unread": unread}
    if more and items:
        data["before"] = items[-1]["message_id"]
        data["text"] = word("list.messages_more", before=data["before"], **said).text
    else:
        data["text"] = word("list.messages", **said).text
    return Outcome(data)


def _whose(tx: Tx, relay: Relay, caller: Caller) -> SessionRow | Refusal | None:
    if not caller.owner:
        who = identify(tx, relay, caller, "read", tx.now, "messages_list", "")
        return who if isinstance(who, Refusal) else who.speaker
    if not caller.session:
        return None
    found = naming.resolve(tx, caller.session)
    if len(found) != 1:
        answer = "recv.ambiguous" if found else "ack.session_unknown"
        shown = name_literal(caller.session)
        values = {"session": shown, "to": shown, "candidates": naming.candidates(found)}
        values["near"] = naming.near(tx, caller.session)
        return Refusal(answer, "ACK-2" if not found else "RECV-2", values)
    return found[0]


def _conditions(row: SessionRow | None, box: Box, *, unread_only: bool) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    if row is not None:
        if box == "all":
            where.append("(d.recipient_id = ? OR m.sender_id = ?)")
            values += [row.id, row.id]
        else:
            where.append(_BOXES[box])
            values.append(row.id)
    if unread_only:
        where.append(_UNREAD)
    return where, values


def _narrow(tx: Tx, where: list[str], values: list[Any], task: str, message_id: str, before: str) -> Refusal | None:
    if task:
        about = tasks.get(tx, task)
        if about is None:
            return Refusal("send.task_unknown", "75", {"task": name_literal(task)})
        where.append("m.task_id = ?")
        values.append(about.id)
    for given, condition in ((message_id, "m.mid = ?"), (before, "d.id < ?")):
        if not given:
            continue
        mail = messages.get(tx, given)
        if mail is None:
            return Refusal("ack.message_unknown", "ACK-5", {"message_id": name_literal(given)})
        where.append(condition)
        values.append(given if condition.startswith("m.") else mail.id)
    return None


def _fitting(
    tx: Tx, relay: Relay, row: SessionRow | None, found: list[Mail], most: int
) -> tuple[list[dict[str, Any]], bool]:
    """The items that fit a list (page 75: 40,000 UTF-16 units of JSON), and whether there are more."""
    items: list[dict[str, Any]] = []
    room = limit("list_utf16_max")
    for mail in found[:most]:
        direction = "in" if row is None or mail.recipient_id == row.id else "out"
        item = receipts.item(tx, relay, mail, direction)
        room -= units(json.dumps(item, ensure_ascii=False)) + 2
        if room < 0 and items:
            return items, True
        items.append(item)
    return items, len(found) > most
