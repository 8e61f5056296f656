"""Each argument that can be refused is refused by its own name, at its bound and not before it (page 75)."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.domain import Caller
from relaybay.service import (
    attachments,
    binding,
    comment_lists,
    feed,
    inbox,
    projects,
    saved_views,
    sessions,
    tasks,
    views_search,
)
from relaybay.service.tasks import Change
from relaybay.specs import limit
from tests.unit.card_rig import OWNER, CardRig

LONG = "x" * (limit("name_chars_max") + 1)
LARGE = "\\" * 30_000


@pytest.fixture
def rig(tmp_path: Path):
    made = CardRig(tmp_path)
    yield made
    made.relay.close()


def calls(rig: CardRig, task: str):
    """Argument → calls that are refused for it, and the words that its refusal has besides its name."""
    relay = rig.relay
    attach = lambda **said: lambda tx: attachments.attach(tx, task=task, media_type="", **said)  # noqa: E731
    save = lambda **said: lambda tx: saved_views.save(tx, relay, **{"page": "board", "name": "n", "q": "x", **said})  # noqa: E731
    create = lambda **said: lambda tx: tasks.task_create(tx, relay, OWNER, **{"project": "shop", "title": "T", **said})  # noqa: E731
    update = lambda **said: lambda tx: tasks.task_update(tx, relay, OWNER, task=task, change=Change(**said))  # noqa: E731
    project = lambda **said: lambda tx: projects.project_add(tx, relay, OWNER, **{"slug": "a", **said})  # noqa: E731
    return {
        "limit": [(lambda tx, n=n: tasks.tasks_list(tx, limit=n), "200") for n in (0, 201)]
        + [(lambda tx: comment_lists.comments_list(tx, relay, OWNER, task=task, limit=0), "200")],
        "status": [(lambda tx: tasks.tasks_list(tx, status="later"), '"later"'), (create(status=""), "inbox, todo")],
        "file": [(attach(name=" / ", content=b""), ""), (attach(name=LONG, content=b""), "201")],
        "title": [(create(title=" "), ""), (create(title=LONG), "201"), (project(title=LONG), "201")],
        "step_add": [(update(step_add="\u200b"), ""), (update(step_add=LARGE), "")],
        "body": [(create(body=LARGE), ""), (update(body=LARGE), "")],
        "cwd": [(lambda tx: sessions.add_desktop(tx, relay, desktop="D-1", title="Desk", cwd="here"), "")],
        "slug": [(project(slug="A b"), "")],
        "root": [(project(root="here"), "")],
        "types": [(lambda tx: feed.events_since(tx, types=["A"]), '"A"')],
        "page": [(save(page="desk"), "board, sessions")],
        "name": [(save(name=" "), ""), (save(name="x" * 61), "60")],
        "q": [(save(q=" "), "")],
        "skip": [(lambda tx, n=n: views_search.search_texts(tx, relay, q="x", skip=n), "1000") for n in (-1, 1_001)],
        "ref": [(lambda tx: inbox.seen(tx, kind="spool_fault", ref="x"), "")],
    }


def test_each_is_refused_by_its_own_name(rig) -> None:
    task = rig.task()
    for name, refused in calls(rig, task).items():
        for work, words in refused:
            refusal = rig.store.write(work).refusal
            assert refusal is not None, name
            assert (refusal.answer, refusal.spec_id, refusal.values["name"]) == ("http.argument_invalid", "75", name)
            assert words in refusal.values["why"], (name, refusal.values)


def test_what_is_just_within_its_bound_is_taken(rig) -> None:
    task = rig.task()
    relay = rig.relay
    for work in (
        lambda tx: tasks.tasks_list(tx, limit=1),
        lambda tx: tasks.tasks_list(tx, limit=200),
        lambda tx: tasks.task_create(tx, relay, OWNER, project="shop", title=LONG[1:]),
        lambda tx: attachments.attach(tx, task=task, name=LONG[1:], media_type="", content=b""),
        lambda tx: saved_views.save(tx, relay, page="board", name="x" * 60, q="y"),
        lambda tx: views_search.search_texts(tx, relay, q="x", skip=0),
        lambda tx: views_search.search_texts(tx, relay, q="x", skip=1_000),
        lambda tx: feed.events_since(tx, types=["message.*", "task.added"]),
    ):
        outcome = rig.store.write(work)
        assert outcome.refusal is None, outcome.refusal


def test_who_binds_is_known_by_the_hook_id_alone_and_is_not_linked(rig) -> None:
    bound = rig.live("a")
    guess = rig.row("shop", "hook", "guessed", "h-shop")
    task = rig.task()
    before = len(rig.rows())
    for caller, author in (
        (Caller("New", "Title", "h-shop"), guess.ref),
        (Caller("S-99"), "unnamed"),
        (rig.by(bound), bound.ref),
    ):
        rig.do(lambda tx, c=caller: binding.task_bind_session(tx, rig.relay, c, task=task, session=bound.ref))
        rig.do(lambda tx: binding.task_unbind(tx, rig.relay, OWNER, task=task))
        assert rig.last_event("task.bound")["by"] == author
    assert rig.need(guess).link_state == "guessed" and len(rig.rows()) == before
