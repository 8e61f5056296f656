"""Directed runs over what a session's life and controls do to what waits for it: ends, modes, merges, suppression."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relaybay.settings import Messaging
from tests.stateful.channel_world import ON, ChannelWorld
from tests.stateful.directed_channels import is_now, last, state_of
from tests.stateful.directed_mail import hand_over

Run = Callable[[ChannelWorld], None]


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world with channels on."""
    for b, a in (
        ("sent", "read"),
        ("held", "sent"),
        ("taken", "held"),
        ("read", "sent"),
        ("consumed", "sent"),
        ("sent", "held"),
    ):
        yield f"{b} comes to where it is {a}", _same(b, a)
    yield from (
        ("a session ends", ends),
        ("a session may be cleared", may_be_cleared),
        ("own words held", _own_words("held")),
        ("own words taken", _own_words("taken")),
        ("controls there and back", controls_change),
        ("a mode that was told too late", mode_and_mail),
        ("only what a prompt brings", riders),
        ("taken back when its session is over", back_to_one_that_is_over),
        ("suppressed and resumed", suppressed),
    )


def ends(w: ChannelWorld) -> None:
    """DLV-31, 32, 37, 38: what waits when a session ends, by audience."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    w.mail(2, 0)
    w.publish(w.caller("", witness=2), "ci.fence")
    w.script_send("S-1")
    w.script_publish("ci.gate", 29)
    w.mail(2, 0)
    direct, topic, held, held_topic, taken = (row["id"] for row in w.deliveries())
    w.take(taken)
    w.publish(w.caller("", witness=2), "ci.gate", 30)
    w.take(last(w))
    w.hook("SessionEnd", 0, reason="logout", process=True)
    for key, state in ((direct, "sent"), (held, "held"), (taken, "sent"), (topic, "dropped"), (held_topic, "dropped")):
        is_now(w, key, state)
    is_now(w, last(w), "dropped")
    w.publish(w.caller("", witness=2), "ci.fence", 31)
    w.hook("SessionStart", 0, source="resume", process=True)
    w.hook("PreToolUse", 0, tool_name="Bash")
    hand_over(w, "prompt", 0)
    w.take(taken)
    assert state_of(w, taken) == "delivered"
    # Taken, and its row holds what comes back.
    w.mail(2, 0)
    w.take(last(w))
    w.policy("S-1", "hold")
    w.end_session("S-1")
    is_now(w, last(w), "held")
    w.silence()


def may_be_cleared(w: ChannelWorld) -> None:
    """CH-5: after a SessionEnd that a /clear could follow, what was published waits for 60 s."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    w.policy("S-1", "accept")
    w.publish(w.caller("", witness=2), "ci.fence")
    w.hook("SessionEnd", 0, reason="clear", process=True)
    is_now(w, last(w), "sent")
    w.hook("SessionStart", 1, source="clear", process=True)
    hand_over(w, "tool", 1)
    is_now(w, last(w), "delivered")
    w.publish(w.caller("", witness=2), "ci.fence", 30)
    w.hook("SessionEnd", 1, reason="clear", process=True)
    w.look_at_controls()
    is_now(w, last(w), "sent", "held")
    w.tick(61)
    w.look_at_controls()
    is_now(w, last(w), "dropped")


def _own_words(state: str) -> Run:
    """DLV-54: of two rows that become one, what they had sent each other is read, held and taken ones too."""

    def run(w: ChannelWorld) -> None:
        w.linked(0)
        w.create_task(w.caller("Zoe"))
        w.policy("S-2", "hold" if state == "held" else "accept")
        w.send(w.caller("", witness=0), to="S-2")
        if state == "taken":
            w.take(last(w))
        is_now(w, last(w), state)
        w.create_task(w.caller("Zoe", witness=0))
        is_now(w, last(w), "read")

    return run


def controls_change(w: ChannelWorld) -> None:
    """DLV-23 and 24: there and back is two epochs, and what waits is judged at each."""
    w.linked(0, 2)
    w.mail(2, 0)
    key = last(w)
    epoch = w.seen.sessions[1]["epoch"]
    w.mode(0, "plan")
    w.hook("PreToolUse", 0, tool_name="Bash")
    is_now(w, key, "held")
    w.hook("Stop", 0)
    w.mode(0, "default")
    w.hook("Notification", 0)
    is_now(w, key, "sent")
    assert w.seen.sessions[1]["epoch"] == epoch + 2
    w.hook("PreToolUse", 0, tool_name="Bash", cwd=w.folders[1])
    is_now(w, key, "held")
    w.policy("S-1", "accept")
    is_now(w, key, "sent")
    w.policy("S-1", "accept")
    w.restart(messaging=Messaging(channels=True, inbound="hold"))
    is_now(w, key, "sent")
    w.policy("S-1", "default")
    is_now(w, key, "held")
    w.restart(kill=True, messaging=ON)
    hand_over(w, "tool", 0)


def mode_and_mail(w: ChannelWorld) -> None:
    """Delivered, and the controls have changed when it is found not to have arrived (DLV-25)."""
    w.linked(0, 2)
    for way in ("missing", "not written", "other session"):
        w.mail(2, 0)
        hand_over(w, "tool", 0)
        key = last(w)
        is_now(w, key, "delivered")
        w.policy("S-1", "hold")
        if way == "missing":
            w.miss(0)
        elif way == "not written":
            w.not_written()
        else:
            w.hook("SessionStart", 1, source="clear", process=True)
        is_now(w, key, "held")
        w.policy("S-1", "default")
        w.reject(key) if state_of(w, key) == "held" else hand_over(w, "tool", 0)


def _same(b_does: str, a_does: str) -> Run:
    """DLV-55: of two deliveries of one message that come to one row the one further on stays."""

    def run(w: ChannelWorld) -> None:
        w.linked(0, 2, 4)
        w.subscribe("S-1", "ci.*")
        w.subscribe("S-3", "ci.*")
        w.publish(w.caller("", witness=2), "ci.fence")
        b, a = (row["id"] for row in w.deliveries())
        for key, ref, h, does in ((b, "S-1", 0, b_does), (a, "S-3", 4, a_does)):
            if does == "held":
                w.policy(ref, "hold")
            elif does in ("taken", "consumed"):
                w.take(key)
            elif does != "sent":
                hand_over(w, "tool", h)
            if does == "consumed":
                w.keep(key)
            if does == "read":
                w.ack(w.caller("", witness=h))
        w.create_task(w.caller("S-3", witness=0))
        here = [row for row in w.deliveries() if row["recipient_id"] is not None]
        assert len(here) == 1, "one message, one recipient, one delivery"
        behind = next(row for row in w.deliveries() if row["recipient_id"] is None)
        assert (behind["state"], behind["reason_code"]) == ("refused", "duplicate")
        # What the other conversation was handed waits again first (MOVE-5).
        rank = ("read", "consumed", "delivered", "taken", "sent", "held")
        own = "sent" if a_does == "delivered" else a_does
        wanted = min(b_does, own, key=rank.index) if b_does != own else own
        is_now(w, here[0]["id"], wanted, "held", "delivered")

    return run


def riders(w: ChannelWorld) -> None:
    """What was caught up rides along with a prompt, and with that turn's tool events; no Stop and no wake-up."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*", "deploys")
    w.hook("SessionEnd", 0, reason="logout", process=True)
    for n, topic in enumerate(("ci.a", "ci.b", "ci.c", "ci.d", "ci.e", "deploys")):
        w.publish(w.caller("", witness=2), topic, 50 + n)
        w.tick(6)
    w.hook("SessionStart", 0, source="resume", process=True)
    assert len(w.deliveries("sent")) == 6
    hand_over(w, "tool", 0)
    w.hook("Stop", 0)
    w.open_wait(0)
    w.tick(3)
    w.settle()
    assert len(w.deliveries("sent")) == 6, "neither a tool, nor a Stop, nor a wake-up brings them"
    hand_over(w, "prompt", 0)
    assert len(w.deliveries("sent")) == 2
    hand_over(w, "tool", 0)
    assert not w.deliveries("sent")
    # Approved, it goes by itself.
    w.publish(w.caller("", witness=2), "ci.a", 60)
    w.hook("SessionEnd", 0, reason="logout", process=True)
    w.script_publish("ci.a", 61)
    w.hook("SessionStart", 0, source="resume", process=True)
    key = last(w)
    is_now(w, key, "held")
    w.approve(key)
    assert w.hook("Stop", 0).done is not None
    is_now(w, key, "delivered")


def back_to_one_that_is_over(w: ChannelWorld) -> None:
    """DLV-31: a published message whose mark is taken back when its session is over is dropped; a direct one waits."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    w.publish(w.caller("", witness=2), "ci.fence")
    w.mail(2, 0)
    hand_over(w, "tool", 0)
    w.hook("SessionEnd", 0, reason="logout")
    w.not_written()
    assert [row["state"] for row in w.deliveries()] == ["dropped", "sent"]


def suppressed(w: ChannelWorld) -> None:
    """SUP: a turn that failed, or was broken off, keeps everything back until its user writes."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    w.create_task()
    w.bind(w.task(0), "S-1")
    for way in ("StopFailure", "interrupt"):
        w.policy("S-1", "accept")
        hand_over(w, "prompt", 0)
        w.mail(2, 0)
        w.take(last(w))
        w.mail(2, 0)
        if way == "interrupt":
            assert w.interrupt(0) == 1
        else:
            w.hook(way, 0)
        w.comment(w.task(0))
        w.publish(w.caller("", witness=2), "ci.fence", 70 + len(w.mids()))
        held = w.deliveries("held")
        assert {row["reason_code"] for row in held} == {"waits_for_resume"} and len(held) == 2
        for row in held:
            assert not w.approve(row["id"]).ok, "DLV-29"
        w.give_back(w.deliveries("taken")[0]["id"])
        w.tick(6)
        said = w.hook("UserPromptSubmit", 0, prompt_kind="machine", prompt_id=f"m-{way}").done
        assert said is not None and {kind for kind, _ in said.items} == {"comment"}
        w.restart()
        assert w.deliveries("held")
        hand_over(w, "prompt", 0)
        assert not w.deliveries("held")
