"""What the board's forms must bring: a field that is missing, doubled, unknown or too long is refused in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote_plus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from relaybay.service import reviews, saved_views
from relaybay.store import events
from relaybay.ui import forms
from tests.ui.board_rig import Answer, Board

#: Operation → its form.
OPERATIONS = {
    "form_task_create": "task_create",
    "form_task_comment": "comment",
    "form_task_replies_read": "replies_read",
    "form_task_bind": "bind",
    "form_task_status": "status",
    "form_task_edit": "edit",
    "form_task_steps": "steps",
    "form_task_attach": "attach",
    "form_task_detach": "detach",
    "form_comment_withdraw": "withdraw",
    "form_message_seen": "message_seen",
    "form_inbox_seen": "entry_seen",
    "form_project_add": "project_add",
    "form_session_rename": "rename",
    "form_session_end": "end",
    "form_session_unlink": "unlink",
    "form_session_name": "session_name",
    "form_session_policy": "session_policy",
    "form_session_topics": "session_topics",
    "form_session_broadcasts": "session_broadcasts",
    "form_review_open": "review_open",
    "form_review_approve": "review_approve",
    "form_review_reject": "review_reject",
    "form_log_out": "log_out",
    "form_preferences": "preferences",
    "form_view_save": "view_save",
    "form_view_forget": "view_forget",
}
#: A value for each field that its form takes, without effect on the rest of the world.
GOOD = {
    "project": "shop",
    "title": "A title",
    "body": "text",
    "status": "todo",
    "text": "a step",
    "session": "",
    "slug": "acme",
    "root": "",
    "kind": "spool_fault",
    "ref": "a.jsonl",
    "file": "notes.txt",
    "page": "sessions",
    "name": "Idle ones",
    "q": "state:idle",
    "policy": "hold",
    "seen": "",
    "add": "ci.*",
    "on": "yes",
    "review": "a token",
}


class Furnished:
    """A board with one of everything that a form can be about."""

    def __init__(self, board: Board) -> None:
        self.board = board
        web = board.session("shop-web", activity="working")
        key = board.task(bound=web)
        cid = board.owner_comment(key, "look", board=True)
        api = board.session("shop-api")
        board.policy(api, "hold")
        mid = board.send(web, api.ref, "hello")
        board.write(lambda tx: reviews.open_review(tx, board.relay, message_id=mid))
        board.relay.store.write(lambda tx: events.put_inbox(tx, "reply_too_deep", mid, web.id))
        board.relay.store.write(lambda tx: events.put_inbox(tx, "spool_fault", "a.jsonl", None))
        number = str(board.attach(key, "notes.txt", b"Hello")["id"])
        given = {"page": "sessions", "name": "Live", "q": "is:live"}
        view = board.write(lambda tx: saved_views.save(tx, board.relay, **given))["id"]
        self.values = {
            "<view_id:str>": str(view),
            "<number:str>": number,
            "<key:str>": key,
            "<ref:str>": web.ref,
            "<comment_id:str>": cid,
            "<message_id:str>": mid,
        }
        posts = [op for op in board.routes.operations if op.method == "POST"]
        self.paths = {
            OPERATIONS[op.operation_id]: re.sub("<.*?>", lambda found: self.values[found[0]], op.path) for op in posts
        }

    def post(self, form: str, pairs: list[tuple[str, str]]) -> Answer:
        """The pairs in their order, each percent-encoded as text, after the token of the login."""
        token = self.board.gate.logins.csrf_token(self.board.cookie)
        sent = "&".join(
            f"{quote_plus(n)}={quote_plus(v, errors='surrogatepass')}" for n, v in [("csrf", token), *pairs]
        )
        return self.raw(form, sent.encode())

    def raw(self, form: str, sent: bytes) -> Answer:
        headers = {"Content_Type": "application/x-www-form-urlencoded", "Origin": self.board.server.url}
        return self.board.request("POST", self.paths[form], sent, **headers)


@pytest.fixture
def full(channels: Board) -> Iterator[Furnished]:
    return Furnished(channels)


def needed(form: str) -> list[str]:
    """The fields without which the form is refused; of its alternatives the first."""
    fields = [name for name, field in forms.FIELDS[form].items() if field.required]
    return {"steps": ["text"], "session_topics": ["add"]}.get(form, fields)


def refused_for(answer: Answer, name: str, code: str = "argument_invalid") -> None:
    assert answer.status == 422, (answer.status, answer.body[:300])
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    said = answer.document.one("main").text
    assert "Nothing was changed" in said and code in said and name in said
    assert "Not done" in said


def test_every_form_of_the_board_has_its_fields_listed(full: Furnished) -> None:
    assert set(full.paths) == set(forms.FIELDS)
    waiting = [e["href"] for e in full.board.page("/inbox").all("a", class_="queue-row")]
    assert len(waiting) == 3
    pages = [
        "/",
        *waiting,
        "/sessions?q=state:idle",
        "/projects",
        f"/tasks/{full.values['<key:str>']}",
        f"/sessions/{full.values['<ref:str>']}",
        f"/messages/{full.values['<message_id:str>']}/review",
    ]
    seen = set()
    for path in pages:
        page = full.board.page(path)
        for form in page.all("form", method="post"):
            name = next((n for n, at in full.paths.items() if at == form["action"]), None)
            if name is None:  # The mover has no address of its own; its buttons name theirs.
                assert form["id"] == "mover"
                continue
            seen.add(name)
            named = [e for e in page.elements if "name" in e.attributes and full.board._inside(e, form)]
            given_by_page = {e["name"] for e in named} - {"csrf"}
            assert given_by_page <= set(forms.FIELDS[name]), (path, name)
            if name not in ("steps", "session_topics"):
                assert set(needed(name)) <= given_by_page, (path, name)
    assert seen >= set(forms.FIELDS) - {"replies_read"}


@pytest.mark.parametrize("form", sorted(forms.FIELDS))
def test_a_form_without_a_field_says_which_and_changes_nothing(full: Furnished, form: str) -> None:
    before = full.board.dump()
    for missing in needed(form):
        pairs = [(name, GOOD[name]) for name in needed(form) if name != missing]
        refused_for(full.post(form, pairs), missing)
    assert full.board.dump() == before


@pytest.mark.parametrize("form", sorted(forms.FIELDS))
def test_a_form_with_a_strange_a_doubled_or_an_endless_field_is_refused(full: Furnished, form: str) -> None:
    before = full.board.dump()
    good = [(name, GOOD[name]) for name in needed(form)]
    refused_for(full.post(form, [*good, ("<b>nonsense", "x")]), "nonsense", "argument_unknown")
    for name in needed(form):
        refused_for(full.post(form, [*good, (name, GOOD[name])]), name)
        most = forms.FIELDS[form][name].chars_max
        long = [(n, "x" * (most + 1) if n == name else v) for n, v in good]
        refused_for(full.post(form, long), name)
    assert full.board.dump() == before


def test_a_form_that_is_none_is_refused(full: Furnished) -> None:
    before = full.board.dump()
    token = full.board.gate.logins.csrf_token(full.board.cookie)
    for form in forms.FIELDS:
        refused_for(full.raw(form, f"csrf={token}&title=%FF%FE".encode()), "UTF-8")
        refused_for(
            full.raw(form, f"csrf={token}&".encode() + b"&".join(b"title=%d" % n for n in range(60))),
            "more than 50 fields",
        )
    assert full.board.dump() == before


def test_a_step_is_one_thing_at_a_time(full: Furnished) -> None:
    before = full.board.dump()
    refused_for(full.post("steps", [("text", "x"), ("done", "1")]), "text, done")
    for number in ("", "one", "-1", "1.5", "²", "9999999"):
        refused_for(full.post("steps", [("done", number)]), "done")
    assert full.board.dump() == before


def test_what_was_typed_into_a_form_at_fault_is_kept(full: Furnished) -> None:
    again = full.post("project_add", [("slug", "acme"), ("title", "Typed <b>")]).document
    assert again.one("input", name="title")["value"] == "Typed <b>"
    assert again.one("input", name="slug")["value"] == "acme"
    assert "root" in again.by_id("refusal-project_add").text
    again = full.post("comment", [("body", "kept"), ("extra", "")]).document
    assert again.by_id("comment-body").text == "kept"


NAMES = sorted({name for fields in forms.FIELDS.values() for name in fields} | {"csrf", "extra", ""})
VALUES = st.one_of(
    st.sampled_from([*GOOD.values(), "1", "done", "S-1", "S-99", "nobody", "\x00", "a\r\nb", "/inbox", "//x", "{{7}}"]),
    st.text(max_size=40),
)


@given(
    form=st.sampled_from(sorted(set(forms.FIELDS) - {"log_out"})),
    pairs=st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=6),
    whole=st.booleans(),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_form_breaks_the_server(full: Furnished, form: str, pairs: list[tuple[str, str]], whole: bool) -> None:
    if whole:
        pairs = [(name, dict(pairs).get(name, GOOD[name])) for name in needed(form)]
    answer = full.post(form, pairs)
    assert answer.status in (303, 403, 404, 409, 422), (form, pairs, answer.status)
    assert answer.status == 303 or answer.document.one("h1").text
    assert "None" not in answer.headers["content-type"]
    names = [name for name, _ in pairs if name != "csrf"]
    whole_form = set(needed(form)) <= set(names) <= set(forms.FIELDS[form]) and len(names) == len(set(names))
    if form != "steps" and not whole_form and answer.status != 403:
        assert answer.status in (404, 422), (form, pairs)
