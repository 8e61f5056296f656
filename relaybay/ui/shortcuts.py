"""Every key of the board with what it does, for the list behind `?` and for the palette.

A key itself is given in the HTML (`data-hotkey` on a button or link); this list only puts words to it, and
`tests/ui/test_keys.py` holds the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Shortcut:
    """`keys` as in `data-hotkey`, its alternatives parted by commas; `page` where the key leads, if it only leads."""

    keys: str
    words: str
    group: str
    page: str = ""

    @property
    def shown(self) -> list[str]:
        """What is to be pressed, one after the other: the first alternative, as a reader knows the keys."""
        return [_NAMES.get(part, part) for part in self.keys.split(",", maxsplit=1)[0].split()]


_NAMES: Final = {"Control+k": "Ctrl K"}
GO: Final = "Go to"
ANYWHERE: Final = "Anywhere"
LIST: Final = "In a list"
BOARD: Final = "On the board"
TASK: Final = "On a task, a session, an entry"
HELD: Final = "On what is held for review"
CHANNEL: Final = "In a channel"

#: In the order in which they are listed.
SHORTCUTS: Final = (
    Shortcut("g b", "Board", GO, "board"),
    Shortcut("g i", "Inbox: what waits for you", GO, "inbox"),
    Shortcut("g s", "Sessions", GO, "sessions"),
    Shortcut("g l", "Messages", GO, "messages"),
    Shortcut("g r", "For review: messages that are held", GO, "for_review"),
    Shortcut("g t", "Channels", GO, "channels"),
    Shortcut("g m", "Map", GO, "map"),
    Shortcut("g e", "Events", GO, "events"),
    Shortcut("g p", "Projects", GO, "projects"),
    Shortcut("g c", "Settings", GO, "settings"),
    Shortcut("g h", "Health", GO, "health"),
    Shortcut("/,Shift+/", "Search", ANYWHERE, "search"),
    Shortcut("Control+k,Meta+k", "Find and do: the palette", ANYWHERE, "palette"),
    Shortcut("?,Shift+?", "This list of keys", ANYWHERE, "keys"),
    Shortcut("n", "Next that needs you", ANYWHERE),
    Shortcut("u", "Undo what you just did", ANYWHERE),
    Shortcut("j", "Next row, also of the next list", LIST),
    Shortcut("k", "Previous row, also of the list before", LIST),
    Shortcut("Space", "Peek at the row", LIST),
    Shortcut("t", "New task", BOARD),
    Shortcut("h", "Card in the column before", BOARD),
    Shortcut("l", "Card in the next column", BOARD),
    Shortcut("[,Control+Alt+[", "Move the card to the column before", BOARD),
    Shortcut("],Control+Alt+]", "Move the card to the next column", BOARD),
    Shortcut("m", "Move the card to …", BOARD),
    Shortcut("c", "Comment to the agent", TASK),
    Shortcut("r", "Reply", TASK),
    Shortcut("e", "Done: I have dealt with it", TASK),
    Shortcut("v", "Review: look at a held message", HELD),
    Shortcut("a", "Approve the message, once", HELD),
    Shortcut("d", "Reject the message; asks once more", HELD),
    Shortcut("o", "Older messages", CHANNEL),
    Shortcut("s", "Subscribe the chosen session, or not any more", CHANNEL),
)


def groups(found: tuple[Shortcut, ...] | list[Shortcut]) -> list[dict[str, object]]:
    """The shortcuts under their headings, as templates take them."""
    return [
        {"name": name, "shortcuts": [one for one in found if one.group == name]}
        for name in (GO, ANYWHERE, LIST, BOARD, TASK, HELD, CHANNEL)
        if any(one.group == name for one in found)
    ]
