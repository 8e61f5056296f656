"""A thread in the order in which one reads it, and which places of it are folded; filters kept for later."""

from __future__ import annotations

from dataclasses import dataclass

from relaybay.service.threads import FOLDED_FROM, arranged, runs


@dataclass
class Mail:
    id: int
    message_id: int
    parent_id: int | None = None


def places(*mails: tuple[int, int | None]) -> list[tuple[int, int]]:
    made = [Mail(key, 100 + key, None if parent is None else 100 + parent) for key, parent in mails]
    return [(mail.id, level) for mail, level in arranged(made)]  # type: ignore[arg-type]


def test_answers_follow_what_they_answer_the_oldest_first() -> None:
    assert places() == []
    assert places((1, None)) == [(1, 0)]
    assert places((3, 1), (2, 1), (1, None)) == [(1, 0), (2, 1), (3, 1)]
    assert places((1, None), (2, 1), (3, 1), (4, 2), (5, 3)) == [(1, 0), (2, 1), (4, 2), (3, 1), (5, 2)]
    assert places((2, 1), (3, 2), (4, None)) == [(2, 0), (3, 1), (4, 0)], "what is answered may not be here"


def test_deep_runs_are_folded_and_open_where_one_asked() -> None:
    deep = FOLDED_FROM
    levels = [0, 1, deep - 1, deep, deep + 1, 1, deep]

    def run(first: int, end: int, *, folded: bool, open_: bool = False) -> dict[str, object]:
        return {"first": first, "end": end, "folded": folded, "open": open_}

    whole = [run(0, 3, folded=False), run(3, 5, folded=True), run(5, 6, folded=False), run(6, 7, folded=True)]
    assert runs(levels, 0) == runs(levels, 5) == whole
    whole[1]["open"] = True
    assert runs(levels, 3) == runs(levels, 4) == whole
    assert runs(levels, 6)[3]["open"] and not runs(levels, 6)[1]["open"]
    assert runs([], 0) == []
    assert runs([deep], 0) == [run(0, 1, folded=True, open_=True)]
