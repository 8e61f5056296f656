"""Topics, patterns, and what a session's patterns receive (page 50, table TOPIC; PUB-1).

A topic is a path of one to eight lower-case segments; a pattern is one in which `*` stands for one segment and a final
`**` for the rest. Nothing is folded: `CI.x` is no topic, not another spelling of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from relaybay.domain import Refusal
from relaybay.rules.text import name_literal

TOPIC_BYTES_MAX = 128
SEGMENTS_MAX = 8
PATTERNS_MAX = 16

Received = Literal["exact", "pattern", "not"]
Audience = Literal["topic", "broadcast"]

_SEGMENT = re.compile(r"[a-z0-9][a-z0-9_-]*")
_ONE = "*"
_REST = "**"


def _broken(text: str, *, wildcards: bool) -> str:
    """The row of § 4.1 that the text does not keep; empty when it keeps them all."""
    if not 1 <= len(text.encode("utf-8", "surrogatepass")) <= TOPIC_BYTES_MAX:
        return "TOPIC-1"
    segments = text.split(".")
    if len(segments) > SEGMENTS_MAX or "" in segments:
        return "TOPIC-2"
    for at, segment in enumerate(segments, 1):
        if _REST in segment:
            if not wildcards or segment != _REST or at < len(segments):
                return "TOPIC-5"
        elif _ONE in segment:
            if not wildcards or segment != _ONE:
                return "TOPIC-4"
        elif not _SEGMENT.fullmatch(segment):
            return "TOPIC-3"
    return ""


def is_topic(text: str) -> bool:
    """Whether a message can be published under it (TOPIC-1 to 5)."""
    return not _broken(text, wildcards=False)


def is_pattern(text: str) -> bool:
    """Whether a session can subscribe to it (TOPIC-1 to 5). Every topic is a pattern as well: of itself."""
    return not _broken(text, wildcards=True)


def matches(pattern: str, topic: str) -> bool:
    """Whether a message under `topic` is received by `pattern` (TOPIC-6 to 14). Both have to be valid."""
    wanted, found = pattern.split("."), topic.split(".")
    if wanted[-1] == _REST:
        # The rest is at least one segment: `ci.**` does not receive `ci` itself.
        wanted = wanted[:-1]
        if len(found) <= len(wanted):
            return False
        found = found[: len(wanted)]
    return len(wanted) == len(found) and all(w in (_ONE, f) for w, f in zip(wanted, found, strict=True))


def how_received(patterns: Iterable[str], topic: str) -> Received:
    """Whether a session with these patterns receives the topic: it names it, a wildcard covers it, or neither.

    Several that match are still one delivery (TOPIC-22). The board offers to drop only what is named (OWN-8).
    """
    found: Received = "not"
    for pattern in patterns:
        if pattern == topic:
            return "exact"
        if matches(pattern, topic):
            found = "pattern"
    return found


def add_patterns(have: Sequence[str], new: Sequence[str], most: int = PATTERNS_MAX) -> tuple[str, ...] | Refusal:
    """A session's patterns with these added, each once and at its first place (TOPIC-16).

    Refused whole: `pattern_invalid` for the first that is none (TOPIC-1 to 5), `too_many_patterns` when there would
    be more than `most` (TOPIC-15). Those it has already don't count twice.
    """
    for pattern in new:
        broken = _broken(pattern, wildcards=True)
        if broken:
            return Refusal("pattern.invalid", broken, {"pattern": name_literal(pattern)})
    together = tuple(dict.fromkeys([*have, *new]))
    if len(together) > most:
        return Refusal("pattern.too_many", "TOPIC-15", {"count": len(together), "count_max": most})
    return together


def remove_patterns(have: Sequence[str], gone: Sequence[str]) -> tuple[str, ...] | Refusal:
    """A session's patterns without these, in their order; the first that it has not is named, and none goes (TOPIC-17).

    A pattern is taken as it is written: to remove `ci.*` does not remove `ci.failures`.
    """
    for pattern in gone:
        if pattern not in have:
            return Refusal("pattern.missing", "TOPIC-17", {"pattern": name_literal(pattern)})
    return tuple(pattern for pattern in have if pattern not in gone)


def audience(topic: str | None, *, broadcast: bool) -> Audience | Refusal:
    """Whom a publication is for: a topic or everybody who takes broadcasts, exactly one of the two (PUB-1).

    `broadcast: false` says no more than leaving it out. A topic that is none is refused with the row it breaks.
    """
    if (topic is not None) == broadcast:
        return Refusal("audience.invalid", "PUB-1")
    if topic is None:
        return "broadcast"
    broken = _broken(topic, wildcards=False)
    return Refusal("topic.invalid", broken, {"topic": name_literal(topic)}) if broken else "topic"
