"""The checker against histories and stores made by hand: what is right passes, and each rule refuses what it is there for."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from relaybay.store.database import Store
from tests.faults import checker, history
from tests.faults.history import History, digest

NOW = 1_800_000_000_000_000
BODY = "  look at this \t"
MID = "m_01HZX3V9Q2K8W7N6M5T4R3E2W1"
OTHER = "m_01HZX3V9Q2K8W7N6M5T4R3E2W2"
CID = "c_01HZX3V9Q2K8W7N6M5T4R3E2W3"


class Case:
    """A history and a store that agree: one message sent, shown, read; one task, one comment; the feed of it all."""

    def __init__(self, folder: Path) -> None:
        self.told = History(folder / "history", "FLT-0", 1, "replay")
        self.database = folder / "relaybay.db"
        Store(self.database, lambda: NOW).close()
        self.run(
            "INSERT INTO session (title, title_key, kind, activity, link_state, first_seen_us) VALUES ('a','a','agent','idle','none',1), ('b','b','agent','idle','none',1)"
        )
        self.run("INSERT INTO project (slug, title, last_number, created_us) VALUES ('p','p',1,1)")
        self.run(
            "INSERT INTO task (project_id, number, task_key, title, status, created_us, updated_us) VALUES (1,1,'p-1','t','todo',1,1)"
        )
        self.event("task.created", task="p-1")
        self.message(MID, BODY, "k1")
        self.run(
            "UPDATE delivery SET state = 'read', delivered_us = 2, read_us = 3, read_how = 'verified', handover_id = 'h1', delivered_hook_id = 'hb', given_us = 0 WHERE id = 1"
        )
        self.event("message.delivered", message_id=MID)
        self.event("message.read", message_id=MID)
        self.run(
            "INSERT INTO comment (cid, task_id, author_kind, body_md, state, created_us) VALUES (?,1,'owner','c','sent',1)",
            CID,
        )
        self.event("comment.added", comment_id=CID)
        self.told.ok(self.told.invoke("task", "owner", title="t"), task="p-1")
        self.sent(MID, BODY, "k1")
        self.shown("PostToolUse", MID)
        self.told.ok(self.told.invoke("ack", "b", ids=[MID]), read=[MID])
        self.told.ok(self.told.invoke("comment", "owner", sha256=digest("c")), comment_id=CID)

    # -- the store -------------------------------------------------------------------------------------------

    def run(self, sql: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.database)) as connection:
            connection.execute(sql, values)
            connection.commit()

    def event(self, kind: str, **data: Any) -> None:
        self.run("INSERT INTO event (type, at_us, data) VALUES (?, ?, ?)", kind, NOW, json.dumps(data))

    def message(self, mid: str, body: str, key: str | None) -> None:
        """A message that is sent, with its delivery and its event."""
        self.run(
            "INSERT INTO message (mid, sender_id, sender_title, sender_verified, body, request_id, digest, sent_us)"
            " VALUES (?, 1, 'a', 0, ?, ?, '', 1)",
            mid, body, key,
        )  # fmt: skip
        self.run(
            "INSERT INTO delivery (message_id, recipient_id, recipient_title, state, sent_us)"
            " SELECT id, 2, 'b', 'sent', 1 FROM message WHERE mid = ?",
            mid,
        )
        self.event("message.sent", message_id=mid)

    # -- the history -----------------------------------------------------------------------------------------

    def sending(self, body: str, key: str, sender: str = "a") -> int:
        return self.told.invoke("send", sender, sender=sender, key=key, sha256=digest(body))

    def sent(self, mid: str, body: str, key: str) -> None:
        self.told.ok(self.sending(body, key), message_id=mid)

    def shown(self, event: str, *ids: str) -> None:
        self.told.ok(self.told.invoke("hook", "b", session="hb", event=event), shown=list(ids))

    def unanswered_hook(self) -> None:
        self.told.unknown(self.told.invoke("hook", "b", session="hb", event="PostToolUse"))

    def check(self, **more: Any) -> checker.Verdict:
        return checker.check(self.told.path, self.database, **more)


@pytest.fixture
def case(folder: Path) -> Case:
    return Case(folder)


def test_a_history_and_a_store_that_agree_pass(case) -> None:
    assert case.check().words == ""


# -- what is allowed ------------------------------------------------------------------------------------------


def test_what_had_no_answer_may_be_there_or_not(case) -> None:
    case.message(OTHER, "one", "k2")
    case.told.unknown(case.sending("one", "k2"))
    case.sending("two", "k3")
    assert case.check().words == ""


def test_a_call_with_its_request_id_is_repeated_and_stored_once(case) -> None:
    case.message(OTHER, "one", "k2")
    case.told.unknown(case.sending("one", "k2"))
    case.sent(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    assert case.check().words == ""


def test_without_a_request_id_a_repeated_call_may_be_stored_twice(case) -> None:
    case.message(OTHER, "one", None)
    case.message("m_third", "one", None)
    case.told.unknown(case.sending("one", ""))
    case.sent("m_third", "one", "")
    assert case.check().words == ""


def test_a_mark_whose_answer_was_lost_is_explained_and_counted(case) -> None:
    lost_answer(case)
    case.unanswered_hook()
    verdict = case.check()
    assert (verdict.words, verdict.marked_unanswered) == ("", 1)


def test_an_offer_that_was_taken_back_is_shown_again(case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    for kind in ("delivered", "offered_again", "delivered"):
        case.event(f"message.{kind}", message_id=OTHER)
    case.run("UPDATE delivery SET state = 'delivered', delivered_us = 2 WHERE id = 2")
    case.shown("PostToolUse", OTHER)
    case.shown("PostToolUse", OTHER)
    assert case.check().words == ""


def test_a_stop_shows_once_more_what_was_not_read(case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.event("message.delivered", message_id=OTHER)
    case.run("UPDATE delivery SET state = 'delivered', delivered_us = 2, stop_blocks = 1 WHERE id = 2")
    case.shown("PostToolUse", OTHER)
    case.shown("Stop", OTHER)
    assert case.check().words == ""


def test_where_the_clock_is_moved_the_times_may_go_back(case) -> None:
    case.run("UPDATE event SET at_us = 5 WHERE id = 3")
    assert case.check().rules == {"events"}
    assert case.check(clock_steady=False).words == ""


# -- what each rule refuses -----------------------------------------------------------------------------------


def lost_answer(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.event("message.delivered", message_id=OTHER)
    case.run(
        "UPDATE delivery SET state = 'delivered', delivered_us = 2, handover_id = 'h2', delivered_hook_id = 'hb' WHERE id = 2"
    )


def accepted_and_not_there(case: Case) -> None:
    case.sent(OTHER, "never stored", "k2")


def comment_not_there(case: Case) -> None:
    case.told.ok(case.told.invoke("comment", "owner", sha256=digest("x")), comment_id="c_gone")


def task_not_there(case: Case) -> None:
    case.told.ok(case.told.invoke("task", "owner", title="x"), task="p-7")


def read_mark_not_there(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.told.ok(case.told.invoke("ack", "b", ids=[OTHER]), read=[OTHER])


def event_was_read_and_is_gone(case: Case) -> None:
    case.told.ok(case.told.invoke("feed", "r", cursor=0), events=[[5, "task.created"]])


def body_stripped(case: Case) -> None:
    case.run("UPDATE message SET body = trim(body)")
    case.told.unknown(case.sending("look at this \t", "k9"))


def two_ids_for_one_key(case: Case) -> None:
    case.message(OTHER, BODY, None)
    case.sent(OTHER, BODY, "k1")


def other_key_stored(case: Case) -> None:
    case.message(OTHER, "one", "kx")
    case.sent(OTHER, "one", "k2")


def stored_twice(case: Case) -> None:
    case.message(OTHER, BODY, None)


def comment_twice(case: Case) -> None:
    case.run(
        "INSERT INTO comment (cid, task_id, author_kind, body_md, state, created_us) VALUES ('c_2',1,'owner','c','sent',1)"
    )
    case.event("comment.added", comment_id="c_2")


def refused_and_stored(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.told.fail(case.sending("one", "k2"), code="x")


def stored_and_never_sent(case: Case) -> None:
    case.message(OTHER, "from nowhere", None)


def shown_twice(case: Case) -> None:
    case.shown("UserPromptSubmit", MID)


def shown_at_two_stops(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.event("message.delivered", message_id=OTHER)
    case.run("UPDATE delivery SET state = 'delivered', delivered_us = 2, stop_blocks = 1 WHERE id = 2")
    case.shown("Stop", OTHER)
    case.shown("Stop", OTHER)


def shown_after_read(case: Case) -> None:
    case.run("UPDATE delivery SET stop_blocks = 1")
    case.shown("Stop", MID)


def shown_and_not_marked(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.shown("PostToolUse", OTHER)


def block_not_counted(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.event("message.delivered", message_id=OTHER)
    case.run("UPDATE delivery SET state = 'delivered', delivered_us = 2 WHERE id = 2")
    case.shown("Stop", OTHER)


def one_lost_answer_for_two_marks(case: Case) -> None:
    lost_answer(case)
    case.message("m_third", "two", "k3")
    case.sent("m_third", "two", "k3")
    case.event("message.delivered", message_id="m_third")
    case.run(
        "UPDATE delivery SET state = 'delivered', delivered_us = 2, handover_id = 'h3', delivered_hook_id = 'hb' WHERE id = 3"
    )
    case.unanswered_hook()


def mark_went_back(case: Case) -> None:
    case.event("message.delivered", message_id=MID)


def mark_and_events_differ(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.run("UPDATE delivery SET state = 'read', read_how = 'verified', read_us = 2 WHERE id = 2")


def comment_mark_and_events_differ(case: Case) -> None:
    case.run("UPDATE comment SET state = 'delivered', delivered_us = 2")


def newest_first(case: Case) -> None:
    lost_answer(case)
    case.shown("PostToolUse", OTHER, MID)


def event_lost(case: Case) -> None:
    case.run("DELETE FROM event WHERE id = 2")


def last_event_lost(case: Case) -> None:
    case.event("session.started", session="S-1")
    case.run("DELETE FROM event WHERE type = 'session.started'")


def no_event_of_a_message(case: Case) -> None:
    case.message(OTHER, "one", "k2")
    case.sent(OTHER, "one", "k2")
    case.run("UPDATE event SET type = 'session.started' WHERE type = 'message.sent' AND data LIKE ?", f"%{OTHER}%")


def event_of_nothing(case: Case) -> None:
    case.event("message.sent", message_id=OTHER)


def feed_skipped(case: Case) -> None:
    case.told.ok(case.told.invoke("feed", "r", cursor=0), events=[[1, "task.created"], [3, "message.delivered"]])


def feed_given_twice(case: Case) -> None:
    for _ in range(2):
        case.told.ok(case.told.invoke("feed", "r", cursor=0), events=[[1, "task.created"]])


def task_counter_ahead(case: Case) -> None:
    case.run("UPDATE project SET last_number = 2")


def message_row_gone(case: Case) -> None:
    case.message(OTHER, "one", None)
    case.run("DELETE FROM delivery WHERE id = 2")
    case.run("DELETE FROM message WHERE id = 2")
    case.run("UPDATE event SET type = 'session.started' WHERE data LIKE ?", f"%{OTHER}%")


def told_another_count(case: Case) -> None:
    case.told.ok(case.told.invoke("counts", "owner"), open=1, messages=1, tasks=1)


def replayed_twice(case: Case) -> None:
    case.run("INSERT INTO spool_seen VALUES ('E1', 1)")
    for _ in range(2):
        case.told.ok(case.told.invoke("replay", "spool", events=["E1"]), applied=["E1"], repeated=0)


def replay_not_remembered(case: Case) -> None:
    case.told.ok(case.told.invoke("replay", "spool", events=["E1"]), applied=["E1"], repeated=0)


def foreign_key_broken(case: Case) -> None:
    case.run("UPDATE message SET sender_id = 99")


def not_a_database(case: Case) -> None:
    case.database.write_bytes(b"no database at all" * 400)


def page_damaged(case: Case) -> None:
    content = bytearray(case.database.read_bytes())
    content[8192:12288] = b"\xff" * 4096
    case.database.write_bytes(content)


REFUSED: list[tuple[str, Callable[[Case], None]]] = [
    ("lost", accepted_and_not_there), ("lost", comment_not_there), ("lost", task_not_there),
    ("lost", read_mark_not_there), ("lost", event_was_read_and_is_gone),
    ("body", body_stripped),
    ("one_id", two_ids_for_one_key), ("one_id", other_key_stored),
    ("twice", stored_twice), ("twice", comment_twice),
    ("refused", refused_and_stored), ("refused", stored_and_never_sent),
    ("shown_twice", shown_twice), ("shown_twice", shown_at_two_stops), ("shown_twice", shown_after_read),
    ("marks", shown_and_not_marked), ("marks", block_not_counted), ("marks", lost_answer),
    ("marks", one_lost_answer_for_two_marks),
    ("receipts", mark_went_back), ("receipts", mark_and_events_differ), ("receipts", comment_mark_and_events_differ),
    ("order", newest_first),
    ("events", event_lost), ("events", last_event_lost), ("events", no_event_of_a_message),
    ("events", event_of_nothing), ("events", feed_skipped), ("events", feed_given_twice),
    ("counters", task_counter_ahead), ("counters", message_row_gone), ("counters", told_another_count),
    ("replay", replayed_twice), ("replay", replay_not_remembered),
    ("integrity", foreign_key_broken), ("integrity", not_a_database), ("integrity", page_damaged),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "break_it"), REFUSED, ids=lambda value: getattr(value, "__name__", value))
def test_each_rule_refuses_what_breaks_it(case, rule, break_it) -> None:
    break_it(case)
    verdict = case.check()
    assert rule in verdict.rules, verdict.words or "nothing was found"


def test_every_rule_has_a_history_that_it_refuses() -> None:
    rules = {line.split("`")[1] for line in (checker.__doc__ or "").splitlines() if line.startswith("| `")}
    assert rules == {rule for rule, _ in REFUSED}


# -- the history itself ---------------------------------------------------------------------------------------


def test_a_history_whose_last_line_was_cut_is_read_without_it(tmp_path) -> None:
    told = History(tmp_path / "h", "FLT-0", 7, "how")
    told.ok(told.invoke("send", "a", key="k"), message_id="m")
    told.invoke("send", "b", key="l")
    whole = told.path.read_bytes()
    for cut in range(len(whole)):
        told.path.write_bytes(whole[:cut])
        begun = sum(b'"invoke"' in line for line in whole[:cut].split(b"\n")[:-1])
        assert len(history.read(told.path).operations) == begun
    told.path.write_bytes(whole)
    one, two = history.read(told.path).operations
    assert (one.result, one.told, two.result) == ("ok", {"message_id": "m"}, "unknown")
    assert history.read(told.path).header["seed"] == 7


def test_two_answers_to_one_call_are_no_history(tmp_path) -> None:
    told = History(tmp_path / "h")
    number = told.invoke("send", "a")
    told.ok(number)
    told.fail(number)
    with pytest.raises(AssertionError, match="stands twice"):
        history.read(told.path)
