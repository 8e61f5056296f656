"""Directed runs over the owner's comments and the agents' replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.stateful.directed_mail import card, comment_states, hand_over
from tests.stateful.world import World

Run = Callable[[World], None]


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world."""
    yield from (
        ("comment marks", comment_marks),
        ("comments in their first seconds", grace),
        ("comments of a rebound task", rebound),
        ("comment blocks", comment_blocks),
        ("comment acks refused", comment_acks_refused),
        ("comments on the task", comments_on_the_task),
        ("agents' replies", agents_replies),
    )


def comment_marks(w: World) -> None:
    """CMT-6 to 9 by the bound session, from `sent` and from `delivered`, proven and not."""
    key = card(w, 2)
    hand_over(w, "tool", 0)
    w.comment(key)
    w.comment_ack(w.caller("", claims=0), w.cid(0))
    w.comment_ack(w.caller("", claims=0), w.cid(0))
    w.comment_add(w.caller("", claims=0), key, w.cid(1))
    w.comment_add(w.caller("", claims=0), key, w.cid(1))
    w.comment_add(w.caller("", claims=0), key, w.cid(2))
    w.comment(key)
    w.comment_ack(w.caller("", claims=0), w.cid(3))
    assert comment_states(w) == ["read"] * 4
    # One who never linked itself, by its name and by nobody's (CMT-14).
    w.create_task(w.caller("Alice"))
    w.bind(key, "Alice")
    for _ in range(4):
        w.comment(key)
    w.comment_ack(w.caller("Alice"), w.cid(4))
    w.comment_ack(w.caller(), w.cid(5))
    w.comment_add(w.caller("Alice"), key, w.cid(6))
    w.comments_list(w.caller("Alice"), key)
    w.comment_add(w.caller(), key)
    w.comment_add(w.caller("Alice"), key)
    assert "delivered" not in comment_states(w)
    # Delivered over a link that the owner took off meanwhile, and by another hand.
    w.bind(key, "S-1")
    w.comment(key)
    hand_over(w, "tool", 0)
    w.comment_ack(w.caller("", witness=2), w.cid(8))
    w.comment_add(w.caller("", witness=2), key, w.cid(8))
    w.comment_add(w.caller("", witness=2), key)
    w.unlink("S-1")


def grace(w: World) -> None:
    """CMT-3, 12, 19: nothing is handed over in its first seconds, and nothing is taken back after them."""
    key = card(w, 0)
    w.comment(key, board=True)
    assert w.hook("PreToolUse", 0, tool_name="Bash").done is None
    w.withdraw(w.cid(0))
    assert comment_states(w) == []
    w.comment(key, board=True)
    w.tick(6)
    w.withdraw(w.cid(0))
    hand_over(w, "tool", 0)
    w.withdraw(w.cid(0))
    w.comment_ack(w.caller("", witness=0), w.cid(0))
    w.withdraw(w.cid(0))
    assert comment_states(w) == ["read"]


def rebound(w: World) -> None:
    """CMT-5, 18, 22 with comments in every state; the hand-over's failure is heard of afterwards."""
    key = card(w, 1)
    hand_over(w, "tool", 0)
    w.comment_ack(w.caller("", witness=0), w.cid(0))
    w.comment(key)
    hand_over(w, "stop", 0)
    w.comment(key)
    w.bind(key, "S-1")
    assert comment_states(w) == ["read", "delivered", "sent"]
    w.bind(key, "S-2", w.caller("", witness=0))
    w.not_written()
    assert comment_states(w) == ["read", "sent", "sent"]
    hand_over(w, "prompt", 2)
    w.unbind(key)
    w.unbind(key)
    w.bind(key, "S-1")
    hand_over(w, "stop", 0)


def comment_blocks(w: World) -> None:
    """CMT-4: two Stop blocks in a comment's life, over turns and rebindings; then it is silent."""
    key = card(w, 1)
    for _ in range(4):
        w.hook("Stop", 0)
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    assert w.hook("Stop", 0).done is None
    w.bind(key, "S-2")
    assert w.hook("Stop", 2).done is None
    assert w.hook("UserPromptSubmit", 2, prompt_kind="local").done is not None


def comment_acks_refused(w: World) -> None:
    """CMT-15, 24 from each state, and replies that mark nothing (CMT-13)."""
    key = card(w, 1)
    for _ in range(3):
        for caller in (w.caller("S-1"), w.caller("", witness=2), w.caller("Zoe")):
            w.comment_ack(caller, w.cid(0))
            w.comment_add(caller, key, w.cid(0))
            w.comment_add(caller, key)
        if comment_states(w) == ["sent"]:
            hand_over(w, "tool", 0)
        else:
            w.comment_ack(w.caller("", witness=0), w.cid(0))
    assert comment_states(w) == ["read"]
    w.unbind(key)
    w.comment_ack(w.caller(), w.cid(0))
    w.comment_add(w.caller(), key)


def comments_on_the_task(w: World) -> None:
    """CMT-8 and 23: a reply that names no comment means what its session was given."""
    key = card(w, 1)
    w.comment_add(w.caller("", claims=0), key)
    assert comment_states(w) == ["sent"]
    w.comments_list(w.caller("", claims=0), key)
    w.comment_add(w.caller("", claims=0), key)
    assert comment_states(w) == ["read"]
    w.comment(key)
    hand_over(w, "tool", 0)
    w.comment_add(w.caller("", claims=0), key)
    assert comment_states(w) == ["read", "read"]
    # Delivered, then the row's id is taken off: the row never linked itself, and its comments wait again.
    w.comment(key)
    hand_over(w, "tool", 0)
    w.hook("SessionEnd", 0)
    w.comment_add(w.caller("S-1"), key)
    w.comment_add(w.caller("S-1", claims=0), key)


def agents_replies(w: World) -> None:
    """CMT-10, 11: the owner has seen replies by saying so or by commenting."""
    key = card(w, 0)
    for _ in range(2):
        w.comment_add(w.caller("", witness=0), key)
        w.inbox()
        w.replies_read(key)
        w.comment_add(w.caller("", witness=0), key)
        w.comment(key)
        w.replies_read(key)
