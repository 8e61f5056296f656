"""The editor of JSON text: it changes what it was told to change, and not one byte besides (page 20, Setup)."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from relaybay.setup import json_read, json_text
from tests.unit.setup_json import documents

ENTRY = {
    "type": "http",
    "url": "http://127.0.0.1:7717/mcp",
    "headers": {"Authorization": "Bearer x"},
    "alwaysLoad": True,
}


def containers(value, path=()):
    """Every container below a value with its path."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        if isinstance(item, dict | list):
            yield from containers(item, (*path, key))


@given(documents(), st.data())
def test_adding_then_removing_gives_the_same_bytes(text, data):
    path, container = data.draw(st.sampled_from(list(containers(json_read.parse(text)))))
    if isinstance(container, list):
        with_entry = json_text.append(text, path, ENTRY)
        place = (*path, len(container))
    else:
        assume("relaybay" not in container)
        place = (*path, "relaybay")
        with_entry, made = json_text.set_at(text, place, ENTRY)
        assert made == ()
    assert json_read.same(json_read.get(json_read.parse(with_entry), place), ENTRY)
    back = json_text.remove(with_entry, place)
    if container:
        assert back == text
    else:  # white space inside an empty container is not kept: everything around it is
        assert "".join(back.split()) == "".join(text.split())
        assert json_read.parse(back) == json_read.parse(text)


@given(documents(), st.data())
def test_an_edit_changes_only_its_own_place(text, data):
    before = json_read.parse(text)
    path, container = data.draw(st.sampled_from(list(containers(before))))
    assume(container)
    key = (
        data.draw(st.sampled_from(sorted(container)))
        if isinstance(container, dict)
        else data.draw(st.integers(0, len(container) - 1))
    )
    replaced = json_text.replace(text, (*path, key), ENTRY)
    removed = json_text.remove(text, (*path, key))
    wanted = json_read.parse(text)
    json_read.get(wanted, path)[key] = json_read.parse(json.dumps(ENTRY))
    assert json_read.parse(replaced) == wanted
    del json_read.get(wanted, path)[key]
    assert json_read.parse(removed) == wanted
    assert json_text.replace(replaced, (*path, key), ENTRY) == replaced


def _only_objects_on(value, path):
    """Whether every place before the last is an object, or is missing. An empty array, 0 or null is there, too."""
    for key in path:
        if not isinstance(value, dict):
            return False
        if key not in value:
            return True
        value = value[key]
    return True


@example("[]", ["a"])
@example("null", ["a"])
@example('{"a": 0}', ["a", "b"])
@given(documents(), st.lists(st.text(max_size=4), min_size=1, max_size=4))
def test_missing_objects_are_made_on_the_way(text, keys):
    path = tuple(keys)
    value = json_read.parse(text)
    if not _only_objects_on(value, path):
        with pytest.raises(json_read.WrongShapeError):
            json_text.set_at(text, path, ENTRY)
        return
    after, made = json_text.set_at(text, path, ENTRY)
    assert json_read.same(json_read.get(json_read.parse(after), path), ENTRY)
    for pointer in made:
        assert json_read.get(json_read.parse(text), json_read.path_of(pointer)) is None
    again, made_again = json_text.set_at(after, path, ENTRY)
    assert (again, made_again) == (after, ())


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        ("", ("a",), '{\n  "a": [\n    1\n  ]\n}\n'),
        ("{}", ("a",), '{\n  "a": [\n    1\n  ]\n}'),
        ("\ufeff{}\r\n", ("a",), '\ufeff{\r\n  "a": [\r\n    1\r\n  ]\r\n}\r\n'),
        ('{"x":{"y":1}}', ("x", "a"), '{"x":{"y":1,"a":[1]}}'),
        ('{"x": {}}', ("x", "a"), '{"x": {"a": [1]}}'),
        ('{\n\t"x": {\n\t\t"y": 1\n\t}\n}', ("x", "a"), '{\n\t"x": {\n\t\t"y": 1,\n\t\t"a": [\n\t\t\t1\n\t\t]\n\t}\n}'),
        ('{\n    "x": {}\n}\n', ("x", "a"), '{\n    "x": {\n        "a": [\n            1\n        ]\n    }\n}\n'),
    ],
)
def test_what_is_added_looks_like_its_surroundings(before, path, after):
    assert json_text.set_at(before, path, [1])[0] == after


@pytest.mark.parametrize(
    ("text", "line", "column", "comments"),
    [
        ('{"a": 1,\n "b": }', 2, 7, False),
        ('{"a": 1 "b": 2}', 1, 9, False),
        ('{"a": NaN}', 1, 7, False),
        ('{"a": "NaN",\n"b": -Infinity}', 2, 6, False),
        ('{"a": "x\ny"}', 1, 9, False),
        ('{\n  // why\n  "a": 1\n}', 2, 3, True),
        ('{"a": 1, /* b */ "c": "//"}', 1, 10, True),
        ('{"a": [1, 2,],}', 1, 13, True),
        ("// only a comment", 1, 1, False),
        ('{"a": // x', 1, 7, False),
    ],
)
def test_a_broken_document_is_refused_with_its_place(text, line, column, comments):
    with pytest.raises(json_read.NotJsonError) as caught:
        json_read.parse(text)
    assert (caught.value.line, caught.value.comments) == (line, comments)
    assert caught.value.column == pytest.approx(column, abs=1)  # Python's releases differ by one about commas


def test_bytes_that_are_no_text_are_refused_with_their_place():
    with pytest.raises(json_read.NotJsonError) as caught:
        json_read.decode('{"ü": 1,\n"é": "'.encode() + b"\xff")
    assert (caught.value.line, caught.value.column) == (2, 7)


def test_depth_is_refused_and_no_crash():
    with pytest.raises(json_read.NotJsonError):
        json_read.parse('{"a":' * 200_000)


def test_a_string_is_no_number():
    assert not json_read.same(json_read.parse('{"timeout": "2"}'), {"timeout": 2})
    assert json_read.same(json_read.parse('{"timeout": 2}'), {"timeout": 2})


def test_the_last_of_two_members_with_one_name_counts():
    assert json_text.set_at('{"a": {"x": 1}, "a": {}}', ("a", "b"), 1)[0] == '{"a": {"x": 1}, "a": {"b": 1}}'


def test_ten_megabytes_take_no_time_to_speak_of():
    projects = {f"/p/{n}": {"history": ["x" * 90] * 5, "allowedTools": []} for n in range(18_000)}
    text = json.dumps({"projects": projects, "mcpServers": {}}, indent=2)
    assert len(text) > 9_000_000
    began = time.process_time()  # Not the clock: others may keep the machine busy.
    added, _made = json_text.set_at(text, ("mcpServers", "relaybay"), ENTRY)
    assert json_text.remove(added, ("mcpServers", "relaybay")) == text
    assert time.process_time() - began < 5
