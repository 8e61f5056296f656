"""The owner's comment on a bound task holds the turn back at its end: until it is read, twice at most."""

from __future__ import annotations

import re
from typing import Any

from tests.live.client import OneShot, Session
from tests.live.product import model_call
from tests.live.rig import Bench, Case
from tests.live.stub_api import Call, Gate, Request, Say, Step

MARK = "use-the-blue-paint-please"
COMMENT_ID = re.compile(r"c_[0-9A-HJKMNP-TV-Z]{26}")


def comment_blocks_stop_until_it_is_read(bench: Bench) -> None:
    """One block, the comment once in the next request, and none after the model has acknowledged it."""

    def acknowledge(request: Request) -> Call:
        found = set(COMMENT_ID.findall(request.text))
        assert len(found) == 1, found
        return model_call("comment_ack", id=found.pop())

    task, alpha, run = _commented_turn(bench, [acknowledge, Say("second end")])
    turn = run.finish()
    assert turn.code == 0, turn
    assert turn.result["result"] == "second end", turn.result
    steps = bench.api.steps(alpha.id)
    assert [step.text.count(MARK) for step in steps] == [0, 0, 1, 1], "shown once, at the Stop block"
    assert task in steps[2].text, "the frame names the task"
    (comment,) = _comments(bench, task)
    assert (comment["state"], comment["read_how"]) == ("read", "verified"), comment


def comment_blocks_stop_twice_at_most(bench: Bench) -> None:
    """A model that ignores it is asked twice; then the turn ends and the comment stays unread."""
    task, alpha, run = _commented_turn(bench, [Say("second end"), Say("third end")])
    turn = run.finish()
    assert turn.result["result"] == "third end", turn.result
    steps = bench.api.steps(alpha.id)
    assert [step.text.count(MARK) for step in steps] == [0, 0, 1, 2], "two blocks, each with the text once"
    (comment,) = _comments(bench, task)
    assert comment["state"] == "delivered", comment
    assert comment["delivered_to"], comment


def _commented_turn(bench: Bench, after_block: list[Step]) -> tuple[str, Session, OneShot]:
    """A linked session whose task is commented on while its model is about to end the turn."""
    bench.serve()
    task = bench.product.done("task_create", project="acme-shop", title="Paint the shed")["key"]
    alpha = bench.session("alpha")
    ending = Gate(Say("first end"))
    bench.api.script(alpha.id, [model_call("message_ack"), ending, *after_block])
    run = alpha.one_shot("go")
    ending.wait()
    bench.product.done("task_bind_session", task=task, session="alpha")
    bench.product.cli("comment", task, MARK)
    ending.open()
    return task, alpha, run


def _comments(bench: Bench, task: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = bench.product.done("comments_list", task=task)["comments"]
    return listed


CASES: tuple[Case, ...] = (comment_blocks_stop_until_it_is_read, comment_blocks_stop_twice_at_most)
