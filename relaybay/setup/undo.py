"""Undo in one step: plan and apply."""

from __future__ import annotations

from datetime import datetime

from relaybay.setup.apply import apply
from relaybay.setup.claude_undo import plan_undo_claude_code
from relaybay.setup.values import Applied, ClaudeFiles, Folders, Install, Refusal


def undo(files: ClaudeFiles, install: Install, folders: Folders, now: datetime) -> Applied | Refusal:
    """Takes relaybay out of the files of one scope; the refusals are those of the plan and of `apply`."""
    plan = plan_undo_claude_code(files, install)
    return plan if isinstance(plan, Refusal) else apply(plan, folders, now)
