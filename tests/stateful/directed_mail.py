"""Directed runs over deliveries, comments, turns and replies, and over what two machines do to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.stateful.places import put
from tests.stateful.scenery import FOLDERS
from tests.stateful.world import World

Run = Callable[[World], None]


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world."""
    for at in ("prompt", "tool", "stop"):
        yield f"answers not written, handed over at {at}", _not_written(at)
    for way in ("merged", "orphaned"):
        yield f"mail of a row that is {way}", _row_goes(way)
    yield from (
        ("acknowledged in each way", acknowledged), ("never linked itself", never_linked),
        ("two conversations of one row", other_session), ("own words", own_words), ("a whole conversation", replies),
        ("turn", turn), ("turn of an unlinked row", unlinked_turn), ("ignored by the turn", ignored_by_turn),
        ("blocks of two turns given back", blocks_given_back), ("too many and too deep", too_many), ("restarts keep mail", restarts), ("two hooks at once", two_at_once),
    )  # fmt: skip


def hand_over(w: World, at: str, h: int) -> None:
    """An event of a linked session that carries what waits."""
    if at == "prompt":
        w.hook("UserPromptSubmit", h, prompt_kind="local")
    elif at == "tool":
        w.hook("PreToolUse", h, tool_name="Bash")
    else:
        w.hook("Stop", h)


def states(w: World) -> list[str]:
    return [row["state"] for row in w.seen.tables["delivery"]]


def comment_states(w: World) -> list[str]:
    return [row["state"] for row in w.seen.owner_comments.values()]


def card(w: World, count: int = 1) -> str:
    """Two linked sessions, a task bound to the first, and comments of the owner."""
    w.linked(0, 2)
    w.create_task()
    key = w.task(0)
    w.bind(key, w.ref(0))
    for _ in range(count):
        w.comment(key)
    return key


def _not_written(at: str) -> Run:
    """PACK-7 from every state in which the marks may stand when the failure is heard of."""

    def run(w: World) -> None:
        key = card(w)
        w.mail(2, 0)
        hand_over(w, at, 0)
        w.not_written()
        assert (states(w), comment_states(w)) == (["sent"], ["sent"])
        # Again, and a Stop shows it once more before that failure is heard of.
        hand_over(w, "tool", 0)
        hand_over(w, "stop", 0)
        w.not_written(1)
        w.not_written(0)
        # Read meanwhile.
        hand_over(w, at, 0)
        w.ack(w.caller("", witness=0))
        w.comment_ack(w.caller("", witness=0), w.cid(0))
        w.not_written()
        assert (states(w), comment_states(w)) == (["read"], ["read"])
        # Taken away meanwhile: unlinked, rebound.
        w.comment(key)
        w.mail(2, 0)
        hand_over(w, at, 0)
        w.unbind(key)
        w.unlink("S-1")
        w.not_written()
        assert states(w)[-1] == "sent"
        # Shown at a tool call, the Stop's block alone was not written; and a hand-over long replaced by a later one.
        w.hook("SessionStart", 0, source="resume", process=True)
        w.ack(w.caller("", witness=0))
        w.bind(key, f"S-{w.row_of(0)['id']}")
        w.hook("SessionStart", 4, source="startup")
        w.ack(w.caller("", witness=4))
        w.mail(2, 4)
        w.comment(key)
        hand_over(w, "tool", 0)
        hand_over(w, "tool", 4)
        hand_over(w, "stop", 4)
        w.not_written(0)
        # Handed to one conversation, then to the next behind the same row: the first failure is heard of last.
        w.comment(key)
        w.send(w.caller("", witness=2), to=f"S-{w.row_of(0)['id']}")
        w.given.clear()
        hand_over(w, at, 0)
        w.hook("SessionStart", 1, source="clear", process=True)
        hand_over(w, "tool", 1)
        w.not_written(0)
        assert (states(w)[-1], comment_states(w)[-1]) == ("delivered", "delivered")

    return run


def _row_goes(way: str) -> Run:
    """MOVE-1 and MOVE-3 with mail in every state."""

    def run(w: World) -> None:
        w.linked(2)
        w.create_task()
        b = put(w, "guessed hook" if way == "merged" else "exact", 0)
        bound = w.ref(1)
        w.bind(w.task(0), bound)
        w.comment(w.task(0))
        for _ in range(3):
            w.send(w.caller("", witness=2), to=b)
        if way == "orphaned":
            hand_over(w, "tool", 0)
            w.ack(w.caller("", witness=0), w.mid(0))
            w.send(w.caller("", witness=2), to=b)
            w.comment(w.task(0))
            w.hook("SessionEnd", 0)
            w.create_task(w.caller("Zoe", claims=0))
            assert states(w) == ["read", "orphaned", "orphaned", "orphaned"]
            w.not_written(0)
            w.ack(w.caller("", witness=2), w.mid(1))
            w.send(w.caller("", witness=2), in_reply_to=w.mid(1))
        else:
            w.create_task(w.caller("Zoe", witness=0))
            assert w.row_of(0)["title"] == "Zoe"
            hand_over(w, "tool", 0)
            # A restarted terminal: the row that its new id made goes too, with what it was handed and has read.
            w.linked(1)
            w.mail(2, 1, 2)
            hand_over(w, "tool", 1)
            w.ack(w.caller("", claims=1), w.mid(3))
            w.create_task(w.caller("Zoe", witness=1))
            assert states(w)[3:] == ["read", "delivered"]
            assert len({row["recipient_id"] for row in w.seen.tables["delivery"]}) == 1

    return run


def acknowledged(w: World) -> None:
    """DLV-2 to 7 on a row that has linked itself."""
    w.linked(0, 2)
    w.mail(2, 0, 3)
    w.ack(w.caller("", claims=0), w.mid(0))
    w.ack(w.caller("", witness=0), w.mid(0))
    w.ack(w.caller("S-1"), w.mid(1))
    hand_over(w, "tool", 0)
    w.ack(w.caller("S-1"), w.mid(1))
    w.ack(w.caller("S-1"))
    w.ack(w.caller("", claims=0))
    assert states(w) == ["read", "read", "read"]
    w.mail(2, 0)
    w.hook("SessionEnd", 0)
    w.ack(w.caller("S-1"), w.mid(3))
    w.ack(w.caller("S-1", claims=0), w.mid(3))


def never_linked(w: World) -> None:
    """DLV-5, and what was acknowledged unproven stays so when the row gets a link."""
    w.linked(2)
    w.create_task(w.caller("Alice"))
    for _ in range(3):
        w.send(w.caller("", witness=2), to="Alice")
    w.ack(w.caller("Alice"), w.mid(0))
    w.list(w.caller("Alice"))
    w.ack(w.caller("Alice"))
    assert states(w) == ["read", "read", "read"]
    # The link is unlinked by the owner with something delivered: the row counts as never linked.
    w.hook("SessionStart", 0, source="startup", process=True)
    w.create_task(w.caller("Alice", witness=0))
    w.mail(2, 0, 2)
    hand_over(w, "tool", 0)
    w.unlink(f"S-{w.row_of(0)['id']}")


def other_session(w: World) -> None:
    """MOVE-5: /clear and a restarted terminal bring another conversation; what the old one was given waits again."""
    key = card(w)
    w.mail(2, 0)
    hand_over(w, "prompt", 0)
    w.hook("SessionStart", 1, source="clear", process=True)
    assert (states(w), comment_states(w)) == (["sent"], ["sent"])
    hand_over(w, "stop", 1)
    w.hook("SessionStart", 4, source="startup")
    w.update_task(w.caller("S-1", witness=4), key)
    assert (states(w), comment_states(w)) == (["sent"], ["sent"])


def own_words(w: World) -> None:
    """MOVE-12: nobody is handed its own words, whether they wait or were handed over."""
    w.linked(0)
    w.create_task()
    w.hook("SessionStart", 4, source="startup")
    w.send(w.caller("", witness=0), to=w.ref(1))
    w.update_task(w.caller("S-1", witness=4), w.task(0))
    assert states(w) == ["read"]
    w.hook("SessionStart", 2, source="startup")
    w.ack(w.caller("", witness=2))
    w.mail(4, 2)
    hand_over(w, "tool", 2)
    w.update_task(w.caller("S-1", witness=2), w.task(0))


def replies(w: World) -> None:
    """A chain of replies to its end, each marking its parent; the ninth stands in the Inbox (SEND-13)."""
    w.linked(0, 2)
    w.mail(0, 2)
    for n in range(9):
        w.tick(8)
        w.send(w.caller("", witness=2 if n % 2 == 0 else 0), in_reply_to=w.mid(n))
    assert states(w)[:8] == ["read"] * 8
    assert len(w.mids()) == 9
    w.inbox()
    w.repeat()
    w.repeat_call()
    w.repeat(changed=True)


def turn(w: World) -> None:
    """Table STOP from 0 to 2 and back, and what is spent stays spent."""
    w.linked(0, 2)
    w.hook("Stop", 0)
    for blocks in range(3):
        for n in range(blocks):
            w.mail(2, 0)
            assert w.hook("Stop", 0).done is not None, n
        w.hook("UserPromptSubmit", 0, prompt_kind="machine", prompt_id="p1")
        for _ in range(blocks):
            w.mail(2, 0)
            w.hook("Stop", 0)
        w.hook("UserPromptSubmit", 0, prompt_kind="machine", prompt_id="p1")
        w.hook("Stop", 0)
        w.tick(60)
    for _ in range(3):
        w.mail(2, 0)
        w.hook("Stop", 0)
    w.mail(2, 0)
    w.hook("Stop", 0, stop_hook_active=True)
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    w.mail(2, 0)
    w.hook("Stop", 0)
    w.hook("UserPromptSubmit", 0, prompt_kind="local", prompt_id="p2")
    w.not_written()


def unlinked_turn(w: World) -> None:
    """STOP-7 with a block spent already: the link went within the turn and came back as a guess."""
    w.hook("SessionStart", 3, source="startup")
    w.hook("Stop", 3)
    for blocks in (0, 1, 2):
        h = 2 * blocks
        w.linked(h)
        if blocks == 0:
            w.linked(1)
        for _ in range(blocks):
            w.mail(1, h)
            w.hook("Stop", h)
        w.end_session(f"S-{w.row_of(h)['id']}")
        w.hook("Stop", h, agent_id="sub")
        w.hook("Stop", h)
        w.tick(60)


def ignored_by_turn(w: World) -> None:
    """STOP-2: what is replayed counts for no turn, whatever its blocks."""
    w.linked(0, 2)
    for blocks in (0, 1, 2):
        if blocks:
            w.mail(2, 0)
            w.hook("Stop", 0)
        w.spool("Stop", 0)
        w.spool("UserPromptSubmit", 0, prompt_kind="local")
        w.replay()


def blocks_given_back(w: World) -> None:
    """STOP-9 in each state, of the open turn and of one that is over."""
    w.linked(0, 2)
    w.mail(2, 0)
    w.hook("Stop", 0)
    w.not_written()
    w.hook("Stop", 0)
    w.mail(2, 0)
    w.hook("Stop", 0)
    w.not_written()
    w.hook("Stop", 0)
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    w.not_written(0)
    w.tick(60)
    w.mail(2, 0)
    w.hook("Stop", 0)
    w.not_written(0)
    w.mail(2, 0)
    w.hook("Stop", 0)
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    for _ in range(2):
        w.mail(2, 0)
        w.hook("Stop", 0)
    w.not_written(0)


def too_many(w: World) -> None:
    """SEND-12: the eleventh is refused, and a merge brings its window along."""
    w.linked(0, 2)
    w.mail(0, 2, 12)
    assert len(w.mids()) == 10
    w.tick(61)
    w.mail(0, 2)
    hand_over(w, "prompt", 2)
    hand_over(w, "prompt", 2)


def restarts(w: World) -> None:
    """INV-1 over ends of the server, with marks and counts in every state."""
    key = card(w, 1)
    w.mail(2, 0, 2)
    w.hook("Stop", 0)
    for kill in (False, True):
        w.hook("UserPromptSubmit", 0, prompt_kind="local")
        w.mail(2, 0)
        w.restart(kill=kill)
        w.hook("Stop", 0)
        w.comment(key)
    w.list(w.caller("", witness=0))
    w.views()


def two_at_once(w: World) -> None:
    """PACK-5: two hooks of one session in one commit."""
    card(w, 1)
    w.mail(2, 0, 2)
    first, second = w.together(("PreToolUse", 0, {"tool_name": "Bash"}), ("PostToolUse", 0, {"tool_name": "Bash"}))
    assert (first.done is None) != (second.done is None)
    w.together(("Stop", 0, {}), ("Stop", 0, {}), ("SessionEnd", 0, {}), ("Stop", 0, {}))
    w.together(
        ("UserPromptSubmit", 0, {"prompt_kind": "local"}), ("SessionStart", 1, {"source": "clear", "cwd": FOLDERS[0]})
    )
