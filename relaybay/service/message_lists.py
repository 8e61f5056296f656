"""Reading messages: `messages_list` for agents, and the owner's list (page 30, Calls; page 70). Marks nothing read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.rules.text import literal, name_literal
from relaybay.service import filters, listing, receipts
from relaybay.service.arguments import check_limit, one_session
from relaybay.service.history import NOT_GIVEN, line
from relaybay.service.identity import Identity, identify
from relaybay.service.relay import Relay
from relaybay.store import messages, tasks
from relaybay.store.conditions import all_of
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

Box = Literal["in", "out", "all"]
_IN = "SELECT id FROM delivery WHERE recipient_id = ?"
_OUT = "SELECT own.id FROM delivery own JOIN message said ON said.id = own.message_id WHERE said.sender_id = ?"
#: By keys, which small indexes give: joined first, a page would cost as much as all that the row ever had.
_BOXES = {"in": f"d.id IN ({_IN})", "out": f"d.id IN ({_OUT})", "all": f"d.id IN ({_IN} UNION {_OUT})"}
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
    q: str = "",
    limit_: int = 50,
    before: str = "",
) -> Outcome:
    """A page of a session's messages, newest first. The owner may leave the session out and then sees all of them, and
    may filter them (`q`, in the grammar of `rules/query.py`).

    That a row which never linked itself was given texts by its Inbox is remembered (`message_ack` without an id).
    """
    wrong = check_limit(limit_)
    who = wrong or _whose(tx, relay, caller)
    if isinstance(who, Refusal):
        return Outcome(refusal=who)
    row, identity = who
    where, values = _conditions(row, box, unread_only=unread_only)
    asked = filters.narrowed(tx, q, "messages")
    if isinstance(asked, Refusal):
        return Outcome(refusal=asked)
    oldest_first = asked[0].once("sort", "new") == "old"
    unknown = Refusal("list.message_unknown", "75")
    refusal = narrow(tx, where, values, task, message_id, before, lambda _: unknown, oldest_first=oldest_first)
    if refusal is not None:
        return Outcome(refusal=refusal)
    where_all, values = all_of([(" AND ".join(where) or "1 = 1", values), *asked[1]])
    found, more = whole(tx, messages.listed(tx, where_all, values, limit_ + 1, oldest_first=oldest_first), limit_, row)
    items, cut = listing.cut((_item(tx, relay, row, identity, mail) for mail in found), listing.room())
    if message_id and identity is not None and identity.proven:
        _fetched(tx, identity, found[: len(items)])
    if row is not None and not row.linked_itself and box == "in" and not caller.owner:
        messages.give(tx, [mail.id for mail in found[: len(items)]])
    counts = messages.counts(tx, row.id) if row else messages.counts(tx)
    unread = counts.get("sent", 0) + counts.get("delivered", 0)
    data: dict[str, Any] = {"messages": items, "unread": unread}
    answer = "list.messages" if row else "list.all_messages"
    if cut or more:
        answer, data["before"] = f"{answer}_more", items[-1]["message_id"]
    data["text"] = word(answer, count=len(items), unread=unread, before=data.get("before", "")).text
    return Outcome(data)


def show_message(tx: Tx, relay: Relay, *, message_id: str) -> Outcome:
    """One message for the owner: its first delivery, and all of them where it was published."""
    kept = messages.by_mid(tx, message_id)
    if kept is None:
        return Outcome(refusal=Refusal("list.message_unknown", "75"))
    found = messages.of_message(tx, kept.message_id)
    said = receipts.item(tx, relay, found[0] if found else kept, "in")
    if kept.published:
        said["recipients"] = line(tx, relay, kept)["recipients"]
        if not found:
            said["to"], said["state"] = {}, "sent"
            said.pop("reason_code", None)
    return Outcome(said)


def whole(tx: Tx, found: list[Mail], most: int, row: SessionRow | None) -> tuple[list[Mail], bool]:
    """A page of deliveries, of which one more than `most` was asked for, and whether there are others. In a list of all
    sessions a publication's recipients stay together: a page goes on by message ids.
    """
    if len(found) <= most:
        return found, False
    page, last = found[:most], found[most].mid
    if row is not None or page[-1].mid != last:
        return page, True
    kept = [mail for mail in page if mail.mid != last]
    return (kept, True) if kept else (messages.of_message(tx, page[0].message_id), True)


def _item(tx: Tx, relay: Relay, row: SessionRow | None, identity: Identity | None, mail: Mail) -> dict[str, Any]:
    said = receipts.item(tx, relay, mail, "in" if row is None or mail.recipient_id == row.id else "out")
    if identity is None or mail.state not in NOT_GIVEN:
        return said
    if identity.proven and mail.sender_id in identity.rows:
        return said
    # CH-9: listed with its state, and its text is given to its proven sender alone.
    return said | {"body": literal(""), "withheld": True}


def _fetched(tx: Tx, identity: Identity, found: list[Mail]) -> None:
    """CH-4: the proven recipient has the rest of what was delivered as a beginning."""
    for mail in found:
        had_beginning = mail.pointer and not mail.fetched_us and mail.state in ("delivered", "read")
        if had_beginning and mail.recipient_id in identity.rows:
            messages.set_delivery(tx, mail, fetched_us=tx.now)


def _whose(tx: Tx, relay: Relay, caller: Caller) -> tuple[SessionRow | None, Identity | None] | Refusal:
    if not caller.owner:
        who = identify(tx, relay, caller, "read", tx.now, "messages_list", "")
        if isinstance(who, Refusal):
            return who
        assert who.speaker is not None, "a list without a row would be everybody's"
        return who.speaker, who
    if not caller.session:
        return None, None
    row = one_session(tx, caller.session)
    return row if isinstance(row, Refusal) else (row, None)


def _conditions(row: SessionRow | None, box: Box, *, unread_only: bool) -> tuple[list[str], list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    if row is not None:
        where.append(_BOXES[box])
        values += [row.id] * _BOXES[box].count("?")
    if unread_only:
        where.append(_UNREAD)
    return where, values


def narrow(
    tx: Tx,
    where: list[str],
    values: list[Any],
    task: str,
    message_id: str,
    before: str,
    unknown: Callable[[str], Refusal],
    *,
    oldest_first: bool = False,
) -> Refusal | None:
    """Adds what a list is narrowed to, to its conditions; `unknown` words the refusal of an id no message has.

    `before` is the last message of the page before: what is older follows, or with `oldest_first` what is newer.
    """
    if task:
        about = tasks.get(tx, task)
        if about is None:
            return Refusal("task.unknown", "75", {"task": name_literal(task)})
        where.append("m.task_id = ?")
        values.append(about.id)
    past = "d.id > ?" if oldest_first else "d.id < ?"
    for given, condition in ((message_id, "m.mid = ?"), (before, past)):
        if not given:
            continue
        mail = messages.get(tx, given)
        if mail is None:
            return unknown(given)
        where.append(condition)
        values.append(given if condition.startswith("m.") else mail.id)
    return None
