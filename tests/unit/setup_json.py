"""JSON documents in many layouts, for the tests of setup: a value, and ways a person or a client may write it."""

from __future__ import annotations

import json

from hypothesis import strategies as st


class Raw:
    """A number in a spelling that Python would not choose."""

    def __init__(self, text):
        self.text = text


KEYS = st.one_of(
    st.sampled_from(["a", "hooks", "mcpServers", "Stop", "", 'q"uote', "sl/ash", "ti~lde", "ünï"]), st.text(max_size=6)
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(["1.50", "1E+2", "-0", "1e400"]).map(Raw),
    st.text(max_size=8),
)


VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=5)


def write(value, draw, style, depth=0):
    """The value as text; `style` is neat (an indent), tight, or wild (white space anywhere)."""
    kind, unit, newline = style

    def gap(level):
        if kind == "neat":
            return newline + unit * level
        return (
            ""
            if kind == "tight"
            else draw(st.sampled_from(["", " ", "\t", newline, newline * 2 + "   ", "  " + newline]))
        )

    if isinstance(value, Raw):
        return value.text
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if not value:
        return opening + (gap(depth) if kind == "wild" else "") + closing
    colon = {"neat": ": ", "tight": ":"}.get(kind)
    parts = []
    for item in value.items() if isinstance(value, dict) else value:
        if isinstance(value, dict):
            key = json.dumps(item[0], ensure_ascii=draw(st.booleans()))
            between = colon or draw(st.sampled_from([":", ": ", " : ", ":" + newline]))
            parts.append(gap(depth + 1) + key + between + write(item[1], draw, style, depth + 1))
        else:
            parts.append(gap(depth + 1) + write(item, draw, style, depth + 1))
    comma = "," if kind != "wild" else draw(st.sampled_from([",", " ,"]))
    return opening + comma.join(parts) + gap(depth) + closing


@st.composite
def documents(draw, objects=OBJECTS):
    """The text of a JSON document whose root is an object."""
    style = (
        draw(st.sampled_from(["neat", "neat", "tight", "wild"])),
        draw(st.sampled_from(["  ", "    ", "\t", " ", ""])),
        draw(st.sampled_from(["\n", "\n", "\r\n"])),
    )
    text = write(draw(objects), draw, style)
    before = draw(st.sampled_from(["", "", "", "\ufeff", "\n", "\ufeff \r\n"]))
    return before + text + draw(st.sampled_from(["", "\n", "\r\n", "\n\n  "]))


FOREIGN = st.sampled_from(
    [
        {"type": "command", "command": "echo hi"},
        {"type": "command", "command": "python3", "args": ["/opt/bin/hook.py"], "timeout": Raw("2.50")},
        {"type": "http", "url": "http://127.0.0.1:7717/other", "headers": {"Authorization": "Bearer x"}},
    ]
)
GROUPS = st.lists(
    st.fixed_dictionaries({"hooks": st.lists(FOREIGN, max_size=2)}, optional={"matcher": st.just("Bash")}), max_size=2
)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "SessionStart", "Notification"]), GROUPS, max_size=3)
SERVERS = st.dictionaries(st.sampled_from(["other", "github", "a/b"]), OBJECTS, max_size=2)


@st.composite
def client_files(draw):
    """The text of a settings file or a `.claude.json`, mostly with hooks and servers of other people in it."""
    known = {"hooks": HOOKS, "mcpServers": SERVERS, "env": st.dictionaries(KEYS, st.text(max_size=3), max_size=2)}
    chosen = draw(st.fixed_dictionaries({}, optional=known))
    rest = {key: value for key, value in draw(OBJECTS).items() if key not in known}
    members = draw(st.permutations(list((chosen | rest).items())))
    return draw(st.one_of(documents(objects=st.just(dict(members))), st.just("")))
