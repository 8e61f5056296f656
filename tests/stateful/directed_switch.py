"""Directed runs over bounds, names, files of projects, and the switch in both positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from relaybay.settings import Messaging
from relaybay.specs import limit
from tests.stateful.channel_world import ON, ChannelWorld
from tests.stateful.directed_channels import is_now, last
from tests.stateful.directed_mail import hand_over

Run = Callable[[ChannelWorld], None]


def runs() -> Iterator[tuple[str, Run]]:
    """Named runs; each starts in an empty world with channels on."""
    yield from (
        ("an inbox that is full", inbox_full),
        ("names", names),
        ("starts with tickets", tickets),
        ("off and on again", off_and_on),
        ("scripts and broadcasts", broadcasts),
        ("a long one", long_one),
        ("files of projects", files),
        ("mail of a time without channels", judged_anew),
    )


def files(w: ChannelWorld) -> None:
    """FLOOR, SET-6: a project's file tightens, and one that cannot be used holds everything."""
    w.linked(0, 2)
    w.policy("S-1", "accept")
    w.mail(2, 0)
    key = last(w)
    for value, state in (("hold", "held"), ("accept", "sent"), ("broken", "held"), ("", "sent"), ("refuse", "held")):
        w.floor(0, value)
        w.look_at_controls()
        is_now(w, key, state)
    w.floor(0, "")
    w.look_at_controls()
    w.hook("Stop", 0)
    is_now(w, key, "delivered")
    w.mail(2, 0)
    w.hook("Stop", 0)
    w.hook("Stop", 0)
    w.open_wait(0)
    w.mail(2, 0)
    w.floor(0, "hold")
    w.tick(3)
    # Nobody looks: the wake-up itself does.
    w.settle()
    is_now(w, last(w), "held")


def off_and_on(w: ChannelWorld) -> None:
    """INV-20: with the switch off what only channels know stands still, whatever happens, and goes on afterwards."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    w.broadcasts("S-1")
    w.script_send("S-1")
    held = last(w)
    w.publish(w.caller("", witness=2), "ci.fence")
    topic = last(w)
    w.mail(2, 0, 2)
    taken, direct = last(w) - 1, last(w)
    w.take(taken)
    w.restart(messaging=Messaging())
    for refused in (
        w.script_send("S-1", 5),
        w.script_publish("ci.fence", 5),
        w.publish(w.caller("", witness=2), "ci.fence", 5),
        w.policy("S-1", "accept"),
        w.subscribe("S-1", "deploys"),
        w.choose_name("S-1", "fence"),
        w.topic_read(w.caller("", witness=0), "ci.*"),
    ):
        assert not refused.ok and refused.refusal.answer == "channels.off"
    assert w.review(held) == ""
    w.mode(0, "plan")
    w.hook("StopFailure", 0)
    hand_over(w, "prompt", 0)
    is_now(w, direct, "delivered")
    hand_over(w, "stop", 0)
    w.hook("SessionEnd", 0, reason="logout", process=True)
    w.silence()
    for key, state in ((held, "held"), (topic, "sent"), (taken, "taken")):
        is_now(w, key, state)
    w.restart(messaging=ON)
    w.look_at_controls()
    for key, states in ((held, ("held",)), (topic, ("dropped",)), (taken, ("sent", "held"))):
        is_now(w, key, *states)


def judged_anew(w: ChannelWorld) -> None:
    """What came in, or went back to `sent`, while channels were off is judged when they are on again."""
    w.linked(0, 2)
    w.policy("S-1", "hold")
    w.restart(messaging=Messaging())
    w.mail(2, 0)
    is_now(w, last(w), "sent")
    w.restart(messaging=ON)
    is_now(w, last(w), "held")
    assert w.hook("UserPromptSubmit", 0, prompt_kind="local").done is None


def names(w: ChannelWorld) -> None:
    """NAME: one live row has a name; another gets it back when that one is over."""
    w.linked(0, 2)
    w.choose_name("S-1", "fence")
    assert not w.choose_name("S-2", "fence").ok
    w.hook("SessionEnd", 0, reason="logout", process=True)
    w.choose_name("S-2", "fence")
    w.hook("SessionStart", 0, source="resume", process=True)
    named = {row["id"]: row["name"] for row in w.seen.tables["session"]}
    assert named[2] == "fence" != named[1]
    w.choose_name("S-2", "")
    w.hook("SessionEnd", 0, reason="logout", process=True)
    w.hook("SessionStart", 0, source="resume", process=True)
    assert w.seen.sessions[1]["name"] == "fence"
    w.script_send("fence", 3)
    w.unlink("S-1")
    w.script_send("fence", 4)


def tickets(w: ChannelWorld) -> None:
    """OWN-14: what a start asked for is had by the first session that brings its ticket."""
    w.reserve("gate", "ci.*", "deploys", broadcasts=True)
    for h in (0, 2):
        w.hook("SessionStart", h, source="startup", start_ticket=w.tickets[-1], wanted_name="gate")
        w.ack(w.caller("", witness=h))
    assert not w.reserve("gate").ok
    rows = w.seen.tables["session"]
    assert [row["broadcasts"] for row in rows] == [1, 0] and rows[0]["name"] == "gate"
    w.script_publish("deploys", 5)
    assert len(w.deliveries()) == 1


def broadcasts(w: ChannelWorld) -> None:
    """PUB: each recipient once, the sender never, and nobody at all is a success."""
    w.linked(0, 1, 2)
    assert w.publish(w.caller("", witness=0), None, 1, broadcast=True).data["recipients"] == []
    for ref in ("S-1", "S-2", "S-3"):
        w.broadcasts(ref)
        w.subscribe(ref, "ci.*", "ci.fence")
    w.publish(w.caller("", witness=0), None, 2, broadcast=True, request_id="r1")
    w.publish(w.caller("", witness=0), None, 2, broadcast=True, request_id="r1")
    w.publish(w.caller("", witness=0), "ci.fence", 3)
    assert [row["recipient_id"] for row in w.deliveries()] == [2, 3, 2, 3]
    w.script_publish("ci.fence", 3)
    w.script_publish("ci.fence", 3)
    assert {row["reason_code"] for row in w.deliveries("refused")} == {"duplicate"}
    for h in (0, 1, 2):
        w.topic_read(w.caller("", witness=h), "ci.*")
        w.peers(w.caller("", witness=h))
    w.topic_read(w.caller("S-1"), "ci.*")
    w.look_around()


def long_one(w: ChannelWorld) -> None:
    """CH-4: a body that no answer has room for goes out as its beginning."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    w.publish(w.caller("", witness=2), "ci.fence", 3)
    hand_over(w, "tool", 0)
    assert w.seen.deliveries[last(w)]["pointer"] == 1
    w.list(w.caller("", witness=0))


def inbox_full(w: ChannelWorld) -> None:
    """ADM-4 to 7, INV-15: at most 50 and 1 MiB wait; nothing is put out for them."""
    w.linked(0, 2)
    w.subscribe("S-1", "ci.*")
    w.policy("S-1", "hold")
    most = limit("inbox_deliveries_max")
    for n in range(most + 2):
        w.script_send("S-1", 100 + n, label=f"ci-{n % 9}")
        if n % 30 == 29:
            w.tick(61)
    assert len(w.deliveries("held")) == most
    assert {row["reason_code"] for row in w.deliveries("rate_limited")} == {"inbox_full"}
    w.tick(61)
    w.script_publish("ci.fence", 300)
    is_now(w, last(w), "rate_limited")
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    is_now(w, last(w), "rate_limited")
    w.reject(w.deliveries("held")[0]["id"])
    w.hook("UserPromptSubmit", 0, prompt_kind="local")
    is_now(w, last(w), "held")
