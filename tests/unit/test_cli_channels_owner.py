"""What only the owner does, at a terminal: reviews, a session's messaging, `relaybay run` (table OWN, CH-10)."""

from __future__ import annotations

import io
import os
import sys

import pytest

from relaybay.cli.shell import AGENT_VARIABLES
from tests.unit.cli_channels_rig import HIDDEN, HOSTILE, at_terminal, rig_of

S = "/api/v1/sessions/S-2"
M = "/api/v1/messages/m_1"
STARTS = "/api/v1/starts"
SEEN = "hold none"

DECIDING = {
    "review": (["message", "review", "m_1"], f"{M}/review", {"session": ""}),
    "review there": (["message", "review", "m_1", "--session", "S-2"], f"{M}/review", {"session": "S-2"}),
    "approve": (
        ["message", "approve", "m_1", "--review", "t1"],
        f"{M}/approve",
        {"review": "t1", "session": ""},
    ),
    "reject": (
        ["message", "reject", "m_1", "--review", "t1", "--session", "S-2"],
        f"{M}/reject",
        {"review": "t1", "session": "S-2"},
    ),
}
CONTROLS = {
    "policy": (
        ["session", "policy", "S-2", "accept", "--yes"],
        f"{S}/messaging/policy",
        {"policy": "accept", "confirmed": True},
    ),
    "subscribe": (
        ["session", "subscribe", "S-2", "ci.*", "docs"],
        f"{S}/messaging/topics",
        {"add": ["ci.*", "docs"]},
    ),
    "unsubscribe": (["session", "unsubscribe", "S-2", "ci.*"], f"{S}/messaging/topics", {"remove": ["ci.*"]}),
    "broadcasts on": (["session", "broadcasts", "S-2", "on"], f"{S}/messaging/broadcasts", {"on": True}),
    "broadcasts off": (["session", "broadcasts", "S-2", "off"], f"{S}/messaging/broadcasts", {"on": False}),
    "name": (["session", "name", "S-2", "@ci-watcher"], f"{S}/messaging/name", {"name": "@ci-watcher"}),
    "name cleared": (["session", "name", "S-2", "--clear"], f"{S}/messaging/name", {"name": ""}),
}
OWNERS = [*(words for words, *_ in [*DECIDING.values(), *CONTROLS.values()]), ["run", "--", "true"]]


@pytest.fixture
def rig(monkeypatch, capsys):
    with rig_of(monkeypatch, capsys) as found:
        yield found


@pytest.fixture
def alone(monkeypatch, capsys):
    with rig_of(monkeypatch, capsys, server=False) as found:
        yield found


@pytest.fixture
def person(rig, monkeypatch):
    rig.at_terminal(monkeypatch)
    return rig


# --- who may ---


@pytest.mark.spec("CH-10", "OWN-3", "OWN-4", "OWN-5", "OWN-8", "OWN-9", "OWN-10", "OWN-14")
@pytest.mark.parametrize("words", OWNERS, ids=str)
def test_an_agents_shell_is_refused(person, monkeypatch, words) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    code, _, err = person.run(*words)
    assert (code, person.stub.asked) == (77, [])
    assert "[owner_only CH-10]" in err


@pytest.mark.spec("CH-10")
@pytest.mark.parametrize("variable", AGENT_VARIABLES)
def test_every_mark_of_an_agents_shell_counts(person, monkeypatch, variable) -> None:
    monkeypatch.setenv(variable, "1")
    assert person.run("session", "policy", "S-2", "refuse")[0] == 77
    assert person.stub.asked == []


@pytest.mark.spec("CH-10", "OWN-3", "OWN-4", "OWN-5", "OWN-8", "OWN-9", "OWN-10", "OWN-14")
@pytest.mark.parametrize("words", OWNERS, ids=str)
def test_without_a_terminal_it_is_refused_in_words(rig, words) -> None:
    code, _, err = rig.run(*words)
    assert (code, rig.stub.asked) == (77, [])
    assert "a person at a terminal" in err and "[terminal_required " in err


@pytest.mark.spec("OWN-2", "OWN-6", "OWN-7", "OWN-1")
@pytest.mark.parametrize(
    ("words", "path", "answer"),
    [
        (["message", "held"], "/api/v1/held", {"held": [], "count": 0, "channels": True}),
        (["topics"], "/api/v1/channels", {"topics": [], "broadcasts": {"count": 0}}),
        (["session", "show", "S-2"], S, {"ref": "S-2", "title": "T"}),
        (["session", "list", "-q", "live"], "/api/v1/sessions", {"sessions": []}),
    ],
    ids=str,
)
def test_to_look_is_nobodys_privilege(rig, monkeypatch, words, path, answer) -> None:
    rig.stub.answer("GET", path, answer)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert rig.run(*words)[0] == 0


@pytest.mark.spec("OWN-4", "CLI-20", "OWN-5", "OWN-8", "OWN-9", "OWN-10", "OWN-14", "NAME-4")
@pytest.mark.parametrize(
    "words",
    [
        ["message", "approve", "m_1"],
        ["message", "reject", "m_1"],
        ["message", "approve", "m_1", "m_2", "--review", "t"],
        ["session", "policy", "S-2", "open"],
        ["session", "policy", "S-2"],
        ["session", "subscribe", "S-2"],
        ["session", "broadcasts", "S-2", "yes"],
        ["session", "name", "S-2"],
        ["session", "name", "S-2", "a", "--clear"],
        ["run", "--name", "a"],
        ["run", "--name", "No Name", "--", "true"],
        ["run", "--topic", "a..b", "--", "true"],
        ["run", "--group", "A B", "--", "true"],
    ],
    ids=str,
)
def test_usage_is_2(person, words) -> None:
    assert person.run(*words)[0] == 2
    assert person.stub.asked == []


# --- what is asked of the server ---


@pytest.mark.spec("OWN-3", "OWN-4", "OWN-5", "OWN-8", "OWN-9", "OWN-10", "70")
@pytest.mark.parametrize("name", [*DECIDING, *CONTROLS])
def test_each_command_is_one_call(person, name) -> None:
    words, path, body = (DECIDING | CONTROLS)[name]
    person.stub.answer("POST", path, {"text": "Done so.", "message_id": "m_1"})
    code, out, _ = person.run(*words)
    assert (code, person.stub.asked) == (0, [("POST", path, body)])
    code, document = person.ask(*words)
    assert (code, document["text"]) == (0, "Done so.")
    assert name.startswith("review") or out == "Done so.\n"


@pytest.mark.spec("OWN-3", "CLI-19")
@pytest.mark.parametrize(
    ("code", "status"),
    [
        *(("message_unknown", 404), ("not_held", 409), ("review_stale", 409), ("approve_blocked", 409)),
        *(("message_taken", 409), ("message_closed", 409), ("channels_off", 409)),
    ],
)
def test_a_review_that_cannot_be_is_1(person, code, status) -> None:
    for words, path, _ in DECIDING.values():
        person.stub.refuse("POST", path, code, status)
        got, document = person.ask(*words)
        assert (got, document["error"]["code"]) == (1, code)


@pytest.mark.spec("OWN-5", "SET-1")
@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [("channels_off", 409, 1), ("session_unknown", 404, 65), ("policy_below_floor", 409, 77), ("name_held", 409, 77)],
)
def test_a_control_that_is_refused_keeps_its_words(person, code, status, exit_code) -> None:
    for words, path, _ in CONTROLS.values():
        person.stub.refuse("POST", path, code, status)
        got, document = person.ask(*words)
        assert (got, document["error"]["code"]) == (exit_code, code)


# --- reviews ---

REVIEW = {
    "message_id": "m_1",
    "state": "held",
    "recipient": {"title": "shop", "ref": "S-2", "name": "a-b-c"},
    "from": {"title": "ci", "verified": False, "script": True},
    "audience": {"kind": "topic", "topic": "ci.failures"},
    "reason_code": "script",
    "reason": "A script wrote it.",
    "sent_at": "2026-03-04T05:06:07.000000Z",
    "held_at": "2026-03-04T05:06:08.000000Z",
    "body": '"First.\\n\\u003cb\\u003e token: x"',
    "folder": "/work",
    "mode": "plan",
    "policy": "auto",
    "blocked_by": "",
    "token": "tok-1",
    "text": "Approving may start a turn.",
}


@pytest.mark.spec("OWN-3")
def test_a_review_shows_all_that_the_owner_decides_on(person) -> None:
    person.stub.answer("POST", f"{M}/review", REVIEW)
    code, out, err = person.run("message", "review", "m_1")
    assert code == 0
    for shown in ("ci (script)", "@a-b-c S-2", "topic ci.failures", "/work", "plan", "script: A script wrote it."):
        assert shown in out
    assert "token     tok-1\n" in out
    assert out.endswith("\n\n    First.\n    <b> token: x\n\n"), "a line of the text can't pass for a fact"
    assert err == "Approving may start a turn.\n"
    person.stub.answer("POST", f"{M}/review", REVIEW | {"blocked_by": "suppressed"})
    assert "can't be approved now (suppressed)" in person.run("message", "review", "m_1")[2]


@pytest.mark.spec("OWN-3", "OWN-1")
def test_nothing_hidden_of_others_reaches_the_owners_terminal(person) -> None:
    party = {"title": HOSTILE, "ref": HOSTILE, "name": HOSTILE}
    hostile = dict.fromkeys(
        ("folder", "mode", "reason", "reason_code", "task", "in_reply_to", "text", "token"), HOSTILE
    )
    audience = {"kind": "topic", "topic": HOSTILE}
    person.stub.answer(
        "POST",
        f"{M}/review",
        REVIEW | hostile | {"from": party, "recipient": party, "audience": audience, "body": HOSTILE},
    )
    decided = {"text": HOSTILE, "next": {"message_id": HOSTILE, "session": HOSTILE}}
    person.stub.answer("POST", f"{M}/approve", decided)
    messaging = MESSAGING | {"topics": [HOSTILE], "name_chosen": HOSTILE, "name_held_by": party}
    messaging["policy"] = MESSAGING["policy"] | {"file": HOSTILE, "problem": HOSTILE}
    person.stub.answer("GET", S, {"ref": "S-2", "title": HOSTILE, "messaging": messaging})
    for words in (*(DECIDING[name][0] for name in ("review", "approve")), ["session", "show", "S-2"]):
        code, out, err = person.run(*words)
        assert code == 0
        assert not [char for char in HIDDEN if char in out + err], words


@pytest.mark.spec("OWN-4")
def test_a_decision_says_which_message_is_next(person) -> None:
    decided = {"text": "Approved m_1.", "state": "sent", "next": {"message_id": "m_9", "session": "S-4"}}
    person.stub.answer("POST", f"{M}/approve", decided)
    code, out, err = person.run("message", "approve", "m_1", "--review", "t")
    assert (code, out, err) == (0, "Approved m_1.\n", "Next: relaybay message review m_9 --session S-4\n")


@pytest.mark.spec("OWN-2")
def test_what_is_held_is_listed_without_its_text(rig) -> None:
    entry = {key: value for key, value in REVIEW.items() if key not in ("body", "token")}
    rig.stub.answer("GET", "/api/v1/held", {"held": [entry], "count": 1, "channels": True})
    code, out, _ = rig.run("message", "held", "--session", "S-2")
    assert (code, rig.stub.asked[0][1]) == (0, "/api/v1/held?session=S-2")
    head, row = out.splitlines()
    assert head.split() == ["ID", "HELD", "SINCE", "FROM", "TO", "AUDIENCE", "WHY"]
    assert row.split("  ") == ["m_1", "2026-03-04 05:06:08", "ci (script)", "@a-b-c", "topic ci.failures", "script"]
    assert rig.ask("message", "held")[1]["held"] == [entry]
    rig.stub.answer("GET", "/api/v1/held", {"held": [], "count": 0, "channels": True})
    assert rig.run("message", "held") == (0, "", "Nothing is held.\n")


# --- policy ---

MESSAGING = {
    "channels": True,
    "policy": {"effective": "hold", "own": "hold", "default": "auto", "floor": "none", "selectable": []},
    "suppressed": False,
    "topics": ["ci.*", "docs"],
    "topics_max": 16,
    "broadcasts": True,
    "held": 3,
    "name": "a-b-c",
    "name_chosen": "ci-watcher",
    "name_held_by": {"ref": "S-7", "title": "other"},
    "seen": SEEN,
}
POLICY = f"{S}/messaging/policy"


@pytest.mark.spec("OWN-5", "RELAX-1")
def test_a_stricter_policy_is_set_without_a_question(person) -> None:
    person.stub.answer("GET", f"{S}/messaging", MESSAGING)
    person.stub.answer("POST", POLICY, {"text": "It is refuse now."})
    assert person.run("session", "policy", "S-2", "refuse")[:2] == (0, "It is refuse now.\n")
    assert person.body() == {"policy": "refuse", "seen": SEEN}


@pytest.mark.spec("OWN-5", "RELAX-2")
@pytest.mark.parametrize(("typed", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_a_laxer_policy_asks_at_the_terminal_what_may_be_released(rig, typed, code) -> None:
    rig.stub.answer("GET", f"{S}/messaging", MESSAGING)
    rig.stub.refuse("POST", POLICY, "confirmation_required", 409)
    got, said = at_terminal(typed, "session", "policy", "S-2", "accept")
    assert "no: confirmation_required." in said and "Set the policy of S-2 to accept? [y/N]" in said
    posts = [body for method, _, body in rig.stub.asked if method == "POST"]
    assert posts[0] == {"policy": "accept", "seen": SEEN}
    if code:
        assert (got, len(posts)) == (code, 1), said
    else:
        assert posts[1:] == [{"policy": "accept", "confirmed": True, "seen": SEEN}], said


@pytest.mark.spec("OWN-5", "RELAX-3")
def test_a_confirmation_over_what_has_changed_is_void(person, monkeypatch) -> None:
    person.stub.answer("GET", f"{S}/messaging", MESSAGING)
    person.stub.refuse("POST", POLICY, "confirmation_required", 409)

    def changed(_: str) -> bool:
        person.stub.refuse("POST", POLICY, "confirmation_void", 409)
        return True

    monkeypatch.setattr("relaybay.cli.session_messaging.ask", changed)
    code, document = person.ask("session", "policy", "S-2", "accept")
    assert (code, document["error"]["code"]) == (77, "confirmation_void")


@pytest.mark.spec("OWN-1", "OWN-10")
def test_a_session_is_shown_with_its_messaging_when_there_is_one(rig) -> None:
    session = {"ref": "S-2", "title": "shop", "name": "a-b-c"}
    rig.stub.answer("GET", S, session | {"messaging": MESSAGING})
    out = rig.run("session", "show", "S-2")[1]
    for shown in (
        "ci-watcher (in use by other, S-7)",
        "hold (its own: hold, the default: auto, floor: none)",
        "ci.*, docs, (2 of 16)",
        "HELD         3",
    ):
        assert shown in out
    assert rig.ask("session", "show", "S-2")[1]["messaging"] == MESSAGING
    rig.stub.answer("GET", S, session)
    assert "POLICY" not in rig.run("session", "show", "S-2")[1]


# --- relaybay run ---

CLIENT = "import os, sys; print('client', sys.argv[1:], os.environ.get('RELAYBAY_START'), os.getpid())"
TICKET = {"ticket": "tick-1", "name": "ci-watcher", "patterns": ["ci.*"], "broadcasts": True}


@pytest.mark.spec("OWN-14")
def test_run_becomes_the_client_with_a_ticket_in_its_environment(rig) -> None:
    rig.stub.answer("POST", STARTS, TICKET, 201)
    words = ["run", "--name", "@ci-watcher", "--topic", "ci.*", "--topic", "docs", "--receive-broadcasts"]
    client = ["--", sys.executable, "-c", CLIENT, "--json", "--name", "its own"]
    code, said = at_terminal(b"", *words, *client, env={"RELAYBAY_START": "inherited"})
    assert code == 0, said
    assert "client ['--json', '--name', 'its own'] tick-1" in said
    wanted = {"name": "ci-watcher", "topics": ["ci.*", "docs"], "broadcasts": True, "groups": []}
    assert rig.stub.asked == [("POST", STARTS, wanted)]


@pytest.mark.spec("OWN-14")
def test_the_client_has_the_place_of_the_command_and_its_exit_code(rig) -> None:
    rig.stub.answer("POST", STARTS, TICKET, 201)
    code, said = at_terminal(b"", "run", "--", sys.executable, "-c", "import sys; sys.exit(7)")
    assert code == 7, said


@pytest.mark.spec("OWN-14")
@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        *(("name_held", 409, 1), ("name_reserved", 409, 1), ("group_unknown", 404, 1), ("too_many_patterns", 422, 1)),
        *(("channels_off", 409, 1), ("name_invalid", 422, 2)),
    ],
)
def test_a_start_that_is_refused_starts_nothing(person, monkeypatch, code, status, exit_code) -> None:
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("a client was started"))
    person.stub.refuse("POST", STARTS, code, status, "OWN-14")
    got, _, err = person.run("run", "--name", "a", "--group", "g", "--", "true")
    assert got == exit_code
    assert err == f"relaybay: no: {code}. [{code} OWN-14]\n"


@pytest.mark.spec("OWN-14")
def test_a_json_that_the_client_was_given_is_not_ours(person) -> None:
    person.stub.refuse("POST", STARTS, "name_held", 409)
    assert person.run("run", "--name", "a", "--", "true", "--json")[1] == ""
    out = person.run("run", "--name", "a", "--json", "--", "true")[1]
    assert '"code": "name_held"' in out


@pytest.mark.spec("OWN-14", "75")
def test_without_a_server_nothing_is_started_either(alone, monkeypatch) -> None:
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("a client was started"))
    alone.at_terminal(monkeypatch)
    code, _, err = alone.run("run", "--name", "a", "--", "true")
    assert code == 69 and "[no_server 75]" in err


@pytest.mark.spec("OWN-14")
def test_a_client_that_is_not_there_takes_no_name(person) -> None:
    code, _, err = person.run("run", "--name", "a", "--", "no-such-client")
    assert (code, person.stub.asked) == (1, [])
    assert "no-such-client" in err and "[client_missing OWN-14]" in err


@pytest.mark.spec("OWN-14")
def test_a_client_that_cannot_be_run_is_told(person, home_program) -> None:
    person.stub.answer("POST", STARTS, TICKET, 201)
    code, _, err = person.run("run", "--", home_program)
    assert code == 1 and "[client_not_started OWN-14]" in err


@pytest.fixture
def home_program(rig) -> str:
    """A file that looks like a program and is none."""
    path = rig.home / "broken"
    path.write_bytes(b"\x7fELF nothing of the kind")
    path.chmod(0o700)
    return str(path)


def test_a_question_needs_a_yes(monkeypatch) -> None:
    from relaybay.cli.shell import ask

    for typed, meant in (("y\n", True), ("YES\n", True), ("", False), ("\n", False), ("yes please\n", False)):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        assert ask("Sure?") is meant
