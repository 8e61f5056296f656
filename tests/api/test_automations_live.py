"""The owner's rules on real servers: commands as processes of their own, time-outs, ends and kills of the server."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

from relaybay.api.automation_runner import Runner, register_automations
from relaybay.api.serving import ServerThread, make_app
from relaybay.settings import Paths
from tests.api.test_cli_live import Home
from tests.unit.automation_rig import AutomationRig
from tests.unit.linking_rig import SECOND

ON = {"RELAYBAY_MESSAGING_CHANNELS": "true", "RELAYBAY_MESSAGING_INBOUND": "accept"}
ECHO = "import sys, os; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read() + os.environ['RELAYBAY_AUTOMATION'].encode())"
SLOW = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
# A grandchild holds on after its parent: it is of the same group.
FAMILY = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); "
    "open(sys.argv[1], 'w').write(str(child.pid)); time.sleep(60)"
)


def until(what, seconds: float = 15.0):
    """What it gives, as soon as that is anything."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie waits for whoever reaps orphans, and runs no more.
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def number(path: Path) -> int:
    return int(path.read_text()) if path.exists() and path.read_text() else 0


def rules(*commands: tuple[str, str, Path], session: str = "@desk", more: str = "", seconds: int = 30) -> str:
    text = ""
    for name, code, out in commands:
        words = json.dumps([sys.executable, "-c", code, str(out)])
        text += f'[[automation]]\nname = "{name}"\nsession = "{session}"\non = "message_received"\n{more}\n'
        text += f"[automation.run]\ncommand = {words}\ntimeout_seconds = {seconds}\n"
    return text


# -- one process: the runner on a relay ---------------------------------------------------------------------------------


class Live:
    """A relay with sessions in memory, and a server's runner on it."""

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder
        self.rig = AutomationRig(folder)
        self.rig.session("h1")
        self.desk = self.rig.named("h2", "desk")
        self.paths = Paths.find({"RELAYBAY_HOME": str(folder)})
        self.paths.automations.write_text(text)
        self.server: ServerThread | None = None

    def start(self) -> None:
        app = make_app()
        app.add_route(lambda _: None, "/nothing")
        register_automations(app, self.rig.relay, self.paths)
        self.server = ServerThread(app)
        self.server.start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()
            self.server = None

    def ended(self, count: int = 1) -> list[tuple[str, str]]:
        def enough() -> bool:
            found = self.rig.ends()
            return len([one for one in found if one[0] not in ("waiting", "running")]) >= count

        until(enough)
        return self.rig.ends()


@pytest.fixture
def live(tmp_path):
    made: list[Live] = []

    def make(text: str) -> Live:
        made.append(Live(tmp_path, text))
        made[0].start()
        return made[0]

    yield make
    made[0].stop()
    made[0].rig.relay.close()


@pytest.mark.spec("AUTO-7", "AUTO-10", "DLV-35", "DLV-36")
def test_a_command_gets_the_message_on_stdin_and_keeps_it_by_ending_well(live, tmp_path) -> None:
    out = tmp_path / "out"
    one = live(rules(("echo", ECHO, out), more="consume = true"))
    hostile = '"; touch /tmp/x; $(id) `id` \x1b[31m \u202e \n{"a": 1}'
    mid = one.rig.say("h1", one.desk, hostile)["message_id"]
    assert one.ended() == [("done", "")]
    line, _, name = out.read_bytes().partition(b"\n")
    said = json.loads(line)
    assert (said["text"], said["message_id"], name) == (hostile, mid, b"echo")
    assert one.rig.at(mid, one.desk).state == "consumed"


@pytest.mark.spec("AUTO-11", "DLV-37")
@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("raise SystemExit(3)", ("failed", "exit_status")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", ("failed", "exit_status")),
        ("import os; os.close(0); raise SystemExit(0)", ("done", "")),
    ],
)
def test_how_a_command_ends_decides(live, tmp_path, code, end) -> None:
    one = live(rules(("run", code, tmp_path), more="consume = true"))
    mid = one.rig.say("h1", one.desk, "x" * 3_000)["message_id"]
    assert one.ended() == [end]
    assert one.rig.at(mid, one.desk).state == ("consumed" if end[0] == "done" else "sent")


@pytest.mark.spec("AUTO-11")
def test_a_program_that_is_not_there_gives_the_message_back(live) -> None:
    text = rules(("run", "", Path("x")), more="consume = true").replace(sys.executable, "/nonexistent/program")
    one = live(text)
    mid = one.rig.say("h1", one.desk)["message_id"]
    assert one.ended() == [("failed", "not_started")] and one.rig.at(mid, one.desk).state == "sent"
    assert "No such file" in one.rig.log()[0]["reason"]


@pytest.mark.spec("AUTO-11", "DLV-37")
def test_time_that_is_over_kills_the_command_and_all_it_started(live, tmp_path) -> None:
    out = tmp_path / "pid"
    one = live(rules(("family", FAMILY, out), more="consume = true", seconds=1))
    mid = one.rig.say("h1", one.desk)["message_id"]
    assert one.ended() == [("failed", "timeout")] and one.rig.at(mid, one.desk).state == "sent"
    child = until(lambda: number(out))
    until(lambda: not alive(child))


@pytest.mark.spec("AUTO-11", "DLV-37")
def test_the_end_of_the_server_kills_what_runs_and_gives_back(live, tmp_path) -> None:
    out = tmp_path / "pid"
    one = live(rules(("slow", SLOW, out), more="consume = true"))
    mid = one.rig.say("h1", one.desk)["message_id"]
    pid = until(lambda: number(out))
    began = time.monotonic()
    one.stop()
    assert time.monotonic() - began < 5
    until(lambda: not alive(pid))
    assert one.rig.ends() == [("failed", "server_stop")] and one.rig.at(mid, one.desk).state == "sent"


@pytest.mark.spec("AUTO-8")
def test_four_commands_at_once_and_the_others_wait(live, tmp_path) -> None:
    names = [f"r{n}" for n in range(6)]
    code = "import sys, time; open(sys.argv[1], 'w').write('1'); time.sleep(1)"
    one = live(rules(*((name, code, tmp_path / name) for name in names)))
    one.rig.say("h1", one.desk)
    until(lambda: [entry["state"] for entry in one.rig.log()].count("running") == 4)
    assert sorted(entry["state"] for entry in one.rig.log()) == ["running"] * 4 + ["waiting"] * 2
    assert one.ended(6) == [("done", "")] * 6


@pytest.mark.spec("AUTO-14", "AUTO-15")
def test_what_is_to_be_sent_waits_for_the_command_to_end_well(live, tmp_path) -> None:
    code = "import sys; raise SystemExit(int(sys.stdin.read().count('fail')))"
    text = rules(("one", code, tmp_path))
    text = text.replace('on = "message_received"', 'on = "message_received"\nconsume = true')
    one = live(text + '[automation.reply]\ntext = "Done for you."\n')
    failed = one.rig.say("h1", one.desk, "fail")["message_id"]
    well = one.rig.say("h1", one.desk, "go on")["message_id"]
    assert one.ended(2) == [("failed", "exit_status"), ("done", "")]
    assert [one.rig.at(mid, one.desk).state for mid in (failed, well)] == ["sent", "consumed"]
    assert one.rig.text(one.rig.prompt("h1", permission_mode="default")).count("Done for you.") == 1


@pytest.mark.spec("AUTO-11")
def test_an_end_that_the_store_could_not_take_is_recorded_later(tmp_path, monkeypatch) -> None:
    from relaybay.errors import StoreFull

    rig = AutomationRig(tmp_path)
    rig.session("h1")
    desk = rig.named("h2", "desk")
    rig.rules(rules(("run", "", tmp_path), more="consume = true"))
    mid = rig.say("h1", desk)["message_id"]
    runner = Runner(rig.relay, tmp_path)
    finish, full = runner._finish, [True]

    def failing(key, failed):
        if full[0]:
            raise StoreFull("no space")
        finish(key, failed)

    monkeypatch.setattr(runner, "_finish", failing)
    runner.start()
    until(lambda: runner._unrecorded)
    assert rig.ends() == [("running", "")]
    full[0] = False
    runner._ring.set()
    until(lambda: rig.ends() == [("done", "")])
    assert rig.at(mid, desk).state == "consumed"
    runner.stop()
    rig.relay.close()


@pytest.mark.spec("AUTO-11")
def test_a_file_that_cannot_be_used_stops_all_rules_and_the_server_runs(live, tmp_path) -> None:
    one = live(rules(("run", "", tmp_path)) + "x = \n")
    assert one.rig.say("h1", one.desk)["state"] == "sent" and one.rig.log() == []
    (problem,) = one.rig.relay.automations.problems
    assert problem.startswith(f"{one.paths.automations}:")
    one.rig.now += SECOND


# -- a server of its own ------------------------------------------------------------------------------------------------


@pytest.fixture
def home():
    folder = Path(tempfile.mkdtemp(prefix="rb"))
    found = Home(folder)
    found.env |= ON
    (folder / "h").mkdir(mode=0o700)
    yield found
    found.run("down")
    shutil.rmtree(folder)


@pytest.mark.spec("AUTO-7", "AUTO-10", "AUTO-11", "DLV-37", "CLI-1")
def test_a_scripts_message_a_rule_and_a_server_that_is_killed(home) -> None:
    out, file = home.folder / "out", home.folder / "h" / "automations.toml"
    file.write_text(rules(("echo", ECHO, out), session="*", more='consume = true\nscripts = ["ci"]'))
    line = home.ask("up", "--port", "0")
    ref = home.ask("session", "add", "--desktop", "d-1", "--title", "Desk")["ref"]
    sent = home.ask("message", "send", "--to", ref, "--from", "ci", "It failed.")
    assert sent["state"] == "taken"
    done = until(lambda: [one for one in home.ask("automation", "log")["firings"] if one["state"] == "done"])
    assert json.loads(out.read_bytes().partition(b"\n")[0])["from"]["title"] == "ci"
    assert (done[0]["message_id"], done[0]["consumed"]) == (sent["message_id"], True)
    listed = home.ask("automation", "list")
    assert [one["firings"] for one in listed["automations"]] == [{"done": 1}] and listed["file"] == str(file)
    assert "echo" in home.run("automation", "list", check=0).stdout
    home.run("down", check=0)

    pid_file = home.folder / "pid"
    file.write_text(rules(("slow", SLOW, pid_file), session="*", more="consume = true"))
    line = home.ask("up", "--port", "0")
    sent = home.ask("message", "send", "--to", ref, "--from", "ci", "Again.")
    slow = until(lambda: number(pid_file))
    os.kill(line["pid"], signal.SIGKILL)
    until(lambda: not alive(line["pid"]))
    home.ask("up", "--port", "0")
    first = home.ask("automation", "log", "--rule", "slow")["firings"]
    assert [(one["state"], one["reason_code"]) for one in first] == [("given_back", "server_start")]
    assert home.ask("message", "show", sent["message_id"])["state"] == "sent"
    os.kill(slow, signal.SIGKILL)  # Of a killed server the command is left over.
    home.ask("automation", "log", "--rule", "nobody", code=65)

    home.run("down", check=0)
    file.write_text("[[automation]]\nname = 1\n")
    assert home.ask("automation", "check", code=78)["problems"][0].startswith(f"{file}:2: ")
    home.ask("up", "--port", "0")
    listed = home.ask("automation", "list")
    assert listed["automations"] == [] and listed["problems"][0].startswith(f"{file}:2: ")
    assert f"{file}:2: " in home.run("doctor").stdout
    home.run("down", check=0)
    home.env["RELAYBAY_MESSAGING_CHANNELS"] = "false"
    home.ask("up", "--port", "0")
    assert home.ask("automation", "list", code=77)["error"]["code"] == "channels_off"
