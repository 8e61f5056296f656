"""What the tools cost a model's context, and that schemas, models and words agree with each other (page 75)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relaybay.answers import Answer, word
from relaybay.api.arguments import read_arguments
from relaybay.api.models import input_schema
from relaybay.api.results import OUTPUT_SCHEMA_CHARS_MAX, output_schema
from relaybay.api.tools import ALL_TOOLS_CHARS_MAX, CHANNEL_TOOLS, TOOLS, TOOLS_LIST_CHARS_MAX, compact, size

BASE = [
    *("message_send", "messages_list", "message_ack", "comment_add", "comments_list", "comment_ack", "tasks_list"),
    *("task_get", "task_create", "task_update", "task_bind_session", "events_since"),
]
NAMES = [BASE[0], "message_publish", "sessions_list", "topic_read", *BASE[1:]]


@pytest.mark.spec("75")
def test_the_base_set_is_twelve_tools_within_their_budget() -> None:
    base = tuple(tool for tool in TOOLS if tool.name not in CHANNEL_TOOLS)
    assert [tool.name for tool in base] == BASE
    assert size(base) <= TOOLS_LIST_CHARS_MAX == 8_000


@pytest.mark.spec("75", "CH-3")
def test_all_tools_together_keep_within_the_larger_budget() -> None:
    assert [tool.name for tool in TOOLS] == NAMES
    assert size(TOOLS) <= ALL_TOOLS_CHARS_MAX == 11_000
    for tool in TOOLS:
        assert len(compact(output_schema(tool.result))) <= OUTPUT_SCHEMA_CHARS_MAX, tool.name


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
def test_a_schema_names_what_the_model_takes_and_no_more(tool) -> None:
    schema = input_schema(tool.arguments)
    assert set(schema["properties"]) == set(tool.arguments.model_fields)
    required = {name for name, field in tool.arguments.model_fields.items() if field.is_required()}
    assert set(schema.get("required", ())) == required
    assert schema["additionalProperties"] is False
    for member in schema["properties"].values():
        assert member["type"] in ("string", "integer", "boolean", "array"), member
        assert "title" not in member and "anyOf" not in member
    assert "text" in output_schema(tool.result)["required"]


@pytest.mark.parametrize("name", ["session", "session_title", "hook_session"])
@pytest.mark.spec("WRITE-4", "LINK-12")
def test_every_write_takes_who_speaks(name: str) -> None:
    takes = {tool.name for tool in TOOLS if name in tool.arguments.model_fields}
    every = set(NAMES) - {"tasks_list", "events_since", "task_bind_session", "messages_list"}
    more = {"session": {"tasks_list", "task_bind_session", "messages_list"}}
    more["hook_session"] = {"task_bind_session", "messages_list"}
    assert takes == every | more.get(name, set())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def fits(schema: dict, value: object) -> bool:
    """The little of the schema language that these schemas use, written once more and by other means."""
    kind = schema["type"]
    if kind == "string":
        return (
            isinstance(value, str)
            and len(value) <= schema.get("maxLength", 1 << 30)
            and value in schema.get("enum", [value])
        )
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        whole = not isinstance(value, bool) and isinstance(value, (int, float)) and value == int(value)
        return whole and schema["minimum"] <= value <= schema["maximum"]
    return (
        isinstance(value, list)
        and len(value) <= schema["maxItems"]
        and all(fits(schema["items"], one) for one in value)
    )


@pytest.mark.parametrize("tool", TOOLS, ids=NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_model_takes_exactly_what_the_schema_allows(tool, data) -> None:
    schema = input_schema(tool.arguments)
    members = schema["properties"]
    near = {
        name: st.sampled_from(member.get("enum", ["x"])) | st.integers(-1, 202) | VALUES
        for name, member in members.items()
    }
    arguments = {name: data.draw(near[name]) for name in data.draw(st.sets(st.sampled_from(sorted(members))))}
    for name in schema.get("required", ()):
        if data.draw(st.integers(0, 9)):
            arguments.setdefault(name, "x")
    stranger = data.draw(st.sampled_from(["", "", "", "to ", "limits", "_meta"]))
    if stranger:
        arguments[stranger] = 1
    allowed = (
        set(arguments) <= set(members)
        and set(schema.get("required", ())) <= set(arguments)
        and all(fits(members[name], value) for name, value in arguments.items())
    )
    read = read_arguments(tool.name, tool.arguments, arguments)
    assert isinstance(read, tool.arguments) is allowed, (arguments, read)
    if isinstance(read, Answer):
        assert read.code == ("argument_unknown" if stranger else "argument_invalid")


@pytest.mark.spec("75")
def test_the_instructions_leave_room_for_names() -> None:
    assert len(word("mcp.instructions", peers="").text) < 1_000
