"""A row's controls: its policy and what it comes from, its control epoch, what POLICY says of one message (page 50).

The epoch grows with every change of the permission mode, the folder, the link's conversation, the override, the global
default, the project's floor and `suppressed`; each growth makes open reviews stale and judges anew what waits. Without
the switch everything is delivered and nothing grows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, cast

from relaybay.domain import Step, Verdict
from relaybay.machines.base import step
from relaybay.machines.review import Review
from relaybay.rules import policy, suppression
from relaybay.rules.policy import Policy
from relaybay.rules.suppression import SuppressionEvent
from relaybay.service import automations, floors, steps
from relaybay.service.floors import Floor
from relaybay.service.relay import Relay
from relaybay.store import messages, sessions
from relaybay.store.messages import Mail
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

_LIVE = "exact"


@dataclass(frozen=True, slots=True)
class Controls:
    """What counts for one row now. `policy` is the effective one, `folder` canonical, `mode` the client's own word."""

    row: SessionRow
    policy: Policy
    override: Policy | Literal[""]
    default: Policy
    floor: Floor
    folder: str
    mode: str

    @property
    def suppressed(self) -> bool:
        """Whether the row waits for its user (table SUP)."""
        return bool(self.row.suppressed)

    @property
    def blocked_by(self) -> str:
        """What keeps an approval from working (DLV-29): `suppressed`, `refuse`, or nothing."""
        if self.suppressed:
            return "suppressed"
        return "refuse" if self.policy == "refuse" else ""

    @property
    def snapshot(self) -> str:
        """What a later look compares: each part that differs is one growth of the epoch."""
        return json.dumps([self.mode, self.folder, self.default, self.floor.inbound, bool(self.floor.problem)])


@dataclass(frozen=True, slots=True)
class Sent:
    """What POLICY needs of a message: its sender's kind, mode and canonical folder at sending, and its approval."""

    kind: policy.SenderKind
    mode: str
    folder: str
    approved_epoch: int = -1


def sent(mail: Mail) -> Sent:
    """The same of a message that is stored. Only a delivery can be approved: a message that has none here is not."""
    kind: policy.SenderKind = "script" if mail.by_script else "session" if mail.sender_verified else "unverified"
    return Sent(kind, mail.sender_mode, mail.sender_folder, mail.approved_epoch if mail.id else -1)


def of(relay: Relay, row: SessionRow) -> Controls:
    """The controls of a row as it now is, what is kept in memory counted."""
    now = relay.presence.current(row)
    floor, default = floors.of(now.cwd), cast("Policy", relay.messaging.inbound)
    override = cast("Policy | Literal['']", now.inbound)
    effective = policy.effective(override, default, floor.inbound)
    return Controls(now, effective, override, default, floor, floors.canonical(now.cwd), now.permission_mode)


def same_cohort(found: Controls, message: Sent) -> bool:
    """Table COHORT: the sender's values at sending against the recipient's of now."""
    folder: Literal["equal", "different", "unknown"] = "unknown"
    if found.folder and message.folder:
        folder = "equal" if found.folder == message.folder else "different"
    modes = policy.mode_of(message.mode), policy.mode_of(found.mode)
    return policy.judge_cohort(policy.CohortFacts(message.kind, *modes, folder)).outcome == "same"


def judge(found: Controls, message: Sent, arrival: Literal["new", "inside"] = "inside") -> Verdict:
    """Table POLICY for one message at the row: `deliver`, `refuse`, or a hold's reason code."""
    return policy.judge(
        policy.PolicyFacts(
            arrival=arrival,
            policy=found.policy,
            suppressed=found.suppressed,
            approved=message.approved_epoch >= 0 and message.approved_epoch == found.row.epoch,
            sender=message.kind,
            cohort=same_cohort(found, message),
            project_file=bool(found.floor.problem) and policy.laxer("auto", found.policy),
        )
    )


def judged(relay: Relay, mail: Mail, row: SessionRow | None) -> tuple[bool, str]:
    """Whether POLICY delivers a message that is in, on the values of now, and else the reason code of its hold."""
    if row is None or not relay.messaging.channels:
        return True, ""
    verdict = judge(of(relay, row), sent(mail))
    return verdict.outcome == "deliver", "" if verdict.outcome == "deliver" else verdict.outcome


def back(tx: Tx, relay: Relay, mail: Mail, event: str, facts: dict[str, bool]) -> Step:
    """Puts an event to a delivery that may take it back to `sent`, or to `held` where POLICY keeps it now (DLV-11, 17,
    25, 49). A published message that comes back to a row that is over is dropped (DLV-31).
    """
    row = sessions.get(tx, mail.recipient_id)
    deliver, reason = judged(relay, mail, row)
    result, after = steps.delivery(tx, mail, event, facts | {"judged_deliver": deliver}, reason=reason)
    over = row is not None and row.link_state != _LIVE
    if relay.messaging.channels and result.kind == "move" and after.published and over:
        steps.delivery(tx, after, "session_ended")
    return result


def judge_waiting(tx: Tx, relay: Relay, row: SessionRow) -> None:
    """DLV-23 and 24: what waits for a row is judged on the controls of now."""
    found = of(relay, row)
    for mail in messages.waiting(tx, row.id, ("sent", "held")):
        verdict = judge(found, sent(mail))
        deliver = verdict.outcome == "deliver"
        if deliver == (mail.state == "sent") and (deliver or verdict.outcome == mail.reason_code):
            continue
        _, after = steps.delivery(tx, mail, "controls_changed", {"judged_deliver": deliver}, reason=verdict.outcome)
        if mail.state == "held" and after.state == "sent":
            automations.received(tx, relay, after, catch_up=bool(after.passive))
    tx.touch(row.id)


def grow(tx: Tx, relay: Relay, row: SessionRow, by: int = 1, **columns: Any) -> SessionRow:
    """The row's control epoch grows, with the columns that changed: reviews go stale (REV-2), what waits is judged."""
    row = sessions.change(tx, row.id, epoch=row.epoch + by, **columns)
    row = sessions.change(tx, row.id, controls=of(relay, row).snapshot)
    for mail in messages.in_review(tx, row.id):
        result = step(Review, mail.review_state, "controls_grew")
        messages.set_delivery(tx, mail, review_state=result.state)
    judge_waiting(tx, relay, row)
    return row


def look(tx: Tx, relay: Relay, row: SessionRow) -> SessionRow:
    """Compares a row's controls with what they were, and lets the epoch grow by each part that differs. The row is as
    stored, written back from memory. Nothing is done without the switch.
    """
    if not relay.messaging.channels:
        return row
    now = of(relay, row).snapshot
    if now == row.controls:
        return row
    if not row.controls:
        # Looked at for the first time: there was nothing that could have changed.
        row = sessions.change(tx, row.id, controls=now)
        judge_waiting(tx, relay, row)
        return row
    differing = sum(one != other for one, other in zip(json.loads(row.controls), json.loads(now), strict=True))
    return grow(tx, relay, row, differing)


def look_at_all(tx: Tx, relay: Relay, *, anew: bool = False) -> int:
    """The same for every row that has something waiting: at the start, and by a timer for files that changed; how many
    rows were looked at. `anew`, at the start: all of it is judged, whether the controls changed or not, since what came
    in or went back to `sent` while channels were off was judged by nobody.
    """
    rows = messages.rows_kept_waiting(tx) if relay.messaging.channels else []
    for key in rows:
        row = look(tx, relay, relay.presence.write_back(tx, sessions.need(tx, key)))
        if anew:
            judge_waiting(tx, relay, row)
    return len(rows)


def suppress(tx: Tx, relay: Relay, row: SessionRow, event: SuppressionEvent) -> SessionRow:
    """Table SUP: what an event does to the row's `suppressed`, and what follows."""
    if not relay.messaging.channels:
        return row
    verdict = suppression.judge(suppression.SuppressionFacts(bool(row.suppressed), event))
    if verdict.outcome == "keep":
        return row
    now_set = verdict.outcome == "set"
    said = {"session": row.ref, "title": steps.shown(row.title), "reason": event}
    tx.emit("session.suppressed" if now_set else "session.resumed", **said)
    return grow(tx, relay, row, suppressed=int(now_set))


def session_ended(tx: Tx, relay: Relay, row: SessionRow) -> None:
    """DLV-31, 32, 37, 38: the row's session is over. Published messages that wait are dropped, direct ones stay."""
    if not relay.messaging.channels:
        return
    for mail in messages.waiting(tx, row.id, ("sent", "held", "taken")):
        deliver, reason = judged(relay, mail, row)
        steps.delivery(tx, mail, "session_ended", {"judged_deliver": deliver}, reason=reason)
