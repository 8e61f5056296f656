"""The text a session is handed: frames in their order of lines, and the answer around them.

Part of the wording layer: every sentence comes from `answers.word`, and here the optional lines are chosen and put
in order. A value that another session chose becomes one JSON literal here and nowhere else, so no caller can forget
it. Belongs here: lines, order, sizes. Does not: what is handed over, and to whom (`rules/packing.py`, `service/`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from relaybay.answers import word
from relaybay.rules.packing import Packed, shows_age
from relaybay.rules.text import NAME_CHARS_SHOWN_MAX, literal, name_literal, units
from relaybay.specs import limit

Door = Literal["context", "stop", "wake"]
Audience = Literal["", "direct", "topic", "broadcast"]

_GAP = "\n\n"
_GAP_UNITS = len(_GAP)
_COMMA = ", "
# Stand-ins for values while a line's pattern is made; neither stands in any wording.
_PLACE, _OTHER_PLACE = "PLACE", "ELSEWHERE"
_ID = "([mc]_[0-9A-HJKMNP-TV-Z]{26})"
_MINUTE_US = 60_000_000
_HOUR_MINUTES = 60
_DAY_MINUTES = 24 * _HOUR_MINUTES
# What the longest frame is measured with: numbers no store of one person reaches.
_COUNT_MAX = 9_999_999
_AGE_US_MAX = 99_999 * _DAY_MINUTES * _MINUTE_US
# A name that comes out longest: 7 characters that are escaped in twelve, 73 that the client counts double, and one
# more so that the ellipsis stands. No other mix has more units within TEXT-3's two limits.
_LONGEST_TITLE = "\U000f0000" * 7 + "\U0001f600" * (NAME_CHARS_SHOWN_MAX - 7) + "x"


@dataclass(frozen=True, slots=True)
class FrameFacts:
    """What the frame of one message says. Texts as stored, unescaped; empty where there is none.

    `waited_us` is its age in microseconds, `newer` how many later messages its sender wrote to this reader.

    `audience` is `direct`, `topic` (with `topic`) or `broadcast`; empty without channels, where every message is direct
    and none says so. `script`: its sender is a label only. `automation` names the sender's own rule that sent it.
    `beginning`: the body does not fit, so that its beginning is shown and how to get the rest (CH-4).
    """

    message_id: str
    sender_title: str
    verified: bool
    body: str
    sender_name: str = ""
    task: str = ""
    in_reply_to: str = ""
    waited_us: int = 0
    newer: int = 0
    audience: Audience = ""
    topic: str = ""
    script: bool = False
    automation: str = ""
    beginning: bool = False


@dataclass(frozen=True, slots=True)
class CommentFacts:
    """What the frame of one owner's comment says; as `FrameFacts`. `step` counts from 1, 0 is none."""

    comment_id: str
    task: str
    body: str
    in_reply_to: str = ""
    step: int = 0
    attachment: str = ""
    waited_us: int = 0
    newer: int = 0


@dataclass(frozen=True, slots=True)
class Sender:
    """From whom a message is, as a Stop's reason says it."""

    title: str
    verified: bool
    script: bool = False


def _age(waited_us: int) -> str:
    # Less than nothing after the clock was set back.
    minutes = max(0, waited_us) // _MINUTE_US
    if minutes < _HOUR_MINUTES:
        return word("age.minutes", minutes=minutes).text
    if minutes < _DAY_MINUTES:
        return word("age.hours", hours=minutes // _HOUR_MINUTES, minutes=minutes % _HOUR_MINUTES).text
    days, rest = divmod(minutes, _DAY_MINUTES)
    return word("age.days", days=days, hours=rest // _HOUR_MINUTES).text


def _age_line(answer_id: str, waited_us: int, newer: int) -> str:
    if not shows_age(waited_us, newer, waited_minutes_min=limit("waited_minutes_min")):
        return ""
    return word(answer_id, age=_age(waited_us), newer=newer).text


def _sender(title: str, name: str) -> str:
    if not name:
        return name_literal(title)
    return word("frame.sender_named", title=name_literal(title), name=name_literal(f"@{name}")).text


def _lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def message_frame(facts: FrameFacts) -> str:
    """The frame of one message (page 30, "The frame a session sees")."""
    return _lines(
        word("frame.message", message_id=facts.message_id).text,
        _from(facts),
        _audience(facts),
        word("frame.task", task=facts.task).text if facts.task else "",
        word("frame.in_reply_to", parent_id=facts.in_reply_to).text if facts.in_reply_to else "",
        _age_line("frame.message_age", facts.waited_us, facts.newer),
        word("frame.script_nature" if facts.script else "frame.message_nature").text,
        _how(facts),
        *_body(facts),
    )


def _from(facts: FrameFacts) -> str:
    if facts.script:
        return word("frame.from_script", label=name_literal(facts.sender_title)).text
    sender = _sender(facts.sender_title, facts.sender_name)
    if facts.automation:
        sender = word("frame.by_automation", sender=sender, automation=facts.automation).text
    return word("frame.from_verified" if facts.verified else "frame.from_unverified", sender=sender).text


def _audience(facts: FrameFacts) -> str:
    return word(f"frame.to_{facts.audience}", topic=facts.topic).text if facts.audience else ""


def _how(facts: FrameFacts) -> str:
    if facts.script:
        return word("frame.script_how", message_id=facts.message_id).text
    published = facts.audience in ("topic", "broadcast")
    return word("frame.published_how" if published else "frame.message_how", message_id=facts.message_id).text


def _body(facts: FrameFacts) -> tuple[str, ...]:
    if not facts.beginning:
        return (word("frame.body", body=literal(facts.body)).text,)
    begins = beginning(facts.body, limit("pointer_literal_units_max"))
    size = len(facts.body.encode())
    return (
        word("frame.pointer", bytes=size, shown=len(begins), chars=len(facts.body), message_id=facts.message_id).text,
        word("frame.beginning", body=literal(begins)).text,
    )


def beginning(body: str, units_max: int) -> str:
    """As much of a body, from its start, as its literal has room for: `units_max` UTF-16 units, quotes included."""
    low, high = 0, min(len(body), units_max)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if units(literal(body[:middle])) <= units_max else (low, middle - 1)
    return body[:low]


def comment_frame(facts: CommentFacts) -> str:
    """The frame of one owner's comment (page 40)."""
    attachment = name_literal(facts.attachment)
    return _lines(
        word("frame.comment", comment_id=facts.comment_id, task=facts.task).text,
        word("frame.in_reply_to", parent_id=facts.in_reply_to).text if facts.in_reply_to else "",
        word("frame.comment_step", step=facts.step).text if facts.step else "",
        word("frame.comment_attachment", attachment=attachment).text if facts.attachment else "",
        _age_line("frame.comment_age", facts.waited_us, facts.newer),
        word("frame.comment_nature").text,
        word("frame.comment_how", comment_id=facts.comment_id, task=facts.task).text,
        word("frame.body", body=literal(facts.body)).text,
    )


@cache
def _heads() -> re.Pattern[str]:
    message = re.escape(word("frame.message", message_id=_PLACE).text)
    comment = re.escape(word("frame.comment", comment_id=_PLACE, task=_OTHER_PLACE).text)
    lines = (head.replace(_PLACE, _ID).replace(_OTHER_PLACE, "[^\\n]+") for head in (message, comment))
    return re.compile("|".join(f"^{line}$" for line in lines), re.MULTILINE)


def ids_in(text: str) -> set[str]:
    """The ids of the messages and comments whose frames stand in a text (CTX-1). A quoted body can fake none: it has no
    line of its own.
    """
    return {found for match in _heads().finditer(text) for found in match.groups() if found}


def _opening(door: Door) -> str:
    ids = {"context": "opening.context", "stop": "opening.stop", "wake": "opening.wake"}
    return word(ids[door]).text


def _tail(comments: int, messages: int, work: int) -> str:
    counts = (("tail.comments", comments), ("tail.messages", messages), ("tail.work", work))
    return word("tail.waiting", counts=_COMMA.join(word(i, count=n).text for i, n in counts if n)).text


def answer_text(frames: Sequence[str], packed: Packed, *, door: Door) -> str:
    """The added context of one hook answer: opening, frames in `packed`'s order, last line if anything waits.

    The empty string when there is nothing to hand over: what waits is then no reason to speak.
    """
    if not frames:
        return ""
    tail = _tail(packed.comments_waiting, packed.messages_waiting, packed.work_waiting)
    text = _GAP.join([_opening(door), *frames, *([tail] if packed.waiting else [])])
    assert units(text) <= limit("answer_utf16_max"), "an answer is larger than the packing said"
    return text


def wake_text(frames: Sequence[str], packed: Packed) -> str:
    """The text of a fired wake-up (WAIT-2), within PACK-1 as a hook answer is."""
    return answer_text(frames, packed, door="wake")


def _reason_parts(comments: int, senders: Sequence[Sender]) -> list[str]:
    parts = []
    if comments:
        parts.append(word("stop.comment").text if comments == 1 else word("stop.comments", count=comments).text)
    # Each sender once: two messages of one are said as two, which is shorter than the two parts `item_units` counts.
    for sender, count in Counter(senders).items():
        said = {"sender": name_literal(sender.title)}
        if sender.script:
            answer_id = "stop.script_message" if count == 1 else "stop.script_messages"
            parts.append(word(answer_id, count=count, **said).text)
        elif count == 1:
            parts.append(word("stop.message" if sender.verified else "stop.message_unverified", **said).text)
        else:
            answer_id = "stop.messages" if sender.verified else "stop.messages_unverified"
            parts.append(word(answer_id, count=count, **said).text)
    return parts


def stop_reason(comments: int, senders: Sequence[Sender], *, more: Sequence[str] = ()) -> str:
    """The one line of a Stop block's `reason` (STOP-5, ANS-4): relaybay speaks, and from whom each item is.

    `comments` is how many owner's comments the answer carries, `senders` one entry a message, `more` worded parts
    for other things (a work item).
    """
    return word("stop.reason", what=_COMMA.join([*_reason_parts(comments, senders), *more])).text


def items_room(door: Door) -> int:
    """UTF-16 units that an answer has for its items: the limit less the opening and, at a Stop, the reason's frame.

    A Stop's reason is counted with the context, so that both together stay within PACK-1.
    """
    room = limit("answer_utf16_max") - units(_opening(door))
    return room - units(stop_reason(_COUNT_MAX, ())) if door == "stop" else room


def tail_room() -> int:
    """UTF-16 units of the longest last line with its gap (PACK-4)."""
    return _GAP_UNITS + units(_tail(_COUNT_MAX, _COUNT_MAX, _COUNT_MAX))


def item_units(frame: str, *, door: Door, sender: Sender | None = None, more: str = "") -> int:
    """What one frame takes of `items_room`: itself, its gap, and at a Stop its part of the reason.

    `sender` is a message's, `more` the part of anything else as `stop_reason` takes it; that of comments is
    reserved once for all.
    """
    parts = [*_reason_parts(0, [sender] if sender else []), *([more] if more else [])]
    reason = sum(len(_COMMA) + units(part) for part in parts) if door == "stop" else 0
    return _GAP_UNITS + units(frame) + reason


_LONGEST_MESSAGE = FrameFacts(
    message_id="m_" + "0" * 26,
    sender_title=_LONGEST_TITLE,
    verified=False,
    body="",
    task="t",
    in_reply_to="m_" + "0" * 26,
    waited_us=_AGE_US_MAX,
    newer=_COUNT_MAX,
)
_LONGEST_COMMENT = CommentFacts(
    comment_id="c_" + "0" * 26,
    task="t",
    body="",
    in_reply_to="c_" + "0" * 26,
    step=_COUNT_MAX,
    attachment=_LONGEST_TITLE,
    waited_us=_AGE_US_MAX,
    newer=_COUNT_MAX,
)


def _around(item: int) -> int:
    """The answer less its items' room and tail, plus one item, without that item's body literal."""
    tightest = min(items_room("context"), items_room("stop"), items_room("wake"))
    return limit("answer_utf16_max") - tightest + tail_room() + item - len('""')


@lru_cache(maxsize=2)
def longest_frame_units(*, channels: bool = False) -> int:
    """UTF-16 units that can stand around a message's literal in one answer (SEND-11): every optional line, the names
    at TEXT-3's limits, the Stop's opening and reason, and PACK-4's last line. With channels its audience is among them.
    """
    longest = replace(_LONGEST_MESSAGE, sender_name="m" * NAME_CHARS_SHOWN_MAX, task="t" * limit("task_key_chars_max"))
    kinds = [longest]
    if channels:
        named = replace(longest, automation="a" * limit("automation_name_chars_max"))
        topic = "t" * limit("topic_bytes_max")
        kinds = [
            replace(named, audience="direct"),
            replace(named, audience="topic", topic=topic),
            replace(named, audience="broadcast"),
            replace(longest, audience="topic", topic=topic, script=True, sender_name=""),
        ]
    return max(
        _around(item_units(message_frame(k), door="stop", sender=Sender(k.sender_title, k.verified, k.script)))
        for k in kinds
    )


@lru_cache(maxsize=1)
def longest_comment_frame_units() -> int:
    """The same for an owner's comment (page 40 holds comments to SEND-11 too)."""
    longest = replace(_LONGEST_COMMENT, task="t" * limit("task_key_chars_max"))
    return _around(item_units(comment_frame(longest), door="stop"))
