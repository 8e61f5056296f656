"""How messages, their ends and their outcomes look on a terminal (page 50, § 6.4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from relaybay.cli import output

# What did not get through: inside an agent's shell its text is left out (CH-9).
NOT_THROUGH = frozenset({"held", "taken", "refused", "rate_limited", "rejected", "dropped"})
WITHHELD = "(the text did not get through, so it is not shown inside an agent's shell)"
_EXPLAINED_BY_STATE = frozenset({"delivered", "read"})


def to(party: Mapping[str, Any]) -> str:
    """A recipient: its `@name`, else its title."""
    name = party.get("name")
    return f"@{output.shown(name)}" if name else output.shown(party.get("title") or party.get("ref") or "")


def sender(party: Mapping[str, Any]) -> str:
    """Who wrote it: title and `@name`, with the mark of a script always (C8), and the rule that spoke for a session."""
    said = [output.shown(party.get("title") or party.get("ref") or "")]
    if party.get("name"):
        said.append(f"@{output.shown(party['name'])}")
    if party.get("script"):
        said.append("(script)")
    elif not party.get("verified", True):
        said.append("(name not verified)")
    if party.get("automation"):
        said.append(f"(automation {output.shown(party['automation'])})")
    return " ".join(said)


def audience(members: Mapping[str, Any]) -> str:
    """`direct`, `broadcast`, or the topic."""
    kind = output.shown(members.get("kind", "direct"))
    return f"{kind} {output.shown(members['topic'])}" if members.get("topic") else kind


def outcome(recipient: Mapping[str, Any]) -> str:
    """One recipient with its state, and why where the state alone does not say it."""
    state = output.shown(recipient.get("state", ""))
    said = f"{to(recipient)}  {state}"
    if recipient.get("automation"):
        said += f" by {output.shown(recipient['automation'])}"
    code = output.shown(recipient.get("reason_code") or "")
    sentence = output.shown(recipient.get("reason") or recipient.get("reach") or "")
    why = [code] if code else []
    if sentence and (code or state not in _EXPLAINED_BY_STATE):
        why.append(sentence)
    return "  ".join([said, ": ".join(why)]) if why else said


def outcomes(recipients: Iterable[Mapping[str, Any]], before: str) -> list[str]:
    """A line per recipient."""
    return [f"{before}{outcome(one)}" for one in recipients]


def local_time(text: str) -> str:
    """A time of the server's as this machine's clock shows it."""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return output.shown(text)


def withhold(message: dict[str, Any]) -> dict[str, Any]:
    """The message as an agent's shell is given it: without its text when it did not get through (CH-9)."""
    states = {message.get("state"), *(one.get("state") for one in message.get("recipients", []))}
    return message if not states & NOT_THROUGH else message | {"body": '""', "withheld": True}
