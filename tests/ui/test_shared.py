"""Fragments that many tabs fetch at once are made once, and never from before a change that the asker knows of."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sanic import HTTPResponse

from relaybay.ui.shared import SECONDS_MAX, Shared
from tests.ui.board_rig import Board


class Asked:
    """What `Shared` looks at of a request."""

    def __init__(self, path: str = "/", query: str = "fragment=columns", cookie: str = "a") -> None:
        self.path, self.query_string, self.headers = path, query, {"cookie": cookie}


class Making:
    """Makes answers with a number each; holds them back until it is let go."""

    def __init__(self) -> None:
        self.count = 0
        self.go = asyncio.Event()

    async def __call__(self) -> HTTPResponse:
        self.count += 1
        mine = self.count
        await self.go.wait()
        return HTTPResponse(str(mine), 200, content_type="text/html")


async def _bodies(*answers: Any) -> list[bytes]:
    return [answer.body for answer in await asyncio.gather(*answers)]


def test_ten_tabs_get_one_answer() -> None:
    async def main() -> None:
        shared, make = Shared(), Making()
        waiting = [asyncio.ensure_future(shared.answer(Asked(), make)) for _ in range(10)]
        await asyncio.sleep(0)
        make.go.set()
        assert await _bodies(*waiting) == [b"1"] * 10

    asyncio.run(main())


@pytest.mark.parametrize("other", [Asked(path="/inbox"), Asked(query="fragment=nav"), Asked(cookie="b")])
def test_another_place_another_part_and_another_login_get_their_own(other: Asked) -> None:
    async def main() -> None:
        shared, make = Shared(), Making()
        make.go.set()
        assert await _bodies(shared.answer(Asked(), make)) == [b"1"]
        assert await _bodies(shared.answer(other, make)) == [b"2"]
        assert await _bodies(shared.answer(Asked(), make)) == [b"1"]

    asyncio.run(main())


def test_who_asks_after_a_commit_never_gets_what_was_begun_before() -> None:
    async def main() -> None:
        shared, make = Shared(), Making()
        before = asyncio.ensure_future(shared.answer(Asked(), make))
        await asyncio.sleep(0)
        shared.changed(None)
        after = asyncio.ensure_future(shared.answer(Asked(), make))
        await asyncio.sleep(0)
        make.go.set()
        assert await _bodies(before, after) == [b"1", b"2"]
        assert await _bodies(shared.answer(Asked(), make)) == [b"2"]

    asyncio.run(main())


def test_an_answer_is_given_for_a_second_at_most() -> None:
    async def main() -> None:
        now = [100.0]
        shared, make = Shared(lambda: now[0]), Making()
        make.go.set()
        await shared.answer(Asked(), make)
        now[0] += SECONDS_MAX
        assert await _bodies(shared.answer(Asked(), make)) == [b"1"]
        now[0] += 0.001
        assert await _bodies(shared.answer(Asked(), make)) == [b"2"]

    asyncio.run(main())


def test_a_tab_that_goes_away_takes_the_answer_from_nobody() -> None:
    async def main() -> None:
        shared, make = Shared(), Making()
        first = asyncio.ensure_future(shared.answer(Asked(), make))
        second = asyncio.ensure_future(shared.answer(Asked(), make))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        make.go.set()
        assert await _bodies(second) == [b"1"]

    asyncio.run(main())


def test_what_is_held_is_bounded() -> None:
    async def main() -> None:
        shared, make = Shared(), Making()
        make.go.set()
        for number in range(300):
            await shared.answer(Asked(query=f"fragment=columns&q={number}"), make)
            assert len(shared._made) <= 64

    asyncio.run(main())


def test_a_change_stands_in_the_very_next_fragment(board: Board) -> None:
    for number in range(20):
        before = board.get("/?fragment=columns").body
        board.task(f"Card number {number};")
        after = board.get("/?fragment=columns").body
        assert f"Card number {number};" not in before
        assert f"Card number {number};" in after
