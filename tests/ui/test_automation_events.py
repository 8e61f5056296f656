"""What the owner's rules did, as the event page and a session's own page say it."""

from __future__ import annotations

import pytest


@pytest.mark.spec("AUTO-11", "70")
def test_the_page_of_events_says_which_rule_did_what_and_why(board) -> None:
    told = {"automation": "triage", "message_id": "m_1", "session": "S-1", "title": "<b>desk"}

    def emit(tx) -> None:
        tx.emit("automation.queued", **told, consumed=True)
        tx.emit("automation.fired", **told, consumed=True)
        tx.emit("automation.done", **told, consumed=True)
        tx.emit("automation.failed", **told, consumed=False, reason="exit_status")
        tx.emit("automation.given_back", **told, consumed=True, reason="server_start")
        del told["session"]
        tx.emit("automation.dropped", **told, consumed=False, reason="queue_full")

    board.relay.store.write(emit)
    text = " ".join(board.page("/events").by_id("event_list").text.split())
    for said in (
        "Automation triage of <b>desk is set off: message, taken from the session",
        "Automation triage of <b>desk begins: message",
        "Automation triage of <b>desk is done: message",
        "Automation triage of <b>desk failed: message; reason: exit status",
        "gave its message back: message, taken from the session; reason: server start",
        "did nothing: message; reason: queue full",
    ):
        assert said in text
