"""Which modules of tests are written about a file of the core: all their tests are run over its mutants.

Hundreds of tests come by in who makes a call, say, and only few of them look there. Those few stand in modules of
their own, which no count of lines can tell from the others.
"""

from __future__ import annotations

from tests.mutation.mutants import ROOT

_UNIT = "tests/unit/test_"
_LINKS = ("linking_service", "service_hooks_links", "service_identity", "service_links", "hook_id_names")
_HOOKS = (
    "service_hooks_turns", "service_hooks_text", "service_hooks_rows", "service_hooks_links", "service_hooks_edges",
    "service_asking", "service_wake",
)  # fmt: skip
_MAIL = (
    "service_messages_edges",
    "service_messages_send",
    "service_messages_marks",
    "service_messages_sender",
    "service_messages_repeats",
)
_PAGES = (
    "service_views_rest", "service_views_room", "service_views_events", "service_views", "service_views_map",
    "service_views_house", "service_tasks_edit", "service_bounds",
)  # fmt: skip
_COMMENTS = ("service_comments", "service_comments_edges")

#: File of `service/` → modules of `tests/unit/`, without what all of them begin with.
_ABOUT: dict[str, tuple[str, ...]] = {
    "arguments": ("service_arguments", "service_argument_names", "service_tasks_edges"),
    "attachments": ("service_attachments", "service_argument_names"),
    "binding": (*_COMMENTS, "service_argument_names"),
    "births": _HOOKS,
    "card": _COMMENTS,
    "comment_lists": _COMMENTS,
    "comment_marks": _COMMENTS,
    "comments": _COMMENTS,
    "context_proof": ("service_context", "service_context_edges"),
    "contexts": ("service_context", "service_context_edges"),
    "export": ("service_comments_edges", "service_export"),
    "feed": ("service_feed", "service_argument_names", "service_reads"),
    "figures": ("service_reads",),
    "filters": ("service_filters", "service_reads"),
    "filters_sessions": ("service_filters", "service_reads"),
    "handover": (
        "service_hooks_text",
        "service_hooks_turns",
        "service_context",
        "service_context_edges",
        "service_comments",
    ),
    "hooks": _HOOKS,
    "house": ("service_house",),
    "identity": (*_LINKS, "service_messages_sender", "service_messages_repeats"),
    "ids": ("service_ids",),
    "inbox": ("service_inbox", "service_inbox_kinds", "service_asking"),
    "linking": _LINKS,
    "links": (*_LINKS, "service_sweep"),
    "mailbox": ("service_hooks_memory",),
    "listing": ("service_reads",),
    "message_lists": ("service_messages_list", "service_reads"),
    "messages": _MAIL,
    "moves": _LINKS,
    "naming": _LINKS,
    "presence": ("service_hooks_memory", "service_presence", "clock_set_back"),
    "processes": ("service_processes", "service_sweep"),
    "projects": ("service_tasks", "service_argument_names", "service_projects"),
    "reach": ("service_messages_edges", "service_messages_receive", "service_messages_send"),
    "receipts": (
        "service_messages_edges",
        "service_messages_send",
        "service_messages_receive",
        "service_messages_list",
    ),
    "recipients": ("service_messages_edges", "service_messages_receive", "service_messages_send"),
    "relay": ("service_presence",),
    "repeats": ("service_messages_repeats", "service_messages_edges"),
    "replay": ("service_hooks_rows",),
    "saved_views": ("service_sessions_edges", "service_search", "service_filters", "service_argument_names"),
    "search_index": ("service_search",),
    "sessions": ("service_sessions", "service_sessions_edges", "service_argument_names"),
    "start_line": ("service_hooks_text", "service_sessions_edges"),
    "steps": ("delivery", "service_tasks_edges", *_COMMENTS, *_MAIL),
    "sweep": ("service_sweep", "service_tasks_edges"),
    "tasks": ("service_tasks", "service_tasks_edges", "service_argument_names"),
    "threads": ("service_threads",),
    "turns": (*_HOOKS, "rules_edges"),
    "views": ("service_views",),
    "views_events": ("service_views",),
    "views_inbox": ("service_views",),
    "views_map": ("service_views_map",),
    "views_messages": _PAGES,
    "views_owner": _PAGES,
    "views_palette": _PAGES,
    "views_projects": _PAGES,
    "views_search": ("service_search", "service_argument_names", *_PAGES),
    "views_sessions": _PAGES,
    "views_tasks": _PAGES,
    "waits": ("service_wake", "service_presence"),
    "wake": ("service_wake", "service_hooks_edges"),
    "writes": ("service_comments", "service_messages_repeats"),
}
#: The same for `rules/`, where a module's own tests are few and quick; these are of the service that asks it.
_ABOUT_RULES: dict[str, tuple[str, ...]] = {
    "activity": (*_HOOKS, "rules_edges"),
    "context": ("service_context", "service_context_edges"),
    "export": ("export", "service_export"),
    "handles": _LINKS,
    "hook_link": _HOOKS,
    "linking": (*_LINKS, "rules_edges"),
    "move": ("rules_edges",),
    "names": (*_LINKS, "rules_edges"),
    "packing": ("packing", "service_hooks_text"),
    "query": ("rules_query", "rules_grammar", "rules_edges", "service_filters"),
    "prompt": ("rules_hooks_turn",),
    "query_keys": ("rules_query", "rules_grammar", "rules_edges", "service_filters"),
    "text": ("text", "rules_edges"),
    "unicode_ranges": ("text", "rules_edges"),
}
_FOLDERS = {"relaybay/service": _ABOUT, "relaybay/rules": _ABOUT_RULES}


def modules(file: str) -> frozenset[str]:
    """The modules of tests about a file, from the root."""
    folder, _, name = file.rpartition("/")
    stems = _FOLDERS.get(folder, {}).get(name.removesuffix(".py"), ())
    if folder == "relaybay/service":
        stems = (*stems, "service_bounds")
    return frozenset(f"{_UNIT}{stem}.py" for stem in stems)


def unknown() -> list[str]:
    """What is listed and is not there."""
    files = [f"{folder}/{name}.py" for folder, known in _FOLDERS.items() for name in known]
    return [path for path in (*files, *sorted({m for f in files for m in modules(f)})) if not (ROOT / path).is_file()]
