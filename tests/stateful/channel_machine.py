"""Random walks with channels on: the rules of the base, and what channels add to them."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from relaybay.settings import Messaging
from tests.stateful.channel_world import FLOORS, ON, PATTERNS, TOPICS, ChannelWorld
from tests.stateful.machine import RelayMachine, channel_machinery, hook_n, live_n, name_n, proofs, some

POLICIES = ("accept", "auto", "hold", "refuse", "default")
MODES = ("default", "default", "plan", "acceptEdits")
topics = st.sampled_from(TOPICS)
bodies = st.integers(0, 3)


class ChannelMachine(RelayMachine):
    """The whole core with channels."""

    steps = 0
    w: ChannelWorld

    @initialize(scene=st.sampled_from(("linked", "subscribed", "held", "card", "away")))
    def begin(self, scene: str) -> None:
        """Where a walk starts: sessions that are linked and hear of each other."""
        w = self.w = ChannelWorld(channel_machinery())
        w.create_task()
        w.linked(0, 2)
        if scene == "card":
            w.bind(w.task(0), "S-1")
            w.comment(w.task(0))
        if scene in ("subscribed", "held", "away"):
            w.subscribe("S-1", "ci.*", "deploys")
            w.subscribe("S-2", "ci.*")
            w.broadcasts("S-1")
        if scene == "held":
            w.script_send("S-1")
            w.script_publish("ci.fence", 1)
        if scene == "away":
            w.hook("SessionEnd", 0, reason="logout", process=True)
            w.publish(w.caller("", witness=2), "ci.fence")

    def teardown(self) -> None:
        if hasattr(self, "w"):
            ChannelMachine.steps += self.w.steps
            self.w.end()

    # -- what is sent and read ---------------------------------------------------------------------------------

    @rule(h=live_n, topic=topics, body=bodies, request=st.sampled_from(("", "r1")))
    def publish(self, h, topic, body, request):
        self.w.publish(self.w.caller("", witness=h), topic, body, request_id=request)

    @rule(n=name_n, proof=proofs, h=live_n, body=bodies, broadcast=st.booleans())
    def publish_in_a_name(self, n, proof, h, body, broadcast):
        caller = self._caller(self.w.named(n), proof, h)
        self.w.publish(caller, None if broadcast else "ci.gate", body, broadcast=broadcast)

    @rule(h=live_n, body=bodies)
    def broadcast(self, h, body):
        self.w.publish(self.w.caller("", witness=h), None, body, broadcast=True)

    @rule(n=some, body=bodies, label=st.sampled_from(("ci", "cron")), request=st.sampled_from(("", "r1")))
    def script_sends(self, n, body, label, request):
        self.w.script_send(self.w.ref(n), body, label=label, request_id=request)

    @rule(topic=topics, body=bodies, broadcast=st.booleans())
    def script_publishes(self, topic, body, broadcast):
        self.w.script_publish(None if broadcast else topic, body, broadcast=broadcast)

    @rule(proof=proofs, h=live_n, n=name_n, named=st.booleans(), topic=st.sampled_from((None, "ci.*", "deploys")))
    def read_a_topic(self, proof, h, n, named, topic):
        self.w.topic_read(self._caller(self.w.named(n) if named else "", proof, h), topic)

    @rule(h=live_n)
    def look_around(self, h):
        self.w.look_around()
        self.w.peers(self.w.caller("", witness=h))

    # -- controls ----------------------------------------------------------------------------------------------

    @rule(h=live_n, mode=st.sampled_from(MODES))
    def mode_changes(self, h, mode):
        self.w.mode(h, mode)
        self.w.hook("PreToolUse", h, tool_name="Bash")

    @rule(h=live_n, mode=st.sampled_from(MODES))
    def mode_changes_untold(self, h, mode):
        self.w.mode(h, mode)

    @rule(s=some, wanted=st.sampled_from(POLICIES))
    def policy(self, s, wanted):
        self.w.policy(self.w.ref(s), wanted)

    @rule(h=live_n, cwd=st.integers(0, 1))
    def change_folder(self, h, cwd):
        self.w.hook("PreToolUse", h, tool_name="Bash", cwd=self.w.folders[cwd])

    @rule(which=st.integers(0, 1), value=st.sampled_from(FLOORS), looked=st.booleans())
    def project_file(self, which, value, looked):
        self.w.floor(which, value)
        if looked:
            self.w.look_at_controls()

    @rule()
    def look_at_controls(self):
        self.w.look_at_controls()

    @rule(s=some, pattern=st.sampled_from(PATTERNS), add=st.booleans())
    def subscribe(self, s, pattern, add):
        self.w.subscribe(self.w.ref(s), *([pattern] if add else []), remove=() if add else (pattern,))

    @rule(s=some, on=st.booleans())
    def broadcasts(self, s, on):
        self.w.broadcasts(self.w.ref(s), on=on)

    @rule(s=some, name=st.sampled_from(("fence", "gate", "")))
    def choose_name(self, s, name):
        self.w.choose_name(self.w.ref(s), name)

    @rule(name=st.sampled_from(("fence", "gate", "")), pattern=st.sampled_from(PATTERNS))
    def reserve_a_start(self, name, pattern):
        self.w.reserve(name, pattern)

    @rule(h=hook_n, which=some)
    def start_with_a_ticket(self, h, which):
        ticket = self.w.tickets[which % len(self.w.tickets)]
        self.w.hook("SessionStart", h, source="startup", process=True, start_ticket=ticket, wanted_name="gate")

    # -- reviews, automations ----------------------------------------------------------------------------------

    @precondition(lambda self: self.w.deliveries("held"))
    @rule(which=some, event=st.sampled_from(("approve", "approve", "reject")))
    def decide(self, which, event):
        held = self.w.deliveries("held")
        key = held[which % len(held)]["id"]
        self.w.decide(event, key, self.w.review(key))

    @precondition(lambda self: self.w.deliveries())
    @rule(which=some)
    def open_review(self, which):
        found = self.w.deliveries("held") or self.w.deliveries()
        self.w.review(found[which % len(found)]["id"])

    @rule(which=some, event=st.sampled_from(("approve", "reject")))
    def decide_late(self, which, event):
        self.w.decide_late(event, which)

    @precondition(lambda self: self.w.deliveries("sent"))
    @rule(which=some)
    def take(self, which):
        found = self.w.deliveries("sent")
        self.w.take(found[which % len(found)]["id"])

    @precondition(lambda self: self.w.deliveries("taken"))
    @rule(which=some, keep=st.booleans())
    def taken_ends(self, which, keep):
        key = self.w.deliveries("taken")[which % len(self.w.deliveries("taken"))]["id"]
        if keep:
            self.w.keep(key)
        else:
            self.w.give_back(key)

    # -- the server --------------------------------------------------------------------------------------------

    @rule(default=st.sampled_from(("auto", "accept", "hold")))
    def restart_with_another_default(self, default):
        self.w.restart(messaging=Messaging(channels=True, inbound=default))

    @rule()
    def channels_off(self):
        self.w.restart(messaging=Messaging())

    @precondition(lambda self: not self.w.on)
    @rule()
    def channels_on(self):
        self.w.restart(messaging=ON)
