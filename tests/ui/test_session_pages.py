"""Sessions and projects: the groups, what a link means and what to do, with whom a session writes, what is cut."""

from __future__ import annotations

import pytest

from relaybay.service import views_project_list as project_list
from relaybay.service.views import ALL_MAX
from relaybay.service.views_sessions import CONVERSATIONS_MAX, ENDED_MAX, GROUP_ROOM, LISTED_MAX
from relaybay.store import conversations, events, sessions
from tests.ui.board_rig import SECOND, Board, Document


def groups(page: Document) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for section in page.all("section", class_="group"):
        rows = [e["id"] for e in page.all("tr") if "id" in e.attributes and board_inside(e, section)]
        found[section["aria-labelledby"].removeprefix("group-")] = rows
    return found


board_inside = Board._inside


@pytest.mark.spec("70")
def test_a_session_stands_in_the_first_group_that_fits(board: Board) -> None:
    working = board.session("w", activity="working")
    idle = board.session("i")
    unknown = board.session("u", link="none", activity="unknown", kind="agent")
    over = board.session("e", link="ended_exact", activity="ended", ended_reason="process_gone", ended_us=board.now)
    replied, too_deep, asking = board.session("r"), board.session("t"), board.session("a", activity="working")
    key = board.task(bound=replied)
    board.reply(replied, key, "Done?")
    board.relay.store.write(lambda tx: events.put_inbox(tx, "hook_fault", "no Stop hook", too_deep.id))
    board.now += 60 * SECOND
    board.relay.store.write(lambda tx: sessions.change(tx, asking.id, asks="permission", asks_since_us=tx.now))
    page = board.page("/sessions")
    assert groups(page) == {
        "needs_you": [f"row-{row.ref}" for row in (asking, too_deep, replied)],
        "working": [f"row-{working.ref}"],
        "idle": [f"row-{idle.ref}"],
        "unknown": [f"row-{unknown.ref}"],
        "ended": [f"row-{over.ref}"],
    }
    row = page.by_id(f"row-{asking.ref}")
    assert "asks permission just now" in row.text
    assert f"/inbox?at=asks-{asking.ref}" in [e["href"] for e in page.all("a") if board_inside(e, row)]
    assert "1 for you" in page.by_id(f"row-{replied.ref}").text
    assert "1 min ago its process is gone" in page.by_id(f"row-{over.ref}").text
    assert row["data-peek"] == f"/sessions/{asking.ref}"
    shown = board.get("/sessions.json").json["groups"][0]
    assert (shown["count"], shown["left_out"], [s["needs_you"] for s in shown["sessions"]]) == (3, 0, [1, 1, 1])
    assert shown["sessions"][0]["asks"] == "permission" and "asks" not in shown["sessions"][1]
    board.relay.store.write(lambda tx: sessions.change(tx, asking.id, link_state="guessed"))
    assert "asks permission" not in board.page("/sessions").by_id(f"row-{asking.ref}").text


@pytest.mark.parametrize(
    ("link", "activity", "short", "says"),
    [
        ("none", "unknown", "one call of message_ack links it", "One call of message_ack from that session links it"),
        ("guessed", "idle", "one call of message_ack proves it", "nothing is handed over"),
        ("exact", "idle", "", "known to be its own"),
        ("exact_unseen", "unknown", "not heard since", "shows whether it lives"),
        ("ended_exact", "ended", "comes back when resumed", "by itself when it is resumed"),
        ("moved", "unknown", "another row has it now", "belongs to another row now"),
    ],
)
def test_a_link_says_what_it_means_and_what_to_do(
    board: Board, link: str, activity: str, short: str, says: str
) -> None:
    row = board.session("it", link=link, activity=activity)
    cell = next(e for e in board.page("/sessions").all("td", data_label="Link"))
    assert short in cell.text
    page = board.page(f"/sessions/{row.ref}")
    assert says in page.by_id("session_facts").text
    assert bool(page.all("form", action=f"/sessions/{row.ref}/end")) == (activity != "ended")
    board.relay.store.write(lambda tx: sessions.change(tx, row.id, unlinked=1))
    said = board.page(f"/sessions/{row.ref}").by_id("session_facts").text
    assert ("You took its link off" in said) == (link == "none")


@pytest.mark.spec("70", "RECV-5")
def test_with_whom_a_session_writes_and_what_is_open_on_either_side(board: Board) -> None:
    me, api, docs, gone = (board.session(name) for name in ("me", "shop-api", "docs", "gone"))
    board.send(me, "shop-api", "one")
    board.hand_over(api)
    board.now += 10 * SECOND
    board.send(me, "shop-api", "two")
    board.send(api, "me", "three")
    board.now += 10 * SECOND
    read = board.send(docs, "me", "four")
    board.hand_over(me)
    board.acknowledge(me, read)
    board.send(gone, "me", "five")
    board.relay.store.write(lambda tx: tx.run("UPDATE message SET sender_id = NULL WHERE sender_id = ?", gone.id))
    page = board.page(f"/sessions/{me.ref}")
    assert [e["id"] for e in page.all("li") if e.attributes.get("id", "").startswith("talk-")] == [
        "talk-gone", f"talk-{docs.ref}", f"talk-{api.ref}",
    ]  # fmt: skip
    said = page.by_id(f"talk-{api.ref}").text
    assert "2 sent, 1 not delivered, 1 not read" in said and "1 received, 1 not read" in said
    assert "0 sent 1 received" in page.by_id(f"talk-{docs.ref}").text
    assert "sessions whose row is gone" in page.by_id("talk-gone").text
    (link,) = [
        e["href"] for e in page.all("a") if board_inside(e, page.by_id(f"talk-{api.ref}")) and "messages" in e["href"]
    ]
    assert len(board.page(link).all("article")) == 3
    data = board.get(f"/sessions/{me.ref}.json").json
    assert [one["with"]["ref"] for one in data["conversations"] if "with" in one] == [docs.ref, api.ref]
    assert data["conversations"][2]["sent"] == {"count": 2, "undelivered": 1, "unread": 1}
    other = board.relay.store.read(lambda tx: conversations.of_session(tx, api.id))
    assert [(one.other, one.sent, one.received) for one in other] == [
        (me.id, {"delivered": 1}, {"delivered": 1, "sent": 1})
    ]
    assert board.relay.store.read(lambda tx: conversations.of_session(tx, 99)) == []
    assert "Nobody yet" in board.page(f"/sessions/{board.session('new').ref}").by_id("session_talks").text


def test_a_peek_at_a_session_is_a_fragment_of_its_page(board: Board) -> None:
    web = board.session("shop-web", cwd="/src/web")
    key = board.task("Mend <it>", bound=web)
    board.send(board.session("shop-api"), "shop-web", "Hello")
    peek = board.page(f"/sessions/{web.ref}?fragment=session_peek")
    said = peek.by_id("session_peek").text
    for wanted in ("shop-web", "Idle", "/src/web", key, "Mend <it>", "Hello", "its next prompt brings it"):
        assert wanted in said


def add(board: Board, **numbers: int) -> None:
    """So many sessions that do each of these."""

    def many(tx) -> None:
        for activity, count in numbers.items():
            for number in range(count):
                title = f"{activity[0]}{number}"
                sessions.add(tx, title=title, title_key=title, kind="agent", activity=activity)

    board.relay.store.write(many)


def links(page, words: str) -> dict[str, str]:
    """Where the links lead that have these words in them."""
    return {e.text: e["href"] for e in page.all("a") if words in e.text}


def test_groups_are_cut_and_can_be_seen_whole(board: Board) -> None:
    add(board, idle=LISTED_MAX + 2, ended=GROUP_ROOM + 1)
    page = board.page("/sessions")
    found = groups(page)
    assert (len(found["idle"]), len(found["ended"])) == (LISTED_MAX, GROUP_ROOM)
    assert page.by_id("group-idle").text == f"Idle {LISTED_MAX + 2}"
    assert links(page, " more") == {
        "2 more under Idle": "/sessions?all_of=idle#group-idle",
        "1 more under Ended": "/sessions?all_of=ended#group-ended",
    }
    whole = board.page("/sessions?all_of=idle")
    assert len(groups(whole)["idle"]) == LISTED_MAX + 2 and len(groups(whole)["ended"]) == GROUP_ROOM
    assert whole.one("body")["data-page"] == "/sessions?all_of=idle"
    assert links(whole, "Show fewer") == {"Show fewer under Idle": "/sessions#group-idle"}
    assert links(whole, " more") == {"1 more under Ended": "/sessions?all_of=idle%2Cended#group-ended"}
    both = board.page("/sessions?all_of=idle%2Cended&q=sort%3Aold")
    assert len(groups(both)["ended"]) == GROUP_ROOM + 1
    assert both.one("body")["data-page"] == "/sessions?q=sort%3Aold&all_of=idle%2Cended"
    assert links(both, "Show fewer")["Show fewer under Ended"] == "/sessions?q=sort%3Aold&all_of=idle#group-ended"
    assert both.one("input", type="hidden", name="all_of", value="idle,ended"), "a filter takes it along"
    twin = board.get("/sessions.json").json
    assert [len(one["sessions"]) for one in twin["groups"]] == [0, 0, LISTED_MAX + 2, 0, GROUP_ROOM + 1]
    assert twin["left_out"] == 0, "a twin lists all there is"
    assert not groups(board.page("/sessions?all_of=nothing")).keys() - found.keys()


def test_the_first_groups_take_the_room_and_each_has_some(board: Board) -> None:
    add(board, working=LISTED_MAX - GROUP_ROOM - 2, idle=LISTED_MAX, unknown=LISTED_MAX, ended=LISTED_MAX)
    found = {name: len(rows) for name, rows in groups(board.page("/sessions")).items()}
    assert found == {
        "working": LISTED_MAX - GROUP_ROOM - 2, "idle": GROUP_ROOM + 2, "unknown": GROUP_ROOM, "ended": GROUP_ROOM,
    }  # fmt: skip


def test_those_that_ended_stand_in_no_great_number(board: Board) -> None:
    add(board, ended=ALL_MAX + 3)
    page = board.page("/sessions")
    assert len(groups(page)["ended"]) == ENDED_MAX
    assert [e.text for e in page.all("a") if " more" in e.text] == [f"{ALL_MAX + 3 - ENDED_MAX} more under Ended"]
    whole = board.page("/sessions?all_of=ended")
    assert len(groups(whole)["ended"]) == ALL_MAX
    assert "3 more. A filter finds them, or relaybay session list." in whole.by_id("session_groups").text
    assert board.get("/sessions.json").json["left_out"] == 3
    few = board.page("/sessions?all_of=idle,ended&q=e1")
    assert "Show fewer" in few.by_id("session_groups").text
    assert "Show fewer" not in board.page("/sessions?all_of=ended&q=e202").by_id("session_groups").text


def test_conversations_are_cut(board: Board) -> None:
    add(board, idle=CONVERSATIONS_MAX + 1)
    me = board.session("me")
    for number in range(CONVERSATIONS_MAX + 1):
        board.send(me, f"i{number}", "hello")
        board.now += 20 * SECOND
    page = board.page(f"/sessions/{me.ref}")
    assert len([e for e in page.all("li") if e.attributes.get("id", "").startswith("talk-")]) == CONVERSATIONS_MAX
    assert "1 more" in page.by_id("session_talks").text


@pytest.mark.spec("40")
def test_projects_show_what_is_in_them_and_what_waits(board: Board) -> None:
    web = board.session("shop-web")
    key = board.task("One", bound=web, status="doing")
    board.task("Two", status="done")
    board.reply(web, key, "Done?")
    board.post("/projects", slug="acme", title="Acme", root="/src/acme")
    inside = board.session("inside")
    over = board.session("over", link="ended_exact", activity="ended")
    board.relay.store.write(
        lambda tx: tx.run("UPDATE session SET project_id = 2 WHERE id IN (?, ?)", inside.id, over.id)
    )
    page = board.page("/projects")
    shop, acme = page.by_id("project-shop").text, page.by_id("project-acme").text
    assert "1 open tasks of shop on the board Doing 1 Done 1 1 reply none none" in shop
    assert "nothing 1 /src/acme" in acme
    data = {one["slug"]: one for one in board.get("/projects.json").json["projects"]}
    assert data["shop"]["tasks"] == {"doing": 1, "done": 1} and data["shop"]["unanswered"] == 1
    assert (data["acme"]["sessions"], data["acme"]["tasks"], data["shop"]["sessions"]) == (1, {}, 0)


def test_two_hundred_projects_are_cut_and_can_be_seen_whole(board: Board) -> None:
    def many(tx) -> None:
        for number in range(project_list.LISTED_MAX + 3):
            tx.insert("project", slug=f"p{number:03}", title="x", created_us=tx.now)

    board.relay.store.write(many)
    page = board.page("/projects")
    rows = [e["id"] for e in page.all("tr") if "id" in e.attributes]
    assert len(rows) == project_list.LISTED_MAX and rows[0] == "project-p000"
    assert [e["href"] for e in page.all("a") if e.text == "3 more"] == ["/projects?all_of=projects"]
    whole = board.page("/projects?all_of=projects")
    assert len([e for e in whole.all("tr") if "id" in e.attributes]) == project_list.LISTED_MAX + 3
    twin = board.get("/projects.json").json
    assert (twin["count"], len(twin["projects"]), twin["left_out"]) == (project_list.LISTED_MAX + 3,) * 2 + (0,)
    assert len(page.elements) < 1_500


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><svg onload=alert(1)>', "{{ 7 * 7 }}", "\u202eevil"])
def test_hostile_names_and_folders_stay_text(board: Board, text: str) -> None:
    one, two = board.session(f"a {text}", cwd=f"/src/{text}"), board.session(f"b {text}")
    board.send(one, two.ref, f"m {text}")
    shown = text.replace("\u202e", "U+202E")
    for path in ("/sessions", f"/sessions/{one.ref}", f"/sessions/{one.ref}?fragment=session_peek"):
        page = board.page(path)
        assert f"a {shown}" in page.text and "\u202e" not in page.raw
        assert not page.all("svg", onload="alert(1)")
        assert all(e.text == "" for e in page.all("script"))
    assert f"b {shown}" in board.page(f"/sessions/{one.ref}").by_id("session_talks").text
