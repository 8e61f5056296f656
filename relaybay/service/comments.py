"""Comments in the order of their life: written by the owner, answered and marked by agents, taken back (page 40).

Hand-overs, and what takes them back, are `handover.py` and `moves.py`; lists are `comment_lists.py`.
"""

from __future__ import annotations

from typing import Any

from relaybay.answers import word
from relaybay.domain import Caller, Outcome, Refusal
from relaybay.frames import longest_comment_frame_units
from relaybay.machines.base import step as machine_step
from relaybay.machines.comment import Comment
from relaybay.machines.reply import Reply
from relaybay.rules import comments as rules
from relaybay.rules.body import BodyLimits, judge
from relaybay.rules.text import name_line
from relaybay.service import attachments, comment_marks, ids, writes
from relaybay.service.card import comment_view, pending
from relaybay.service.identity import Identity
from relaybay.service.relay import Relay
from relaybay.service.tasks import unknown
from relaybay.specs import limit
from relaybay.store import comments, sessions, tasks
from relaybay.store.comments import CommentRow
from relaybay.store.tasks import TaskRow
from relaybay.store.transaction import Tx


def _judged(body: str) -> str | Refusal:
    found = judge(
        body, BodyLimits(limit("comment_chars_max"), limit("answer_utf16_max"), longest_comment_frame_units())
    )
    return found.refusal or found.text


def _parent(tx: Tx, task: TaskRow, cid: str) -> CommentRow | Refusal | None:
    """The comment that is answered: of the same task, whoever wrote it."""
    if not cid:
        return None
    found = comments.get(tx, cid)
    return found if found is not None and found.task_id == task.id else Refusal("comment.unknown", "75")


def _parent_columns(parent: CommentRow | None) -> dict[str, Any]:
    return {} if parent is None else {"parent_id": parent.id, "parent_cid": parent.cid}


def _about(tx: Tx, task: TaskRow, in_reply_to: str, step: int, attachment: str) -> dict[str, Any] | Refusal:
    """The columns that say what an owner's comment is about: the comment it answers, a step, a file of the task."""
    parent = _parent(tx, task, in_reply_to)
    if isinstance(parent, Refusal):
        return parent
    count = len(tasks.steps(tx, task.id))
    if step and not 1 <= step <= count:
        return Refusal("step.unknown", "75", {"task": task.task_key, "step": step, "count": count})
    columns = {**_parent_columns(parent), "step_n": step}
    if attachment:
        file = attachments.of_task(tx, task, attachment)
        if isinstance(file, Refusal):
            return file
        columns |= {"attachment_id": file.id, "attachment_name": file.name}
    return columns


def owner_comment(
    tx: Tx,
    relay: Relay,
    *,
    task: str,
    body: str,
    in_reply_to: str = "",
    step: int = 0,
    attachment: str = "",
    from_board: bool,
) -> Outcome:
    """The owner comments on a task (CMT-1, CMT-2). On the board it can be taken back for 5 s, and until then nobody is
    handed it (CMT-3, CMT-12). It answers the agents' replies that wait on the task (CMT-10).

    `step` counts from 1, 0 is none; `attachment` is the number of a file of the task.
    """
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task)
    text = _judged(body)
    if isinstance(text, Refusal):
        return Outcome(refusal=text)
    about = _about(tx, found, in_reply_to, step, attachment)
    if isinstance(about, Refusal):
        return Outcome(refusal=about)
    verdict = rules.added(rules.AddFacts("owner", found.session_id is not None))
    grace = rules.grace_ends_us(tx.now, limit("comment_grace_seconds")) if from_board else 0
    row = comments.add(
        tx,
        found.session_id,
        cid=ids.comment_id(tx.now),
        task_id=found.id,
        author_kind="owner",
        body_md=text,
        state="sent",
        grace_until_us=grace,
        **about,
    )
    tx.emit("comment.added", comment_id=row.cid, task=row.task_key, author="owner")
    _answer(tx, found, "owner_comments")
    why = pending(tx, relay, found.session_id)
    answer = "comment.stored_unbound" if verdict.outcome == "sent_unbound" else "comment.stored"
    said = word(answer, comment_id=row.cid, task=row.task_key, reach=why.reason).text
    return Outcome(data={**comment_view(relay, row, why), "text": said})


def _answer(tx: Tx, task: TaskRow, event: str) -> int:
    """Puts one event to every reply that waits on the task (CMT-10); how many it moved."""
    moved = 0
    for row in comments.of_task(tx, task.id):
        if row.author_kind != "session":
            continue
        result = machine_step(Reply, row.state, event)
        if result.kind == "move":
            comments.change(tx, row, state=result.state, read_us=tx.now)
            tx.emit("comment.read", comment_id=row.cid, task=row.task_key, by="owner")
            moved += 1
    return moved


def replies_read(tx: Tx, *, task: str) -> Outcome:
    """The owner presses "Mark replies read" (CMT-10). With none that waits nothing changes."""
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task)
    count = _answer(tx, found, "mark_replies_read")
    said = word("comment.replies_read", task=found.task_key, count=count).text
    return Outcome(data={"task": found.task_key, "read": count, "text": said})


def withdraw(tx: Tx, *, comment_id: str) -> Outcome:
    """The owner takes a comment back: in its first 5 s it is gone, with all its text (CMT-12); later it is refused
    (CMT-19), as is an agent's reply.
    """
    row = comments.get(tx, comment_id)
    if row is None:
        return Outcome(refusal=Refusal("comment.unknown", "CMT-12"))
    if row.author_kind != "owner":
        return Outcome(refusal=Refusal("comment.too_late", "CMT-19"))
    fresh = rules.in_grace(
        on_board=bool(row.grace_until_us),
        created_us=row.created_us,
        now_us=tx.now,
        grace_seconds=limit("comment_grace_seconds"),
    )
    result = machine_step(Comment, row.state, "withdraw", {"in_grace": fresh})
    if result.kind == "refuse":
        return Outcome(refusal=Refusal(result.answer, result.spec_id))
    comments.remove(tx, row)
    tx.emit("comment.withdrawn", comment_id=row.cid, task=row.task_key)
    said = word("comment.withdrawn", comment_id=row.cid).text
    return Outcome(data={"id": row.cid, "task": row.task_key, "state": result.state, "text": said})


def comment_add(tx: Tx, relay: Relay, caller: Caller, *, task: str, body: str, in_reply_to: str = "") -> Outcome:
    """An agent comments on a task: stored, and it marks what it answers (CMT-7 to 9, 13, 23). With neither a name nor a
    hook session it speaks for the bound session, without proof (CMT-14). The owner's goes to `owner_comment`.
    """
    if caller.owner:
        return owner_comment(tx, relay, task=task, body=body, in_reply_to=in_reply_to, from_board=False)
    arguments = {"task": task, "body": body, "in_reply_to": in_reply_to}

    def work(who: Identity | None) -> Outcome:
        assert who is not None
        return _add(tx, relay, who, task, body, in_reply_to)

    return writes.call(tx, relay, caller, "other", "comment_add", arguments, work)


def _add(tx: Tx, relay: Relay, who: Identity, task: str, body: str, in_reply_to: str) -> Outcome:
    found = tasks.get(tx, task)
    if found is None:
        return unknown(task)
    verdict = rules.speaker(rules.SpeakerFacts(nameless=who.nobody, bound=found.session_id is not None))
    if verdict.refused:
        return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id))
    text = _judged(body)
    if isinstance(text, Refusal):
        return Outcome(refusal=text)
    parent = _parent(tx, found, in_reply_to)
    if isinstance(parent, Refusal):
        return Outcome(refusal=parent)
    author = writes.settle(tx, relay, who)
    # LINK may have carried the task's binding to another row, or taken it off.
    found = tasks.by_id(tx, found.id)
    speaker = author.row or sessions.get(tx, found.session_id)
    assert speaker is not None, "table comment_speaker refuses who says nobody where none is bound"
    row = comments.add(
        tx,
        found.session_id,
        cid=ids.comment_id(tx.now),
        task_id=found.id,
        author_kind="session",
        author_id=speaker.id,
        author_title=speaker.title,
        author_verified=int(author.verified),
        body_md=text,
        state=rules.added(rules.AddFacts("session", found.session_id is not None)).outcome,
        **_parent_columns(parent),
    )
    tx.emit(
        "comment.added", comment_id=row.cid, task=row.task_key, author=speaker.ref,
        title=name_line(speaker.title), verified=author.verified,
    )  # fmt: skip
    marks = comment_marks.by_reply(tx, found, parent, comment_marks.standing(who, author, found, speaker))
    said = [word("comment.reply_stored", comment_id=row.cid, task=row.task_key, count=marks.read).text, *marks.said]
    if not author.verified:
        said.append(word("comment.author_not_verified").text)
    view = comment_view(relay, row, pending(tx, relay, found.session_id))
    return writes.done(who, {**view, "text": " ".join(said)})


def comment_ack(tx: Tx, relay: Relay, caller: Caller, *, comment_id: str) -> Outcome:
    """The bound session has read one of the owner's comments (CMT-6, 9, 15, 24; CMT-14 where the call says nobody)."""
    return writes.call(
        tx, relay, caller, "mark", "comment_ack", {"id": comment_id}, lambda who: _ack(tx, relay, who, comment_id)
    )


def _ack(tx: Tx, relay: Relay, who: Identity | None, comment_id: str) -> Outcome:
    if who is None:
        return Outcome(refusal=Refusal("comment.not_bound", "CMT-24"))
    row = comments.get(tx, comment_id)
    if row is None or row.author_kind != "owner":
        return Outcome(refusal=Refusal("comment.unknown", "ACK-5"))
    verdict = rules.speaker(rules.SpeakerFacts(nameless=who.nobody, bound=row.bound_id is not None))
    if verdict.refused:
        return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id))
    author = writes.settle(tx, relay, who)
    task = tasks.by_id(tx, row.task_id)
    bound = sessions.get(tx, task.session_id)
    speaker = author.row or bound
    row = comments.get(tx, comment_id)
    assert row is not None
    assert speaker is not None
    standing = comment_marks.standing(who, author, task, speaker)
    result, after = comment_marks.acknowledge(tx, row, standing)
    if result.kind == "refuse":
        return Outcome(refusal=Refusal(result.answer, result.spec_id))
    how = "verified" if after.read_how == "verified" else "not_verified"
    answer = result.answer or f"comment.read_{how}"
    said = word(answer, comment_id=after.cid).text
    data = {"id": after.cid, "state": after.state, "read_how": after.read_how, "text": said}
    return writes.done(who, data)
