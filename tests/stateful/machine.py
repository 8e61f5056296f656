"""Random walks: one rule for each thing that can happen, so that Hypothesis tries runs with some of them left out."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from relaybay.settings import Messaging
from tests.stateful.scenery import FOLDERS, HOOKS, OWNER
from tests.stateful.world import Machinery, World

hook_n = st.integers(0, len(HOOKS) - 1)
live_n = st.integers(0, 2)
"""Most steps are about few sessions, or nothing would ever meet."""
name_n = st.integers(0, 14)
some = st.integers(0, 5)
proofs = st.sampled_from(("none", "claimed", "witnessed"))
_machinery: dict[bool, Machinery] = {}


def machinery() -> Machinery:
    """The one store of this process for worlds without channels."""
    return _machinery.setdefault(False, _machinery.get(False) or Machinery())


def channel_machinery() -> Machinery:
    """The one store of this process for worlds with channels."""
    return _machinery.setdefault(True, _machinery.get(True) or Machinery(Messaging(channels=True)))


def close_machinery() -> None:
    """Ends them, and removes their files."""
    while _machinery:
        _machinery.popitem()[1].close()


class RelayMachine(RuleBasedStateMachine):
    """The whole core, with several sessions, an owner, a spool, waits and a clock."""

    steps = 0

    @initialize(scene=st.sampled_from(("empty", "linked", "mail", "card", "guesses")))
    def begin(self, scene: str) -> None:
        """Where a walk starts: deep things need sessions that are linked already."""
        w = self.w = World(machinery())
        w.create_task()
        if scene in ("linked", "mail", "card"):
            w.linked(0, 1)
        if scene == "mail":
            w.mail(0, 1, 3)
        if scene == "card":
            w.bind(w.task(0), "S-1")
            w.comment(w.task(0))
            w.comment(w.task(0), board=True)
            w.mail(1, 0)
        if scene == "guesses":
            w.add_desktop("Desk", FOLDERS[0])
            w.hook("SessionStart", 0, source="startup", process=True)
            w.create_task(w.caller("Alice"))
            w.hook("SessionStart", 1, source="startup", process=True)
            w.hook("SessionStart", 2, source="startup", process=True)

    def teardown(self) -> None:
        if hasattr(self, "w"):
            RelayMachine.steps += self.w.steps
            self.w.end()

    def _caller(self, name: str, proof: str, h: int):
        return self.w.caller(
            name, claims=h if proof == "claimed" else None, witness=h if proof == "witnessed" else None
        )

    # -- hook events -------------------------------------------------------------------------------------------

    @rule(h=hook_n, process=st.booleans(), title=st.sampled_from(("", "", "Alice", "My work")))
    def start(self, h, process, title):
        self.w.hook("SessionStart", h, source="startup", process=process, session_title=title)

    @rule(h=live_n, source=st.sampled_from(("resume", "compact", "fork")))
    def start_again(self, h, source):
        self.w.hook("SessionStart", h, source=source, process=True)

    @rule(h=hook_n)
    def start_after_clear(self, h):
        self.w.hook("SessionStart", h, source="clear", process=True)

    @rule(h=live_n, prompt_id=st.sampled_from(("", "p1", "p2")))
    def prompt(self, h, prompt_id):
        self.w.hook("UserPromptSubmit", h, prompt_kind="local", prompt_id=prompt_id)

    @rule(h=live_n, prompt_id=st.sampled_from(("", "p1", "p2")))
    def machine_prompt(self, h, prompt_id):
        self.w.hook("UserPromptSubmit", h, prompt_kind="machine", prompt_id=prompt_id)

    @rule(h=live_n, name=st.sampled_from(("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch")))
    def tool(self, h, name):
        self.w.hook(name, h, tool_name="Bash")

    @rule(h=live_n, cwd=st.sampled_from(FOLDERS))
    def change_folder(self, h, cwd):
        self.w.hook("PreToolUse", h, tool_name="Bash", cwd=cwd)

    @rule(h=live_n, n=some)
    def peer_message_of_the_client(self, h, n):
        to = [*self.w.names(), *HOOKS]
        self.w.hook("PostToolUse", h, tool_name="SendMessage", send_message_to=to[n % len(to)])

    @rule(h=live_n)
    def stop(self, h):
        self.w.hook("Stop", h)

    @rule(h=live_n)
    def stop_of_a_continuation(self, h):
        self.w.hook("Stop", h, stop_hook_active=True)

    @rule(h=live_n, name=st.sampled_from(("StopFailure", "Notification", "PreCompact", "Brandnew")))
    def other_event(self, h, name):
        self.w.hook(name, h)

    @rule(h=live_n, name=st.sampled_from(("PreToolUse", "Stop", "UserPromptSubmit", "SessionEnd", "SubagentStop")))
    def subagent(self, h, name):
        self.w.hook(name, h, agent_id="sub")

    @rule(h=live_n, reason=st.sampled_from(("other", "logout")))
    def session_end(self, h, reason):
        self.w.hook("SessionEnd", h, reason=reason, process=True)

    @rule(h=live_n)
    def session_end_by_clear(self, h):
        self.w.hook("SessionEnd", h, reason="clear", process=True)

    @rule(h=live_n, name=st.sampled_from(("SessionEnd", "PreToolUse", "Stop")), ago=st.integers(2, 90))
    def late(self, h, name, ago):
        self.w.hook(name, h, ago=ago)

    @rule(h=live_n, one=st.sampled_from(("Stop", "PreToolUse", "UserPromptSubmit", "SessionEnd")))
    def two_events_at_once(self, h, one):
        self.w.together((one, h, {"prompt_kind": "local"}), ("PostToolUse", h, {}), ("Stop", h, {}))

    @rule(which=some)
    def answer_not_written(self, which):
        self.w.not_written(which)

    @rule(which=some, how=st.sampled_from(("shows", "shows", "shows it at once", "drops", "drops", "cuts")))
    def client_takes_up(self, which, how):
        self.w.take_up(which, how)

    @rule(h=live_n, count=st.integers(1, 2))
    def model_steps(self, h, count):
        self.w.model_steps(h, count)

    @rule()
    def look_into_transcripts(self):
        self.w.look_into_transcripts()

    @rule()
    def look_long_into_transcripts(self):
        self.w.look_long()

    @rule(h=live_n)
    def never_reaches_a_context(self, h):
        self.w.hook("PreToolUse", h, tool_name="Bash")
        self.w.miss(h)

    @rule(h=live_n)
    def interrupted(self, h):
        self.w.interrupt(h)

    @rule(
        h=hook_n,
        name=st.sampled_from(("SessionStart", "PreToolUse", "Stop", "SessionEnd", "UserPromptSubmit")),
        ago=st.integers(0, 90),
    )
    def spool(self, h, name, ago):
        self.w.spool(name, h, ago=ago, source="startup" if name == "SessionStart" else "")

    @precondition(lambda self: self.w.spooled)
    @rule()
    def replay(self):
        self.w.replay()

    # -- messages ----------------------------------------------------------------------------------------------

    @rule(n=name_n, to=name_n, proof=proofs, h=live_n, body=some, request=st.sampled_from(("", "r1", "r2")))
    def send_in_a_name(self, n, to, proof, h, body, request):
        self.w.send(
            self._caller(self.w.named(n), proof, h), body, to=self.w.named(to), request_id=request,
        )  # fmt: skip

    @rule(to=name_n, h=live_n, body=some, proof=st.sampled_from(("claimed", "witnessed", "witnessed")))
    def send(self, to, h, body, proof):
        self.w.send(self._caller("", proof, h), body, to=self.w.named(to))

    @rule(h=live_n, other=live_n, body=some)
    def send_to_a_session(self, h, other, body):
        row = self.w.row_of(other)
        self.w.send(self._caller("", "witnessed", h), body, to=f"S-{row['id']}" if row else "Bob")

    @rule(h=live_n, which=some, n=name_n, named=st.booleans(), proof=proofs)
    def reply(self, h, which, n, named, proof):
        self.w.send(self._caller(self.w.named(n) if named else "", proof, h), in_reply_to=self.w.mid(which))

    @rule(h=live_n, task=some)
    def send_to_the_task(self, h, task):
        self.w.send(self._caller("", "witnessed", h), task=self.w.task(task))

    @rule(which=some, changed=st.booleans())
    def repeat_a_send(self, which, changed):
        self.w.repeat(which, changed=changed)

    @rule(which=some)
    def repeat_a_call(self, which):
        self.w.repeat_call(which)

    @rule(n=name_n, named=st.booleans(), proof=proofs, h=live_n, which=some)
    def ack(self, n, named, proof, h, which):
        self.w.ack(self._caller(self.w.named(n) if named else "", proof, h), self.w.mid(which))

    @rule(n=name_n, named=st.booleans(), proof=proofs, h=live_n)
    def ack_all(self, n, named, proof, h):
        self.w.ack(self._caller(self.w.named(n) if named else "", proof, h))

    @rule(n=name_n, named=st.booleans(), proof=proofs, h=live_n, box=st.sampled_from(("in", "out", "all")))
    def list_messages(self, n, named, proof, h, box):
        self.w.list(self._caller(self.w.named(n) if named else "", proof, h), box)

    @rule()
    def owner_lists(self):
        self.w.list(OWNER, "all")
        self.w.views()
        self.w.inbox()

    # -- other writes, tasks, comments ---------------------------------------------------------------------------

    @rule(n=name_n, proof=st.sampled_from(("claimed", "witnessed", "witnessed")), h=hook_n)
    def write_in_a_name(self, n, proof, h):
        self.w.update_task(self._caller(self.w.named(n), proof, h), self.w.task(0))

    @rule(proof=proofs, h=live_n)
    def write_without_a_name(self, proof, h):
        self.w.update_task(self._caller("", proof, h), self.w.task(0))

    @rule(n=name_n)
    def write_in_a_name_alone(self, n):
        self.w.create_task(self.w.caller(self.w.named(n)))

    @rule(task=some, n=name_n)
    def bind(self, task, n):
        self.w.bind(self.w.task(task), self.w.named(n))

    @rule(task=some, h=live_n)
    def bind_a_live_one(self, task, h):
        row = self.w.row_of(h)
        if row:
            self.w.bind(self.w.task(task), f"S-{row['id']}", self._caller("", "witnessed", h))

    @rule(task=some)
    def unbind(self, task):
        self.w.unbind(self.w.task(task))

    @rule(task=some, board=st.booleans(), body=some)
    def comment(self, task, board, body):
        self.w.comment(self.w.task(task), board=board, body=body)

    @rule(which=some)
    def withdraw(self, which):
        self.w.withdraw(self.w.cid(which))

    @rule(which=some, n=name_n, named=st.booleans(), proof=proofs, h=live_n)
    def comment_ack(self, which, n, named, proof, h):
        self.w.comment_ack(self._caller(self.w.named(n) if named else "", proof, h), self.w.cid(which))

    @rule(which=some, n=name_n, named=st.booleans(), proof=proofs, h=live_n)
    def comment_reply(self, which, n, named, proof, h):
        cid = self.w.cid(which)
        self.w.comment_add(self._caller(self.w.named(n) if named else "", proof, h), self.w.task_of(cid), cid)

    @rule(task=some, named=st.booleans(), n=name_n, proof=proofs, h=live_n)
    def comment_on_the_task(self, task, named, n, proof, h):
        self.w.comment_add(self._caller(self.w.named(n) if named else "", proof, h), self.w.task(task))

    @rule(task=some, proof=proofs, h=live_n)
    def list_comments(self, task, proof, h):
        self.w.comments_list(self._caller("", proof, h), self.w.task(task))

    @rule(task=some)
    def replies_read(self, task):
        self.w.replies_read(self.w.task(task))

    # -- waits -------------------------------------------------------------------------------------------------

    @rule(h=live_n, process=st.booleans())
    def open_wait(self, h, process):
        self.w.open_wait(h, process=process)

    @rule(h=live_n)
    def stop_and_wait(self, h):
        self.w.hook("Stop", h)
        self.w.open_wait(h)

    @rule(n=some)
    def poll_again(self, n):
        self.w.poll(n)

    @rule(n=some, lives=st.booleans(), written=st.booleans())
    def look(self, n, lives, written):
        self.w.look(n, lives=lives, written=written)

    @rule(n=some)
    def poll_time_over(self, n):
        self.w.poll_time_over(n)

    @rule(n=some)
    def connection_lost(self, n):
        self.w.drop(n)

    @rule()
    def settle(self):
        self.w.settle()

    # -- the owner's hand on rows, the clock, the server ---------------------------------------------------------

    @rule(title=st.sampled_from(("Alice", "Desk")), cwd=st.sampled_from(FOLDERS))
    def add_desktop(self, title, cwd):
        self.w.add_desktop(title, cwd)

    @rule(s=some, n=name_n)
    def rename(self, s, n):
        self.w.rename(self.w.ref(s), self.w.named(n))

    @rule(s=some)
    def end_session(self, s):
        self.w.end_session(self.w.ref(s))

    @rule(s=some)
    def unlink(self, s):
        self.w.unlink(self.w.ref(s))

    @rule(h=live_n)
    def process_gone(self, h):
        self.w.die(h)

    @rule()
    def silence(self):
        self.w.silence()

    @rule(seconds=st.sampled_from((1, 2, 6, 61, 1_600, 3_700)))
    def time_passes(self, seconds):
        self.w.wait_a_while(seconds)

    @rule(seconds=st.sampled_from((1, 30, 3_600, 90_000)))
    def clock_is_set_back(self, seconds):
        self.w.wait_a_while(-seconds)

    @rule()
    def flush(self):
        self.w.flush()

    @rule()
    def restart(self):
        self.w.restart()

    @rule()
    def kill(self):
        self.w.restart(kill=True)
