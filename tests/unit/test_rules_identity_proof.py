"""What makes a tool-use id good, used or useless, and what a claim beside it is (page 10, Proof)."""

from __future__ import annotations

import pytest

from relaybay.rules.proof import ProofFacts, Use, classify_tool_use, gather, judge

CALL = ("message_send", "d1")


@pytest.mark.spec("PROOF-2", "PROOF-4", "PROOF-6")
@pytest.mark.parametrize(
    ("reported", "use", "wanted"),
    [
        (True, None, "good"),
        (False, None, "useless"),
        (True, Use("h", *CALL), "used"),
        (False, Use("h", *CALL), "used"),
        (True, Use("h", "message_send", "d2"), "useless"),
        (True, Use("h", "message_ack", "d1"), "useless"),
        (True, Use("", *CALL), "useless"),
    ],
)
def test_an_id_is_good_once_and_used_only_by_the_call_that_used_it_first(reported, use, wanted) -> None:
    assert classify_tool_use(True, reported, use, *CALL) == wanted


def test_no_id_is_none() -> None:
    assert classify_tool_use(False, False, None, *CALL) == "absent"


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
