"""The board's addresses, by name: templates and redirects write none of their own (page 75, Board routes)."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

_TWIN: Final = ".json"
_PATHS: Final = {
    "board": "/",
    "board_json": "/board.json",
    "inbox": "/inbox",
    "inbox_seen": "/inbox/seen",
    "sessions": "/sessions",
    "session": "/sessions/{ref}",
    "session_rename": "/sessions/{ref}/rename",
    "session_end": "/sessions/{ref}/end",
    "session_unlink": "/sessions/{ref}/unlink",
    "session_name": "/sessions/{ref}/name",
    "session_policy": "/sessions/{ref}/policy",
    "session_topics": "/sessions/{ref}/topics",
    "session_broadcasts": "/sessions/{ref}/broadcasts",
    "conversation": "/sessions/{ref}/with/{other}",
    "messages": "/messages",
    "message_seen": "/messages/{id}/seen",
    "for_review": "/messages?tab=review",
    "review": "/messages/{id}/review",
    "message_approve": "/messages/{id}/approve",
    "message_reject": "/messages/{id}/reject",
    "channels": "/channels",
    "channel": "/channels/{topic}",
    "broadcasts": "/broadcasts",
    "projects": "/projects",
    "project_add": "/projects",
    "task": "/tasks/{key}",
    "task_create": "/tasks",
    "task_comment": "/tasks/{key}/comments",
    "task_replies_read": "/tasks/{key}/replies/read",
    "task_bind": "/tasks/{key}/bind",
    "task_status": "/tasks/{key}/status",
    "task_edit": "/tasks/{key}/edit",
    "task_steps": "/tasks/{key}/steps",
    "task_files": "/tasks/{key}/files",
    "task_file": "/tasks/{key}/files/{number}",
    "task_file_remove": "/tasks/{key}/files/{number}/remove",
    "comment_withdraw": "/comments/{id}/withdraw",
    "log_out": "/logout",
    "search": "/search",
    "view_save": "/views",
    "view_forget": "/views/{id}/delete",
    "palette": "/palette",
    "keys": "/keys",
    "preferences": "/preferences",
    "map": "/map",
    "events": "/events",
    "settings": "/settings",
    "health": "/health",
    "project": "/projects/{slug}",
    "project_md": "/projects/{slug}.md",
    "task_md": "/tasks/{key}.md",
    "stream": "/api/v1/stream",
}


def has_page(name: str) -> bool:
    """Whether there is an address of that name."""
    return name in _PATHS


def _in_path(value: str) -> str:
    # A topic may end as the address of a JSON twin does; its own dot is then no dot of the address.
    stem = value.removesuffix(_TWIN)
    return quote(value, safe="") if stem == value else f"{quote(stem, safe='')}%2E{_TWIN[1:]}"


def url(name: str, /, _part: str = "", **values: str | None) -> str:
    """The address `name`. Values that its path names fill it, the others make the query; empty ones are left out.

    `_part` is the place on the page, without `#`.
    """
    path = _PATHS[name]
    query = {}
    for key, value in values.items():
        if f"{{{key}}}" in path:
            path = path.replace(f"{{{key}}}", _in_path(str(value)))
        elif value:
            query[key] = value
    text = f"{path}?{urlencode(query)}" if query else path
    return f"{text}#{quote(_part)}" if _part else text
