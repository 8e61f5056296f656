"""Lives of the owner's review of one held message (page 50, table REV), with the policy that holds it."""

from __future__ import annotations

import pytest

from relaybay import specs
from relaybay.domain import Step
from relaybay.machines.base import step
from relaybay.machines.review import Review
from relaybay.rules.policy import Policy, PolicyFacts, judge


class Held:
    """One message at one recipient: the review beside the least of a delivery that its facts are taken from."""

    def __init__(self, policy: Policy = "hold", *, suppressed: bool = False) -> None:
        self.policy, self.suppressed = policy, suppressed
        self.epoch, self.approved_in, self.state, self.review = 1, 0, "held", "none"
        self.token: tuple[int, int] | None = None
        self.openings = 0

    def put(self, event: str, token: tuple[int, int] | None = None) -> Step:
        fits = token is not None and token == self.token and token[1] == self.epoch
        facts = {
            "held": self.state == "held",
            "token_fits": fits,
            "blocked": self.policy == "refuse" or self.suppressed,
        }
        result = step(Review, self.review, event, facts)
        self.review = result.state
        if "token:new" in result.effects:
            self.openings += 1
            self.token = (self.openings, self.epoch)
        if "delivery:approve" in result.effects:
            self.state, self.approved_in = "sent", self.epoch
        if "delivery:reject" in result.effects:
            self.state = "rejected"
        return result

    def open(self) -> tuple[int, int]:
        assert self.put("open_review").state == "open" and self.token
        return self.token

    def set_policy(self, policy: Policy) -> None:
        """Grows the epoch and judges the message again, as every change of the controls does."""
        self.policy, self.epoch = policy, self.epoch + 1
        self.put("controls_grew")
        facts = PolicyFacts(
            "inside",
            policy,
            self.suppressed,
            self.approved_in == self.epoch,
            "session",
            cohort=True,
            project_file=False,
        )
        was, self.state = self.state, "sent" if judge(facts).outcome == "deliver" else "held"
        if was == "held" and self.state != "held":
            self.put("left_held")


@pytest.mark.spec("REV-1", "REV-4")
def test_a_review_is_opened_once_and_its_token_used_once() -> None:
    message = Held()
    token = message.open()
    approved = message.put("approve", token)
    assert (approved.spec_id, message.review, message.state) == ("REV-4", "closed", "sent")
    again = message.put("approve", token)
    assert (again.spec_id, again.answer, message.state) == ("REV-7", "review.not_held", "sent")


@pytest.mark.spec("REV-6", "REV-7")
@pytest.mark.parametrize("event", ["approve", "reject"])
def test_nothing_is_decided_about_a_message_that_nobody_opened(event: str) -> None:
    message = Held()
    refused = message.put(event, (1, 1))
    assert (refused.spec_id, refused.answer, message.state) == ("REV-6", "review.stale", "held")


@pytest.mark.spec("REV-2", "REV-6")
def test_a_changed_mode_makes_a_review_stale_and_no_refresh_renews_it() -> None:
    """Trap P1. A list has no event to put here at all: opening is the one thing that gives a token."""
    message = Held()
    token = message.open()
    message.set_policy("hold")
    refused = message.put("approve", token)
    assert (refused.kind, refused.answer, message.state) == ("refuse", "review.stale", "held")
    assert message.put("approve", message.open()).kind == "move"
    gives = {row.event for row in specs.machines()["review"].rows if "token:new" in row.effects}
    assert gives == {"open_review"}


@pytest.mark.spec("REV-2", "REV-3", "REV-6")
@pytest.mark.parametrize("through", ["accept", "refuse", "hold"])
def test_there_and_back_between_review_and_approval_is_not_as_if_nothing_was(through: Policy) -> None:
    """Trap P2."""
    message = Held()
    token = message.open()
    message.set_policy(through)
    message.set_policy("hold")
    assert message.state == "held"
    for event in ("approve", "reject"):
        assert message.put(event, token).spec_id == "REV-6"
    assert message.state == "held"


@pytest.mark.spec("REV-4", "REV-6")
def test_one_review_lets_one_message_through() -> None:
    """Trap P4: the token of the sender's first message opens nothing for the second."""
    first, second = Held(), Held()
    token = first.open()
    assert second.put("approve", token).answer == "review.stale"
    second.open()
    second.open()
    assert second.put("approve", token).answer == "review.stale"
    assert first.put("approve", token).kind == "move" and second.state == "held"


@pytest.mark.spec("REV-4", "REV-5")
@pytest.mark.parametrize(("policy", "suppressed"), [("refuse", False), ("accept", True), ("refuse", True)])
def test_what_is_blocked_can_be_rejected_and_not_approved(policy: Policy, suppressed: bool) -> None:
    """Traps P5 and P7."""
    message = Held(policy, suppressed=suppressed)
    token = message.open()
    refused = message.put("approve", token)
    assert (refused.answer, message.review, message.state) == ("review.blocked", "open", "held")
    assert message.put("reject", token).state == "closed" and message.state == "rejected"


@pytest.mark.spec("REV-4", "POLICY-4")
def test_an_approval_does_not_survive_the_next_change() -> None:
    message = Held()
    message.put("approve", message.open())
    message.set_policy("hold")
    assert (message.state, message.review) == ("held", "closed")
    assert message.put("approve", (1, 1)).spec_id == "REV-6"
    assert message.put("reject", message.open()).spec_id == "REV-5"


@pytest.mark.spec("REV-1", "REV-4", "REV-5")
def test_opened_twice_only_the_later_token_decides() -> None:
    message = Held()
    early, late = message.open(), message.open()
    assert message.put("reject", early).spec_id == "REV-5" and message.state == "held"
    assert message.put("approve", early).answer == "review.stale"
    assert message.put("approve", late).kind == "move"


@pytest.mark.spec("REV-3", "REV-7", "REV-8")
@pytest.mark.parametrize("grown", [False, True])
def test_a_message_that_left_by_itself_takes_its_review_with_it(grown: bool) -> None:
    message = Held()
    token = message.open()
    if grown:
        message.set_policy("hold")
    message.state = "dropped"
    assert message.put("left_held").spec_id == "REV-3"
    assert message.put("approve", token).spec_id == message.put("reject", token).spec_id == "REV-7"
    opened = message.put("open_review")
    assert (opened.spec_id, opened.answer, message.review) == ("REV-8", "review.not_held", "closed")


@pytest.mark.spec("REV-9")
def test_what_happens_without_an_open_review_changes_none() -> None:
    message = Held()
    message.set_policy("refuse")
    assert message.review == "none"
    message.set_policy("accept")
    assert (message.state, message.review) == ("sent", "none")
    message.set_policy("hold")
    message.open()
    message.set_policy("hold")
    message.set_policy("hold")
    assert message.review == "stale"


def test_every_refusal_of_a_review_says_what_to_do_under_a_code_of_its_own() -> None:
    rows = [row for row in specs.machines()["review"].rows if row.kind == "refuse"]
    assert {row.answer for row in rows} == {"review.stale", "review.blocked", "review.not_held"}
    worded = [specs.answers()[row.answer] for row in rows]
    assert {a.code for a in worded} == {"review_stale", "approve_blocked", "not_held"}
    assert all(a.error and a.status == 409 for a in worded)
