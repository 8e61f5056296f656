"""Random sequences of calls and hook events on a real store: what holds for links after each of them (pages 10 and 30)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from relaybay.domain import Refusal
from relaybay.rules.linking import EFFECTS
from relaybay.service import links
from relaybay.store import sessions
from tests.unit.linking_rig import Rig

HOOKS = ("h0", "h1", "h2", "h3", "h4")
NAMES = ("", "Alice", "Bob", "twin", "shop", "S-1", "Zoe")
START = (
    ("Alice", "agent", "none", ""),
    ("Bob", "agent", "guessed", "h0"),
    ("shop", "hook", "guessed", "h1"),
    ("twin", "agent", "exact", "h2"),
    ("twin", "desktop", "ended_exact", "h3"),
)

calls = st.tuples(
    st.sampled_from(("send", "mark", "other", "bind")),
    st.sampled_from(NAMES),
    st.sampled_from(("", *HOOKS)),
    st.booleans(),
)
events = st.tuples(
    st.just("event"), st.sampled_from(HOOKS), st.sampled_from(("live_start", "session_end", "unlink")), st.just(False)
)
mail = st.tuples(st.just("mail"), st.integers(0, 9), st.integers(0, 9), st.booleans())


def hook_event(rig: Rig, hook: str, event: str) -> None:
    """An event of an id a row holds, or a new hook row for it (ROW-2)."""

    def write(tx) -> None:
        row = sessions.by_hook(tx, hook)
        if row is not None:
            folder = {"folder_guess": row.kind != "hook", "older_than_last": False, "reason_clear": False}
            links.take(tx, rig.relay, row, event, {} if event == "unlink" else folder)
        elif event == "live_start":
            born = sessions.add(tx, title=f"row of {hook}", title_key=f"row of {hook}", kind="hook")
            links.take(tx, rig.relay, born, "born", {"fork": False}, hook_id=hook)

    rig.store.write(write)


def check_call(rig: Rig, call: str, session: str, hook: str, witnessed: bool) -> None:
    before = rig.dump()
    found, row = rig.call(call, session, "" if witnessed else hook, witnessed=hook if witnessed else "")
    if isinstance(found, Refusal):
        assert rig.dump() == before, "a refused call changed something"
        return
    assert (row is None) == found.nobody
    if row is None:
        return
    assert row.link_state == found.link_state
    if found.verified:
        assert (row.link_state, row.hook_id) == ("exact", hook), "verified without its own live, exact link"
    if call in ("send", "other") and session and found.linked.outcome != "speak_as_b":
        assert row.id in {r.id for r in rig.store.read(lambda tx: sessions.by_name(tx, session.lower()))}
    if call == "send":
        assert EFFECTS[found.linked.outcome].b != "orphaned"


def check_rows(rig: Rig) -> None:
    for row in rig.rows():
        assert row.link_state != "ended_guessed" or row.kind == "hook"
        assert row.name is None or row.link_state == "exact"
        assert (row.link_state == "exact") <= (row.name is not None) or row.title == "twin"
        assert row.moved_to is None or row.link_state == "moved"
        assert row.link_state != "exact_unseen" or row.activity == "unknown"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(calls, calls, events, mail), max_size=14))
def test_no_sequence_of_calls_breaks_what_holds_for_links(sequence: list[tuple]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder))
        for title, kind, link, hook in START:
            rig.row(title, kind, link, hook)
        sent = 0
        for kind, one, other, flag in sequence:
            if kind == "event":
                hook_event(rig, one, other)
            elif kind == "mail":
                rows = rig.rows()
                sender, to = rows[one % len(rows)], rows[other % len(rows)]
                rig.mail(
                    sender,
                    to,
                    "delivered" if to.link_state == "exact" else "sent",
                    (sender.hook_id or "") if flag else "",
                )
                sent += 1
            else:
                check_call(rig, kind, one, other, flag)
            check_rows(rig)
        kept = rig.store.read(lambda tx: tx.value("SELECT count(*) FROM delivery"))
        assert kept == sent, "a message was lost"
        rig.relay.close()
