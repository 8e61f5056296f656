"""The board's words: commands that exist, the owner's words for the owner, whose text is whose, and pages for refusals."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

import relaybay.ui
from relaybay import specs
from relaybay.cli.root import COMMANDS, root
from relaybay.domain import Caller
from relaybay.service import comments, tasks
from relaybay.service.views_owner import OWNER as OWNERS
from relaybay.service.views_owner import for_owner
from tests.ui.board_rig import OWNER, SECOND, Board

UI = Path(relaybay.ui.__file__).parent
MARKED = re.compile(r"<code[^>]*>\s*relaybay ([^<]*)</code>|`relaybay ([^`]*)`")
TOOLS = re.compile(r"\b(message|task|comment|work|topic)s?_(send|list|ack|get|create|update|add|bind_session)\b")


def sources() -> dict[str, str]:
    files = [*sorted(UI.rglob("*.html")), *sorted(UI.rglob("*.js"))]
    found = {str(path.relative_to(UI)): path.read_text(encoding="utf-8") for path in files}
    return found | {f"answer {a.id}": a.text for a in specs.answers().values()}


def named_commands() -> list[tuple[str, str]]:
    named = []
    for place, source in sources().items():
        # A value that the template puts in is one word.
        text = re.sub(r"\{\{\s*(\S+)\s*\}\}", r"{\1}", source)
        named += [(place, (one or other).strip()) for one, other in MARKED.findall(text)]
    return named


def wrong_in(line: str) -> str:
    """What the command line would not take of `relaybay LINE`; words in capitals and braces stand for values."""
    command: click.Command = root
    context = click.Context(root, info_name="relaybay")
    words = line.split()
    while words and isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        if found is None:
            return f"no command {words[0]}"
        command, context = found, click.Context(found, parent=context, info_name=words.pop(0))
    options = {o: p for p in command.params if isinstance(p, click.Option) for o in [*p.opts, *p.secondary_opts]}
    required = {p.name for p in command.params if isinstance(p, click.Option) and p.required}
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    values = 0
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            values += 1
            continue
        if word not in options:
            return f"no option {word}"
        required.discard(options[word].name)
        if not options[word].is_flag and (not words or words.pop(0).startswith("-")):
            return f"{word} takes a value"
    unlimited = any(a.nargs < 0 for a in arguments)
    if values > len(arguments) and not unlimited:
        return f"{values} values for {len(arguments)} arguments"
    # A bare name ("`relaybay task show` with the task's key") leaves its values to the sentence around it.
    least = sum(a.required for a in arguments)
    if values and (values < least or required):
        return f"lacks {required or least - values}"
    return ""


def test_every_command_that_is_named_exists_as_it_is_written() -> None:
    named = named_commands()
    assert len(named) > 15 and any(place.endswith("columns.html") for place, _ in named)
    wrong = {f"{place}: relaybay {line}": said for place, line in named if (said := wrong_in(line))}
    assert not wrong


def test_a_wrong_command_would_be_found() -> None:
    assert wrong_in("task create PROJECT TITLE") and wrong_in("task make") and wrong_in("project add SLUG --folder DIR")
    assert not wrong_in("task create --project PROJECT TITLE")
    assert not wrong_in("project add SLUG --root DIR")
    assert set(COMMANDS) >= {line.split()[0] for _, line in named_commands()}


def test_an_empty_board_names_the_command_that_makes_a_task(board: Board) -> None:
    assert "relaybay task create --project PROJECT TITLE" in board.page("/").by_id("columns").text


# --- the owner's words ---


def test_each_of_the_owners_rows_stands_beside_its_first_one() -> None:
    rows = {id_: a for id_, a in specs.answers().items() if id_.endswith(OWNERS)}
    assert len(rows) >= 9
    for id_, own in rows.items():
        first = specs.answers()[id_.removesuffix(OWNERS)]
        assert (own.code, own.status, own.error) == (first.code, first.status, first.error), id_
        assert not TOOLS.search(own.text), id_
        named = set(re.findall(r"{(\w+)}", own.text))
        assert named <= set(re.findall(r"{(\w+)}", first.text)), id_


@pytest.mark.parametrize(
    "path",
    [
        "/tasks/shop-99",
        "/sessions/S-99",
        "/?project=nope",
        "/messages?session=nobody",
        "/messages?message=m_1",
        "/messages?task=shop-99",
    ],
)
def test_the_owner_is_not_told_an_agents_words(board: Board, path: str) -> None:
    board.session("shop-web")
    said = board.page(path, status=404).one("main").text
    for words in ("You can write to", "no row was made", "hook_session", "in_reply_to"):
        assert words not in said
    assert not TOOLS.search(said)
    path, _, query = path.partition("?")
    twin = ("/board" if path == "/" else path) + ".json" + (f"?{query}" if query else "")
    assert not TOOLS.search(board.get(twin).json["detail"])


def test_forms_refuse_in_the_owners_words(board: Board) -> None:
    web = board.session("shop-web", activity="working")
    key = board.task()
    hook_id = web.hook_id
    answers = [
        board.post(f"/tasks/{key}/steps", done="9"),
        board.post(f"/tasks/{key}/bind", session="nobody"),
        board.post(f"/tasks/{key}/comments", body="x", in_reply_to="c_nothing"),
        board.post("/comments/c_nothing/withdraw", task=key),
        board.post(f"/sessions/{web.ref}/rename", title="S-77"),
        board.post(f"/sessions/{web.ref}/rename", title="@nobody"),
        board.post(f"/sessions/{web.ref}/rename", title=hook_id),
        board.post("/tasks/shop-99/status", status="done"),
    ]
    for answer in answers:
        said = answer.document.one("main").text
        assert answer.status in (404, 422), said
        assert "Not done" in said or "That is not here" in said
        assert not TOOLS.search(answer.document.one("main").text.partition("Comments 0")[0]), said
    assert "relaybay task show" in answers[0].document.by_id("refusal-steps").text
    assert "relaybay session list" in answers[1].document.by_id("refusal-bind").text
    assert hook_id not in answers[6].document.by_id("refusal-rename").text


def test_a_task_that_is_not_there_is_told_each_in_their_words(board: Board) -> None:
    def asked(caller: Caller) -> str:
        outcome = board.relay.store.write(lambda tx: tasks.task_get(tx, board.relay, caller, task="shop-99"))
        assert outcome.refusal is not None
        return outcome.refusal.answer

    assert asked(OWNER) == "task.unknown.owner"
    assert asked(Caller(session="shop-web")) == "task.unknown"
    refusal = board.relay.store.write(lambda tx: comments.withdraw(tx, comment_id="c_1")).refusal
    assert for_owner(refusal).answer == "comment.unknown.owner"
    assert for_owner(for_owner(refusal)) == for_owner(refusal)


# --- whose text is whose ---


def test_a_card_names_an_agent_only_for_what_it_wrote(board: Board) -> None:
    web = board.session("shop-web")
    agent = Caller(hook_session=web.hook_id)
    key = board.task("Mine", "my body", bound=web)

    def change(caller: Caller, **what: object) -> None:
        given = tasks.Change(**what)
        board.write(lambda tx: tasks.task_update(tx, board.relay, caller, task=key, change=given))

    change(OWNER, step_add="mine as well")
    change(agent, step_add="the agent's", status="doing")
    change(agent, step_done=1)
    page = board.page(f"/tasks/{key}")
    assert "Text by you" in page.by_id("task_head").text
    items = [e.text for e in page.all("li") if board._inside(e, page.by_id("task_steps"))]
    whole = ["Done: mine as well Comment on step 1", f"Not done: the agent's added by {web.ref} Comment on step 2"]
    assert items == whole
    change(agent, body="not mine")
    assert f"Text by {web.ref}" in board.page(f"/tasks/{key}").by_id("task_head").text


def test_a_step_from_before_events_said_their_number_names_nobody(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task(bound=web)
    given = tasks.Change(step_add="old")
    board.write(lambda tx: tasks.task_update(tx, board.relay, Caller(hook_session=web.hook_id), task=key, change=given))
    board.relay.store.write(lambda tx: tx.run("UPDATE event SET data = replace(data, '\"step\": 1', '\"was\": 1')"))
    assert "added by" not in board.page(f"/tasks/{key}").by_id("task_steps").text


# --- refusals of the server itself ---


def test_a_browser_gets_a_page_and_a_machine_a_problem(board: Board) -> None:
    for path, status in (("/nowhere", 404), ("/tasks", 405), ("/mcp/x", 404), ("/tasks/a/b/c", 404)):
        answer = board.get(path)
        assert (answer.status, answer.headers["content-type"]) == (status, "text/html; charset=utf-8"), path
        page = answer.document
        assert "There is no page at this address" in page.one("main").text
        assert [e["href"] for e in page.all("a")] == ["/"]
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        machine = board.request("GET", path, Accept="application/json")
        assert machine.status == status
        assert machine.headers["content-type"] == "application/problem+json"
    assert board.get("/nowhere.json").json["code"] == "not_found"
    assert board.get("/api/v1/nowhere").json["code"] == "not_found"
    head = board.request("HEAD", "/nowhere")
    assert (head.status, head.body) == (404, "")
    stale = board.post("/logout", csrf="0" * 64)
    assert stale.status == 403
    assert "Reload the page" in stale.document.one("main").text


def test_a_page_without_a_login_names_its_command_once_and_as_a_command(board: Board) -> None:
    board.cookie = ""
    for path in ("/", "/login?code=used"):
        page = board.page(path, status=401)
        assert "`" not in page.text
        assert [e.text for e in page.all("code")] == ["relaybay open"]


def test_no_page_shows_backticks(board: Board) -> None:
    answer = board.post(f"/tasks/{board.task()}/status", status="elsewhere")
    refusal = answer.document.by_id("refusal-status")
    assert "`" not in refusal.text and "status" in refusal.text


def test_answers_without_a_body_have_a_type(board: Board) -> None:
    key = board.task(bound=board.session("shop-web", activity="working"))
    code = board.gate.logins.mint_code()
    answers = [board.get(f"/login?code={code}"), board.post(f"/tasks/{key}/comments", body="x")]
    cid = answers[-1].headers["location"].partition("#")[2]
    answers += [board.post(f"/comments/{cid}/withdraw", task=key), board.get("/static/old/base.css")]
    answers.append(board.post("/logout"))
    for answer in answers:
        assert answer.status in (303, 404)
        assert answer.headers["content-type"] == "text/plain; charset=utf-8", answer


@pytest.mark.spec("CMT-19")
def test_a_late_withdrawal_stays_on_its_task(board: Board) -> None:
    key = board.task(bound=board.session("shop-web", activity="working"))
    cid = board.post(f"/tasks/{key}/comments", body="Look").headers["location"].partition("#")[2]
    board.now += 5 * SECOND
    answer = board.post(f"/comments/{cid}/withdraw")
    assert answer.status == 409
    page = answer.document
    assert page.one("body")["data-page"] == f"/tasks/{key}"
    refusal = page.by_id("refusal-withdraw")
    assert "autofocus" in refusal.attributes
    live = [e for e in page.elements if "data-live" in e.attributes]
    assert not any(board._inside(refusal, e) for e in live), "the next refetch would take it away"
    gone = board.post("/comments/c_gone/withdraw")
    assert (gone.status, gone.document.one("h1").text) == (404, "That is not here")
