"""What is said of mail that waits with channels: nothing that is not so."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from relaybay.service import figures, floors, history, message_lists, messages, receipts, steps
from relaybay.settings import Messaging, automations, toml_file
from relaybay.setup.doctor import ServerFacts, server_checks
from relaybay.store import board
from relaybay.store import messages as stored
from tests.unit.channel_rig import ChannelRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


def standing(rig: ChannelRig, mail) -> tuple[str, str]:
    return rig.store.read(lambda tx: receipts.standing(tx, rig.relay, mail))


@pytest.mark.spec("CATCHUP-7", "PACK-4")
def test_what_only_rides_along_is_promised_to_no_tool_call(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.publish("h1", "ci.failures")
    rig.subscribe(two, "ci.*")
    mid = rig.publish("h1", "ci.failures", "And again.")["message_id"]
    (caught_up,) = [m for m in rig.store.read(lambda tx: history.messages.waiting(tx, two.id, ("sent",))) if m.passive]
    assert "next prompt" in standing(rig, caught_up)[1]
    assert "tool call" not in standing(rig, caught_up)[1]
    # It is not counted among what waits for this session's next tool calls.
    said = rig.text(rig.tool("h2", permission_mode="default"))
    assert mid in said
    assert "Still waiting" not in said


@pytest.mark.spec("DLV-21", "DLV-20")
def test_without_the_switch_what_only_channels_know_says_that_it_waits_for_it(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    published = rig.publish("h1", "ci.failures")["message_id"]
    held = rig.script(two.name)["message_id"]
    rig.messaging = Messaging()
    rig.reopen()
    for mid in (published, held):
        code, said = standing(rig, rig.at(mid, two))
        assert code == "channels_off"
        assert "messaging.channels" in said


@pytest.mark.spec("SET-6")
def test_doctor_names_file_and_line_of_a_project_that_holds_everything(rig, tmp_path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / ".relaybay.toml").write_text("[messaging]\nchannels = true\n")
    rig.session("h1", cwd=str(folder))
    (problem,) = rig.store.read(lambda tx: figures.project_problems(tx, rig.relay))
    assert problem.startswith(f"{Path(folder).resolve()}/.relaybay.toml:2")
    checks = list(server_checks(ServerFacts("http://127.0.0.1:1", reachable=True, project_files=(problem,))))
    (found,) = [check for check in checks if check.name == "project file"]
    assert (found.ok, found.detail) == (False, problem)


@pytest.mark.spec("SEND-16")
def test_an_id_of_a_publication_that_reached_nobody_is_taken_all_the_same(rig) -> None:
    """It has no delivery, and the database's own refusal was met where the use case should have refused."""
    rig.session("h1")
    two = rig.session("h2")
    rig.publish("h1", "ci.failures", request_id="r-1")
    rig.now += SECOND
    outcome = rig.store.write(
        lambda tx: messages.send(tx, rig.relay, rig.caller("h1"), body="Hello.", to=two.ref, request_id="r-1")
    )
    assert outcome.refusal is not None
    assert outcome.refusal.answer == "send.request_id_reused"


@pytest.mark.spec("DLV-22")
def test_what_was_not_let_in_makes_no_edge_on_the_map(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    rig.policy(two, "refuse")
    assert rig.say("h1", two)["state"] == "refused"
    assert rig.store.read(lambda tx: board.exchanges(tx, 0)) == []


@pytest.mark.spec("DLV-37")
def test_a_rule_that_gave_a_message_back_is_not_named_beside_its_delivery(rig) -> None:
    rig.session("h1")
    two = rig.session("h2")
    mid = rig.say("h1", two)["message_id"]
    taken = {"rule_matches": True, "taken_before": False}
    rig.store.write(lambda tx: steps.delivery(tx, rig_mail(tx, mid), "take", taken, taken_by="triage"))
    assert outcome_of(rig, mid)["automation"] == "triage"
    rig.store.write(lambda tx: steps.delivery(tx, rig_mail(tx, mid), "give_back"))
    assert "automation" not in outcome_of(rig, mid)


def rig_mail(tx, mid: str):
    found = stored.get(tx, mid)
    assert found is not None
    return found


def outcome_of(rig: ChannelRig, mid: str) -> dict:
    line = rig.store.read(lambda tx: history.line(tx, rig.relay, rig_mail(tx, mid)))
    return line["recipients"][0]


@pytest.mark.spec("SET-6")
@pytest.mark.parametrize("text", ["x = " + "[" * 3_000, "[messaging]\ninbound_per_minute = " + "1" * 5_000])
def test_a_project_file_that_the_parser_chokes_on_holds_and_ends_nothing(tmp_path, text: str) -> None:
    (tmp_path / ".relaybay.toml").write_text(text)
    found = floors.of(str(tmp_path))
    assert (found.inbound, ".relaybay.toml:" in found.problem) == ("hold", True)


@pytest.mark.spec("SET-6")
@pytest.mark.parametrize("line", [" " * 200_000, "a" + " " * 200_000, "[" + " " * 200_000, "[" * 200_000])
def test_to_find_a_line_costs_its_length_and_not_its_cube(line: str) -> None:
    """A line of blanks in a valid file held the whole server up."""
    began = time.process_time()
    toml_file.line_of(line, "messaging.inbound")
    automations._line(line, "messaging")
    assert time.process_time() - began < 2


@pytest.mark.spec("CH-9", "DLV-31")
def test_what_was_held_until_its_session_ended_is_given_to_nobody_after_its_return(rig) -> None:
    two = rig.session("h2")
    rig.broadcasts(two)
    mid = rig.script_publish(None, "confidential", broadcast=True)["message_id"]
    rig.hook("SessionEnd", "h2", reason="logout")
    rig.start("h2", "resume", permission_mode="default")
    listed = rig.do(lambda tx: message_lists.list_messages(tx, rig.relay, rig.caller("h2"), message_id=mid))
    (item,) = listed["messages"]
    assert (item["state"], item["body"], item["withheld"]) == ("dropped", '""', True)


@pytest.mark.spec("NAME-18")
def test_a_start_comes_by_no_name_that_the_owner_would_be_refused(rig) -> None:
    rig.linked("h1", session_title="alpha")
    rig.linked("h2", wanted_name="alpha")
    assert rig.holder("h2").name_chosen == "alpha"
    assert rig.holder("h2").name not in (None, "", "alpha")
