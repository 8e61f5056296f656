"""What makes a tool-use id good, used or useless, and what a claim beside it is (page 10, Proof)."""

from __future__ import annotations

import pytest

from relaybay.rules.proof import ProofFacts, Report, classify_tool_use, gather, judge

MINUTE = 60_000_000
CALL = ("message_send", "d1")


def classify(report: Report | None, now: int, call: tuple[str, str] = CALL) -> str:
    return classify_tool_use(True, report, call, now, 60)


@pytest.mark.spec("PROOF-2", "PROOF-4")
@pytest.mark.parametrize(("age", "wanted"), [(0, "good"), (60 * MINUTE, "good"), (60 * MINUTE + 1, "useless")])
def test_a_reported_id_is_good_for_an_hour(age: int, wanted: str) -> None:
    assert classify(Report("h", 1_000), 1_000 + age) == wanted


@pytest.mark.spec("PROOF-6", "PROOF-4")
def test_an_equal_repeat_is_used_and_any_other_use_proves_nothing() -> None:
    report = Report("h", 1_000, used_at=2_000, used_tool="message_send", used_digest="d1")
    assert classify(report, 3_000) == "used"
    assert classify(report, 1_000 + 61 * MINUTE) == "used"
    assert classify(report, 3_000, ("message_send", "d2")) == "useless"
    assert classify(report, 3_000, ("message_ack", "d1")) == "useless"


@pytest.mark.spec("PROOF-4")
def test_a_first_use_that_came_too_late_proves_nothing_when_it_is_repeated() -> None:
    report = Report("h", 1_000, used_at=1_001 + 60 * MINUTE, used_tool="message_send", used_digest="d1")
    assert classify(report, report.used_at + 1) == "useless"


def test_an_id_nobody_reported_proves_nothing_and_no_id_is_none() -> None:
    assert classify(None, 5) == "useless"
    assert classify_tool_use(False, None, CALL, 5, 60) == "absent"


@pytest.mark.spec("PROOF-1", "PROOF-3", "PROOF-5")
@pytest.mark.parametrize(
    ("tool_use", "claim", "wanted", "spec_id"),
    [
        ("good", "", ProofFacts("good", "absent"), "PROOF-2"),
        ("good", " h ", ProofFacts("good", "same"), "PROOF-2"),
        ("good", "x", ProofFacts("good", "other"), "PROOF-3"),
        ("used", "x", ProofFacts("used", "other"), "PROOF-3"),
        ("useless", "h", ProofFacts("useless", "other"), "PROOF-1"),
        ("absent", "h", ProofFacts("absent", "other"), "PROOF-1"),
        ("absent", " \t", ProofFacts("absent", "absent"), "PROOF-5"),
    ],
)
def test_a_claim_is_held_against_the_id_the_client_vouches_for(tool_use, claim, wanted, spec_id) -> None:
    facts = gather(tool_use, "h", claim)
    assert facts == wanted
    assert judge(facts).spec_id == spec_id
