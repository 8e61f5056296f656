"""`automations.toml`: what may stand in it, and where a fault is said to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relaybay.answers import word_refusal
from relaybay.cli import exits
from relaybay.cli.root import run as command
from relaybay.errors import SettingsError
from relaybay.rules.automation_actions import Actions, Run, Sending, actions, check, is_target
from relaybay.service.automation_rules import read_book
from relaybay.settings import Paths
from relaybay.settings.automations import FILE_BYTES_MAX, read
from relaybay.setup.doctor_automations import automations
from tests.unit.automation_rig import read as book

RULE: dict[str, Any] = {"name": "answer-ci", "session": "@ci-*", "on": "message_received"}
WHOLE = """# What CI sends while nobody looks.

[[automation]]
name = "triage"
session = "@ci-*"
on = "message_received"
topics = ["ci.**"]
consume = true
firings_per_hour = 30
cool_down_seconds = 10

[automation.run]
command = ["/usr/local/bin/triage", "--quiet"]
timeout_seconds = 30

[automation.reply]
text = "Seen by the triage."

[[automation]]
name = "announce"
session = "*"
on = "message_received"
[automation.send]
to = "@lead"
text = "Something came in."
[automation.publish]
topic = "desk.news"
text = "Something came in."
[automation.broadcast]
text = "Something came in."
"""


# -- what may stand there -----------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-1", "AUTO-7", "AUTO-14", "AUTO-15", "AUTO-16", "AUTO-17")
def test_a_file_becomes_its_rules_by_name() -> None:
    found = book(WHOLE)
    assert found.problems == () and [(one.name, one.line) for one in found.rules] == [("announce", 19), ("triage", 3)]
    announce, triage = found.rules
    assert triage.actions == Actions(
        run=Run(("/usr/local/bin/triage", "--quiet"), 30), reply=Sending("Seen by the triage.")
    )
    assert (triage.firings_per_hour, triage.cool_down_seconds, triage.trigger.topics) == (30, 10, ("ci.**",))
    assert announce.actions.names == ("send", "publish", "broadcast") and announce.firings_per_hour == 12
    assert announce.actions.send == Sending("Something came in.", "@lead")


def test_a_rule_is_the_same_until_anything_in_it_changes() -> None:
    before, same = book(WHOLE).rule("triage"), book(WHOLE.replace("# What", "# All")).rule("triage")
    other = book(WHOLE.replace("--quiet", "--loud")).rule("triage")
    assert before and same and other and before.digest == same.digest != other.digest
    assert book(WHOLE).rule("triage", other.digest) is None


def test_texts_are_sent_as_they_stand() -> None:
    text = "$(id) {text} %s ${HOME} `id`"
    made = actions(RULE | {"broadcast": {"text": text}})
    assert made.broadcast == Sending(text)


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "rule.no_action"),
    ({"runs": {"command": ["/bin/true"]}, "broadcast": {"text": "x"}}, "rule.key_unknown"),
    ({"run": ["/bin/true"]}, "rule.not_a_table"),
    ({"run": {}}, "rule.command_invalid"),
    ({"run": {"command": "/bin/true"}}, "rule.command_invalid"),
    ({"run": {"command": []}}, "rule.command_invalid"),
    ({"run": {"command": ["/bin/true", 7]}}, "rule.command_invalid"),
    ({"run": {"command": ["/bin/true", "a\0b"]}}, "rule.command_invalid"),
    ({"run": {"command": ["/bin/true"] * 65}}, "rule.command_invalid"),
    ({"run": {"command": ["/bin/true", "x" * 4097]}}, "rule.command_invalid"),
    ({"run": {"command": ["true"]}}, "rule.command_not_absolute"),
    ({"run": {"command": ["~/bin/true"]}}, "rule.command_not_absolute"),
    ({"run": {"command": ["/bin/true"], "shell": True}}, "rule.key_unknown"),
    ({"run": {"command": ["/bin/true"], "timeout_seconds": 0}}, "automation.number_invalid"),
    ({"run": {"command": ["/bin/true"], "timeout_seconds": 601}}, "automation.number_invalid"),
    ({"run": {"command": ["/bin/true"], "timeout_seconds": True}}, "automation.number_invalid"),
    ({"reply": {"text": "x"}}, "rule.reply_needs_consume"),
    ({"consume": True, "reply": {}}, "automation.not_text"),
    ({"broadcast": {"text": " \u200b "}}, "rule.text_invalid"),
    ({"broadcast": {"text": "x" * 32769}}, "rule.text_invalid"),
    ({"send": {"text": "x"}}, "rule.send_to_invalid"),
    ({"send": {"to": "lead", "text": "x"}}, "rule.send_to_invalid"),
    ({"send": {"to": "@*", "text": "x"}}, "rule.send_to_invalid"),
    ({"send": {"to": ["@a"], "text": "x"}}, "rule.send_to_invalid"),
    ({"publish": {"topic": "ci.*", "text": "x"}}, "rule.publish_topic_invalid"),
    ({"publish": {"text": "x"}}, "rule.publish_topic_invalid"),
    ({"on": "work_finished", "broadcast": {"text": "x"}}, "rule.no_groups_yet"),
]


@pytest.mark.spec("AUTO-14", "AUTO-15", "AUTO-16", "AUTO-18", "NAME-5")
@pytest.mark.parametrize(("rule", "wrong"), BAD)
def test_what_a_rule_may_not_do_is_told_in_a_sentence(rule: dict[str, Any], wrong: str) -> None:
    found = check(RULE | rule)
    assert [one.answer for one in found] == [wrong]
    assert word_refusal(found[0]).code == "automation_invalid" and word_refusal(found[0]).text.isprintable()


def test_every_sentence_about_what_rules_do_can_be_said() -> None:
    from relaybay import specs

    listed = {one for one in specs.answers() if one.startswith("rule.")}
    assert {wrong for _, wrong in BAD if wrong.startswith("rule.")} | {"rule.name_repeats"} == listed


def test_targets() -> None:
    assert all(map(is_target, ("@a", "@ci-1", "S-1", "S-120")))
    assert not any(map(is_target, ("", "@", "@A", "S-", "S-0", "S-01", "s-1", "12", "S-1 ", "S-\u0661")))


# -- where a fault is ---------------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-11")
@pytest.mark.parametrize(
    ("change", "line", "part"),
    [
        (("consume = true", "consume = 1"), 8, "consume"),
        (('topics = ["ci.**"]', 'topics = ["ci."]'), 7, "topic pattern"),
        (("timeout_seconds = 30", "timeout_seconds = 0"), 14, "timeout_seconds"),
        (('text = "Seen by the triage."', 'text = ""'), 17, "reply.text"),
        (('to = "@lead"', 'to = "lead"'), 24, "target for send"),
        (('name = "announce"', 'name = "triage"'), 20, "same name"),
        (('session = "*"\n', ""), 19, "has no session"),
        (('to = "@lead"', "to = "), 24, "is no TOML"),
        (("# What", "[rules]\nx = 1\n# What"), 1, "unknown key rules"),
        (("firings_per_hour = 30", "speed = 30"), 9, "speed"),
    ],
)
def test_a_fault_is_told_with_file_and_line_and_then_no_rule_is_used(change, line, part) -> None:
    found = book(WHOLE.replace(*change))
    assert found.rules == () and len(found.problems) == 1
    assert found.problems[0].startswith(f"automations.toml:{line}: ") and part in found.problems[0]


def test_rules_in_one_line_are_read_as_well() -> None:
    one = 'automation = [{name = "a", session = "*", on = "message_received", broadcast = {text = "x"}}]'
    assert [rule.name for rule in book(one).rules] == ["a"]
    assert book(one.replace('"*"', '"x"')).problems[0].startswith("automations.toml:1: ")
    assert book('automation = "x"').problems[0].startswith("automations.toml:1: automation must be")


def test_a_hundred_rules_are_enough() -> None:
    many = "".join(
        f'[[automation]]\nname = "r{n}"\nsession = "*"\non = "message_received"\n[automation.broadcast]\ntext = "x"\n'
        for n in range(101)
    )
    assert "at most 100" in book(many).problems[0]


@pytest.mark.spec("AUTO-11")
def test_what_is_no_file_of_rules_is_told_and_nothing_is_raised(tmp_path: Path) -> None:
    path = tmp_path / "automations.toml"
    assert read_book(path).problems == () and read(path) == ()
    path.write_bytes(b"# \xff\n")
    assert read_book(path).problems == (f"{path}:1: is not UTF-8",)
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    assert "is larger than" in read_book(path).problems[0]
    path.write_text(WHOLE)
    path.chmod(0o666)
    assert "every user" in read_book(path).problems[0]
    path.chmod(0o644)
    assert len(read_book(path).rules) == 2
    path.unlink()
    path.mkdir()
    with pytest.raises(SettingsError):
        read(path)
    path.rmdir()
    import os

    os.mkfifo(path)
    assert "no regular file" in read_book(path).problems[0]


def test_the_file_lies_beside_the_configuration(tmp_path: Path) -> None:
    paths = Paths.find({"RELAYBAY_HOME": str(tmp_path)})
    assert paths.automations == tmp_path / "automations.toml" == paths.config_file.with_name("automations.toml")


# -- who tells it -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("AUTO-11")
def test_the_command_and_the_doctor_name_file_and_line(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("RELAYBAY_HOME", str(tmp_path))
    path = tmp_path / "automations.toml"
    assert automations(path) == [] and command(["automation", "check"]) == 0
    path.write_text(WHOLE)
    capsys.readouterr()
    assert command(["automation", "check", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"v": 1, "file": str(path), "automations": ["announce", "triage"], "problems": []}
    assert [one.ok for one in automations(path)] == [True]
    path.write_text(WHOLE.replace("consume = true", "consume = 1"))
    assert command(["automation", "check"]) == exits.CONFIG
    assert capsys.readouterr().out.startswith(f"{path}:8: ")
    (found,) = automations(path)
    assert found.ok is False and f"{path}:8: " in found.detail and found.fix
    other = tmp_path / "other.toml"
    other.write_text("\x1b[31m = 1")
    assert command(["automation", "check", "--file", str(other)]) == exits.CONFIG
    assert "\x1b" not in capsys.readouterr().out
