"""Plays the lines of a story on a real relay: hook bodies as the client posts them, tool calls by the tools' own models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from relaybay.api.calls import answered, refusal_of
from relaybay.api.claude_code import answer_of, event_of
from relaybay.api.tools import TOOLS
from relaybay.api.use_cases import USE_CASES
from relaybay.domain import Caller, ClientProcess, HookEvent, Outcome
from relaybay.service import binding, comment_lists, comments, hooks, inbox, message_lists, sessions, tasks
from relaybay.service.clock import rfc3339
from relaybay.service.relay import open_relay
from tests.scenarios.transcript import ShortIds, Step

_START = 1_800_000_000_000_000
_SECOND = 1_000_000
_UNITS = {"s": 1, "m": 60, "h": 3600}
_OWNER = Caller(owner=True)
_MODELS = {tool.name: tool.arguments for tool in TOOLS}


class Stage:
    """One relay, whose clock moves by a second with every line.

    * `hook WHO EVENT name=value…`: the client of session WHO posts an event (its hook id is `hook-WHO`);
    * `call WHO TOOL name=value…`: the agent of WHO calls a tool, its client's events before and after it included;
      `call - TOOL …` is a call of somebody without hooks;
    * `owner WORD name=value…`: the owner, on the board or at a terminal;
    * `wait 10m`: time goes by.
    """

    def __init__(self, folder: Path) -> None:
        self._now = _START
        self._ids = ShortIds()
        self._calls = 0
        self.relay = open_relay(folder / "relaybay.db", lambda: self._now)

    def play(self, step: Step) -> str:
        verb, *words = step.words
        self._now += _SECOND
        said = {name: self._ids.lengthen(value) for name, value in step.said.items()}
        shown = {"hook": self._hook, "call": self._call, "owner": self._owner, "wait": self._wait}[verb](*words, **said)
        return self._ids.shorten(shown)

    def _wait(self, long: str) -> str:
        self._now += int(long[:-1]) * _UNITS[long[-1]] * _SECOND
        return f"it is {rfc3339(self._now)}"

    # -- hooks -----------------------------------------------------------------------------------------------

    def _hook(self, who: str, name: str, **said: str) -> str:
        pid = int(said.pop("pid", "0"))
        process = ClientProcess(pid, started=str(pid), host="desk") if pid else ClientProcess()
        body: dict[str, Any] = {"session_id": f"hook-{who}", "hook_event_name": name, "cwd": "/srv/shop", **said}
        event = event_of(body, at_us=self._now, process=process)
        assert isinstance(event, HookEvent)
        hooks.witness(self.relay, event)
        answer = hooks.from_memory(self.relay, event)
        if answer is None:
            answer = self.relay.store.write(lambda tx: hooks.handle(tx, self.relay, event))
        return _shown_answer(answer_of(event, answer))

    # -- calls -----------------------------------------------------------------------------------------------

    def _call(self, who: str, tool: str, **said: str) -> str:
        self._calls += 1
        around = {"tool_name": f"mcp__relaybay__{tool}", "tool_use_id": f"toolu_{self._calls}"}
        before = self._hook(who, "PreToolUse", **around) if who != "-" else "{}"
        given = _MODELS[tool].model_validate({name: _value(value) for name, value in said.items()})
        caller = given.caller(around["tool_use_id"] if who != "-" else "")  # type: ignore[attr-defined]
        shown = _shown(self.relay.store.write(lambda tx: USE_CASES[tool](tx, self.relay, caller, given)))
        after = self._hook(who, "PostToolUse", **around) if who != "-" else "{}"
        if before != "{}":
            shown = f"before it, PreToolUse\n{before}\nthe call\n{shown}"
        return shown if after == "{}" else f"{shown}\nafter it, PostToolUse\n{after}"

    # -- the owner -------------------------------------------------------------------------------------------

    def _owner(self, does: str, **said: str) -> str:
        relay = self.relay
        acts: dict[str, Any] = {
            "task": lambda tx: tasks.task_create(tx, relay, _OWNER, **said),
            "bind": lambda tx: binding.task_bind_session(tx, relay, _OWNER, **said),
            "comment": lambda tx: comments.owner_comment(tx, relay, from_board=True, **said),
            "withdraw": lambda tx: comments.withdraw(tx, comment_id=said["id"]),
            "card": lambda tx: comment_lists.comments_list(tx, relay, _OWNER, **said),
            "inbox": inbox.inbox,
            "messages": lambda tx: message_lists.list_messages(tx, relay, _OWNER),
            "session": lambda tx: sessions.show_session(tx, relay, said["ref"]),
            "rename": lambda tx: sessions.rename(tx, relay, said["ref"], said["title"]),
        }
        return _shown(relay.store.write(acts[does]))


def _value(word: str) -> Any:
    """An argument as JSON has it: numbers, true and false; else a text, in which `\\n` is a line break."""
    return json.loads(word) if word.isdigit() or word in ("true", "false") else word.replace("\\n", "\n")


def _shown(outcome: Outcome) -> str:
    """A structured answer: its sentence, then every member on a line of its own; a list's entries one after the other."""
    refused = refusal_of(outcome)
    if refused is not None:
        return f"{refused.text} [{refused.code} {refused.spec_id}]"
    data = answered(outcome)
    lines = [data.pop("text")] if "text" in data else []
    lines += [f"warning: {one['text']} [{one['code']}]" for one in data.pop("warnings", ())]
    for name, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            for number, entry in enumerate(value, 1):
                lines += [f"{name} {number}:", *(f"    {n}: {_json(v)}" for n, v in entry.items())]
        else:
            lines.append(f"{name}: {_json(value)}")
    return "\n".join(lines)


def _shown_answer(answer: dict[str, Any]) -> str:
    """A hook's answer; the text that goes into the session's context line by line."""
    if not answer:
        return "{}"
    lines = [f"{name}: {_json(value)}" for name, value in answer.items() if name != "hookSpecificOutput"]
    context = answer["hookSpecificOutput"]["additionalContext"]
    # An empty line would end the answer in the file.
    return "\n".join(
        [*lines, "additionalContext:", *(f"    {line}".rstrip() or "    ·" for line in context.split("\n"))]
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
