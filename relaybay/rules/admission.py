"""Whether one message is admitted at one recipient (page 50, table ADM). The counting is the caller's."""

from __future__ import annotations

from dataclasses import dataclass

from relaybay.domain import Verdict


@dataclass(frozen=True, slots=True)
class AdmissionFacts:
    """What was found out about one message at one recipient, each with this message left out of the count.

    `repeat`: the sender's request id was used before. `catch_up`: an older topic message comes back by itself, which
    is no sending and so meets neither the sender's checks nor the windows. `refused_by_policy`: POLICY refuses it.
    `recipient_full`, `sender_full`: no more fit into the window, of all and of this sender. `inbox_full`,
    `bytes_full`: too many, or too large with this one, are waiting.
    """

    repeat: bool
    catch_up: bool
    refused_by_policy: bool
    duplicate: bool
    recipient_full: bool
    sender_full: bool
    inbox_full: bool
    bytes_full: bool


def judge(facts: AdmissionFacts) -> Verdict:
    """`repeat`, `refused_policy`, `refused_duplicate`, `limited_recipient`, `limited_sender`, `limited_inbox_full` or
    `admitted`: the first row that applies.
    """
    sent = not facts.catch_up
    checks = (
        (sent and facts.repeat, "ADM-1", "repeat"),
        (facts.refused_by_policy, "ADM-2", "refused_policy"),
        (sent and facts.duplicate, "ADM-3", "refused_duplicate"),
        (sent and facts.recipient_full, "ADM-4", "limited_recipient"),
        (sent and facts.sender_full, "ADM-5", "limited_sender"),
        (facts.inbox_full, "ADM-6", "limited_inbox_full"),
        (facts.bytes_full, "ADM-7", "limited_inbox_full"),
    )
    for applies, spec_id, outcome in checks:
        if applies:
            return Verdict(spec_id, outcome)
    return Verdict("ADM-8", "admitted")
