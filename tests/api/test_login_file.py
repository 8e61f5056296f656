"""A browser that was logged in is logged in after a restart, and a file that is not ours logs nobody in."""

from __future__ import annotations

import json
import os
import stat
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from relaybay.api.login import LOGIN_LIFE_US, LOGINS_MAX, Logins
from relaybay.api.login_file import LoginFile
from tests.api.test_cli_live import Home, home

__all__ = ["home"]

NOW = 1_800_000_000_000_000


def _logins(folder: Path, now: int = NOW) -> Logins:
    return Logins(lambda: now, LoginFile(folder / "logins"))


def _log_in(logins: Logins) -> str:
    cookie = logins.redeem(logins.mint_code())
    assert cookie is not None
    return cookie


def test_a_login_and_its_forms_outlive_the_server_and_a_code_does_not(tmp_path: Path) -> None:
    first = _logins(tmp_path)
    code, cookie = first.mint_code(), _log_in(first)
    token = first.csrf_token(cookie)
    again = _logins(tmp_path)
    assert again.knows(cookie) and again.csrf_token(cookie) == token
    assert again.redeem(code) is None
    assert again.csrf_token(_log_in(again)) != token


def test_a_login_that_was_ended_stays_ended(tmp_path: Path) -> None:
    first = _logins(tmp_path)
    cookie, other = _log_in(first), _log_in(first)
    first.end(cookie)
    again = _logins(tmp_path)
    assert not again.knows(cookie) and again.knows(other)


def test_a_login_lives_no_longer_for_a_restart(tmp_path: Path) -> None:
    cookie = _log_in(_logins(tmp_path))
    assert _logins(tmp_path, NOW + LOGIN_LIFE_US).knows(cookie)
    assert not _logins(tmp_path, NOW - LOGIN_LIFE_US - 1).knows(cookie)


def test_the_file_holds_no_cookie_is_ours_alone_and_bounded(tmp_path: Path) -> None:
    logins = _logins(tmp_path)
    cookies = [_log_in(logins) for _ in range(LOGINS_MAX + 5)]
    path = tmp_path / "logins"
    text = path.read_text()
    assert not any(cookie in text for cookie in cookies)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["logins"]
    again = _logins(tmp_path)
    assert [again.knows(cookie) for cookie in cookies] == [False] * 5 + [True] * LOGINS_MAX


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[" * 50_000,
        b'{"v": 2, "logins": {}}',
        b'{"v": 1}',
        b'{"v": 1, "logins": [1]}',
        b'{"v": 1, "logins": {"zz": 1}}',
        json.dumps({"v": 1, "logins": {"ab" * 32: "1"}}).encode(),
        json.dumps({"v": 1, "logins": {"ab" * 32: True}}).encode(),
        json.dumps({"v": 1, "logins": {"ab" * 31: 1}}).encode(),
        b"\xff\xfe\x00",
    ],
)
def test_a_damaged_file_logs_nobody_in_and_is_replaced_by_the_next_login(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "logins"
    path.write_bytes(content)
    path.chmod(0o600)
    logins = _logins(tmp_path)
    cookie = _log_in(logins)
    assert _logins(tmp_path).knows(cookie)


def test_a_file_that_others_can_write_or_that_is_elsewhere_logs_nobody_in(tmp_path: Path) -> None:
    there, path = tmp_path / "there", tmp_path / "logins"
    cookie = _log_in(_logins(tmp_path))
    path.chmod(0o620)
    assert not _logins(tmp_path).knows(cookie)
    path.chmod(0o600)
    path.rename(there)
    path.symlink_to(there)
    assert not _logins(tmp_path).knows(cookie)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert not _logins(tmp_path).knows(cookie)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_login_that_cannot_be_kept_is_one_all_the_same(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "shut"
    folder.mkdir(0o500)
    logins = _logins(folder)
    assert logins.knows(_log_in(logins))
    assert "the next start knows no browser" in caplog.text


def test_a_logout_that_cannot_be_written_down_is_none_that_the_next_start_forgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins = _logins(tmp_path)
    cookie = _log_in(logins)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("relaybay.api.login_file.os.fsync", full)
    logins.end(cookie)
    monkeypatch.undo()
    assert not _logins(tmp_path).knows(cookie)


def test_a_login_that_ran_out_stays_so_when_the_clock_goes_back(tmp_path: Path) -> None:
    cookie = _log_in(_logins(tmp_path))
    assert not _logins(tmp_path, NOW + LOGIN_LIFE_US + 1).knows(cookie)
    assert not _logins(tmp_path).knows(cookie)


def test_a_folder_that_went_away_costs_no_login(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logins = _logins(tmp_path / "gone")
    assert logins.knows(_log_in(logins))
    assert "the next start knows no browser" in caplog.text


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def _ask(url: str, cookie: str = "", form: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Status, the cookie that was set, the body."""
    body = urllib.parse.urlencode(form).encode() if form is not None else None
    headers = {"Cookie": f"relaybay_session={cookie}", "Accept": "text/html"} if cookie else {"Accept": "text/html"}
    parts = urllib.parse.urlsplit(url)
    headers["Origin"] = f"{parts.scheme}://{parts.netloc}"
    opener = urllib.request.build_opener(_Stay)
    try:
        with opener.open(urllib.request.Request(url, body, headers), timeout=10) as answer:
            return answer.status, "", answer.read().decode()
    except urllib.error.HTTPError as answer:
        given = (answer.headers.get("Set-Cookie") or "").partition(";")[0].partition("=")[2]
        return answer.code, given, answer.read().decode()


@pytest.mark.parametrize("how", ["down", "kill"])
def test_a_browser_stays_logged_in_over_a_restart_and_sends_the_form_it_had_open(home: Home, how: str) -> None:
    line = home.ask("up", "--port", "0")
    _, cookie, _ = _ask(line["board_url"])
    status, _, page = _ask(line["url"] + "/", cookie)
    assert status == 200
    token = page.partition('name="csrf" value="')[2].partition('"')[0]
    if how == "down":
        home.ask("down")
    else:
        os.kill(line["pid"], 9)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{line['pid']}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    again = home.ask("up", "--port", line["url"].rpartition(":")[2])
    assert again["pid"] != line["pid"]
    form = {"csrf": token, "project": "shop", "title": "Written before the restart"}
    assert _ask(again["url"] + "/tasks", cookie, form)[0] == 303
    assert "Written before the restart" in _ask(again["url"] + "/", cookie)[2]
    assert _ask(again["url"] + "/", "A" * 43)[0] == 401
