"""Names on a real board: who has one, who gets it when it is free, what a crash leaves behind, whom an `@name` means."""

from __future__ import annotations

import json
import platform
import subprocess
import sys

import pytest

from relaybay.domain import ClientProcess
from relaybay.rules.handles import ATTEMPTS_MAX, generated
from relaybay.service import history, messages, processes, scripts, session_controls, starts
from relaybay.service import sessions as owner
from relaybay.store import sessions
from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


def name_of(rig, hook: str) -> str | None:
    return rig.holder(hook).name


def no_name(rig, row, name: str) -> tuple[str, str]:
    return rig.no(lambda tx: session_controls.choose_name(tx, rig.relay, session=row.ref, name=name))


def away(rig, hook: str) -> None:
    rig.hook("SessionEnd", hook, reason="logout")


def back(rig, hook: str, **more):
    return rig.start(hook, "resume", permission_mode="default", **more)


# -- generated -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("NAME-9", "NAME-12", "NAME-13", "NAME-8")
def test_every_live_session_has_a_name_and_after_its_end_and_a_restart_the_same(rig) -> None:
    """Trap V4. It is made from the row and kept nowhere: an ended row goes by none."""
    rows = [rig.session(hook) for hook in ("h1", "h2", "h3")]
    names = [row.name for row in rows]
    assert names == [generated(row.id, 0) for row in rows]
    away(rig, "h2")
    assert rig.need(rows[1]).name is None
    rig.kill()
    back(rig, "h2")
    assert [name_of(rig, hook) for hook in ("h1", "h2", "h3")] == names


@pytest.mark.spec("NAME-10", "NAME-13")
def test_a_generated_name_that_is_taken_gives_way_to_the_next_attempt(rig) -> None:
    """Trap N7: somebody chose it; the row that is free of it again takes its first one when it comes back."""
    one = rig.session("h1")
    rig.name(one, generated(one.id + 1, 0))
    two = rig.session("h2")
    assert two.id == one.id + 1
    assert two.name == generated(two.id, 1)
    rig.name(one, "")
    away(rig, "h2")
    back(rig, "h2")
    assert name_of(rig, "h2") == generated(two.id, 0)


@pytest.mark.spec("NAME-11")
def test_a_session_for_which_no_name_is_left_goes_by_none_and_says_so(rig) -> None:
    """Nobody is refused for want of a name: the row is reached by its ref, and gets one when it comes back."""
    one = rig.session("h1")
    new = one.id + ATTEMPTS_MAX + 1
    taken = [rig.row(f"t{n}", "hook", "exact", name=generated(new, n)) for n in range(ATTEMPTS_MAX)]
    two = rig.session("h2")
    assert (two.id, two.name) == (new, None)
    assert json.loads(rig.events("session.named")[-1]) == {"session": two.ref, "title": two.title, "name": None}
    line = rig.start("h2", "resume", permission_mode="default").line
    assert f"others reach it as {two.ref}" in line
    assert "Every @name that could be made for it is in use" in line
    assert rig.say("h1", two)["recipient"] == {"title": two.title, "ref": two.ref}
    rig.store.write(lambda tx: sessions.change(tx, taken[7].id, name=None))
    away(rig, "h2")
    line = back(rig, "h2").line
    assert name_of(rig, "h2") == generated(new, 7)
    assert "Every @name" not in line


@pytest.mark.spec("NAME-19")
def test_two_processes_of_one_hook_id_are_one_session_with_one_name(rig) -> None:
    """Hooks tell no more than their id, and one id is one row: the second copy answers to the same name."""
    one = rig.session("h1", process=ClientProcess(11, "1", "pid:[1]", "host", "cli", "2.1"))
    rig.start("h1", process=ClientProcess(22, "2", "pid:[1]", "host", "cli", "2.1"), permission_mode="default")
    assert rig.holder("h1").id == one.id
    assert [row.name for row in rig.rows() if row.name] == [one.name]


# -- chosen --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("NAME-14", "NAME-20", "NAME-16")
def test_a_chosen_name_stays_when_the_title_changes(rig) -> None:
    """Trap N3."""
    two = rig.session("h2")
    rig.name(two, "@ci-watcher")
    rig.do(lambda tx: owner.rename(tx, rig.relay, two.ref, "Something else"))
    rig.hook("UserPromptSubmit", "h2", session_title="Client's own", permission_mode="default")
    assert name_of(rig, "h2") == "ci-watcher"
    rig.name(two, "other")
    assert (name_of(rig, "h2"), rig.need(two).name_chosen) == ("other", "other")
    rig.name(two, "")
    assert (name_of(rig, "h2"), rig.need(two).name_chosen) == (generated(two.id, 0), "")


@pytest.mark.spec("NAME-15", "NAME-1", "NAME-27")
def test_what_cant_be_chosen_is_refused_with_its_reason_and_changes_nothing(rig) -> None:
    """Trap N8; and what another live session is called by title or alias would have two readers."""
    one, two = rig.session("h1", session_title="Watcher"), rig.session("h2")
    rig.name(one, "ci")
    assert no_name(rig, two, "ci") == ("name_held", "NAME-15")
    assert no_name(rig, two, "watcher")[0] == "name_reserved"
    for bad in ("Ci-Watcher", "@-x", "x" * 33, "сi", "a_b", "a b", "@@a"):
        assert no_name(rig, two, bad) == ("name_invalid", "NAME-1"), bad
    away(rig, "h1")
    assert rig.name(two, "watcher")["name"] == "watcher"


@pytest.mark.spec("NAME-17", "NAME-18", "NAME-13")
def test_a_name_that_is_taken_while_its_session_is_away_stays_saved_and_is_tried_again(rig) -> None:
    """Trap N2: the warning, by event and start line, names both."""
    one, two = rig.session("h1"), rig.session("h2")
    rig.name(two, "ci")
    away(rig, "h2")
    rig.name(one, "ci")
    line = back(rig, "h2").line
    assert f"@{generated(two.id, 0)}" in line
    assert "The name chosen for it, ci, is in use by another live session" in line
    panel = rig.panel(two)
    assert (panel["name"], panel["name_chosen"], panel["name_held_by"]["ref"]) == (generated(two.id, 0), "ci", one.ref)
    assert json.loads(rig.events("session.name_taken")[-1])["holder"] == one.ref
    rig.name(one, "")
    away(rig, "h2")
    assert "is in use" not in back(rig, "h2").line
    assert name_of(rig, "h2") == "ci"


@pytest.mark.spec("NAME-13", "NAME-17")
def test_the_database_itself_lets_no_two_rows_go_by_one_name(rig) -> None:
    one, two = rig.session("h1"), rig.session("h2")
    with pytest.raises(Exception, match="UNIQUE"):
        rig.store.write(lambda tx: sessions.change(tx, two.id, name=one.name))


@pytest.mark.spec("NAME-13", "NAME-15", "HL-9")
def test_a_client_that_was_killed_leaves_no_name_taken(rig) -> None:
    """Trap N1, with a real process and kill -9, before the sweep has looked."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        known = processes.started(child.pid) or "", processes.own_namespace(), platform.node()
        process = ClientProcess(child.pid, *known, "cli", "2.1")
        one = rig.session("h1", process=process)
        rig.name(one, "ci")
        two = rig.session("h2")
        assert no_name(rig, two, "ci") == ("name_held", "NAME-15"), "it lives"
        assert rig.no(lambda tx: starts.reserve(tx, rig.relay, name="ci"))[1] == "NAME-15"
        child.kill()
        child.wait()
        rig.reserve(name="ci")
        assert rig.name(two, "ci")["name"] == "ci"
        assert (rig.need(one).name, rig.need(one).activity) == (None, "ended")
    finally:
        child.kill()
        child.wait()


# -- at a start ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("NAME-14", "NAME-15", "NAME-16", "OWN-14")
def test_a_start_that_asks_for_a_name_is_refused_before_it_begins_or_gets_it_with_the_title(rig) -> None:
    deep = "/" + "/".join(f"folder-{n}" for n in range(30))
    one = rig.session("h1", cwd=deep)
    rig.name(one, "ci")
    said = rig.store.write(lambda tx: starts.reserve(tx, rig.relay, name="ci")).refusal
    assert said.answer == "chosen_name.held"
    assert (said.values["ref"], said.values["folder"]) == (one.ref, f'"{deep}"')
    rig.start("h2", start_ticket=rig.reserve(name="docs"), permission_mode="default")
    rig.accepted("mark", witnessed="h2")
    assert (name_of(rig, "h2"), rig.holder("h2").title) == ("docs", "docs")
    away(rig, "h2")
    back(rig, "h2", start_ticket=rig.reserve(name="docs-2"))
    assert (name_of(rig, "h2"), rig.holder("h2").title) == ("docs-2", "docs"), "a resumed one keeps its title"


@pytest.mark.spec("OWN-14", "NAME-21")
def test_a_ticket_is_for_the_first_session_that_brings_it_and_for_an_hour_at_most(rig) -> None:
    ticket = rig.reserve(name="ci", patterns=["ci.*"])
    rig.start("h1", start_ticket=ticket, permission_mode="default")
    rig.start("h2", start_ticket=ticket, permission_mode="default")
    assert [rig.holder(hook).name_chosen for hook in ("h1", "h2")] == ["ci", ""]
    late = rig.reserve(name="late")
    rig.now += 25 * 3_600 * 1_000_000
    rig.start("h3", start_ticket=late, permission_mode="default")
    rig.start("h4", start_ticket="no such ticket", permission_mode="default")
    assert [rig.holder(hook).name_chosen for hook in ("h3", "h4")] == ["", ""]


@pytest.mark.spec("NAME-18", "NAME-16")
def test_the_environments_name_stops_no_start_and_is_told_when_it_cant_be_had(rig) -> None:
    one = rig.session("h1")
    rig.name(one, "ci")
    rig.session("h2")
    line = back(rig, "h2", wanted_name="ci").line
    assert "The name chosen for it, ci, is in use" in line
    back(rig, "h2", wanted_name="Not A Name")
    assert rig.holder("h2").name_chosen == "ci", "what is no name is not listened to"
    back(rig, "h2", wanted_name="free")
    assert name_of(rig, "h2") == "free"


# -- whom a name means ---------------------------------------------------------------------------------------------


@pytest.mark.spec("NAME-2", "NAME-24", "NAME-23", "NAME-25", "CH-2")
def test_a_name_is_looked_up_at_each_send_among_live_rows_only(rig) -> None:
    rig.session("h1")
    two, three = rig.session("h2"), rig.session("h3")
    rig.name(two, "ci")
    assert rig.say("h1", "@ci")["recipient"]["ref"] == two.ref

    def send(to: str):
        return lambda tx: messages.send(tx, rig.relay, rig.caller("h1"), body="x", to=to)

    assert rig.no(send("ci"))[1] == "RECV-1", "without the @ it is a title, and nobody has that"
    away(rig, "h2")
    assert rig.no(send("@ci"))[1] == "RECV-1"
    rig.name(three, "ci")
    assert rig.say("h1", "@ci", "now another")["recipient"]["ref"] == three.ref


@pytest.mark.spec("NAME-3", "NAME-24", "NAME-25", "NAME-27")
def test_a_script_may_leave_the_at_out_and_says_names_or_refs_and_no_titles(rig) -> None:
    two = rig.session("h2", session_title="Alice")
    rig.name(two, "ci")
    for n, to in enumerate(("ci", "@ci", two.ref)):
        assert rig.script(to, f"text {n}")["recipient"]["ref"] == two.ref

    def send(to: str):
        return lambda tx: scripts.send(tx, rig.relay, label="x", to=to, body="y")

    assert rig.no(send("nobody"))[1] == "RECV-1"
    assert rig.no(send("@alice"))[1] == "RECV-1"
    assert rig.no(send("Alice"))[1] == "NAME-27"
    assert rig.no(send("S-999"))[1] == "RECV-1"


@pytest.mark.spec("NAME-26", "RECV-2")
def test_a_name_that_also_is_a_title_reaches_nobody_and_both_are_listed(rig) -> None:
    """Trap N5."""
    rig.session("h1")
    two = rig.session("h2")
    rig.name(two, "ci")
    other = rig.row("@ci")
    said = rig.store.write(lambda tx: messages.send(tx, rig.relay, rig.caller("h1"), body="x", to="@ci")).refusal
    assert said.spec_id == "RECV-2"
    assert two.ref in said.values["candidates"]
    assert other.ref in said.values["candidates"]
    assert rig.inbox("h2") == []


@pytest.mark.spec("NAME-28", "SEND-8")
def test_nobody_writes_to_its_own_name(rig) -> None:
    one = rig.session("h1")
    rig.name(one, "ci")
    for to in ("@ci", one.ref, one.title):
        said = rig.no(lambda tx, to=to: messages.send(tx, rig.relay, rig.caller("h1"), body="x", to=to))
        assert said[1] == "SEND-8", to


@pytest.mark.spec("NAME-24", "CH-3")
def test_what_a_list_of_sessions_names_can_be_written_to(rig) -> None:
    """Trap V10: every kind of address that a tool gives, another one takes."""
    rig.session("h1")
    two = rig.session("h2")
    found = rig.do(lambda tx: history.sessions_list(tx, rig.relay, rig.caller("h1")))["sessions"]
    one = next(entry for entry in found if not entry.get("you"))
    for n, to in enumerate((one["ref"], f"@{one['name']}", one["title"])):
        assert rig.say("h1", to, f"text {n}")["recipient"]["ref"] == two.ref
