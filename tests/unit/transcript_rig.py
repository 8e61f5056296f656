"""A client's transcript as Claude Code 2.1.197 and 2.1.332 write it: a real file, line by line, in the measured shapes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Transcript:
    """One session's file below the client's folder. Each method appends the lines of one thing that happened."""

    def __init__(self, folder: Path, hook: str = "h1", project: str = "-src-shop") -> None:
        self.hook = hook
        self.path = folder / "projects" / project / f"{hook}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self._steps = 0

    def line(self, **members: Any) -> None:
        said = {"parentUuid": None, "isSidechain": False, **members}
        said.setdefault("sessionId", self.hook)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    def step(self, step_id: str = "", text: str = "I see.", **more: Any) -> str:
        """The model speaks: one content block of one message of its."""
        self._steps += 1
        step_id = step_id or f"msg_{self._steps}"
        content = [{"type": "text", "text": text}]
        self.line(type="assistant", message={"id": step_id, "role": "assistant", "content": content}, **more)
        return step_id

    def typed(self, text: str = "go") -> None:
        self.line(type="user", message={"role": "user", "content": text}, origin={"kind": "human"})

    def tool_result(self, text: str) -> None:
        content = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}]
        self.line(type="user", message={"role": "user", "content": content}, toolUseResult=text)

    def hook_ran(self, text: str, name: str = "PreToolUse:Bash") -> None:
        """The client took the hook's answer; this line stands there also when the text is dropped."""
        stdout = json.dumps({"hookSpecificOutput": {"additionalContext": text}})
        self.line(
            type="attachment", attachment={"type": "hook_success", "hookName": name, "content": "", "stdout": stdout}
        )

    def shown(self, text: str, name: str = "PreToolUse:Bash", **more: Any) -> None:
        """The hook's text reached the context."""
        self.hook_ran(text, name)
        attached = {"type": "hook_additional_context", "content": [text], "hookName": name, "hookEvent": "PreToolUse"}
        self.line(type="attachment", attachment=attached, **more)

    def woken(self, text: str) -> None:
        """A wake-up of an idle session."""
        said = (
            "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\n"
            f'Stop hook blocking error from command "Stop": {text}\n</system-reminder>'
        )
        self.line(type="queue-operation", operation="enqueue", content=said)
        self.line(type="queue-operation", operation="dequeue")
        self.line(type="user", message={"role": "user", "content": said}, origin={"kind": "task-notification"})

    def queued(self, text: str) -> None:
        """A wake-up that a running turn took up (2.1.332)."""
        self.line(type="queue-operation", operation="enqueue", content=text)
        self.line(type="attachment", attachment={"type": "queued_command", "prompt": text, "commandMode": "prompt"})

    def interrupted(self, at_us: int, text: str = "[Request interrupted by user for tool use]") -> None:
        at = datetime.fromtimestamp(at_us / 1_000_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        content = [{"type": "text", "text": text}]
        self.line(type="user", message={"role": "user", "content": content}, timestamp=at)
