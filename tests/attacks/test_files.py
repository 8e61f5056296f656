"""Cases 55 to 62: files, folders, and the database behind them."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path

import pytest

from relaybay.client import spool_writer
from tests.attacks.conftest import World
from tests.attacks.payloads import SQL
from tests.attacks.rig import Product

pytestmark = [pytest.mark.xdist_group("attacks-files"), pytest.mark.spec("75")]


@pytest.mark.usefixtures("same")
def test_case_55_a_path_in_an_address_leads_to_no_file(world: World) -> None:
    secret = world.folder / "secret.css"
    secret.write_text("secret")
    tries = [
        "/static/x/../../../secret.css", "/static/..%2f..%2fsecret.css/base.css", "/static/x/..%2f..%2fsecret.css",
        f"/static/x/{secret}", f"/static/x/%2f{str(secret)[1:].replace('/', '%2f')}", "/static/x/..%5c..%5csecret.css",
        "/static/x/secret.css%00.css", "/static/x/.%2e/.%2e/secret.css", "/static/%2e%2e/%2e%2e/secret.css",
        "/static/x/CON", "/static/x/" + "a" * 300, "/static/x/%ff%fe", "/static//x", "/static/x/base.css/..",
    ]  # fmt: skip
    for path in tries:
        answer = world.tcp.get(path)
        assert answer.status in (400, 404), path
        assert b"secret" not in answer.body.replace(b"secret.css", b"")


def _record(number: int) -> bytes:
    """An event as the command hook leaves it, whole: whoever followed the file would apply it."""
    body = json.dumps({"session_id": f"spooled-{number}", "hook_event_name": "SessionStart", "source": "startup"})
    return spool_writer.record(
        f"01M8PGHP97A9R8JSGCGJF39Z{number:02}", 1_796_052_000_000_000, "claude-code", {}, body.encode()
    )


def _heard(world: World) -> set[str]:
    return {row for rows in world.rows().values() for one in rows for row in map(str, one) if "spooled-" in row}


@pytest.mark.spec("SPOOL-5")
def test_case_56_and_59_what_is_put_into_the_spool_is_not_followed(world: World) -> None:
    spool = world.home / "state" / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    places = [spool / f"imp-{number:020}-1" for number in range(1, 6)]
    symlink, hard_link, fifo, folder, loose = places
    outside = [world.folder / f"outside-{number}" for number in range(2)]
    for number, path in enumerate(outside):
        path.write_bytes(_record(number))
        path.chmod(0o600)
    symlink.symlink_to(outside[0])
    hard_link.hardlink_to(outside[1])
    os.mkfifo(fifo, 0o600)
    folder.mkdir(mode=0o700)
    loose.write_bytes(_record(4))
    loose.chmod(0o666)
    before = world.digest()
    time.sleep(2.2)  # The server looks once a second.
    assert world.digest() == before
    # One that is in order, beside them, is taken: it was looked there all the while.
    good = spool / "spool.new"
    good.write_bytes(_record(5))
    good.chmod(0o600)
    good.rename(spool / "spool")
    until = time.monotonic() + 10
    while not _heard(world):
        assert time.monotonic() < until, "the spool is not read"
        time.sleep(0.1)
    assert all("spooled-5" in one for one in _heard(world))
    assert [path.read_bytes() for path in outside] == [_record(0), _record(1)]
    assert all(os.path.lexists(place) for place in places)
    assert world.tcp.get("/healthz").status == 200
    folder.rmdir()
    for place in (symlink, hard_link, fifo, loose):
        place.unlink()


def test_case_59_a_spool_folder_that_others_may_write_is_not_read(world: World) -> None:
    spool = world.home / "state" / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    spool.chmod(0o777)
    (spool / "spool").write_bytes(_record(9))
    (spool / "spool").chmod(0o600)
    before = world.rows()
    time.sleep(2.2)
    after = world.rows()
    told = {"inbox", "event", "event_subject", "sqlite_sequence"}
    assert {name for name in before if before[name] != after[name]} <= told, "nothing of it was applied"
    assert (spool / "spool").exists()
    spool.chmod(0o700)
    (spool / "spool").unlink()
    assert "spool" in world.log, "it is told"


def test_case_60_a_second_server_on_the_folder_is_told_where_the_first_is(world: World) -> None:
    done = world.command("up", "--foreground", "--port", "0", "--json", code=75)
    assert "url" not in json.loads(done.stdout)
    assert world.tcp.get("/healthz").status == 200


def _modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in [folder, *folder.rglob("*")]}


def test_case_61_without_a_umask_everything_is_private_all_the_same() -> None:
    with Product(umask=0) as product:
        product.owner.post("/api/v1/tasks", {"project": "shop", "title": "t"})
        product.hook("SessionStart", "h-1", source="startup")
        product.command("backup")
        product.command("token", "rotate")
        modes = _modes(product.home)
        assert {"data/relaybay.db", "data/relaybay.db-wal", "data/relaybay.db-shm", "run/token"} <= set(modes)
        assert [name for name in modes if name.startswith("state/backups/")]
        for name, mode in modes.items():
            assert mode == (0o700 if (product.home / name).is_dir() else 0o600), (name, oct(mode))


def test_case_62_words_of_the_databases_language_are_words(world: World) -> None:
    tables = sorted(world.rows())
    for number, text in enumerate(SQL):
        made = world.owner.post("/api/v1/tasks", {"project": "shop", "title": f"{number} {text}", "body": text})
        assert made.status in (201, 422), made
        world.tool("message_send", session=f"s {text}", to=text, body=text, task=text, in_reply_to=text)
        assert "code" not in world.tool(
            "message_send",
            session=f"w{number} {text}".replace("\x00", ""),
            to="bob",
            body=f"b {text}".replace("\x00", ""),
        )
        for tool, name in (
            ("tasks_list", "query"), ("tasks_list", "project"), ("tasks_list", "session"), ("tasks_list", "before"),
            ("task_get", "task"), ("messages_list", "session"), ("messages_list", "before"), ("events_since", "cursor"),
            ("comment_ack", "id"), ("message_ack", "message_id"), ("comments_list", "task"),
        ):  # fmt: skip
            said = world.tool(tool, **{name: text})
            assert said.get("code") != "internal", (tool, name, text)
        reading, _ = world.browser()
        for query in ("session", "state", "task", "before", "box", "message"):
            quoted = "".join(f"%{byte:02x}" for byte in text.encode())
            assert world.tcp.get(f"/messages?{query}={quoted}", reading).status < 500, (query, text)
    assert sorted(world.rows()) == tables
    found = world.tool("tasks_list", query="DROP TABLE")["tasks"]
    assert [one for one in found if "DROP TABLE" in one["title"]], "what was written is found again as it was"
    assert world.tool("task_get", task=world.task)["key"] == world.task
    assert "Traceback" not in world.log
