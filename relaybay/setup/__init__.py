"""Setup: plan, diff, apply and undo for the files of each agent client, and doctor's checks.

What belongs here: knowing where a client keeps its settings, what relaybay writes there, and how to do that
without touching anything else. What does not: options, questions and colours (`cli/`), and anything the server
does. Whoever calls this package uses the names below and nothing behind them:

    install = install_for(folders, url=..., token=..., hook_key=...)     what to write
    files = read_claude_code(folders, "user", Path.cwd(), os.environ)    what is there
    plan = plan_claude_code(files, install, choices)                     what would change
    print(diff(plan))                                                    what to show
    done = apply(plan, folders, now)                                     all of it or nothing
    done = undo(files, install, folders, now)                            as it was before

Each step gives a value or a `Refusal` with a stable code, and a refusal has changed nothing.
"""

from __future__ import annotations

from relaybay.setup import doctor
from relaybay.setup.apply import apply
from relaybay.setup.claude_code import plan_claude_code
from relaybay.setup.claude_places import client_program, client_version, read_claude_code
from relaybay.setup.claude_undo import plan_undo_claude_code
from relaybay.setup.doctor import ServerFacts
from relaybay.setup.doctor_values import Check
from relaybay.setup.install import install_for
from relaybay.setup.show import diff
from relaybay.setup.undo import undo
from relaybay.setup.values import (
    Applied,
    Choices,
    ClaudeFiles,
    FileEdit,
    Folders,
    Install,
    Note,
    Plan,
    Refusal,
)

__all__ = [
    "Applied",
    "Check",
    "Choices",
    "ClaudeFiles",
    "FileEdit",
    "Folders",
    "Install",
    "Note",
    "Plan",
    "Refusal",
    "ServerFacts",
    "apply",
    "client_program",
    "client_version",
    "diff",
    "doctor",
    "install_for",
    "plan_claude_code",
    "plan_undo_claude_code",
    "read_claude_code",
    "undo",
]
