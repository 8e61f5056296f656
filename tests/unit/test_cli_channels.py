"""What a script does: `relaybay message send`, `publish`, `broadcast`, `log`, and `relaybay topics` (table CLI)."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from relaybay.rules.script_text import BODY_BYTES_MAX
from tests.unit.cli_channels_rig import HIDDEN, HOSTILE, TREE, at_terminal, line, log, publication, receipt, rig_of

SEND = "/api/v1/script/messages"
PUBLISH = "/api/v1/script/publications"
DIRECT = ("message", "send", "--to", "brave-otter-quay")
TOPIC = ("message", "publish", "--topic", "ci.failures")
BROADCAST = ("message", "broadcast")
OFF = ("channels_off", 409, "SET-1")


@pytest.fixture
def rig(monkeypatch, capsys):
    with rig_of(monkeypatch, capsys) as found:
        yield found


@pytest.fixture
def alone(monkeypatch, capsys):
    with rig_of(monkeypatch, capsys, server=False) as found:
        yield found


def served(rig):
    rig.stub.answer("POST", SEND, receipt(), 201)
    rig.stub.answer("POST", PUBLISH, publication(), 201)
    rig.stub.answer("GET", "/api/v1/log", log(line()))
    return rig


# --- what is asked of the server ---


@pytest.mark.spec("CLI-1", "CLI-2", "CLI-3", "CLI-11")
@pytest.mark.parametrize(
    ("words", "path", "body"),
    [
        (
            [*DIRECT, "--from", "ci", "--request-id", "r1", "Red."],
            SEND,
            {"to": "brave-otter-quay", "body": "Red.", "from": "ci", "request_id": "r1"},
        ),
        ([*DIRECT, "Red."], SEND, {"to": "brave-otter-quay", "body": "Red.", "from": "script"}),
        ([*TOPIC, "Red."], PUBLISH, {"topic": "ci.failures", "body": "Red.", "from": "script"}),
        ([*BROADCAST, "--", "--json"], PUBLISH, {"broadcast": True, "body": "--json", "from": "script"}),
        ([*BROADCAST, "-"], PUBLISH, {"broadcast": True, "body": "-", "from": "script"}),
    ],
    ids=str,
)
def test_a_command_of_a_script_is_one_call(rig, words, path, body) -> None:
    assert served(rig).run(*words, piped=b"not read")[0] == 0
    assert rig.stub.asked == [("POST", path, body)]


@pytest.mark.spec("NAME-2", "NAME-3", "CLI-3")
@pytest.mark.parametrize("to", ["brave-otter-quay", "@brave-otter-quay", "S-12", "s-12"])
def test_a_name_may_have_its_at_sign_and_a_ref_is_an_address_too(rig, to) -> None:
    assert served(rig).run("message", "send", "--to", to, "x")[0] == 0
    assert rig.body()["to"] == to


@pytest.mark.spec("CLI-18", "CH-10")
def test_scripts_work_inside_an_agents_shell_and_without_a_terminal(rig, monkeypatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    served(rig)
    assert [rig.run(*words, "x")[0] for words in (DIRECT, TOPIC, BROADCAST)] == [0, 0, 0]


# --- texts (C3) ---


@pytest.mark.spec("CLI-12", "CLI-14")
@pytest.mark.parametrize(
    ("piped", "text"),
    [
        (b"Red.\n", "Red."),
        (b"Red.\r\n", "Red."),
        (b"Red.\n\n", "Red.\n"),
        (b"Red.\r\n\r\n", "Red.\r\n"),
        (b"Red.", "Red."),
        (b" \n", " "),
        (b"x" * BODY_BYTES_MAX, "x" * BODY_BYTES_MAX),
        (b"x" * BODY_BYTES_MAX + b"\n", "x" * BODY_BYTES_MAX),
        (b"x" * BODY_BYTES_MAX + b"\r\n", "x" * BODY_BYTES_MAX),
        ("é€😀\n".encode(), "é€😀"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_piped_in_is_sent_without_its_one_last_line_end(rig, piped, text) -> None:
    for words in (DIRECT, TOPIC, BROADCAST):
        assert served(rig).run(*words, piped=piped)[0] == 0
        assert rig.body()["body"] == text


@pytest.mark.spec("CLI-15", "CLI-16", "CLI-19")
@pytest.mark.parametrize(
    ("piped", "code"),
    [
        (b"", "body_empty"),
        (b"\n", "body_empty"),
        (b"\r\n", "body_empty"),
        (b"x" * (BODY_BYTES_MAX + 1), "body_too_long"),
        (b"x" * (BODY_BYTES_MAX + 1) + b"\n", "body_too_long"),
        (b"ok \xff\xfe", "body_not_utf8"),
        (b"\xc3", "body_not_utf8"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_cannot_be_sent_is_1_and_nothing_is(rig, piped, code) -> None:
    for words in (DIRECT, TOPIC, BROADCAST):
        got, document = served(rig).ask(*words, piped=piped)
        assert (got, document["error"]["code"], rig.stub.asked) == (1, code, [])


@pytest.mark.spec("CLI-14")
def test_an_endless_pipe_ends_the_command_and_not_the_memory(rig) -> None:
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        done = rig.program(*BROADCAST, "--json", stdin=endless.stdout)
        endless.kill()
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "body_too_long")


@pytest.mark.spec("CLI-13", "CLI-19")
@pytest.mark.parametrize("words", [DIRECT, TOPIC, BROADCAST], ids=str)
def test_at_a_terminal_without_a_text_the_command_says_how_to_give_one(rig, words) -> None:
    code, said = at_terminal(b"typed\n", *words)
    assert (code, rig.stub.asked) == (1, []), said
    assert "as an argument, or pipe it in" in said and "no_text CLI-13" in said


@pytest.mark.spec("CLI-13")
def test_a_closed_stdin_is_no_text(rig) -> None:
    done = subprocess.run(
        f"exec <&-; {sys.executable} -m relaybay message broadcast",
        shell=True,
        env={"RELAYBAY_HOME": str(rig.home), "PYTHONPATH": str(TREE), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, rig.stub.asked) == (1, []), done.stderr
    assert "Traceback" not in done.stderr and "no_text" in done.stderr


@pytest.mark.spec("CLI-16")
def test_an_argument_that_is_not_utf8_is_1(rig) -> None:
    code, document = rig.ask(*BROADCAST, "a\udcff")
    assert (code, document["error"]["code"], rig.stub.asked) == (1, "argument_invalid", [])


# --- exit codes ---


@pytest.mark.spec("CLI-18", "CLI-19")
@pytest.mark.parametrize(
    ("state", "code"),
    [
        *((state, 0) for state in ("sent", "held", "delivered", "read", "taken")),
        *((state, 1) for state in ("refused", "rate_limited", "rejected", "dropped", "consumed", "orphaned")),
    ],
)
def test_a_send_is_0_while_it_can_arrive_and_1_when_it_cannot(rig, state, code) -> None:
    rig.stub.answer("POST", SEND, receipt(state, None), 201)
    assert rig.run(*DIRECT, "x")[0] == code
    got, document = rig.ask(*DIRECT, "x")
    assert (got, document["state"]) == (code, state), "the receipt is printed either way (C5)"


@pytest.mark.spec("CLI-18")
@pytest.mark.parametrize("recipients", [[], [{"title": "a", "state": "refused", "reason_code": "policy"}]], ids=str)
def test_a_publication_is_0_once_it_is_recorded(rig, recipients) -> None:
    rig.stub.answer("POST", PUBLISH, publication(*recipients), 201)
    assert rig.run(*TOPIC, "x")[0] == 0, "with nobody, or with refused ones only (C4)"
    assert rig.run(*BROADCAST, "x")[0] == 0


OUTSIDE = [
    (["message", "publish", "--topic", "ci.*", "x"], "topic_invalid"),
    (["message", "publish", "--topic", "ci.**", "x"], "topic_invalid"),
    (["message", "publish", "--topic", "CI", "x"], "topic_invalid"),
    (["message", "publish", "--topic", "", "x"], "topic_invalid"),
    (["message", "send", "--to", "Shop Web", "x"], "name_invalid"),
    (["message", "send", "--to", "@", "x"], "name_invalid"),
    (["message", "send", "--to", "a" * 33, "x"], "name_invalid"),
    ([*BROADCAST, "--from", "", "x"], "label_invalid"),
    ([*BROADCAST, "--from", " \t", "x"], "label_invalid"),
    ([*BROADCAST, "--from", "a" * 257, "x"], "label_invalid"),
    ([*BROADCAST, "--from", "a\u202eb", "x"], "label_invalid"),
    ([*DIRECT, "--from", "a\nb", "x"], "label_invalid"),
    (["message", "log", "--topic", "a..b"], "pattern_invalid"),
    (["message", "log", "--with", "No Name"], "name_invalid"),
]


@pytest.mark.spec("CLI-20", "CLI-17")
@pytest.mark.parametrize(("words", "code"), OUTSIDE, ids=str)
def test_a_value_outside_its_grammar_is_2_and_asks_nobody(rig, words, code) -> None:
    got, document = rig.ask(*words)
    assert (got, document["error"]["code"], rig.stub.asked) == (2, code, [])


@pytest.mark.spec("CLI-20")
@pytest.mark.parametrize(("words", "code"), OUTSIDE, ids=str)
def test_it_is_2_without_a_server_as_well(alone, words, code) -> None:
    got, document = alone.ask(*words)
    assert (got, document["error"]["code"]) == (2, code)


@pytest.mark.spec("CLI-20", "CLI-4")
@pytest.mark.parametrize(
    "words",
    [
        ["message", "publish", "x"],
        ["message", "send", "x"],
        ["message", "broadcast", "--topic", "a", "x"],
        ["message", "broadcast", "x", "y"],
        ["message", "log", "--topic", "a", "--broadcast"],
        ["message", "log", "--topic", "a", "--with", "b"],
        ["message", "log", "--broadcast", "--with", "b"],
        ["message", "log", "-n", "0"],
        ["message", "log", "-n", "1001"],
        ["message", "log", "-n", "many"],
        ["message", "log", "--nope"],
    ],
    ids=str,
)
def test_unknown_missing_and_conflicting_options_are_2(rig, words) -> None:
    assert rig.run(*words)[0] == 2
    assert rig.stub.asked == []


@pytest.mark.spec("CLI-19", "CLI-20")
@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("channels_off", 409, 1),
        ("recipient_unknown", 404, 1),
        ("recipient_ambiguous", 409, 1),
        ("request_id_reused", 409, 1),
        ("store_full", 507, 1),
        ("store_unavailable", 503, 1),
        ("body_too_long", 422, 1),
        ("topic_invalid", 422, 2),
        ("argument_invalid", 422, 2),
        ("unauthorized", 401, 77),
    ],
)
def test_what_the_server_refuses_has_the_exit_codes_of_scripts(rig, code, status, exit_code) -> None:
    rig.stub.refuse("POST", SEND, code, status)
    rig.stub.refuse("POST", PUBLISH, code, status)
    for words in (DIRECT, TOPIC, BROADCAST):
        got, document = rig.ask(*words, "x")
        assert (got, document["error"]["code"]) == (exit_code, code)


@pytest.mark.spec("CLI-19", "75")
@pytest.mark.parametrize(
    "words",
    [[*DIRECT, "x"], [*TOPIC, "x"], [*BROADCAST, "x"], ["message", "log"], ["message", "held"], ["topics"]],
    ids=str,
)
def test_without_a_server_it_is_69(alone, words) -> None:
    code, document = alone.ask(*words)
    assert (code, document["error"]["code"]) == (69, "no_server")


# --- what is printed ---


@pytest.mark.spec("CLI-21")
def test_a_receipt_has_a_head_line_and_a_line_for_each_recipient(rig) -> None:
    rig.stub.answer("POST", SEND, receipt("held", "script"), 201)
    head, recipient, *_ = rig.run(*DIRECT, "x")[1].splitlines()
    assert head == "Sent m_1  direct  1 recipient"
    assert recipient == "  @brave-otter-quay  held  script"
    rig.stub.answer("POST", SEND, receipt("refused", "policy"), 201)
    assert rig.run(*DIRECT, "x")[1].startswith("Not let in: m_1  direct")
    reached = {"title": "no name", "state": "sent", "reason_code": "idle", "reach": "It is idle."}
    queued = [{"group": "builders", "work": "w_1"}]
    answer = publication(reached, {"title": "b", "name": "b-b-b", "state": "delivered"}, skipped=3, queued=queued)
    rig.stub.answer("POST", PUBLISH, answer, 201)
    assert rig.run(*TOPIC, "x")[1].splitlines() == [
        "Published m_2  topic ci.failures  2 recipients, 3 skipped",
        "  no name  sent  idle: It is idle.",
        "  @b-b-b  delivered",
        "  w_1  queued for builders",
    ]


@pytest.mark.spec("CLI-21")
def test_a_publication_that_nobody_received_says_so_beside_the_data(rig) -> None:
    rig.stub.answer("POST", PUBLISH, publication(text="Nobody received it."), 201)
    code, out, err = rig.run(*TOPIC, "x")
    assert (code, out) == (0, "Published m_2  topic ci.failures  0 recipients\n")
    assert err == "Nobody received it.\n"


@pytest.mark.spec("CLI-1", "CLI-2", "CLI-3")
def test_a_receipt_as_json_has_its_members_and_no_target(rig) -> None:
    document = served(rig).ask(*DIRECT, "x")[1]
    assert document["audience"] == {"kind": "direct"}
    recipient = {
        "ref": "S-2",
        "title": "shop web",
        "name": "brave-otter-quay",
        "state": "held",
        "reason_code": "script",
    }
    assert (document["message_id"], document["recipients"], document["skipped"]) == ("m_1", [recipient], 0)
    assert document["queued"] == [] and "target" not in json.dumps(document)
    assert (document["state"], document["reason_code"], document["recipient"]["ref"]) == ("held", "script", "S-2")
    document = rig.ask(*TOPIC, "x")[1]
    assert document["audience"] == {"kind": "topic", "topic": "ci.failures"}
    assert (document["recipients"], document["skipped"], document["queued"]) == ([], 0, [])


@pytest.mark.spec("CLI-4", "OWN-7")
def test_the_log_asks_for_what_its_options_say(rig) -> None:
    served(rig)
    rig.run("message", "log")
    rig.run("message", "log", "--topic", "ci.*", "-n", "3")
    rig.run("message", "log", "--broadcast", "--before", "m_9")
    rig.run("message", "log", "--with", "@brave-otter-quay")
    assert [path.partition("?")[2] for _, path, _ in rig.stub.asked] == [
        "n=20",
        "topic=ci.%2A&n=3",
        "broadcast=1&n=20&before=m_9",
        "with=%40brave-otter-quay&n=20",
    ]


@pytest.mark.spec("CLI-22", "OWN-7")
def test_a_line_of_the_log_has_its_head_its_text_and_every_recipients_outcome(rig) -> None:
    held = {"title": "docs", "ref": "S-3", "state": "held", "reason_code": "script", "reason": "A script wrote it."}
    taken = {"title": "c", "name": "c-c-c", "state": "consumed", "reason_code": "consumed", "automation": "sorter"}
    first = line(
        "First.\n-> second", recipients=[{"title": "shop", "name": "a-b-c", "state": "delivered"}, held, taken]
    )
    direct = {"kind": "direct"}
    rule = {"title": "shop", "name": "a-b-c", "verified": True, "automation": "sorter"}
    second = line("Reply.", message_id="m_4", audience=direct, recipients=[], **{"from": rule})
    rig.stub.answer("GET", "/api/v1/log", log(first, second))
    assert rig.run("message", "log")[1].splitlines() == [
        "2026-03-04 05:06:07  topic ci.failures  ci (script)  m_3",
        "    First.",
        "    -> second",
        "  -> @a-b-c  delivered",
        "  -> docs  held  script: A script wrote it.",
        "  -> @c-c-c  consumed by sorter  consumed",
        "2026-03-04 05:06:07  direct  shop @a-b-c (automation sorter)  m_4",
        "    Reply.",
    ]


@pytest.mark.spec("CLI-22")
def test_the_log_tells_times_by_this_machines_clock(rig, monkeypatch) -> None:
    rig.stub.answer("GET", "/api/v1/log", log(line()))
    done = rig.program("message", "log")
    assert done.stdout.startswith(b"2026-03-04 0")
    monkeypatch.setattr("relaybay.cli.parties.datetime", _Elsewhere)
    assert rig.run("message", "log")[1].startswith("2026-03-04 15:06:07")


class _Elsewhere:
    """A clock ten hours east."""

    @staticmethod
    def fromisoformat(text: str):
        from datetime import datetime, timedelta, timezone

        class Here:
            def astimezone(self):
                return datetime.fromisoformat(text).astimezone(timezone(timedelta(hours=10)))

        return Here()


@pytest.mark.spec("CLI-4", "CLI-27")
def test_the_log_as_json_is_one_object_a_line_and_nothing_when_there_is_nothing(rig) -> None:
    rig.stub.answer("GET", "/api/v1/log", log(line(), line(message_id="m_4")))
    code, out, err = rig.run("message", "log", "--json")
    found = [json.loads(text) for text in out.splitlines()]
    assert (code, err, [one["message_id"] for one in found]) == (0, "", ["m_3", "m_4"])
    assert {one["v"] for one in found} == {1}
    assert set(found[0]) == {"v", "message_id", "sent_at", "audience", "from", "recipients", "body"}
    rig.stub.answer("GET", "/api/v1/log", log())
    assert rig.run("message", "log", "--json") == (0, "", "")
    assert rig.run("message", "log") == (0, "Nothing recorded.\n", "")


@pytest.mark.spec("CH-9", "CLI-4")
def test_inside_an_agents_shell_the_log_asks_for_no_text_that_did_not_get_through(rig, monkeypatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    kept = {key: value for key, value in line().items() if key != "body"} | {"withheld": True}
    rig.stub.answer("GET", "/api/v1/log", log(kept))
    out = rig.run("message", "log")[1]
    assert rig.stub.asked[0][1].endswith("&texts=0")
    assert "did not get through" in out


@pytest.mark.spec("CH-9")
@pytest.mark.parametrize("state", ["held", "taken", "refused", "rate_limited", "rejected"])
def test_inside_an_agents_shell_show_and_list_leave_such_a_text_out(rig, monkeypatch, state) -> None:
    ends = {"from": {"title": "ci", "verified": False, "script": True}, "to": {"title": "shop", "ref": "S-2"}}
    message = {"message_id": "m_1", "state": state, "audience": {"kind": "direct"}, "body": '"secret word"', **ends}
    several = message | {"state": "read", "recipients": [{"title": "shop", "state": state}]}
    for answer in (message, several):
        rig.stub.answer("GET", "/api/v1/messages/m_1", answer)
        rig.stub.answer("GET", "/api/v1/messages", {"messages": [answer]})
        monkeypatch.delenv("CLAUDECODE", raising=False)
        shown = rig.run("message", "show", "m_1")[1]
        assert "secret word" in shown and "from ci (script) to shop" in shown
        assert "secret word" in rig.run("message", "show", "m_1", "--json")[1]
        monkeypatch.setenv("CLAUDECODE", "1")
        for words in (["show", "m_1"], ["show", "m_1", "--json"], ["list", "--json"]):
            out = rig.run("message", *words)[1]
            assert "secret word" not in out and state in out
    rig.stub.answer("GET", "/api/v1/messages/m_1", message | {"state": "delivered"})
    assert "secret word" in rig.run("message", "show", "m_1")[1]


@pytest.mark.spec("CLI-4")
def test_a_reader_of_the_log_that_goes_away_leaves_no_trace(rig) -> None:
    rig.stub.answer("GET", "/api/v1/log", log(*(line("x" * 9_000, message_id=f"m_{n}") for n in range(50))))
    for words in ("", "--json"):
        done = subprocess.run(
            f"{sys.executable} -m relaybay message log {words} | head -1",
            shell=True,
            env={"RELAYBAY_HOME": str(rig.home), "PYTHONPATH": str(TREE), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.count("\n") == 1 and done.stderr == ""


@pytest.mark.spec("CLI-21", "CLI-22", "CLI-1")
@pytest.mark.parametrize("ending", [[], ["--json"]], ids=["lines", "json"])
def test_what_others_wrote_is_printed_with_everything_hidden_made_visible(rig, ending) -> None:
    party = {"title": HOSTILE, "ref": "S-2", "state": HOSTILE, "reason_code": HOSTILE, "reach": HOSTILE}
    audience = {"kind": "topic", "topic": HOSTILE}
    queued = [{"group": HOSTILE, "work": HOSTILE}]
    rig.stub.answer("POST", SEND, receipt(recipient=party, reason_code=HOSTILE, text=HOSTILE), 201)
    published = publication(party, audience=audience, queued=queued, text=HOSTILE, message_id=HOSTILE)
    rig.stub.answer("POST", PUBLISH, published, 201)
    author = {"title": HOSTILE, "name": HOSTILE, "automation": HOSTILE, "script": True}
    entry = line(f"{HOSTILE}\n{HOSTILE}", audience=audience, recipients=[party], **{"from": author})
    rig.stub.answer("GET", "/api/v1/log", log(entry))
    channel = {"topic": HOSTILE, "count": 1, "last_at": HOSTILE, "received": "exact"}
    peer = {"ref": "S-3", "title": HOSTILE, "name": HOSTILE, "count": 1, "last_at": HOSTILE}
    channels = {"topics": [channel], "broadcasts": {"count": 0}, "conversations": [peer], "patterns": [HOSTILE]}
    rig.stub.answer("GET", "/api/v1/channels", channels)
    held = {"message_id": HOSTILE, "held_at": HOSTILE, "from": author, "recipient": party, "audience": audience}
    rig.stub.answer("GET", "/api/v1/held", {"held": [held | {"reason_code": HOSTILE}], "channels": True})
    commands = ([*DIRECT, "x"], [*TOPIC, "x"], ["message", "log"], ["topics", "--session", "a"], ["message", "held"])
    for words in commands:
        code, out, err = rig.run(*words, *ending)
        assert code == 0
        assert not [char for char in HIDDEN if char in out + err], words
        assert "a" in out and "h" in out
    body = rig.run("message", "log")[1].splitlines()
    assert len([text for text in body if text.startswith("    a\\u{1b}")]) == 2, "line breaks survive in bodies alone"


@pytest.mark.spec("CLI-17", "CLI-22")
def test_a_label_that_looks_like_a_sessions_name_is_marked_as_a_scripts(rig) -> None:
    author = {"title": "@brave-otter-quay", "verified": False, "script": True}
    rig.stub.answer("GET", "/api/v1/log", log(line(**{"from": author})))
    assert "  @brave-otter-quay (script)  " in rig.run("message", "log")[1]
    served(rig)
    assert rig.run(*BROADCAST, "--from", "@brave-otter-quay", "x")[0] == 0


# --- the switch ---


@pytest.mark.spec("SET-1", "CLI-19")
def test_with_the_switch_off_each_command_ends_with_1_and_the_words_name_the_key(rig) -> None:
    for path in (SEND, PUBLISH):
        rig.stub.refuse("POST", path, *OFF)
    rig.stub.refuse("GET", "/api/v1/channels", *OFF)
    for words in ([*DIRECT, "x"], [*TOPIC, "x"], [*BROADCAST, "x"], ["topics"]):
        assert rig.run(*words)[0] == 1
    for words, path in ((["message", "log"], "/api/v1/log"), (["message", "held"], "/api/v1/held")):
        rig.stub.answer("GET", path, {"messages": [], "held": [], "channels": False})
        code, out, err = rig.run(*words)
        assert (code, out) == (1, "")
        assert "relaybay config set messaging.channels true" in err


@pytest.mark.spec("SET-1", "CLI-4")
def test_with_the_switch_off_old_messages_can_be_read_with_a_word_beside_them(rig) -> None:
    rig.stub.answer("GET", "/api/v1/log", log(line(), channels=False))
    code, out, err = rig.run("message", "log", "--json")
    assert (code, json.loads(out)["message_id"]) == (0, "m_3")
    assert "relaybay config set messaging.channels true" in err


# --- topics ---


@pytest.mark.spec("OWN-6")
def test_topics_are_a_table_that_says_how_a_session_receives_each(rig) -> None:
    topics = [
        {"topic": "ci.failures", "count": 2, "last_at": "2026-03-04T05:06:07.000000Z", "received": "pattern"},
        {"topic": "docs", "count": 1, "last_at": "2026-03-04T05:06:06.000000Z", "received": "not"},
        {"topic": "nightly", "count": 0, "received": "exact"},
    ]
    answer = {"topics": topics, "broadcasts": {"count": 1, "last_at": "2026-03-04T05:06:07.000000Z", "received": True}}
    answer |= {"conversations": [], "patterns": ["ci.*", "nightly"], "text": "3 topics."}
    rig.stub.answer("GET", "/api/v1/channels", answer)
    out = rig.run("topics", "--session", "@brave-otter-quay")[1].splitlines()
    assert rig.stub.asked[0][1] == "/api/v1/channels?session=%40brave-otter-quay"
    assert out[0].split() == ["TOPIC", "MESSAGES", "LAST", "RECEIVED"]
    assert [text.split("  ")[-1] for text in out[1:4]] == ["by a pattern", "no", "yes"]
    assert out[4] == "Broadcasts: 1, the last at 2026-03-04 05:06:07; received"
    assert out[5] == "Subscribed to: ci.*, nightly"
    assert rig.ask("topics")[1]["topics"] == topics
    rig.stub.answer("GET", "/api/v1/channels", {"topics": [], "broadcasts": {"count": 0}, "conversations": []})
    code, said, note = rig.run("topics")
    assert (code, said) == (0, "Broadcasts: 0\n") and "No topic yet" in note
