"""Tasks, projects and bindings on a real store (page 40)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relaybay.domain import Outcome
from relaybay.service import binding, listing, projects, tasks
from relaybay.service.arguments import STATUSES
from relaybay.service.tasks import Change
from relaybay.store import events, sessions
from relaybay.store import tasks as stored
from tests.unit.card_rig import OWNER, CardRig
from tests.unit.linking_rig import SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def create(rig, caller=OWNER, **more):
    more = {"project": "shop", "title": "T", **more}
    return lambda tx: tasks.task_create(tx, rig.relay, caller, **more)


def update(rig, task, caller=OWNER, **more):
    return lambda tx: tasks.task_update(tx, rig.relay, caller, task=task, change=Change(**more))


def listed(rig, **more) -> dict:
    outcome = rig.store.read(lambda tx: tasks.tasks_list(tx, **more))
    assert outcome.refusal is None
    return outcome.data


def keys(rig, **more) -> list[str]:
    return [task["key"] for task in listed(rig, **more)["tasks"]]


# -- making and changing -----------------------------------------------------------------------------------------


@pytest.mark.spec("40", "75")
def test_a_task_is_made_and_shown(rig) -> None:
    made = rig.do(create(rig, title="  Fix\tthe <cart> ", body="one\r\ntwo", status="todo"))
    assert made["key"] == "shop-1" and made["project"] == "shop" and made["status"] == "todo"
    assert made["title"] == '"Fix the \\u003ccart\\u003e"' and made["body"] == '"one\\ntwo"'
    assert json.loads(made["title"]) == "Fix the <cart>"
    assert made["author"] == {"kind": "owner"} and made["steps"] == [] and made["unread_comments"] == 0
    assert made["created_at"].endswith("Z") and "session" not in made
    shown = rig.do(lambda tx: tasks.task_get(tx, rig.relay, OWNER, task="SHOP-1"))
    assert {k: shown[k] for k in made if k != "text"} == {k: v for k, v in made.items() if k != "text"}
    assert shown["comments"] == [] and "before" not in shown
    assert rig.last_event("task.created") == {"task": "shop-1", "project": "shop", "status": "todo", "by": "owner"}
    assert rig.no(lambda tx: tasks.task_get(tx, rig.relay, OWNER, task="shop-2")) == ("task_unknown", "75")


@pytest.mark.spec("75")
def test_an_unknown_slug_makes_its_project_and_says_so(rig) -> None:
    made = rig.do(create(rig, project="new-one"))
    assert made["key"] == "new-one-1" and "There was no project new-one" in made["text"]
    assert "There was no project" not in rig.do(create(rig, project="new-one"))["text"]
    assert rig.last_event("project.added") == {"project": "new-one", "by": "owner"}
    for slug in ("", "Shop", "-a", "a" * 41, "a b", "a_b", "é"):
        assert rig.no(create(rig, project=slug)) == ("project_unknown", "75")
    longest = rig.do(create(rig, project="a" * 40))["key"]
    assert len(longest) <= 80


@pytest.mark.spec("75", "SEND-15")
def test_what_a_task_is_not_made_of(rig) -> None:
    assert rig.no(create(rig, title=" \u200b"))[0] == "argument_invalid"
    assert rig.no(create(rig, title="x" * 201))[0] == "argument_invalid"
    assert rig.no(create(rig, title="a\0b"))[0] == "body_not_text"
    assert rig.no(create(rig, body="\ud800"))[0] == "body_not_text"
    assert rig.no(create(rig, status="waiting"))[0] == "argument_invalid"
    assert rig.no(create(rig, body="\u200b" * 5000))[0] == "argument_invalid"
    # A number that was refused is not lost: the next task has it.
    assert rig.do(create(rig, title="x" * 200))["key"] == "shop-1"


@pytest.mark.spec("40")
def test_a_status_change_is_an_event_with_both_values(rig) -> None:
    task = rig.task()
    for old, new in zip(STATUSES, [*STATUSES[1:], "inbox"], strict=True):
        shown = rig.do(update(rig, task, status=new))
        assert shown["status"] == new and f"is {new} now; it was {old}" in shown["text"]
        event = rig.last_event("task.updated")
        assert (event["old_status"], event["status"], event["changed"]) == (old, new, ["status"])
    code, spec = rig.no(update(rig, task, status="waiting"))
    assert (code, spec) == ("argument_invalid", "75")
    outcome = rig.store.write(update(rig, task, status="waiting"))
    assert '"waiting"' in outcome.refusal.values["why"]


@pytest.mark.spec("40", "75")
def test_title_body_and_steps_change(rig) -> None:
    task = rig.task(body="old")
    rig.now += SECOND
    shown = rig.do(update(rig, task, title="New", body="", step_add="First"))
    assert (shown["title"], shown["body"]) == ('"New"', '""') and shown["updated_at"] > shown["created_at"]
    rig.do(update(rig, task, step_add="Second", step_done=2))
    shown = rig.do(update(rig, task, step_done=1, step_undone=2))
    assert shown["steps"] == [{"n": 1, "text": '"First"', "done": True}, {"n": 2, "text": '"Second"', "done": False}]
    assert rig.last_event("task.updated")["changed"] == ["step 1", "step 2"]
    count = len(rig.events("task.updated"))
    assert "as it was" in rig.do(update(rig, task, title="New", step_done=1, status="inbox"))["text"]
    assert "as it was" in rig.do(update(rig, task))["text"]
    assert len(rig.events("task.updated")) == count
    for wrong in ({"step_done": 3}, {"step_undone": 0}, {"step_done": -1}):
        assert rig.no(update(rig, task, **wrong)) == ("step_unknown", "75")
    assert rig.no(update(rig, task, step_add=" "))[0] == "argument_invalid"
    assert rig.no(update(rig, task, title=""))[0] == "argument_invalid"
    assert rig.no(update(rig, task, body="a\0"))[0] == "body_not_text"
    assert rig.no(update(rig, "shop-99", title="x")) == ("task_unknown", "75")


@pytest.mark.spec("75")
def test_a_task_never_outgrows_one_answer(rig) -> None:
    task = rig.task()
    outcome = None
    for _ in range(40):
        outcome = rig.store.write(update(rig, task, step_add="x" * 1000))
        if outcome.refusal:
            break
    assert outcome.refusal is not None and outcome.refusal.answer == "http.argument_invalid"
    rig.say(task, "y" * 6000)
    shown = rig.do(lambda tx: tasks.task_get(tx, rig.relay, OWNER, task=task))
    assert len(shown["comments"]) == 1 and listing.size(shown) <= 40_000


@pytest.mark.spec("WRITE-3", "WRITE-4", "ROW-3", "LINK-0", "SEND-4")
def test_sessions_write_tasks_and_none_stands_as_the_owners(rig) -> None:
    made = rig.do(create(rig, rig.by()))
    assert made["author"] == {"kind": "unnamed"} and rig.rows() == []
    bound = rig.live("a")
    made = rig.do(create(rig, rig.by(bound)))
    assert made["author"] == {"kind": "session", "ref": bound.ref}
    fresh = rig.do(create(rig, rig.by(name="fresh")))
    assert fresh["author"]["ref"] == rig.titled("fresh").ref
    # What an agent writes into the owner's task is not shown as the owner's.
    mine = rig.task()
    assert rig.do(update(rig, mine, rig.by(bound), status="doing"))["author"] == {"kind": "owner"}
    assert rig.do(update(rig, mine, rig.by(bound), body="agent"))["author"]["ref"] == bound.ref
    assert rig.do(update(rig, mine, body="owner"))["author"]["ref"] == bound.ref
    assert rig.do(update(rig, mine, title="Mine", body="mine"))["author"] == {"kind": "owner"}
    # Its step leaves title and body the owner's; whose the step is stands in its event.
    stepped = rig.do(update(rig, mine, rig.by(bound), step_add="agent's"))
    assert stepped["author"] == {"kind": "owner"}
    last = rig.relay.store.read(lambda tx: events.since(tx, 0, ("task.updated",), 99))[-1][3]
    assert (last["changed"], last["step"], last["by"]) == (["steps"], 1, bound.ref)
    assert rig.do(update(rig, mine, rig.by(bound), step_done=1))["author"] == {"kind": "owner"}
    assert rig.do(update(rig, mine, rig.by(bound), title="agent's"))["author"]["ref"] == bound.ref
    assert rig.do(update(rig, mine, rig.by(bound), step_add="more", status="done"))["author"]["ref"] == bound.ref
    # A title alone is all there is to a task without a body.
    assert rig.do(update(rig, mine, body=""))["author"]["ref"] == bound.ref
    assert rig.do(update(rig, mine, title="The owner's"))["author"] == {"kind": "owner"}
    # Refused calls make no row.
    assert rig.no(create(rig, rig.by(name="newer"), project="-"))[0] == "project_unknown"
    assert rig.no(update(rig, "shop-99", rig.by(name="newer"), title="x"))[0] == "task_unknown"
    assert rig.titled("newer") is None
    assert rig.no(create(rig, rig.by(hook="h-dead"))) == ("sender_required", "WRITE-2")


@pytest.mark.spec("PROOF-6")
def test_the_same_call_again_makes_no_second_task_and_a_refused_one_stays_refused(rig) -> None:
    caller = rig.by(rig.live("a"))
    first, again = rig.do(create(rig, caller)), rig.do(create(rig, caller))
    assert first == again and keys(rig) == ["shop-1"]
    caller = rig.by(rig.live("b"))
    assert rig.no(update(rig, "shop-2", caller, title="x"))[0] == "task_unknown"
    rig.task()
    assert rig.no(update(rig, "shop-2", caller, title="x"))[0] == "task_unknown"


# -- lists -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("40", "75")
def test_tasks_are_found_by_project_status_session_and_text(rig) -> None:
    bound = rig.live("Worker")
    made = [
        rig.task(bound, title="Fix the cart"),
        rig.task(title="Größe ändern", status="done"),
        rig.do(create(rig, project="other", title="Third", body="about the CART"))["key"],
    ]
    assert keys(rig) == made[::-1]
    assert keys(rig, project="shop") == [made[1], made[0]]
    assert keys(rig, status="done") == [made[1]]
    assert keys(rig, session="worker") == keys(rig, session=bound.ref) == keys(rig, session="hook-Worker") == [made[0]]
    assert keys(rig, query="cart") == [made[2], made[0]]
    assert keys(rig, query="GRÖSSE") == [made[1]] and keys(rig, query="SHOP-1") == [made[0]]
    assert keys(rig, query="100%_") == []
    assert "body" not in listed(rig)["tasks"][0]

    def refused(**more) -> str:
        return rig.no(lambda tx: tasks.tasks_list(tx, **more))[0]

    assert refused(project="none") == "project_unknown" and refused(status="none") == "argument_invalid"
    assert refused(session="none") == "recipient_unknown" and refused(before="shop-99") == "task_unknown"
    assert refused(limit=0) == refused(limit=201) == "argument_invalid"


@pytest.mark.spec("75")
def test_a_page_of_tasks_is_bounded_and_the_next_goes_on(rig) -> None:
    made = [rig.task(title=f"T{i}") for i in range(7)]
    for key in made[:4]:
        for _ in range(8):
            rig.do(update(rig, key, step_add="x" * 1800))
    seen: list[str] = []
    page: dict = {}
    while not seen or "before" in page:
        page = listed(rig, limit=3, query="t", before=page.get("before", ""))
        assert listing.size(page) <= 40_000 and page["tasks"]
        seen += [task["key"] for task in page["tasks"]]
    assert seen == made[::-1]
    assert len(listed(rig, limit=200)["tasks"]) < len(made)


# -- projects ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("40", "75")
def test_projects_are_added_changed_and_listed(rig, tmp_path) -> None:
    def add(**more):
        return lambda tx: projects.project_add(tx, rig.relay, OWNER, **more)

    inside = rig.live("inside", cwd=str(tmp_path / "web" / "src"))
    made = rig.do(add(slug="web", title="The web", root=str(tmp_path / "x" / ".." / "web")))
    assert made["title"] == '"The web"' and json.loads(made["root"]) == str((tmp_path / "web").resolve())
    web = rig.store.read(lambda tx: stored.project(tx, "web"))
    assert rig.need(inside).project_id == web.id
    assert "as it is" in rig.do(add(slug="web"))["text"]
    assert "was taken" in rig.do(add(slug="web", title="Web"))["text"]
    assert rig.types().count("project.added") == 1 and rig.types().count("project.changed") == 1
    rig.do(create(rig, project="web"))
    rig.do(create(rig, project="web", status="done"))
    found = rig.store.read(projects.projects_list).data["projects"]
    assert [(p["slug"], p["title"], p["open_tasks"]) for p in found] == [("shop", '"Shop"', 0), ("web", '"Web"', 1)]
    for wrong in ({"slug": "No"}, {"slug": "ok", "root": "relative"}, {"slug": "ok", "title": "x" * 201}):
        assert rig.no(add(**wrong))[0] == "argument_invalid"


# -- bindings ----------------------------------------------------------------------------------------------------


def bind(rig, task, session, caller=OWNER):
    return lambda tx: binding.task_bind_session(tx, rig.relay, caller, task=task, session=session)


@pytest.mark.spec("LINK-12", "ROW-4", "RECV-1", "RECV-2", "CMT-22")
def test_a_task_is_bound_to_a_session_that_exists_and_nothing_is_linked(rig) -> None:
    a, task = rig.live("a"), rig.task()
    rig.say(task)
    rig.row("folder", "agent", "guessed", "h-guess")
    before = [row for row in rig.rows() if row.id != a.id]
    shown = rig.do(bind(rig, task, "a", rig.by(hook="h-guess")))
    assert shown["session"]["ref"] == a.ref and "wait for it: 1" in shown["text"]
    assert [row for row in rig.rows() if row.id != a.id] == before
    assert rig.last_event("task.bound") == {"task": task, "session": a.ref, "title": "a", "by": "unnamed"}
    assert "already" in rig.do(bind(rig, task, a.ref))["text"] and len(rig.events("task.bound")) == 1
    assert rig.relay.mailbox.of(a.id).comments_sent == 1
    b = rig.live("b")
    rig.do(bind(rig, task, "hook-b", rig.by(a)))
    assert rig.last_event("task.bound") == {
        "task": task, "session": b.ref, "title": "b", "by": a.ref, "old_session": a.ref, "old_title": "a",
    }  # fmt: skip
    assert rig.relay.mailbox.of(a.id).comments_sent == 0 and rig.relay.mailbox.of(b.id).comments_sent == 1
    rig.row("twin"), rig.row("twin")
    assert rig.no(bind(rig, task, "nobody")) == ("recipient_unknown", "RECV-1")
    assert rig.no(bind(rig, task, "twin")) == ("recipient_ambiguous", "RECV-2")
    assert rig.no(bind(rig, "shop-99", "a")) == ("task_unknown", "75")
    assert rig.titled("nobody") is None


@pytest.mark.spec("RECV-1")
def test_a_hook_id_is_never_shown_to_who_passes_one(rig) -> None:
    task = rig.task()
    rig.store.write(lambda tx: sessions.set_fate(tx, "h-secret", "replaced"))
    outcome: Outcome = rig.store.write(bind(rig, task, "h-secret"))
    assert outcome.refusal is not None and "h-secret" not in json.dumps(outcome.refusal.values)


@pytest.mark.spec("MOVE-11", "CMT-5")
def test_a_task_is_bound_to_nobody_any_more(rig) -> None:
    a = rig.live("a")
    task = rig.task(a)
    rig.say(task)

    def unbind(tx):
        return binding.task_unbind(tx, rig.relay, OWNER, task=task)

    shown = rig.do(unbind)
    assert "session" not in shown and "wait for a binding: 1" in shown["text"]
    assert rig.last_event("task.unbound") == {"task": task, "session": a.ref, "title": "a", "by": "owner"}
    assert rig.relay.mailbox.of(a.id).comments_sent == 0
    assert "stays so" in rig.do(unbind)["text"] and len(rig.events("task.unbound")) == 1
    assert rig.no(lambda tx: binding.task_unbind(tx, rig.relay, OWNER, task="shop-99")) == ("task_unknown", "75")
