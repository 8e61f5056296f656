"""The keys of `[messaging]` on a running board: the switch, project floors, lowered bounds, files that can't be used."""

from __future__ import annotations

import os

import pytest

from relaybay.errors import SettingsError
from relaybay.service import history, publishing, scripts, session_controls, starts
from relaybay.settings import Messaging, Paths, load
from tests.unit.channel_rig import ChannelRig


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def paths(tmp_path):
    found = Paths.find({"RELAYBAY_HOME": str(tmp_path / "home")})
    found.make()
    return found


# -- SET-1: the switch ---------------------------------------------------------------------------------------------


@pytest.mark.spec("SET-1", "CH-6")
def test_the_switch_stands_in_the_global_file_alone_and_auto_is_what_it_begins_with(paths, tmp_path) -> None:
    assert load(paths, {}).messaging == Messaging(channels=False, inbound="auto")
    paths.config_file.write_text("[messaging]\nchannels = true\n")
    assert load(paths, {}).messaging == Messaging(channels=True, inbound="auto")
    for word in ("true", "false"):
        (tmp_path / ".relaybay.toml").write_text(f"[messaging]\nchannels = {word}\n")
        with pytest.raises(SettingsError, match=r"\.relaybay\.toml:2"):
            load(paths, {}, tmp_path)


@pytest.mark.spec("SET-1", "CH-6")
def test_nothing_that_is_saved_and_no_hook_turns_the_switch_on(tmp_path) -> None:
    """Both positions: a row full of channels, a project's file and a ticket change nothing while it is off."""
    rig = ChannelRig(tmp_path)
    folder = rig.project('[messaging]\ninbound = "refuse"\n')
    one, two = rig.session("h1", cwd=folder), rig.session("h2", cwd=folder)
    ticket = rig.reserve(name="worker", patterns=["ci.*"], broadcasts=True)
    assert rig.panel(two)["policy"]["effective"] == "refuse"
    rig.subscribe(two, "ci.*")
    assert rig.say("h1", two)["state"] == "refused"

    rig.start_again(channels=False)
    said = rig.say("h1", two, "While it is off.")
    assert said["state"] == "sent"
    assert said["message_id"] in rig.carried("h2", cwd=folder)
    rig.hook("StopFailure", "h2", cwd=folder, permission_mode="default")
    rig.start("h1", cwd=folder, start_ticket=ticket, wanted_name="worker")
    assert (rig.holder("h2").suppressed, rig.holder("h1").name_chosen) == (0, "")
    refused = [
        rig.no(work)
        for work in (
            lambda tx: publishing.publish(tx, rig.relay, rig.caller("h1"), body="x", topic="ci.a"),
            lambda tx: history.topic_read(tx, rig.relay, rig.caller("h1")),
            lambda tx: history.sessions_list(tx, rig.relay, rig.caller("h1")),
            lambda tx: scripts.send(tx, rig.relay, label="ci", to=two.ref, body="x"),
            lambda tx: session_controls.subscribe(tx, rig.relay, session=one.ref, add=["ci.*"]),
            lambda tx: starts.reserve(tx, rig.relay, name="worker"),
        )
    ]
    assert {code for code, _ in refused} == {"channels_off"}
    rig.relay.close()


@pytest.mark.spec("SET-1")
def test_switched_off_and_on_again_everything_goes_on_where_it_stood(rig) -> None:
    """Trap K16: held, dropped by policy, subscribed, passive, published: nothing of it moves while channels are off."""
    rig.session("h1")
    two = rig.session("h2")
    rig.subscribe(two, "ci.*")
    held = rig.script(two.ref)["message_id"]
    published = rig.publish("h1", "ci.a")["message_id"]
    direct = rig.say("h1", two)["message_id"]
    rig.start_again(channels=False)
    before = [rig.state_at(mid, two) for mid in (held, published)]
    assert before == [("held", "script"), ("sent", "")]
    carried = rig.carried("h2")
    assert direct in carried
    assert published not in carried
    assert held not in rig.carried("h2", "tool")
    assert len(rig.inbox("h2")) == 3, "old messages stay readable"
    rig.hook("SessionEnd", "h2", reason="logout")
    rig.start("h2", "resume", permission_mode="default")
    assert [rig.state_at(mid, two) for mid in (held, published)] == before

    rig.start_again(channels=True)
    assert published in rig.carried("h2", "tool")
    assert rig.panel(two)["topics"] == ["ci.*"]
    rig.approve(held)
    assert held in rig.carried("h2")


# -- SET-2: the floor of a project ---------------------------------------------------------------------------------


@pytest.mark.spec("SET-2", "FLOOR-4", "FLOOR-10", "FLOOR-3")
def test_a_project_tightens_the_policy_of_the_sessions_in_it_and_never_loosens_it(rig) -> None:
    strict = rig.project('[messaging]\ninbound = "hold"\n', "strict")
    lax = rig.project('[messaging]\ninbound = "accept"\n', "lax")
    inside, outside = rig.session("h1", cwd=strict), rig.session("h2", cwd=lax)
    assert rig.panel(inside)["policy"]["effective"] == "hold"
    assert rig.panel(outside)["policy"]["effective"] == "auto", "a floor only tightens"
    assert rig.panel(inside)["policy"]["selectable"] == ["hold", "refuse"]
    said = rig.no(
        lambda tx: session_controls.set_policy(tx, rig.relay, session=inside.ref, wanted="auto", confirmed=True)
    )
    assert said == ("policy_below_floor", "FLOOR-8")
    assert rig.policy(inside, "refuse")["policy"]["effective"] == "refuse"


@pytest.mark.spec("SET-2", "FLOOR-2")
def test_the_global_value_is_a_default_and_no_floor(tmp_path) -> None:
    rig = ChannelRig(tmp_path, Messaging(channels=True, inbound="hold"))
    two = rig.session("h2")
    assert rig.panel(two)["policy"]["effective"] == "hold"
    assert rig.policy(two, "accept")["policy"]["effective"] == "accept"
    assert rig.script(two.ref)["state"] == "sent"
    rig.relay.close()


@pytest.mark.spec("SET-2", "DLV-23", "DLV-24")
def test_a_floor_that_changes_judges_what_waits_at_the_next_event_or_by_the_timer(rig) -> None:
    folder = rig.project()
    rig.session("h1", cwd=folder)
    two = rig.session("h2", cwd=folder)
    mid = rig.say("h1", two)["message_id"]
    epoch = rig.need(two).epoch
    rig.project('[messaging]\ninbound = "hold"\n')
    assert rig.carried("h2", "tool", cwd=folder) == "", "the event that would have carried it looks at the file first"
    assert rig.state_at(mid, two) == ("held", "policy")
    assert rig.need(two).epoch == epoch + 1
    rig.project('[messaging]\ninbound = "auto"\n')
    rig.look_at_controls()
    assert rig.state_at(mid, two) == ("sent", "")
    assert mid in rig.carried("h2", "tool", cwd=folder)


@pytest.mark.spec("SET-2")
def test_a_wait_that_would_be_woken_looks_at_the_projects_file_first(rig) -> None:
    folder = rig.project()
    rig.session("h1", cwd=folder)
    two = rig.session("h2", cwd=folder)
    rig.prompt("h2", cwd=folder, permission_mode="default")
    mid = rig.say("h1", two)["message_id"]
    rig.project('[messaging]\ninbound = "hold"\n')
    entry = rig.wait("h2")
    rig.now += 3_000_000
    assert rig.look(entry).outcome == "waiting"
    assert rig.state_at(mid, two) == ("held", "policy")


@pytest.mark.spec("SET-2")
def test_a_file_that_keeps_its_time_and_size_is_read_anew_all_the_same(rig) -> None:
    """A tool that copies a file with its times: `hold` and `auto` are as long as each other."""
    folder = rig.project('[messaging]\ninbound = "auto"\n')
    two = rig.session("h2", cwd=folder)
    file = rig.folder / "shop" / ".relaybay.toml"
    was = file.stat()
    assert rig.panel(two)["policy"]["effective"] == "auto"
    file.write_text('[messaging]\ninbound = "hold"\n')
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert rig.panel(two)["policy"]["effective"] == "hold"


@pytest.mark.spec("FLOOR-12")
def test_a_saved_override_below_a_new_floor_is_clamped_when_the_session_comes_back(rig) -> None:
    """Trap P10. What was clamped is what is saved: the floor's end does not bring the laxer choice back by itself."""
    folder = rig.project()
    two = rig.session("h2", cwd=folder)
    rig.policy(two, "accept")
    rig.hook("SessionEnd", "h2", reason="logout", cwd=folder)
    rig.project('[messaging]\ninbound = "hold"\n')
    rig.start("h2", "resume", permission_mode="default", cwd=folder)
    assert (rig.panel(two)["policy"]["effective"], rig.need(two).inbound) == ("hold", "hold")
    assert rig.script(two.ref)["state"] == "held"
    rig.project()
    assert rig.panel(two)["policy"]["effective"] == "hold"


@pytest.mark.spec("SET-6", "FLOOR-12")
def test_a_file_that_is_broken_for_a_while_costs_no_session_its_own_choice(rig) -> None:
    folder = rig.project()
    two = rig.session("h2", cwd=folder)
    rig.policy(two, "accept")
    rig.project("[messaging\n")
    rig.start("h2", "resume", permission_mode="default", cwd=folder)
    assert rig.panel(two)["policy"]["effective"] == "hold"
    rig.project()
    assert rig.panel(two)["policy"]["effective"] == "accept"


# -- SET-3, 4: bounds that a project lowers ------------------------------------------------------------------------


@pytest.mark.spec("SET-3", "RATE-14")
def test_a_project_lowers_the_windows_of_the_recipients_in_it(rig) -> None:
    low = rig.project("[messaging]\ninbound_per_minute = 3\nsender_per_minute = 2\n", "low")
    high = rig.project("[messaging]\ninbound_per_minute = 500\nsender_per_minute = 500\n", "high")
    one, two = rig.session("h1", cwd=low), rig.session("h2", cwd=high)
    said = [rig.script(one.ref, f"text {n}", label)["reason_code"] for n, label in enumerate("aaabb")]
    assert said == ["script", "script", "sender", "script", "recipient"]
    said = [rig.script(two.ref, f"text {n}", "a")["reason_code"] for n in range(17)]
    assert said == ["script"] * 16 + ["sender"], "a larger value is ignored without an error"


@pytest.mark.spec("SET-4", "RATE-14", "PUB-2", "PUB-6")
def test_a_project_lowers_how_often_and_how_far_its_sessions_publish(rig) -> None:
    folder = rig.project("[messaging]\npublish_per_minute = 2\nmax_fanout = 1\n")
    rig.session("h1", cwd=folder)
    for hook in ("h2", "h3"):
        rig.broadcasts(rig.session(hook, cwd=folder))
    elsewhere = rig.session("h4")
    rig.broadcasts(elsewhere)
    first = rig.publish("h1", broadcast=True, body="one")
    assert (len(first["recipients"]), first["skipped"]) == (1, 2)
    rig.publish("h1", broadcast=True, body="two")
    said = rig.no(lambda tx: publishing.publish(tx, rig.relay, rig.caller("h1"), body="three", broadcast=True))
    assert said == ("rate_limited", "PUB-2")
    other = rig.publish("h4", broadcast=True, body="three")
    assert (len(other["recipients"]), other["skipped"]) == (2, 0), "its own project's bounds count, not the recipients'"


@pytest.mark.spec("SET-3", "SET-4", "SET-5", "RATE-15", "HIST-5")
@pytest.mark.parametrize(
    "key",
    ["inbound_per_minute", "sender_per_minute", "publish_per_minute", "max_fanout", "history_days",
     "history_max_messages"],
)  # fmt: skip
def test_a_bound_is_a_whole_number_from_one(paths, key) -> None:
    defaults = {"inbound_per_minute": 64, "sender_per_minute": 16, "publish_per_minute": 16, "max_fanout": 32}
    defaults |= {"history_days": 30, "history_max_messages": 50_000}
    assert getattr(load(paths, {}).messaging, key) == defaults[key]
    paths.config_file.write_text(f"[messaging]\n{key} = 1\n")
    assert getattr(load(paths, {}).messaging, key) == 1
    for bad in ("0", "-1", "1.5", '"3"', "true"):
        paths.config_file.write_text(f"[messaging]\n{key} = {bad}\n")
        with pytest.raises(SettingsError, match=r"config\.toml:2"):
            load(paths, {})


# -- SET-5, 6: files that can't be used ----------------------------------------------------------------------------


@pytest.mark.spec("SET-5", "SET-6", "HIST-6")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[messaging]\nchannels = true\n", 2),
        ('[messaging]\ninbound = "hold"\nhistory_days = 3\n', 3),
        ("[messaging]\nhistory_max_messages = 9\n", 2),
        ('[messaging]\ninbound = "lax"\n', 2),
        ("[messaging]\nmax_fanout = 0\n", 2),
        ("# a\n\n[messaging\n", 3),
        ("[server]\nport = 1\n", 2),
        ("[messaging]\nno_such_key = 1\n", 2),
    ],
)  # fmt: skip
def test_a_file_that_cant_be_used_holds_everything_and_is_named_with_its_line(rig, text, line) -> None:
    folder = rig.project(text)
    rig.session("h1", cwd=folder)
    two = rig.session("h2", cwd=folder)
    said = rig.say("h1", two)
    assert (said["state"], said["reason_code"]) == ("held", "project_file")
    place = f"{folder}/.relaybay.toml:{line}"
    assert place in said["text"], "the sender's receipt names file and line"
    assert place in rig.panel(two)["policy"]["problem"]
    assert rig.carried("h2", cwd=folder) == ""
    shown = rig.review(said["message_id"])
    assert (shown["reason_code"], place in shown["reason"]) == ("project_file", True)


@pytest.mark.spec("SET-6", "DLV-23")
def test_what_a_broken_file_held_goes_on_when_it_is_mended(rig) -> None:
    folder = rig.project("inbound = auto\n")
    rig.session("h1", cwd=folder)
    two = rig.session("h2", cwd=folder)
    mid = rig.say("h1", two)["message_id"]
    assert rig.state_at(mid, two) == ("held", "project_file")
    rig.project('[messaging]\ninbound = "hold"\n')
    rig.look_at_controls()
    assert rig.state_at(mid, two) == ("held", "policy"), "still held, and for another reason"
    rig.project()
    rig.look_at_controls()
    assert mid in rig.carried("h2", "tool", cwd=folder)


@pytest.mark.spec("SET-2")
def test_the_nearest_file_counts_also_for_a_subfolder_and_through_a_link(rig) -> None:
    folder = rig.project('[messaging]\ninbound = "refuse"\n')
    inner = rig.folder / "shop" / "src"
    inner.mkdir()
    link = rig.folder / "elsewhere"
    link.symlink_to(inner)
    for place in (folder, str(inner), str(link)):
        row = rig.session(f"h-{len(place)}", cwd=place)
        assert rig.panel(row)["policy"]["effective"] == "refuse", place
