"""Strict JSON, validation by models, the OpenAPI document, and the key files."""

from __future__ import annotations

import json
import os
import stat
import time

import pytest

from relaybay.api.keys import FILES, KeyFileRefused, KeyFolder, Keys
from relaybay.api.openapi import document
from relaybay.api.strict_json import NotJson, dumps, loads
from tests.api.conftest import Rig

# --- JSON ---


@pytest.mark.parametrize(
    "text",
    [
        "NaN", "[Infinity]", "-Infinity", "1e400", '{"a": -1e999}', '{"a": 1, "a": 2}', '[{"b": {"a": 1, "a": 1}}]', "", "{", "[1,]",
        "[" * 100_000, '{"a":' * 100_000, "9" * 5000, "\ufeff{}", "'a'", '"\n"', "{} {}",
    ],
)  # fmt: skip
def test_34_what_is_not_strict_json(text: str) -> None:
    for given in (text, text.encode()):
        with pytest.raises(NotJson) as refused:
            loads(given)
        assert len(str(refused.value)) < 100


def test_34_what_is() -> None:
    assert loads(b'{"a": [1, -2.5e3, null, true, "\\ud83d"], "b": 9223372036854775808}')["b"] == 2**63
    assert loads('{"a": 1, "a": 2}', unique_keys=False) == {"a": 2}
    with pytest.raises(NotJson):
        loads(b'"\xff"')
    with pytest.raises(NotJson):
        loads("[NaN]", unique_keys=False)


def test_what_is_written_is_strict_too() -> None:
    assert dumps({"a": "→", "b": [1, None]}) == '{"a":"→","b":[1,null]}'.encode()
    assert json.loads(dumps(["\ud83d", "→"])) == ["\ud83d", "→"]
    for bad in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="JSON"):
            dumps([bad])


@pytest.mark.parametrize(
    ("body", "status", "code", "names"),
    [
        (b"", 400, "body_not_json", ""),
        (b"{", 400, "body_not_json", ""),
        (b'{"text": "a", "text": "b"}', 400, "body_not_json", ""),
        (b"[" * 100_000, 400, "body_not_json", ""),
        (b"[]", 400, "body_not_object", ""),
        (b"{}", 422, "argument_invalid", "text"),
        (b'{"text": 1}', 422, "argument_invalid", "text"),
        (b'{"text": "a", "count": "5"}', 422, "argument_invalid", "count"),
        (b'{"text": "a", "count": 10}', 422, "argument_invalid", "count"),
        (b'{"text": "a", "count": 9223372036854775808}', 422, "argument_invalid", "count"),
        (b'{"text": "\\ud800"}', 422, "argument_invalid", "body"),
        (b'{"text": "a", "<b>\\u202e": 1}', 422, "argument_unknown", "?b??"),
    ],
)
@pytest.mark.spec("75")
def test_bodies_are_refused_by_name_and_change_nothing(
    rig: Rig, body: bytes, status: int, code: str, names: str
) -> None:
    answer = rig.unix.request("POST", "/api/v1/things", {**rig.owner, "Content-Type": "application/json"}, body)
    assert (answer.status, answer.code) == (status, code), answer
    assert f"`{names}`" in answer.json["detail"] or not names
    assert rig.calls == []


def test_bodies_and_queries_reach_the_handler_as_models(rig: Rig) -> None:
    answer = rig.unix.post("/api/v1/things", {"text": "→", "count": 3}, rig.owner)
    assert (answer.status, answer.json) == (201, {"id": "1", "text": "→", "count": 3})
    answer = rig.unix.get("/api/v1/things/a%2Fb%20c?limit=7&tag=x&tag=y", rig.owner)
    assert answer.json == {"key": "a/b c", "limit": 7, "tag": ["x", "y"]}
    assert rig.unix.get("/api/v1/things/a", rig.owner).json["limit"] == 10


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("limit=51", "argument_invalid"),
        ("limit=x", "argument_invalid"),
        ("limit=", "argument_invalid"),
        ("limit=1&limit=2", "argument_invalid"),
        ("other=1", "argument_unknown"),
        ("&".join("tag=x" for _ in range(101)), "argument_invalid"),
        ("%ff=%ff", "argument_unknown"),
    ],
)
def test_queries_are_refused_by_name(rig: Rig, query: str, code: str) -> None:
    answer = rig.unix.get(f"/api/v1/things/a?{query}", rig.owner)
    assert (answer.status, answer.code) == (422, code)


@pytest.mark.parametrize(
    ("body", "code"), [(b"nope", "body_not_json"), (b"[1]", "body_not_object"), (b'{"a":1,"a":2}', None)]
)
@pytest.mark.spec("75")
def test_hook_bodies_are_objects(rig: Rig, body: bytes, code: str | None) -> None:
    answer = rig.unix.request("POST", "/hooks/claude-code", {"Content-Type": "application/json"}, body)
    assert (answer.status, answer.code if code else None) == (400 if code else 200, code)


# --- OpenAPI ---


def test_the_document_says_what_the_models_do(rig: Rig) -> None:
    made = document(rig.routes.operations, title="relaybay", version="1")
    json.dumps(made)
    assert set(made["paths"]) == {"/api/v1/things", "/api/v1/things/{key}"}
    post = made["paths"]["/api/v1/things"]["post"]
    schema = made["components"]["schemas"][
        post["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    ]
    assert schema["required"] == ["text"] and schema["additionalProperties"] is False
    assert schema["properties"]["count"] | {"title": ""} == {
        "default": 1,
        "minimum": 1,
        "maximum": 9,
        "type": "integer",
        "title": "",
    }
    assert post["responses"]["201"]["links"]["Find"]["operationId"] == "find_thing"
    assert post["responses"]["default"]["content"]["application/problem+json"]
    assert post["security"] == [{"login": [], "form": []}, {"owner": []}]
    find = made["paths"]["/api/v1/things/{key}"]["get"]
    assert [(p["name"], p["in"], p["required"]) for p in find["parameters"]] == [
        ("key", "path", True),
        ("limit", "query", False),
        ("tag", "query", False),
    ]


def test_the_document_is_valid_openapi(rig: Rig) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(document(rig.routes.operations, title="relaybay", version="1"))
    schema.validate()
    assert sorted(op.ok().definition.raw["operationId"] for op in schema.get_all_operations()) == [
        "drop_thing",
        "find_thing",
        "list_things",
        "make_thing",
    ]


# --- key files ---


@pytest.mark.spec("75")
def test_24_keys_are_made_private_and_kept(tmp_path) -> None:
    before = os.umask(0)
    try:
        keys = KeyFolder(tmp_path / "run").load()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == sorted(FILES.values())
    for file in FILES.values():
        assert stat.S_IMODE((tmp_path / "run" / file).stat().st_mode) == 0o600
    assert len({keys.token, keys.hook_key, keys.owner_key}) == 3 and all(
        len(k) == 43 for k in (keys.token, keys.hook_key)
    )
    assert (tmp_path / "run" / "token").read_text() == keys.token + "\n"
    again = KeyFolder(tmp_path / "run").load()
    assert (again.token, again.hook_key, again.owner_key) == (keys.token, keys.hook_key, keys.owner_key)
    assert keys.token not in repr(keys)


def test_24_unsafe_key_files_are_refused(tmp_path) -> None:
    folder = tmp_path / "run"
    KeyFolder(folder).load()
    token = folder / "token"
    good = token.read_text()

    def refused(why: str) -> None:
        with pytest.raises(KeyFileRefused, match=why):
            KeyFolder(folder).load()

    token.chmod(0o644)
    refused("read by others")
    token.unlink()
    (tmp_path / "real").write_text(good)
    (tmp_path / "real").chmod(0o600)
    token.symlink_to(tmp_path / "real")
    refused("plain file")
    token.unlink()
    os.mkfifo(token, 0o600)
    begun = time.monotonic()
    refused("plain file")
    assert time.monotonic() - begun < 10
    token.unlink()
    token.mkdir()
    refused("plain file")
    token.rmdir()
    for content in ("", "short", "x" * 200, "bad key with blanks in it, and long enough to be one"):
        token.write_text(content)
        token.chmod(0o600)
        refused("does not hold a key")
    if os.geteuid() == 0:
        token.write_text(good)
        os.chown(token, 65534, 65534)
        refused("another user")
        os.chown(token, 0, 0)
        os.chown(folder, 65534, 65534)
        refused("another user")
        os.chown(folder, 0, 0)
    token.write_text(good)
    assert KeyFolder(folder).load().token == good.strip()
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(KeyFileRefused):
        KeyFolder(tmp_path / "link").load()


def test_24_a_loose_folder_of_ours_is_tightened(tmp_path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    KeyFolder(tmp_path / "run").load()
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o700


def test_a_rotation_is_one_step_and_is_noticed(tmp_path) -> None:
    serving, command = KeyFolder(tmp_path / "run"), KeyFolder(tmp_path / "run")
    keys = serving.load()
    serving.refresh()
    assert serving.refresh() is None
    new = command.rotate("token")
    assert new != keys.token and (tmp_path / "run" / "token").read_text().strip() == new
    refreshed = serving.refresh()
    assert refreshed == Keys(new, keys.hook_key, keys.owner_key)
    assert serving.refresh() is None
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == sorted(FILES.values())
