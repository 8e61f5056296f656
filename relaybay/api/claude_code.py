"""Claude Code's own shapes: its event bodies in, its hook answers out. The only module that knows their member names.

Of an event only what page 20 lists is taken over. A prompt's text is looked at for its first words (PROMPT-1) and goes
no further; tool input and output are not read at all, the client's own SendMessage's `to` apart.
"""

from __future__ import annotations

import os
import platform
from functools import lru_cache
from typing import Any, Final

from sanic import Request

from relaybay.answers import Answer, word
from relaybay.domain import ClientProcess, HookEvent
from relaybay.rules.prompt import kind_of
from relaybay.service.hooks import HookAnswer

CLIENT: Final = "claude-code"
_TEXT_CHARS_MAX: Final = 4_096
_HEADER: Final = "x-relaybay-"
_DIGITS_MAX: Final = 18
_WORD_CHARS_MAX: Final = 64
_TO_CHARS_MAX: Final = 256


def _text(body: dict[str, Any], name: str) -> str:
    # Half a surrogate pair, which JSON can carry and no store can, is not printable.
    value = body.get(name)
    if not isinstance(value, str) or len(value) > _TEXT_CHARS_MAX or not value.isprintable():
        return ""
    return value


def _agent_id(body: dict[str, Any]) -> str:
    """The subagent's id. Anything but nothing makes an event a subagent's: text must never go there (ANS-8)."""
    given = body.get("agent_id")
    if given is None or given == "":
        return ""
    return _text(body, "agent_id") or "unreadable"


def _word(headers: Any, name: str) -> str:
    """A header of the command client: printable ASCII, as it sends it; anything else is left out."""
    value: str = headers.get(_HEADER + name, "")
    return value[:_WORD_CHARS_MAX] if value.isascii() and value.isprintable() else ""


@lru_cache(maxsize=4_096)
def canonical(folder: str) -> str:
    """A working folder by its one true path, where this machine has it; else without `.` and `..` only."""
    if not folder.startswith("/"):
        return folder
    return os.path.realpath(folder)


def _number(value: str) -> int:
    return int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS_MAX else 0


def process_of(headers: Any) -> ClientProcess:
    """The client's process, from the command client's headers (a mapping of lower-case names); none without them."""
    pid = _number(headers.get(_HEADER + "client-pid", ""))
    if not pid:
        return ClientProcess()
    return ClientProcess(
        pid=pid,
        started=_word(headers, "client-started"),
        pid_ns=_word(headers, "pid-ns"),
        host=platform.node(),
        entrypoint=_word(headers, "entrypoint"),
        version=_word(headers, "client-version"),
    )


def _prompt_kind(body: dict[str, Any], *, replayed: bool) -> Any:
    spooled = body.get("prompt_kind")
    if replayed and isinstance(spooled, str):
        return kind_of("" if spooled == "user" else f"<{spooled}", _text(body, "source"))
    prompt = body.get("prompt")
    source = body.get("source")
    return kind_of(prompt if isinstance(prompt, str) else "", source if isinstance(source, str) else None)


def _send_message_to(body: dict[str, Any]) -> str:
    """The `to` of the client's own SendMessage, at its PostToolUse that says success (page 30)."""
    if body.get("tool_name") != "SendMessage" or body.get("hook_event_name") != "PostToolUse":
        return ""
    given, answer = body.get("tool_input"), body.get("tool_response")
    done = isinstance(answer, dict) and answer.get("success") is True
    to = given.get("to") if isinstance(given, dict) else None
    return to if done and isinstance(to, str) and len(to) <= _TO_CHARS_MAX and to.isprintable() else ""


def event_of(
    body: dict[str, Any],
    *,
    at_us: int,
    process: ClientProcess = ClientProcess(),  # noqa: B008 - a frozen value.
    event_id: str = "",
    replayed: bool = False,
    start_ticket: str = "",
    wanted_name: str = "",
) -> HookEvent | Answer:
    """One event, or the refusal of a body that names no session or no event (400)."""
    hook_id, name = body.get("session_id"), body.get("hook_event_name")
    if not isinstance(hook_id, str) or not hook_id.strip() or not _text(body, "session_id"):
        return word("hook.session_id_missing")
    if not isinstance(name, str) or not name.strip():
        return word("hook.event_name_missing")
    return HookEvent(
        hook_id=hook_id,
        name=name,
        at_us=at_us,
        cwd=canonical(_text(body, "cwd")),
        replayed=replayed,
        event_id=event_id,
        agent_id=_agent_id(body),
        source=_text(body, "source"),
        reason=_text(body, "reason"),
        prompt_id=_text(body, "prompt_id"),
        prompt_kind=_prompt_kind(body, replayed=replayed) if name == "UserPromptSubmit" else "",
        permission_mode=_text(body, "permission_mode"),
        tool_name=_text(body, "tool_name"),
        tool_use_id=_text(body, "tool_use_id"),
        stop_hook_active=body.get("stop_hook_active") is True,
        session_title=_text(body, "session_title"),
        transcript_path=_text(body, "transcript_path"),
        send_message_to=_send_message_to(body),
        notification_type=_text(body, "notification_type"),
        client=CLIENT,
        process=process,
        start_ticket=start_ticket,
        wanted_name=wanted_name,
    )


def live_event(request: Request, body: dict[str, Any], now: int) -> HookEvent | Answer:
    """An event as it arrives. The command client says when it happened; a clock ahead of ours is not believed."""
    said = _number(request.headers.get(_HEADER + "event-at", ""))
    return event_of(
        body,
        at_us=min(said, now) if said else now,
        process=process_of(request.headers),
        event_id=_word(request.headers, "event-id"),
        start_ticket=_word(request.headers, "start"),
        wanted_name=_word(request.headers, "name"),
    )


def answer_of(event: HookEvent, said: HookAnswer) -> dict[str, Any]:
    """The hook answer: ANS-1 to 4 in the client's members, `{}` when there is nothing to say."""
    if said.done is None:
        return _context(event, said.line) if said.line else {}
    if said.done.at == "stop":
        # Measured: with the text in `reason` alone the client shows it twice (page 75, Hooks on the wire).
        return {"decision": "block", "reason": said.done.reason, **_context(event, said.done.text)}
    return _context(event, said.done.text)


def _context(event: HookEvent, text: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": text}}
