"""The event feed takes the filter of the board (page 70, one grammar): over the API and on the command line."""

from __future__ import annotations

import json

import pytest

from tests.api.test_cli_live import Home, home

__all__ = ["home"]


def _types(answer: dict) -> list[str]:
    return [event["type"] for event in answer["events"]]


@pytest.mark.spec("40", "70")
def test_events_are_filtered_as_the_page_filters_them(home: Home) -> None:
    home.ask("up", "--port", "0")
    home.ask("project", "add", "shop", "--root", str(home.folder))
    for title in ("one", "two"):
        home.ask("task", "create", title, "--project", "shop")
    home.ask("task", "update", "shop-1", "--status", "doing")
    everything = home.ask("events", "--all")
    assert {"task.created", "task.updated", "project.added"} <= set(_types(everything))
    about = home.ask("events", "--all", "-q", "task:shop-1")
    assert {event["data"]["task"] for event in about["events"]} == {"shop-1"}
    assert _types(home.ask("events", "--all", "-q", "task:shop-1 -type:task.updated")) == ["task.created"]
    both = home.ask("events", "--all", "-q", "task:shop-1", "--types", "task.updated")
    assert set(_types(both)) == {"task.updated"}
    assert home.ask("events", "--all", "-q", "before:2001-01-01")["events"] == []
    # Past what it left out: a reader that goes on from the cursor sees nothing twice.
    later = home.ask("events", "--cursor", about["cursor"], "-q", "task:shop-2")
    assert later["events"] == []


@pytest.mark.spec("40", "70")
@pytest.mark.parametrize("q", ["task:nothing-9", "colour:red", "type:", "session:nobody", '"', "is:unread", "x" * 5000])
def test_a_wrong_filter_of_the_feed_is_refused_with_its_place(home: Home, q: str) -> None:
    home.ask("up", "--port", "0")
    done = home.run("events", "--all", "-q", q, "--json")
    assert done.returncode not in (0, 70), done
    error = json.loads(done.stdout or done.stderr)
    assert error["error"]["code"] == "argument_invalid", error
