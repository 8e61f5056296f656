"""What is said of mail that waits with channels: nothing that is not so."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.service import figures, history, receipts
from relaybay.settings import Messaging
from relaybay.setup.doctor import ServerFacts, server_checks
from tests.unit.channel_rig import ChannelRig


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
