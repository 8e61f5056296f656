"""Files on a task (page 40): kept by what is in them, given out as they came, bounded, and gone when they are."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from relaybay.service import attachments
from relaybay.service.clock import rfc3339
from relaybay.specs import limit
from relaybay.store import attachments as stored
from tests.unit.card_rig import CardRig


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def attach(rig, task: str, name: str = "notes.txt", content: bytes = b"Hello", media_type: str = "text/plain"):
    return rig.store.write(
        lambda tx: attachments.attach(tx, task=task, name=name, media_type=media_type, content=content)
    )


def fetch(rig, task: str, number) -> attachments.Outcome:
    return rig.store.read(lambda tx: attachments.fetch(tx, rig.relay, task=task, number=str(number)))


def contents(rig) -> list[str]:
    return [row[0] for row in rig.store.read(lambda tx: tx.rows("SELECT sha256 FROM attachment_content ORDER BY 1"))]


@pytest.mark.spec("40")
@pytest.mark.parametrize("content", [b"", b"Hello", bytes(range(256)) * 40])
def test_a_file_is_given_out_as_it_came(rig, content: bytes) -> None:
    task = rig.task()
    said = attach(rig, task, content=content).data
    digest = hashlib.sha256(content).hexdigest()
    assert said["text"] == f'The file "notes.txt" stands on {task}.'
    assert (said["name"], said["media_type"], said["size_bytes"], said["sha256"], said["created_at"]) == (
        "notes.txt", "text/plain", len(content), digest, rfc3339(rig.now),
    )  # fmt: skip
    assert fetch(rig, task, said["id"]).data["content"] == content
    assert rig.last_event("task.updated") == {"task": task, "project": "shop", "changed": ["files"], "by": "owner"}


@pytest.mark.spec("40")
def test_equal_content_is_kept_once_and_goes_with_the_last_that_has_it(rig) -> None:
    task = rig.task()
    one, two = (attach(rig, task, name).data["id"] for name in ("a", "b"))
    other = attach(rig, rig.task(), "c", b"else").data["id"]
    assert len(contents(rig)) == 2
    rig.do(lambda tx: attachments.detach(tx, task=task, number=str(one)))
    assert len(contents(rig)) == 2 and fetch(rig, task, two).data["content"] == b"Hello"
    said = rig.do(lambda tx: attachments.detach(tx, task=task, number=str(two)))
    assert said["task"] == task and '"b"' in said["text"]
    assert contents(rig) == [hashlib.sha256(b"else").hexdigest()]
    assert fetch(rig, task, other).refusal.answer == "attachment.unknown", "a file of another task"


@pytest.mark.spec("40")
@pytest.mark.parametrize(
    ("given", "kept"),
    [("../../etc/passwd", "passwd"), (r"C:\Users\ada\a b.txt", "a b.txt"), (" a \n b ", "a b")],
)
def test_of_a_path_the_last_part_is_kept(rig, given: str, kept: str) -> None:
    assert attach(rig, rig.task(), given).data["name"] == kept


@pytest.mark.spec("40")
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Image/PNG", "image/png"),
        (" text/x-c++ ", "text/x-c++"),
        ("application/vnd.a.b+json", "application/vnd.a.b+json"),
        ("", attachments.UNKNOWN_TYPE),
        ("png", attachments.UNKNOWN_TYPE),
        ("text/html\r\nX: y", attachments.UNKNOWN_TYPE),
        ("text/<b>", attachments.UNKNOWN_TYPE),
        (f"text/{'x' * 63}", f"text/{'x' * 63}"),
        (f"text/{'x' * 64}", attachments.UNKNOWN_TYPE),
    ],
)
def test_a_media_type_that_is_none_is_unknown(rig, given: str, kept: str) -> None:
    assert attach(rig, rig.task(), media_type=given).data["media_type"] == kept


@pytest.mark.spec("40", "SEND-15")
@pytest.mark.parametrize(
    ("name", "code"), [("", "argument_invalid"), ("a/\u200b", "argument_invalid"), ("x" * 201, "argument_invalid")]
)
def test_a_name_that_says_nothing_or_too_much_is_refused(rig, name: str, code: str) -> None:
    task = rig.task()
    assert rig.no(lambda tx: attachments.attach(tx, task=task, name=name, media_type="", content=b""))[0] == code
    assert contents(rig) == []


@pytest.mark.spec("40")
def test_a_file_and_a_task_are_bounded(rig) -> None:
    task, most, count = rig.task(), limit("attachment_bytes_max"), limit("attachments_per_task_max")
    outcome = attach(rig, task, content=b"x" * (most + 1))
    assert outcome.refusal.answer == "attachment.too_large" and contents(rig) == []
    assert attach(rig, task, content=b"x" * most).ok
    for _ in range(count - 1):
        assert attach(rig, task, "x" * limit("name_chars_max")).ok
    full = attach(rig, task)
    assert full.refusal.answer == "attachment.too_many" and full.refusal.values == {"task": task, "most": count}
    assert attach(rig, rig.task()).ok
    number = rig.store.read(lambda tx: stored.of_task(tx, 1))[0].id
    rig.do(lambda tx: attachments.detach(tx, task=task, number=str(number)))
    assert attach(rig, task).ok


@pytest.mark.spec("75")
@pytest.mark.parametrize("number", ["", "0", "2", "-1", "x", "²", "9" * 18, "9" * 30])
def test_what_is_not_there_says_so(rig, number: str) -> None:
    task = rig.task()
    attach(rig, task)
    assert fetch(rig, task, number).refusal.answer == "attachment.unknown"
    assert rig.no(lambda tx: attachments.detach(tx, task=task, number=number))[0] == "attachment_unknown"
    assert fetch(rig, "shop-99", "1").refusal.answer == "task.unknown.owner"
    assert attach(rig, "shop-99").refusal.answer == "task.unknown.owner"
    assert len(contents(rig)) == 1


@pytest.mark.spec("FLT-8")
@pytest.mark.parametrize("sql", ["UPDATE attachment_content SET content = x'00'", "DELETE FROM attachment_content"])
def test_content_that_the_disk_has_changed_is_not_given_out(rig, sql: str) -> None:
    task = rig.task()
    number = attach(rig, task).data["id"]
    rig.store.write(lambda tx: tx.run(sql))
    assert fetch(rig, task, number).refusal.answer == "attachment.damaged"


@pytest.mark.spec("40")
def test_files_stand_in_the_order_in_which_they_came_and_go_with_their_task(rig) -> None:
    task = rig.task()
    ids = [attach(rig, task, name).data["id"] for name in ("b", "a")]
    assert [row.id for row in rig.store.read(lambda tx: stored.of_task(tx, 1))] == ids
    rig.store.write(lambda tx: tx.run("DELETE FROM task"))
    assert rig.store.read(lambda tx: stored.of_task(tx, 1)) == []
