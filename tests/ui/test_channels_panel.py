"""A session's messaging panel: name, policy, topics, broadcasts (page 50, OWN-1, 5, 8 to 10; table RELAX, FLOOR)."""

from __future__ import annotations

from pathlib import Path

import pytest

from relaybay.store import sessions
from tests.ui.board_rig import OPEN, Board, Document


def panel(board: Board, ref: str) -> Document:
    return board.page(f"/sessions/{ref}")


def messaging(board: Board, ref: str) -> dict[str, object]:
    found: dict[str, object] = board.get(f"/sessions/{ref}.json").json["messaging"]
    return found


@pytest.mark.spec("OWN-10", "NAME-15")
def test_a_name_is_chosen_taken_and_given_back(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    generated = web.name
    answer = channels.post(f"/sessions/{web.ref}/name", name="@ci-watcher")
    assert (answer.status, answer.headers["location"]) == (303, f"/sessions/{web.ref}#messaging")
    page = panel(channels, web.ref)
    assert page.by_id("own-name").text == "@ci-watcher"
    assert page.one("button", data_copy="@ci-watcher")["type"] == "button"
    assert "You chose it" in page.by_id("session_messaging").text
    refused = channels.post(f"/sessions/{api.ref}/name", name="ci-watcher")
    assert refused.status == 409 and "name_held" in refused.body and "shop-web" in refused.document.text
    assert refused.document.one("input", name="name", value="ci-watcher")["aria-invalid"] == "true"
    assert "data-live" not in refused.document.by_id("session_messaging").attributes, "what was typed would go"
    refused = channels.post(f"/sessions/{api.ref}/name", name="Ci Watcher")
    assert refused.status == 422 and "name_invalid" in refused.body
    assert refused.document.one("input", name="name", value="Ci Watcher")
    assert channels.post(f"/sessions/{web.ref}/name", name="").status == 303
    assert panel(channels, web.ref).by_id("own-name").text == f"@{generated}"


@pytest.mark.spec("OWN-10", "NAME-18")
def test_a_chosen_name_that_another_session_has_is_shown_with_its_holder(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.post(f"/sessions/{api.ref}/name", name="ci-watcher")
    channels.relay.store.write(lambda tx: sessions.change(tx, web.id, name_chosen="ci-watcher"))
    said = panel(channels, web.ref).by_id("session_messaging").text
    assert "You chose @ci-watcher, which shop-api" in said and "tried again when the session comes back" in said
    assert f"It goes by @{web.name}" in said


@pytest.mark.spec("OWN-5", "RELAX-1")
def test_a_stricter_policy_is_applied_at_once(channels: Board) -> None:
    web = channels.session("shop-web")
    page = panel(channels, web.ref)
    answer = channels.submit(page, f"/sessions/{web.ref}/policy", policy="hold")
    assert (answer.status, answer.headers["location"]) == (303, f"/sessions/{web.ref}#messaging")
    said = panel(channels, web.ref).by_id("session_messaging").text
    assert "Now hold: keeps every message back for you. Chosen here" in said
    assert channels.post(f"/sessions/{web.ref}/policy", policy="lax", seen="").status == 422


@pytest.mark.spec("OWN-5", "RELAX-2")
def test_a_laxer_policy_asks_first_and_says_what_may_be_let_go(channels: Board) -> None:
    web = channels.session("shop-web")
    channels.policy(web, "hold")
    channels.script(web, "One.")
    channels.script(web, "Two.")
    asked = channels.submit(panel(channels, web.ref), f"/sessions/{web.ref}/policy", policy="accept")
    assert asked.status == 409 and messaging(channels, web.ref)["held"] == 2
    page = asked.document
    text = page.one("main").text
    assert "In force now hold" in text and "You chose accept" in text and "floor none" in text
    assert "2 may be let go" in text and "confirmation_required" in text
    answer = channels.submit(page, f"/sessions/{web.ref}/policy")
    assert answer.status == 303 and messaging(channels, web.ref)["held"] == 0
    assert "Now accept" in panel(channels, web.ref).by_id("session_messaging").text


@pytest.mark.spec("OWN-5", "RELAX-3")
def test_a_confirmation_is_void_when_the_policy_changed_meanwhile(channels: Board) -> None:
    web = channels.session("shop-web")
    channels.policy(web, "hold")
    asked = channels.submit(panel(channels, web.ref), f"/sessions/{web.ref}/policy", policy="accept").document
    channels.policy(web, "refuse")
    again = channels.submit(asked, f"/sessions/{web.ref}/policy")
    assert again.status == 409 and "confirmation_void" in again.body and "In force now refuse" in again.document.text
    assert messaging(channels, web.ref)["policy"]["effective"] == "refuse"  # type: ignore[index]
    assert channels.submit(again.document, f"/sessions/{web.ref}/policy").status == 303
    assert messaging(channels, web.ref)["policy"]["effective"] == "accept"  # type: ignore[index]


@pytest.mark.spec("OWN-5", "FLOOR-4", "SET-2", "SET-6")
def test_policies_below_the_projects_floor_cannot_be_chosen(tmp_path: Path) -> None:
    board = Board(tmp_path, OPEN).log_in()
    try:
        folder = tmp_path / "shop"
        folder.mkdir()
        (folder / ".relaybay.toml").write_text('[messaging]\ninbound = "hold"\n')
        web = board.session("shop-web", cwd=str(folder))
        page = panel(board, web.ref)
        options = {e["value"]: "disabled" in e.attributes for e in page.all("option") if e["value"] != ""}
        assert options == {"default": False, "accept": True, "auto": True, "hold": False, "refuse": False}
        said = page.by_id("session_messaging").text
        assert "nothing laxer than hold stand, by" in said and ".relaybay.toml" in said
        refused = board.post(f"/sessions/{web.ref}/policy", policy="auto", seen="")
        assert refused.status == 409 and "policy_below_floor" in refused.document.by_id("session_messaging").text
        (folder / ".relaybay.toml").write_text("[messaging]\nchannels = true\n")
        said = panel(board, web.ref).by_id("session_messaging").text
        assert "cannot be used, so everything is held" in said
    finally:
        board.close()


@pytest.mark.spec("OWN-8", "TOPIC-15", "TOPIC-17")
def test_patterns_are_added_several_at_once_and_removed_one_by_one(channels: Board) -> None:
    web = channels.session("shop-web")
    answer = channels.post(f"/sessions/{web.ref}/topics", add=" ci.failures,  deploy.** ")
    assert answer.status == 303
    page = panel(channels, web.ref)
    assert "2 of 16" in page.by_id("session_messaging").text
    refused = channels.post(f"/sessions/{web.ref}/topics", add="ok.one CI.x")
    assert refused.status == 422 and "pattern_invalid" in refused.body
    assert refused.document.one("input", name="add")["value"] == "ok.one CI.x", "it stays in the field"
    assert refused.document.one("input", name="add")["aria-describedby"] == "refusal-session_topics"
    many = " ".join(f"t.n{number}" for number in range(15))
    assert "too_many_patterns" in channels.post(f"/sessions/{web.ref}/topics", add=many).body
    assert messaging(channels, web.ref)["topics"] == ["ci.failures", "deploy.**"]
    (form, _) = page.all("form", action=f"/sessions/{web.ref}/topics")[:2]
    assert channels.submit_form(page, form).status == 303
    assert messaging(channels, web.ref)["topics"] == ["deploy.**"]
    gone = channels.submit_form(page, form)
    assert gone.status == 404 and "pattern_missing" in gone.body
    both = channels.post(f"/sessions/{web.ref}/topics", add="a", remove="b")
    assert both.status == 422 and messaging(channels, web.ref)["topics"] == ["deploy.**"]


@pytest.mark.spec("OWN-9")
def test_broadcasts_are_a_switch(channels: Board) -> None:
    web = channels.session("shop-web")
    for receives in (True, False):
        page = panel(channels, web.ref)
        assert channels.submit(page, f"/sessions/{web.ref}/broadcasts").status == 303
        assert messaging(channels, web.ref)["broadcasts"] is receives


@pytest.mark.spec("OWN-1")
def test_sessions_are_found_by_their_names_and_topics(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.subscribe(web, "ci.failures")
    channels.post(f"/sessions/{api.ref}/name", name="release-bot")

    def found(q: str) -> list[str]:
        page = channels.page(f"/sessions?q={q}")
        return [e["id"] for e in page.all("tr") if e.attributes.get("id", "").startswith("row-")]

    assert found("ci.failures") == [f"row-{web.ref}"] and found("release-bot") == [f"row-{api.ref}"]
    channels.policy(web, "hold")
    channels.script(web, "Held.")
    assert found("is:needs-me") == [f"row-{web.ref}"]


@pytest.mark.spec("70")
def test_no_form_of_the_panel_works_without_its_token(channels: Board) -> None:
    web = channels.session("shop-web")
    before = channels.dump()
    for path, fields in (
        ("name", {"name": "x"}),
        ("policy", {"policy": "hold", "seen": ""}),
        ("topics", {"add": "ci"}),
        ("broadcasts", {"on": "yes"}),
    ):
        assert channels.post(f"/sessions/{web.ref}/{path}", csrf="wrong", **fields).status in (401, 403)
    assert channels.dump() == before
    back = channels.post(f"/sessions/{web.ref}/topics", add="ci.x", back="//evil.example/")
    assert back.headers["location"] == f"/sessions/{web.ref}#messaging"
    back = channels.post(f"/sessions/{web.ref}/topics", add="ci.y", back="/channels/ci.y?session=S-1")
    assert back.headers["location"] == "/channels/ci.y?session=S-1"


@pytest.mark.spec("70")
def test_events_of_channels_are_told_in_words_without_texts(channels: Board) -> None:
    web, api = channels.session("shop-web"), channels.session("shop-api")
    channels.subscribe(web, "ci.*")
    channels.broadcasts(web)
    channels.policy(web, "refuse")
    channels.publish(api, "ci.failures", "SECRET one")
    channels.policy(web, "hold")
    mid = channels.script(web, "SECRET two", "nightly")
    channels.post(f"/sessions/{web.ref}/name", name="ci-watcher")
    channels.post(f"/messages/{mid}/review", session=web.ref)
    token = channels.get(f"/messages/{mid}/review.json").json["review"]["token"]
    channels.post(f"/messages/{mid}/reject", review=token, session=web.ref)
    page = channels.page("/events")
    said = [e.text for e in page.all("span", class_="feed-words")]
    for wanted in (
        "Message rejected by you: nightly (a script) to shop-web; reason: your decision",
        "shop-web goes by @ci-watcher",
        "Message held: nightly (a script) to shop-web; reason: the policy",
        "shop-web: policy hold by you",
        "Message published: shop-api under ci.failures, to 1 recipient",
        "Message not let in: shop-api to shop-web under ci.failures; reason: the policy",
        "shop-web receives broadcasts",
        "shop-web subscribes to ci.*",
    ):
        assert wanted in said, (wanted, said)
    assert "SECRET" not in page.text
