"""What the Map tells, edge by edge: who wrote to whom and how often, what waits, what clients carried (page 70)."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.service import moves, views_map
from relaybay.service.clock import rfc3339
from relaybay.store import messages, sessions
from tests.unit.linking_rig import SECOND
from tests.unit.mail_rig import MailRig

HOUR = 3_600 * SECOND


@pytest.fixture
def rig(tmp_path: Path):
    made = MailRig(tmp_path)
    yield made
    made.relay.close()


def shown(rig: MailRig, **said: str) -> dict:
    found = rig.store.read(lambda tx: views_map.map_page(tx, rig.relay, **said))
    assert found.refusal is None, found.refusal
    return found.data


def edges(page: dict) -> list[tuple]:
    """From, to and the rest of each edge, in the table's order."""
    return [
        (one["from"]["title"], one["to"]["title"], one["kind"], {k: v for k, v in one.items() if isinstance(v, int)})
        for one in page["edges"]
    ]


def client_edge(rig: MailRig, **data) -> None:
    rig.store.write(lambda tx: tx.emit("session.message", by="client", task=None, **data))


def write(rig: MailRig, sender, to, state: str = "sent", **more: str) -> str:
    rig.now += 7 * SECOND
    mid = rig.send(rig.by(sender), to=to.ref, **more)["message_id"]
    if state != "sent":
        columns = {"state": state} | ({"read_us": rig.now, "read_how": "verified"} if state == "read" else {})
        rig.store.write(lambda tx: messages.set_delivery(tx, messages.get(tx, mid), **columns))
    return mid


def test_an_edge_counts_what_became_of_its_messages_and_what_waits_longest_comes_first(rig) -> None:
    ann, cat = rig.live("ann", activity="working"), rig.live("cat")
    for state in ("sent", "delivered", "read", "read", "orphaned"):
        write(rig, ann, rig.bob, state)
    first = rig.now - 4 * 7 * SECOND
    write(rig, ann, rig.bob)
    write(rig, cat, ann)
    for _ in range(2):
        write(rig, rig.bob, cat, "read")
    page = shown(rig)
    counts = {"sent": 6, "delivered": 3, "read": 2, "lost": 1, "waiting": 2}
    assert edges(page) == [
        ("ann", "bob", "message", counts),
        ("cat", "ann", "message", {"sent": 1, "delivered": 0, "read": 0, "lost": 0, "waiting": 1}),
        ("bob", "cat", "message", {"sent": 2, "delivered": 2, "read": 2, "lost": 0, "waiting": 0}),
    ]
    assert [one.get("oldest_wait") for one in page["edges"]] == [rfc3339(first), rfc3339(first + 42 * SECOND), None]
    assert (page["sent"], page["waiting"], page["by_client"], page["edges_left_out"]) == (9, 3, 0, 0)
    assert [one["title"] for one in page["nodes"]] == ["bob", "ann", "cat"] and page["left_out"] == 0


def test_what_a_client_carried_is_an_edge_of_its_own_with_a_count_alone(rig) -> None:
    ann, old = rig.live("ann"), rig.row("old", "hook", "ended_exact", activity="ended")
    write(rig, ann, rig.bob)
    for ref in (rig.bob.ref, rig.bob.ref, None, "S-99"):
        client_edge(rig, **{"from": "ann", "from_ref": ann.ref, "to": "bob", **({"to_ref": ref} if ref else {})})
    page = shown(rig)
    assert [one for one in page["edges"] if one["kind"] == "client"] == [
        {"from": page["edges"][0]["from"], "to": {"title": "bob"}, "kind": "client", "sent": 2},
        {"from": page["edges"][0]["from"], "to": page["edges"][0]["to"], "kind": "client", "sent": 2},
    ]
    assert (page["sent"], page["by_client"]) == (1, 4)
    assert old.title not in [one["title"] for one in page["nodes"]], "it is over and wrote nothing"
    matrix = shown(rig, form="matrix")["matrix"]
    assert [one["title"] for one in matrix["heads"]] == ["bob", "ann", "bob"] and matrix["left_out"] == 0
    assert [row["cells"] for row in matrix["rows"]] == [
        [None, None, None],
        [{"sent": 1, "waiting": 1, "by_client": 2}, None, {"sent": 0, "waiting": 0, "by_client": 2}],
        [None, None, None],
    ]
    assert "drawing" not in shown(rig, form="matrix") and "matrix" not in page
    assert len(page["drawing"]["curves"]) == 2, "a name that no row has is nowhere in the picture"
    client_edge(rig, **{"from": "gone", "to": "ann", "to_ref": ann.ref})
    assert len(shown(rig)["drawing"]["curves"]) == 2


def test_a_window_counts_what_was_in_it_and_still_tells_of_all_that_waits(rig) -> None:
    ann = rig.live("ann")
    write(rig, ann, rig.bob, "read")
    write(rig, rig.bob, ann)
    client_edge(rig, **{"from": "ann", "from_ref": ann.ref, "to": "bob", "to_ref": rig.bob.ref})
    rig.now += 2 * HOUR
    write(rig, ann, rig.bob, "read")
    lately, ever = shown(rig, window="1h"), shown(rig)
    assert (lately["sent"], lately["waiting"], lately["by_client"]) == (1, 1, 0)
    assert (ever["sent"], ever["waiting"], ever["by_client"]) == (3, 1, 1)
    longest = next(name for name, span in views_map.WINDOWS.items() if not span)
    assert shown(rig, window=longest)["sent"] == 3


def test_the_map_of_a_task_has_its_messages_and_its_session_alone(rig) -> None:
    ann, cat = rig.live("ann"), rig.live("cat")
    task = rig.task(cat)
    write(rig, ann, rig.bob, task=task)
    write(rig, rig.bob, ann)
    client_edge(rig, **{"from": "ann", "from_ref": ann.ref, "to": "bob", "to_ref": rig.bob.ref})
    page = shown(rig, task=task)
    assert [(one[0], one[1], one[2]) for one in edges(page)] == [("ann", "bob", "message")]
    assert (page["task"], page["by_client"], [one["title"] for one in page["nodes"]]) == (
        task,
        0,
        ["bob", "ann", "cat"],
    )
    assert {one["title"]: one["project"] for one in page["nodes"]} == {"bob": None, "ann": None, "cat": "shop"}
    refused = rig.store.read(lambda tx: views_map.map_page(tx, rig.relay, task="shop-9")).refusal
    assert refused.answer == "task.unknown.owner"


def test_a_sender_that_is_gone_is_named_and_what_is_asked_wrongly_is_refused_by_name(rig) -> None:
    ann = rig.live("ann")
    write(rig, ann, rig.bob, "read")
    rig.store.write(lambda tx: (moves.row_gone(tx, ann), sessions.remove(tx, ann.id)))
    (edge,) = shown(rig)["edges"]
    assert (edge["from"], edge["to"]["ref"]) == ({"title": "ann"}, rig.bob.ref)
    for said, name in (({"window": "odd"}, "window"), ({"form": "odd"}, "view")):
        refused = rig.store.read(lambda tx, s=said: views_map.map_page(tx, rig.relay, **s)).refusal
        assert (refused.answer, refused.spec_id, refused.values["name"]) == ("http.argument_invalid", "75", name)


def test_the_table_has_its_first_edges_until_all_are_asked_for(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_map, "EDGES", 1)
    ann = rig.live("ann")
    write(rig, ann, rig.bob)
    write(rig, rig.bob, ann)
    first, whole, other = shown(rig), shown(rig, all_of="edges"), shown(rig, all_of="nodes")
    assert (len(first["edges"]), first["edges_left_out"], first["all_of"]) == (1, 1, "")
    assert (len(whole["edges"]), whole["edges_left_out"], whole["all_of"]) == (2, 0, "edges")
    assert (len(other["edges"]), other["all_of"]) == (1, "")


def test_who_is_over_and_was_seen_long_ago_leaves_the_picture_first(rig, monkeypatch) -> None:
    monkeypatch.setattr(views_map, "NODES_MAX", 2)
    ann = rig.live("ann")
    old = rig.row("old", "hook", "ended_exact", activity="ended", last_seen_us=rig.now + HOUR)
    write(rig, ann, old)
    page = shown(rig)
    assert ([one["title"] for one in page["nodes"]], page["left_out"]) == (["bob", "ann"], 1)
