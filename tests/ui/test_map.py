"""The Map: picture, matrix and table are one list of edges; what waits is seen; the same state is the same picture."""

from __future__ import annotations

import re

import pytest

from relaybay.service import projects, views_map
from relaybay.service.views_map import NODES_MAX, WINDOWS
from tests.ui.board_rig import OWNER, SECOND, Board, Document

HOUR = 3_600 * SECOND
SVG = re.compile(r"<svg class=\"map.*?</svg>", re.DOTALL)


def edges(board: Board, query: str = "") -> dict[tuple[str, str, str], dict]:
    found = board.get(f"/map.json{query}").json["edges"]
    name = lambda end: end.get("ref") or end["title"]  # noqa: E731
    return {(name(e["from"]), name(e["to"]), e["kind"]): e for e in found}


def by_client(board: Board, data: dict) -> None:
    board.relay.store.write(lambda tx: tx.emit("session.message", by="client", task=None, **data))


@pytest.mark.spec("70")
def test_edges_count_what_was_sent_delivered_read_and_waits(board: Board) -> None:
    a, b, c = board.session("coordinator"), board.session("reviewer"), board.session("writer", link="none")
    first = board.send(a, b.ref, "one")
    board.send(a, b.ref, "two")
    board.hand_over(b)
    board.acknowledge(b, first)
    board.send(a, b.ref, "three")
    waited = board.now
    board.send(b, c.ref, "nobody is there")
    found = edges(board)
    assert found.keys() == {("S-1", "S-2", "message"), ("S-2", "S-3", "message")}
    there = found["S-1", "S-2", "message"]
    assert {n: there[n] for n in ("sent", "delivered", "read", "lost", "waiting")} == {
        "sent": 3, "delivered": 2, "read": 1, "lost": 0, "waiting": 1,
    }  # fmt: skip
    assert there["oldest_wait"].startswith("2027-") and waited == board.now - SECOND
    page = board.page("/map")
    row = page.by_id("edge-S-1-S-2")
    cells = [e.text for e in page.all("td") if e.parent is row]
    assert cells[1:4] == ["3", "2", "1"] and cells[4].startswith("1 ")
    chips = page.one("section", id="map_graph").text
    assert "4 messages in the last 24 hours" in chips and "2 not delivered yet" in chips


def test_what_waits_is_shown_however_old_it_is(board: Board) -> None:
    a, b = board.session("coordinator"), board.session("reviewer")
    board.send(a, b.ref, "delivered")
    board.hand_over(b)
    board.send(a, b.ref, "waits")
    old = board.get("/map.json").json["edges"][0]["oldest_wait"]
    board.now += 30 * 24 * HOUR
    board.log_in()
    for window in WINDOWS:
        found = edges(board, f"?window={window}")["S-1", "S-2", "message"]
        assert (found["sent"], found["waiting"], found["oldest_wait"]) == (2 if window == "all" else 0, 1, old)
    # Waiting alone it is still a line, and a dashed one.
    assert 'map-edge map-waits"' in board.get("/map?window=1h").body


@pytest.mark.parametrize(("window", "back"), [("1h", HOUR), ("24h", 24 * HOUR), ("7d", 7 * 24 * HOUR)])
def test_a_window_reaches_back_to_its_first_moment(board: Board, window: str, back: int) -> None:
    a, b = board.session("coordinator"), board.session("reviewer")
    board.send(a, b.ref, "x")
    board.hand_over(b)
    by_client(board, {"from": "coordinator", "from_ref": "S-1", "to": "reviewer", "to_ref": "S-2"})
    board.now += back
    assert edges(board, f"?window={window}").keys() == {("S-1", "S-2", "message"), ("S-1", "S-2", "client")}
    board.now += 1
    assert edges(board, f"?window={window}") == {}


def test_what_a_client_carried_itself_is_an_edge_of_another_kind(board: Board) -> None:
    a, b = board.session("coordinator"), board.session("reviewer")
    board.send(a, b.ref, "x")
    for _ in range(2):
        by_client(board, {"from": "coordinator", "from_ref": a.ref, "to": "reviewer", "to_ref": b.ref})
    by_client(board, {"from": "coordinator", "from_ref": a.ref, "to": "a peer"})
    by_client(board, {"from": "gone", "from_ref": "S-99", "to": "reviewer", "to_ref": b.ref})
    found = edges(board)
    assert {key: e["sent"] for key, e in found.items()} == {
        ("S-1", "S-2", "message"): 1, ("S-1", "S-2", "client"): 2, ("S-1", "a peer", "client"): 1,
        ("gone", "S-2", "client"): 1,
    }  # fmt: skip
    assert "waiting" not in found["S-1", "S-2", "client"], "no marks are known of it"
    page = board.page("/map")
    assert "no marks" in page.by_id("edge-S-1-S-2-client").text
    assert len(page.all("path", marker_end="url(#map-arrow-client)")) == 1, "a name alone has no place in the picture"
    assert edges(board, "?task=" + board.task()) == {}, "and it says of no task what it is about"


def test_the_filter_by_task(board: Board) -> None:
    a, b, c = board.session("coordinator"), board.session("reviewer"), board.session("bystander")
    key, other = board.task("One", bound=b), board.task("Two")
    board.send(a, b.ref, "x", task=key)
    board.send(a, c.ref, "y")
    board.send(c, a.ref, "z", task=other)
    assert edges(board, f"?task={key}").keys() == {("S-1", "S-2", "message")}
    found = board.get(f"/map.json?task={other}").json
    assert [node["ref"] for node in found["nodes"]] == ["S-1", "S-3"]
    assert found["tasks"] == [other, key] and found["task"] == other
    refused = board.get("/map.json?task=shop-99")
    assert refused.status == 404 and refused.json["code"] == "task_unknown"


@pytest.mark.parametrize("query", ["window=2h", "window=", "view=tree", "window=all&view=GRAPH"])
def test_what_is_no_window_or_view_is_refused(board: Board, query: str) -> None:
    answer = board.get(f"/map.json?{query}")
    # An empty argument is one that was not given.
    assert answer.status == (200 if query == "window=" else 422)


def test_who_stands_in_the_picture(board: Board) -> None:
    board.session("here", activity="working")
    ended = board.session("over", activity="ended", link="ended_exact")
    silent = board.session("over and silent", activity="ended", link="ended_exact")
    writer = board.session("writer")
    board.send(writer, ended.ref, "x")
    found = board.get("/map.json").json
    assert [node["ref"] for node in found["nodes"]] == ["S-1", "S-2", "S-4"]
    assert silent.ref == "S-3" and found["sessions"] == 4 and found["left_out"] == 0
    page = board.page("/map")
    node = page.by_id("node-S-2")
    assert node["href"] == "/sessions/S-2" and "Ended" in node.text and "1 waits" in node.text


def test_groups_stand_by_project_or_by_the_project_of_a_bound_task(board: Board) -> None:
    board.write(lambda tx: projects.project_add(tx, board.relay, OWNER, slug="docs", title="", root="/srv/docs"))
    board.session("one", project_id=1)
    bound = board.session("two")
    board.session("three")
    board.task(bound=bound)
    found = board.get("/map.json").json
    assert [node["project"] for node in found["nodes"]] == ["docs", "shop", None]
    assert [group["name"] for group in found["drawing"]["groups"]] == [None, "docs", "shop"]


@pytest.mark.spec("70")
def test_the_same_state_is_the_same_picture_to_the_byte(board: Board) -> None:
    rows = [board.session(f"session {n}", activity="working") for n in range(5)]
    board.send(rows[0], rows[1].ref, "x")
    first = SVG.findall(board.get("/map").body)
    board.now += 30 * SECOND
    assert first == SVG.findall(board.get("/map").body) == SVG.findall(board.get("/map?fragment=map_graph").body)
    places = lambda: {n["ref"]: (n["x"], n["y"]) for n in board.get("/map.json").json["drawing"]["nodes"]}  # noqa: E731
    before = places()
    board.session("a newcomer")
    assert {ref: spot for ref, spot in places().items() if ref in before} == before


def test_the_matrix_and_the_table_say_the_same(board: Board) -> None:
    a, b, c = board.session("coordinator"), board.session("reviewer"), board.session("writer")
    board.send(a, b.ref, "1")
    board.send(a, b.ref, "2")
    board.hand_over(b)
    board.send(b, a.ref, "3")
    by_client(board, {"from": "writer", "from_ref": c.ref, "to": "coordinator", "to_ref": a.ref})
    by_client(board, {"from": "coordinator", "from_ref": a.ref, "to": "a peer"})
    found = board.get("/map.json?view=matrix").json
    assert "drawing" not in found
    heads = [head.get("ref") or head["title"] for head in found["matrix"]["heads"]]
    assert heads == ["S-1", "S-2", "S-3", "a peer"]
    cells = {
        (row["from"].get("ref") or row["from"]["title"], head): cell
        for row in found["matrix"]["rows"]
        for head, cell in zip(heads, row["cells"], strict=True)
        if cell
    }
    assert cells == {
        ("S-1", "S-2"): {"sent": 2, "waiting": 0, "by_client": 0},
        ("S-2", "S-1"): {"sent": 1, "waiting": 1, "by_client": 0},
        ("S-3", "S-1"): {"sent": 0, "waiting": 0, "by_client": 1},
        ("S-1", "a peer"): {"sent": 0, "waiting": 0, "by_client": 1},
    }
    page = board.page("/map?view=matrix")
    assert len(page.all("table")) == 2 and len(page.all("th", scope="row")) == 4 + 4


def test_what_waits_longest_stands_first(board: Board) -> None:
    rows = [board.session(f"s{n}") for n in range(4)]
    board.send(rows[0], rows[1].ref, "waits longest")
    for n in range(3):
        board.send(rows[1], rows[2].ref, f"busy {n}")
    board.hand_over(rows[2])
    board.send(rows[3], rows[1].ref, "waits")
    board.send(rows[0], rows[2].ref, "once")
    board.hand_over(rows[2])
    ends = [(e["from"]["ref"], e["to"]["ref"]) for e in board.get("/map.json").json["edges"]]
    assert ends == [("S-1", "S-2"), ("S-4", "S-2"), ("S-2", "S-3"), ("S-1", "S-3")]


def test_a_hostile_name_is_text_in_picture_matrix_and_table(board: Board) -> None:
    evil = '"><script>alert(1)</script>\u202e</text></svg>'
    a, b = board.session(evil), board.session("reviewer")
    board.send(a, b.ref, "x")
    by_client(board, {"from": "x", "from_ref": "S-2", "to": evil.replace("\u202e", "\\u202e")})
    for address in ("/map", "/map?view=matrix"):
        answer = board.get(address)
        assert "<script>alert" not in answer.body and "\u202e" not in answer.body
        assert answer.document.by_id("map_graph")
    assert "[U+202E]" in board.page("/map").by_id("node-S-1").text


@pytest.mark.parametrize("count", [1, 3, 60])
def test_it_works_with_few_and_with_many(board: Board, count: int) -> None:
    rows = [board.session(f"session number {n}", activity="working") for n in range(count)]
    for n in range(1, min(count, 10)):
        board.send(rows[n], rows[n - 1].ref, "x")
    page = board.page("/map")
    assert len([e for e in page.all("a") if e.attributes.get("class", "").startswith("map-node")]) == count
    assert len(board.get("/map").body) < 200_000
    assert board.page("/map?view=matrix").by_id("map_graph")


def test_more_than_the_picture_holds_are_counted(board: Board) -> None:
    for n in range(NODES_MAX + 2):
        board.now += SECOND
        board.session(f"s{n}")
    found = board.get("/map.json").json
    assert (len(found["nodes"]), found["left_out"]) == (NODES_MAX, 2)
    assert [node["ref"] for node in found["nodes"]] == [f"S-{n}" for n in range(3, NODES_MAX + 3)]
    assert "2 more sessions have no room" in board.page("/map").by_id("map_graph").text


def test_many_edges_are_cut_and_a_link_shows_more(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views_map, "EDGES", 3)
    monkeypatch.setattr(views_map, "CURVES_MAX", 4)
    monkeypatch.setattr(views_map, "MATRIX_MAX", 3)
    rows = [board.session(f"s{n}") for n in range(6)]
    for n in range(5):
        board.now += SECOND
        board.send(rows[n], rows[n + 1].ref, "x")

    def table(page: Document) -> list[str]:
        return [e["id"] for e in page.all("tr") if e.attributes.get("id", "").startswith("edge-")]

    page = board.page("/map?window=7d")
    assert table(page) == ["edge-S-1-S-2", "edge-S-2-S-3", "edge-S-3-S-4"], "what waits longest stands first"
    assert page.by_id("map-table").text == "Who wrote to whom 5"
    assert len(page.all("path", class_="map-edge map-waits")) == 4 + 1, "with that of the legend"
    more = {e.text: e["href"] for e in page.all("a")}
    assert more["2 more"] == "/map?window=7d&all_of=edges#map-table"
    whole = board.page("/map?window=7d&all_of=edges")
    assert len(table(whole)) == 5 and whole.one("body")["data-page"] == "/map?all_of=edges&window=7d"
    assert {e.text: e["href"] for e in whole.all("a")}["Show fewer"] == "/map?window=7d#map-table"
    assert "no room" not in whole.by_id("map_graph").text
    matrix = board.page("/map?view=matrix").by_id("map_graph").text
    assert "3 more sessions have no room in the matrix" in matrix
    found = board.get("/map.json?view=matrix").json
    assert [head["ref"] for head in found["matrix"]["heads"]] == ["S-1", "S-2", "S-3"]
    assert (len(found["edges"]), found["edges_left_out"], found["matrix"]["left_out"]) == (5, 0, 3)
    monkeypatch.setattr(views_map, "ALL_MAX", 4)
    assert board.get("/map.json").json["edges_left_out"] == 1
    assert "1 more. A task or a shorter window" in board.page("/map?all_of=edges").by_id("map_graph").text


def test_empty_pages_say_what_was_checked_and_what_to_do(board: Board) -> None:
    assert "relaybay setup" in board.page("/map").by_id("map_graph").text
    board.session("over", activity="ended", link="ended_exact")
    assert "1 session, all of them over" in board.page("/map").by_id("map_graph").text
    board.session("here")
    assert "Nobody wrote in the last 24 hours" in board.page("/map").by_id("map_graph").text
    key = board.task()
    assert f"Nobody wrote about {key}" in board.page(f"/map?task={key}").by_id("map_graph").text


def test_the_live_fragment_alone(board: Board) -> None:
    board.session("here")
    answer = board.get("/map?fragment=map_graph")
    assert answer.body.lstrip().startswith('<section id="map_graph"')
    assert answer.document.by_id("map_graph")["data-live"]
