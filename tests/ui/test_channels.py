"""The pages of channels: the list, the readers, how a session receives a channel and what changes that (page 50)."""

from __future__ import annotations

import pytest

from relaybay.service.views_channels import LISTED_MAX, PAGE_MESSAGES
from relaybay.ui.paths import url
from tests.ui.board_rig import OFF, SECOND, Board, Document

HOSTILE = "<b>evil</b>\u202e\nformat: owner"


def rows(page: Document) -> list[str]:
    """The channels of the list, in its order."""
    return [
        e["id"].removeprefix("channel-") for e in page.all("tr") if e.attributes.get("id", "").startswith("channel-")
    ]


def said(page: Document) -> list[str]:
    return [e["id"].removeprefix("said-") for e in page.all("li") if e.attributes.get("id", "").startswith("said-")]


@pytest.mark.spec("OWN-6", "70")
def test_channels_stand_by_last_activity_with_their_counts(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.subscribe(web, "ci.*", "deploy.production")
    channels.publish(api, "ci.failures")
    channels.publish(api, "ci.failures", "And again.")
    channels.publish(api, None, "Stop pushing.")
    channels.publish(api, "other.topic")
    channels.send(api, "shop-web", "Hello")
    page = channels.page("/channels")
    assert rows(page) == ["topic-other--topic", "broadcasts", "topic-ci--failures"]
    assert page.by_id("channel-topic-ci--failures").text.split()[2] == "2"
    mine = channels.page(f"/channels?session={web.ref}")
    assert rows(mine) == [
        f"with-{api.ref}", "topic-other--topic", "broadcasts", "topic-ci--failures", "topic-deploy--production",
    ]  # fmt: skip
    assert "by a pattern" in mine.by_id("channel-topic-ci--failures").text
    assert "not received" in mine.by_id("channel-topic-other--topic").text
    assert "received" in mine.by_id("channel-topic-deploy--production").text
    assert "never" in mine.by_id("channel-topic-deploy--production").text
    assert "S-1 subscribes to ci.*, deploy.production" in mine.by_id("channel_list").text
    twin = channels.get(f"/channels.json?session={web.ref}").json
    assert [one["kind"] for one in twin["channels"]] == ["direct", "topic", "broadcast", "topic", "topic"]
    assert twin["session"]["ref"] == web.ref and twin["on"] is True
    assert channels.page("/channels?session=nobody", 404)


@pytest.mark.spec("OWN-6")
def test_many_channels_are_cut_and_asked_for(channels: Board) -> None:
    api = channels.session("shop-api")
    for number in range(LISTED_MAX + 2):
        channels.now += 60 * SECOND
        channels.publish(api, f"t.n{number}")
    page = channels.page("/channels")
    assert len(rows(page)) == LISTED_MAX and rows(page)[0] == f"topic-t--n{LISTED_MAX + 1}"
    more = next(e["href"] for e in page.all("a") if e.text == "2 more")
    assert len(rows(channels.page(more))) == LISTED_MAX + 2
    assert len(channels.get("/channels.json").json["channels"]) == LISTED_MAX + 2


@pytest.mark.spec("OWN-7", "70")
def test_a_reader_has_the_newest_at_the_bottom_and_older_ones_on_request(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.subscribe(web, "ci.failures")
    mids = []
    for number in range(PAGE_MESSAGES + 3):
        channels.now += 60 * SECOND
        mids.append(channels.publish(api, "ci.failures", f"Build {number} failed."))
    page = channels.page("/channels/ci.failures")
    assert said(page) == mids[3:]
    reader = page.by_id("reader")
    assert "data-live" in reader.attributes and "data-follow" in reader.attributes
    older = page.one("a", data_hotkey="o")["href"]
    before = channels.page(older)
    assert said(before) == mids[:3] and not before.all("a", data_hotkey="o")
    assert "data-live" not in before.by_id("reader").attributes, "an older page does not move under who reads it"
    assert any(e["href"] == "/channels/ci.failures#newest" for e in before.all("a"))
    assert channels.page("/channels/ci.failures?before=m_nothing", 404)
    twin = channels.get("/channels/ci.failures.json").json
    assert [one["message_id"] for one in twin["messages"]] == mids[3:] and twin["older"] == mids[3]
    alone = channels.page("/channels/ci.failures?fragment=reader")
    assert [e["id"] for e in alone.elements if e.parent is None] == ["reader"]


@pytest.mark.spec("OWN-7", "70")
def test_each_message_has_every_recipients_outcome_under_the_name_it_had_then(channels: Board) -> None:
    one, two, three = (channels.session(name) for name in ("one", "two", "three"))
    for row in (one, two, three):
        channels.subscribe(row, "ci.*")
    channels.policy(two, "hold")
    channels.policy(three, "refuse")
    mid = channels.script_publish("ci.failures", "Red.", "nightly")
    channels.hand_over(one)
    assert channels.post(f"/sessions/{one.ref}/rename", title="renamed").status == 303
    shown = channels.page("/channels/ci.failures").by_id(f"said-{mid}").text
    assert "nightly" in shown and "script" in shown
    assert "one @" in shown and "renamed" not in shown
    assert "Delivered" in shown and "Held for review" in shown and "Refused" in shown
    assert "the policy its review" in shown
    (line,) = channels.get("/channels/ci.failures.json").json["messages"]
    assert [(to["ref"], to["state"]) for to in line["recipients"]] == [
        (one.ref, "delivered"), (two.ref, "held"), (three.ref, "refused"),
    ]  # fmt: skip
    channels.subscribe(channels.session("four"), "ci.*")
    again = channels.script_publish("ci.failures", "Red again.", "nightly")
    shown = channels.page("/channels/ci.failures").by_id(f"outcomes-{again}").text
    assert shown.startswith("4 recipients:") and "four" in shown
    nobody = channels.script_publish("x.y", "Anyone?")
    assert "Nobody received it." in channels.page("/channels/x.y").by_id(f"said-{nobody}").text


@pytest.mark.spec("OWN-7")
def test_broadcasts_and_conversations_have_readers_of_their_own(channels: Board) -> None:
    web, api, other = channels.session("shop-web"), channels.session("shop-api"), channels.session("other")
    loud = channels.publish(api, None, "Stop pushing.")
    hello = channels.send(api, "shop-web", "Hello")
    back = channels.send(web, "shop-api", "Hello yourself")
    channels.send(other, "shop-api", "Not theirs")
    assert said(channels.page("/broadcasts")) == [loud]
    assert said(channels.page(f"/sessions/{web.ref}/with/{api.ref}")) == [hello, back]
    twin = channels.get(f"/sessions/{web.ref}/with/{api.ref}.json").json
    assert [one["message_id"] for one in twin["messages"]] == [hello, back]
    assert "have not written to each other" in channels.page(f"/sessions/{web.ref}/with/{other.ref}").text
    assert channels.page(f"/sessions/{web.ref}/with/S-99", 404) and channels.page(f"/sessions/S-99/with/{web.ref}", 404)
    links = [e["href"] for e in channels.page(f"/sessions/{web.ref}").all("a")]
    assert f"/sessions/{web.ref}/with/{api.ref}#newest" in links


@pytest.mark.spec("OWN-8", "OWN-9", "TOPIC-22")
def test_a_chosen_session_is_subscribed_where_one_reads(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.publish(api, "ci.failures")
    channels.publish(api, None, "Stop pushing.")
    address = f"/channels/ci.failures?session={web.ref}"
    page = channels.page(address)
    assert page.one("button", data_hotkey="s").text.startswith("Subscribe")
    answer = channels.submit(page, f"/sessions/{web.ref}/topics")
    assert (answer.status, answer.headers["location"]) == (303, address)
    page = channels.page(address)
    assert page.one("button", data_hotkey="s").text.startswith("Unsubscribe")
    assert channels.submit(page, f"/sessions/{web.ref}/topics").status == 303
    channels.subscribe(web, "ci.*")
    link = channels.page(address).one("a", data_hotkey="s")
    assert link["href"] == f"/sessions/{web.ref}#messaging", "what comes by a pattern is changed at the session alone"
    loud = f"/broadcasts?session={web.ref}"
    answer = channels.submit(channels.page(loud), f"/sessions/{web.ref}/broadcasts")
    assert (answer.status, answer.headers["location"]) == (303, loud)
    assert channels.page(loud).one("button", data_hotkey="s").text.startswith("Stop broadcasts")
    assert not channels.page("/channels/ci.failures").all(data_hotkey="s"), "no session is chosen"
    lists = channels.page(f"/channels?session={web.ref}")
    assert {e.tag for e in lists.all(data_hotkey="s")} == {"a", "button"}


@pytest.mark.spec("TOPIC-1")
def test_a_topic_that_ends_like_a_twin_has_a_page_and_a_twin(channels: Board) -> None:
    api = channels.session("shop-api")
    plain, dotted = channels.publish(api, "build"), channels.publish(api, "build.json")
    assert said(channels.page("/channels/build")) == [plain]
    address = url("channel", topic="build.json")
    assert address == "/channels/build%2Ejson" and said(channels.page(address)) == [dotted]
    assert channels.get("/channels/build.json").json["channel"]["topic"] == "build"
    assert channels.get("/channels/build%2Ejson.json").json["channel"]["topic"] == "build.json"
    links = [e["href"] for e in channels.page("/channels").all("a") if "data-row-main" in e.attributes]
    assert links == ["/channels/build%2Ejson#newest", "/channels/build#newest"]
    for wrong in ("CI", "ci.*", "a..b", "%3Cb%3E"):
        assert channels.page(f"/channels/{wrong}", 404).text


@pytest.mark.spec("SET-1", "OWN-6")
def test_without_the_switch_pages_say_which_key_turns_it_on(board: Board) -> None:
    web, api = board.session("shop-web"), board.session("shop-api")
    mid = board.send(web, "shop-api", "Hello")
    key = "relaybay config set messaging.channels true"
    for path in ("/channels", "/messages?tab=review", f"/sessions/{web.ref}", "/broadcasts", "/channels/ci.failures"):
        assert key in board.page(path).one("main").text, path
    assert said(board.page(f"/sessions/{web.ref}/with/{api.ref}")) == [mid], "what is stored can be read"
    before = board.dump()
    for path, fields in (
        (f"/sessions/{web.ref}/name", {"name": "ci-watcher"}),
        (f"/sessions/{web.ref}/policy", {"policy": "hold", "seen": ""}),
        (f"/sessions/{web.ref}/topics", {"add": "ci.*"}),
        (f"/sessions/{web.ref}/broadcasts", {"on": "yes"}),
        (f"/messages/{mid}/review", {"session": api.ref}),
        (f"/messages/{mid}/approve", {"session": api.ref, "review": "x"}),
        (f"/messages/{mid}/reject", {"session": api.ref, "review": "x"}),
    ):
        answer = board.post(path, **fields)
        assert answer.status == 409 and "channels_off" in answer.body, path
    assert board.dump() == before
    assert board.get("/messages.json").json["for_review"] == 0


@pytest.mark.spec("SET-1")
def test_what_channels_stored_can_be_read_when_they_are_off_again(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.policy(web, "hold")
    mid = channels.publish(api, "ci.failures")
    held = channels.send(api, "shop-web", "Held text")
    channels.relay.messaging = OFF
    assert rows(channels.page("/channels")) == ["topic-ci--failures"]
    assert said(channels.page("/channels/ci.failures")) == [mid]
    page = channels.page(f"/messages/{held}/review")
    assert not page.all("button", data_hotkey="v") and not page.all(data_hotkey="a")
    assert channels.page("/").one("title").text == "Board · relaybay", "nothing waits for the owner"
    assert channels.get("/inbox.json").json["entries"] == []


@pytest.mark.spec("70", "TEXT-3")
def test_hostile_text_stays_text_on_every_page(channels: Board) -> None:
    evil = channels.session("<b>evil</b>\u202e name", cwd="/src/<b>")
    web = channels.session("shop-web")
    channels.subscribe(web, "ci.*")
    channels.policy(web, "hold")
    mid = channels.publish(evil, "ci.failures", HOSTILE)
    channels.script(web, HOSTILE, "@shop-api<i>")
    channels.publish(evil, None, HOSTILE)
    channels.send(evil, "shop-web", HOSTILE)
    assert channels.post(f"/messages/{mid}/review", session=web.ref).status == 303
    for path in (
        "/channels", f"/channels?session={web.ref}", "/channels/ci.failures", "/broadcasts",
        f"/sessions/{web.ref}/with/{evil.ref}", "/messages?tab=review", f"/messages/{mid}/review", "/messages",
        f"/messages?message={mid}", f"/sessions/{evil.ref}", f"/sessions/{web.ref}", "/inbox", "/events", "/map",
    ):  # fmt: skip
        page = channels.page(path)
        assert not page.all("b") and not page.all("i"), path
        assert "\u202e" not in page.raw, path


@pytest.mark.spec("70")
def test_no_page_of_channels_changes_anything(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.subscribe(web, "ci.*")
    channels.policy(web, "hold")
    mid = channels.publish(api, "ci.failures")
    channels.post(f"/messages/{mid}/review", session=web.ref)
    before = channels.dump()
    for path in (
        "/channels", f"/channels?session={web.ref}", "/channels/ci.failures", "/broadcasts", "/messages?tab=review",
        f"/sessions/{web.ref}/with/{api.ref}", f"/messages/{mid}/review?session={web.ref}", f"/sessions/{web.ref}",
        "/inbox", "/channels.json", "/channels/ci.failures.json", f"/messages/{mid}/review.json", "/messages.json?tab=review",
    ):  # fmt: skip
        assert channels.get(path).status == 200, path
    for path in (f"/messages/{mid}/approve", f"/messages/{mid}/reject", f"/sessions/{web.ref}/policy"):
        assert channels.get(path).status in (404, 405), path
    assert channels.dump() == before


@pytest.mark.spec("40", "70")
def test_messages_are_filtered_by_audience_topic_and_state(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.subscribe(web, "ci.**")
    direct = channels.send(api, "shop-web", "Hello")
    topic = channels.publish(api, "ci.failures.linux")
    channels.policy(web, "hold")
    held = channels.send(api, "shop-web", "Another")

    def found(q: str) -> set[str]:
        return {one["message_id"] for one in channels.get(f"/messages.json?q={q}").json["messages"]}

    assert found("audience:direct") == {direct, held} and found("audience:topic") == {topic}
    assert found("topic:ci.**") == {topic} and found("topic:ci.*") == set() and found("-topic:ci.**") == {direct, held}
    assert found("is:held") == {direct, topic, held} == found("state:held") == found("is:needs-me")
    tabs = {e.text: e["href"] for e in channels.page("/messages").all("a") if e.parent and e.parent.tag == "li"}
    assert tabs["Direct"] == "/messages?q=audience%3Adirect" and tabs["Channels"] == "/channels"
    here = channels.page(tabs["Direct"]).all("a", aria_current="location")
    assert [e.text for e in here] == ["Direct"]


@pytest.mark.spec("70", "DLV-22")
def test_the_map_marks_scripts_and_says_what_is_held_and_published(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.subscribe(web, "ci.*")
    channels.publish(api, "ci.failures")
    channels.script(web, "One.", "nightly")
    channels.policy(web, "hold")
    channels.script(web, "Two.", "nightly")
    channels.policy(web, "refuse")
    channels.script(web, "Three.", "nightly")
    found = {e["from"]["title"]: e for e in channels.get("/map.json").json["edges"]}
    assert found["shop-api"]["published"] == 1 and "held" in found["shop-api"]
    assert found["nightly"]["from"] == {"title": "nightly", "script": True}
    assert (found["nightly"]["sent"], found["nightly"]["held"], "published" in found["nightly"]) == (2, 2, False)
    text = channels.page("/map").by_id("map_graph").text
    assert "nightly script" in text and "(2 held)" in text and "(1 published)" in text
    assert channels.get("/map?view=matrix").status == 200
