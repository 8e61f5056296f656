"""How much may reach one recipient: windows at their edges and over a restart, the same text again, a full inbox."""

from __future__ import annotations

import pytest

from relaybay.domain import Caller
from relaybay.service import messages, publishing, steps
from relaybay.specs import limit
from tests.unit.channel_rig import ChannelRig
from tests.unit.linking_rig import SECOND

JUST_BEFORE, JUST_AFTER = 59.999, 60.0


@pytest.fixture
def rig(tmp_path):
    made = ChannelRig(tmp_path)
    yield made
    made.relay.close()


@pytest.fixture
def two(rig):
    row = rig.session("h2")
    rig.policy(row, "accept")
    return row


def code(said) -> str:
    """State and reason code, as `rate_limited sender`; the state alone when the message was let in."""
    return said["state"] if said["state"] == "sent" else f"{said['state']} {said['reason_code']}"


def drain(rig, hook: str = "h2") -> None:
    """The session takes everything that waits for it; no minute passes by that."""
    then = rig.now
    while rig.carried(hook):
        pass
    rig.now = then


# -- windows -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("CH-8", "ADM-4", "RATE-1", "RATE-7")
@pytest.mark.parametrize("restart", [False, True])
def test_sixty_four_are_let_in_at_one_recipient_within_a_minute(rig, two, restart) -> None:
    """Trap V1: a rolling window, open again at 60.000 s and closed at 59.999; it lies in the store, so it survives."""
    rig.script(two.ref, "first", "first", after=0)
    began = rig.now
    for n in range(63):
        assert code(rig.script(two.ref, f"text {n}", f"label-{n}", after=0.5)) == "sent"
        if n % 20 == 19:
            drain(rig)
    drain(rig)
    if restart:
        rig.reopen()
    rig.now = began
    refused = rig.script(two.ref, "one more", "late", after=JUST_BEFORE)
    assert code(refused) == "rate_limited recipient"
    assert "after 1 s" in refused["text"]
    rig.now = began
    assert code(rig.script(two.ref, "one more", "late", after=JUST_AFTER)) == "sent"
    assert code(rig.script(two.ref, "and another", "later", after=0)) == "rate_limited recipient", "no burst"


@pytest.mark.spec("CH-8", "ADM-5", "RATE-2", "RATE-10", "RATE-11")
@pytest.mark.parametrize("restart", [False, True])
def test_sixteen_of_them_from_one_sender_and_each_label_is_one(rig, two, restart) -> None:
    """Trap V3: the label counts and not the connection; another label, and another recipient, count for themselves."""
    three = rig.session("h3")
    rig.policy(three, "accept")
    rig.now += SECOND
    began = rig.now
    assert {code(rig.script(two.ref, f"text {n}", after=0)) for n in range(16)} == {"sent"}
    if restart:
        rig.reopen()
    rig.now = began
    assert code(rig.script(two.ref, "one more", after=JUST_BEFORE)) == "rate_limited sender"
    assert code(rig.script(two.ref, "one more", "CI", after=0)) == "sent"
    assert code(rig.script(three.ref, "one more", after=0)) == "sent"
    rig.now = began
    assert code(rig.script(two.ref, "now", after=JUST_AFTER)) == "sent"


@pytest.mark.spec("CH-8", "RATE-3", "PUB-2")
@pytest.mark.parametrize("restart", [False, True])
def test_sixteen_publications_of_one_session_within_a_minute(rig, restart) -> None:
    """The whole call is refused, before anything: no message, no recipient, and no count in anybody's window."""
    rig.session("h1")
    rig.now += SECOND
    began = rig.now
    for n in range(16):
        more = {"broadcast": True} if n % 2 else {"topic": f"ci.a{n}"}
        rig.publish("h1", body=f"text {n}", after=0, **more)
    if restart:
        rig.reopen()
    again = lambda tx: publishing.publish(tx, rig.relay, caller, body="one more", topic="ci.b")  # noqa: E731
    rig.now = began + round(JUST_BEFORE * SECOND)
    caller = rig.caller("h1")
    assert rig.no(again) == ("rate_limited", "PUB-2")
    rig.now = began
    assert rig.publish("h1", "ci.b", "one more", after=JUST_AFTER)["recipients"] == []


@pytest.mark.spec("RATE-13", "RATE-8")
def test_a_scripts_publications_have_no_rate_of_their_own_but_its_recipients_do(rig, two) -> None:
    rig.broadcasts(two)
    said = [rig.script_publish(None, f"text {n}", broadcast=True, after=0) for n in range(18)]
    states = [one["recipients"][0]["state"] for one in said]
    assert states == ["sent"] * 16 + ["rate_limited"] * 2
    rig.publish("h2", "ci.x", "The first of a session that never published.")


@pytest.mark.spec("CH-8", "SEND-12", "ADM-1")
def test_the_ten_direct_sends_come_first_and_publications_do_not_use_them_up(rig, two) -> None:
    """Trap R11: what ended in a refusal at the recipient does not count in the ten."""
    rig.session("h1")
    rig.policy(two, "refuse")
    for n in range(12):
        assert code(rig.say("h1", two, f"text {n}", after=0)) == "refused policy"
        rig.publish("h1", "ci.a", f"text {n}", after=0)
    rig.policy(two, "accept")
    for n in range(10):
        assert code(rig.say("h1", two, f"other {n}", after=0)) == "sent"
    said = rig.no(lambda tx: messages.send(tx, rig.relay, rig.caller("h1"), body="one more", to=two.ref))
    assert said == ("rate_limited", "SEND-12")


@pytest.mark.spec("RATE-8", "RATE-7")
def test_what_was_refused_limited_repeated_or_caught_up_counts_in_no_window(rig, two) -> None:
    """Trap P8."""
    rig.policy(two, "refuse")
    for n in range(70):
        assert code(rig.script(two.ref, f"text {n}", after=0)) == "refused policy"
    rig.policy(two, "accept")
    for n in range(16):
        said = rig.script(two.ref, f"text {n}", after=0, request_id=f"r-{n}")
        assert code(said) == "sent"
        rig.script(two.ref, f"text {n}", after=0, request_id=f"r-{n}")
    for _ in range(60):
        assert code(rig.script(two.ref, "over the limit", after=0)) == "rate_limited sender"
    assert code(rig.script(two.ref, "from another", "other", after=0)) == "sent"


@pytest.mark.spec("CATCHUP-6", "RATE-8", "DUP-1")
def test_what_is_caught_up_is_neither_checked_nor_counted(rig, two) -> None:
    rig.subscribe(two, "ci.**")
    rig.hook("SessionEnd", "h2", reason="logout")
    for n in range(16):
        rig.script_publish(f"ci.a{n}", "The same text.", after=0.1)
    rig.start("h2", "resume", permission_mode="default")
    held = rig.store.read(lambda tx: tx.value("SELECT count(*) FROM delivery WHERE passive = 1"))
    assert held == 16, "sixteen equal texts of one sender at once"
    assert code(rig.script(two.ref, "The same text.", after=0.1)) == "sent"
    said = [code(rig.script(two.ref, f"text {n}", after=0.1)) for n in range(16)]
    assert said == ["sent"] * 15 + ["rate_limited sender"]


# -- the same text again -------------------------------------------------------------------------------------------


@pytest.mark.spec("DUP-1", "ADM-3", "CH-8")
@pytest.mark.parametrize("restart", [False, True])
def test_the_same_text_of_the_same_sender_waits_a_minute(rig, two, restart) -> None:
    """Trap R9: at exactly 60 s it passes, whatever the audience, and a refused one starts no minute of its own."""
    rig.broadcasts(two)
    rig.script(two.ref, "The build is red.", after=0)
    began = rig.now
    if restart:
        rig.reopen()
    assert code(rig.script(two.ref, "The build is red.", after=30)) == "refused duplicate"
    published = rig.script_publish(None, "The build is red.", broadcast=True, after=0)
    assert published["recipients"][0]["reason_code"] == "duplicate"
    assert code(rig.script(two.ref, "The build is red.", "other", after=0)) == "sent", "another sender"
    assert code(rig.script(two.ref, "The build is red!", after=0)) == "sent", "another text"
    rig.now = began
    assert code(rig.script(two.ref, "The build is red.", after=JUST_BEFORE)) == "refused duplicate"
    rig.now = began
    assert code(rig.script(two.ref, "The build is red.", after=JUST_AFTER)) == "sent"


@pytest.mark.spec("DUP-1", "TEXT-1", "TEXT-6")
def test_line_breaks_of_every_kind_make_the_same_text(rig, two) -> None:
    """Trap R14: normalised first, then measured, hashed and stored."""
    rig.script(two.ref, "one\ntwo", after=0)
    for other in ("one\r\ntwo", "one\rtwo", "one\u2028two", "one\u2029two", "one\u0085two"):
        assert code(rig.script(two.ref, other, after=0)) == "refused duplicate", ascii(other)
    assert code(rig.script(two.ref, "one\ttwo", after=0)) == "sent"


@pytest.mark.spec("DUP-1", "RATE-10")
def test_a_session_and_a_script_called_like_it_are_two_senders(rig, two) -> None:
    one = rig.session("h1")
    rig.say("h1", two, "The same.", after=0)
    assert code(rig.script(two.ref, "The same.", one.title, after=0)) == "sent"


# -- how much waits ------------------------------------------------------------------------------------------------


@pytest.mark.spec("ADM-6", "RATE-5")
def test_fifty_wait_at_most_and_nothing_is_thrown_away_for_a_newer_one(rig) -> None:
    """Traps R2 and R3: held ones and those that are taken count; what is rejected or handed over makes room again."""
    two = rig.session("h2")
    mids = [rig.script(two.ref, f"text {n}", f"label-{n % 4}", after=1)["message_id"] for n in range(50)]
    last = rig.script(two.ref, "the 51st", "other")
    assert code(last) == "rate_limited inbox_full"
    assert all(rig.state_at(mid, two) == ("held", "script") for mid in mids)
    rig.approve(mids[0])
    assert code(rig.script(two.ref, "still full", "other")) == "rate_limited inbox_full", "an approved one still waits"
    assert mids[0] in rig.carried("h2")
    assert code(rig.script(two.ref, "room for one", "other")) == "held script"
    assert code(rig.script(two.ref, "and no more", "other")) == "rate_limited inbox_full"
    rig.decide("reject", mids[1], rig.review(mids[1])["token"])
    assert code(rig.script(two.ref, "and one again", "other")) == "held script"


@pytest.mark.spec("ADM-6", "DLV-35", "DLV-37")
def test_what_an_automation_has_taken_still_counts(rig, two) -> None:
    """Else giving it back would find no room."""
    mids = [rig.script(two.ref, f"text {n}", f"label-{n % 4}")["message_id"] for n in range(50)]
    taken = {"rule_matches": True, "taken_before": False}
    rig.store.write(lambda tx: steps.delivery(tx, rig.at(mids[0], two), "take", taken, taken_by="rule"))
    assert rig.at(mids[0], two).state == "taken"
    assert code(rig.script(two.ref, "the 51st", "other")) == "rate_limited inbox_full"
    rig.store.write(lambda tx: steps.delivery(tx, rig.at(mids[0], two), "give_back", {"judged_deliver": True}))
    assert mids[0] in rig.carried("h2")
    assert code(rig.script(two.ref, "room now", "other")) == "sent"


@pytest.mark.spec("ADM-6", "CH-5")
def test_a_session_that_has_ended_keeps_its_fifty(rig) -> None:
    """What was published is dropped at its end, and makes room; what is direct waits."""
    two = rig.session("h2")
    rig.broadcasts(two)
    for n in range(25):
        rig.script_publish(None, f"text {n}", f"label-{n % 4}", broadcast=True)
        rig.script(two.ref, f"direct {n}", f"label-{n % 4}")
    assert code(rig.script(two.ref, "full", "other")) == "rate_limited inbox_full"
    rig.hook("SessionEnd", "h2", reason="logout")
    said = [code(rig.script(two.ref, f"later {n}", f"label-{n % 4}", after=3)) for n in range(26)]
    assert said == ["held script"] * 25 + ["rate_limited inbox_full"]


@pytest.mark.spec("ADM-7", "RATE-5")
def test_a_mebibyte_waits_at_most_measured_in_bytes_of_the_bodies(rig) -> None:
    two = rig.session("h2")
    most, body = limit("inbox_bytes_max"), limit("publication_bytes_max")
    assert (most, body) == (1 << 20, 32 << 10)
    mids = [
        rig.script(two.ref, chr(0x4E00 + n) * (body // 3) + "ab", f"label-{n % 3}")["message_id"] for n in range(32)
    ]
    assert len(("\u4e00" * (body // 3) + "ab").encode()) == body
    assert code(rig.script(two.ref, "x", "other")) == "rate_limited inbox_full", "exactly a mebibyte is waiting"
    rig.decide("reject", mids[3], rig.review(mids[3])["token"])
    assert code(rig.script(two.ref, "x" * body, "other")) == "held script"
    assert code(rig.script(two.ref, "y", "other")) == "rate_limited inbox_full"


@pytest.mark.spec("CH-7", "POLICY-7", "DUP-1")
def test_an_unverified_sender_counts_as_its_row_and_is_judged_like_a_script(rig) -> None:
    rig.row("desk", "agent")
    two = rig.session("h2")
    caller = Caller("desk", "", "", "")
    said = rig.do(lambda tx: messages.send(tx, rig.relay, caller, body="Look.", to=two.ref))
    assert (said["state"], said["reason_code"], said["sender_verified"]) == ("held", "script", False)
    again = rig.do(lambda tx: messages.send(tx, rig.relay, caller, body="Look.", to=two.ref))
    assert code(again) == "refused duplicate"
