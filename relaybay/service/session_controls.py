"""What the owner decides about one session's messaging: policy, topics, broadcasts, name (page 50, CH-10, OWN-5, 8 to
10).

No tool of an agent's comes here. Each change that counts grows the row's control epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from relaybay.answers import word
from relaybay.domain import Outcome, Refusal
from relaybay.rules import policy, topics
from relaybay.rules.claim import ChosenNameFacts, judge_chosen, valid_name
from relaybay.rules.policy import Policy
from relaybay.rules.text import literal, name_line, name_literal
from relaybay.service import catch_up, controls, naming, processes, sweep
from relaybay.service.arguments import invalid, one_session
from relaybay.service.controls import Controls
from relaybay.service.relay import Relay
from relaybay.specs import limit
from relaybay.store import channels, messages, sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

DEFAULT = "default"


def panel(tx: Tx, relay: Relay, *, session: str) -> Outcome:
    """A session's messaging as its panel shows it. A read."""
    row = one_session(tx, session)
    return Outcome(refusal=row) if isinstance(row, Refusal) else Outcome(view(tx, relay, row))


def view(tx: Tx, relay: Relay, row: SessionRow) -> dict[str, Any]:
    """Policy with what it comes from, the name with the chosen one, topics, broadcasts, what is held."""
    found = controls.of(relay, row)
    holder = naming.by_handle(tx, row.name_chosen) if row.name_chosen else None
    taken = holder is not None and holder.id != row.id
    said: dict[str, Any] = {
        "ref": row.ref,
        "title": name_line(row.title),
        "channels": relay.messaging.channels,
        "policy": {
            "effective": found.policy,
            "own": found.override or DEFAULT,
            "default": found.default,
            "floor": found.floor.inbound or "none",
            "selectable": [one for one in policy.STRICTNESS if not _below(one, found)],
        },
        "suppressed": found.suppressed,
        "topics": list(channels.patterns(tx, row.id)),
        "topics_max": limit("patterns_per_session_max"),
        "broadcasts": bool(row.broadcasts),
        "held": messages.held_count(tx, row.id),
        "name": row.name or "",
        "name_chosen": row.name_chosen,
        "seen": _seen(found),
    }
    if found.floor.file:
        said["policy"]["file"] = _whole(found.floor.file)
    if found.floor.problem:
        said["policy"]["problem"] = _whole(found.floor.problem)
    if taken and holder is not None:
        said["name_held_by"] = {"ref": holder.ref, "title": name_line(holder.title)}
    return said


def _whole(text: str) -> str:
    """A path, or what was said of a file, as one line without quotes: uncut, since its end tells which file it is."""
    return literal(text)[1:-1]


def _below(one: Policy, found: Controls) -> bool:
    return found.floor.inbound != "" and policy.laxer(one, found.floor.inbound)


def _seen(found: Controls) -> str:
    """What a confirmation was asked over: another policy or floor by then makes it void (RELAX-3)."""
    return f"{found.policy} {found.floor.inbound or 'none'}"


def set_policy(tx: Tx, relay: Relay, *, session: str, wanted: str, confirmed: bool = False, seen: str = "") -> Outcome:
    """OWN-5: the session's own policy, or `default`. Below the project's floor it is refused (FLOOR); a laxer one needs
    to be confirmed over what is true now (RELAX), since it may release what is held.
    """
    row = _ready(tx, relay, session)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    if wanted not in (*policy.STRICTNESS, DEFAULT):
        known = ", ".join((*policy.STRICTNESS, DEFAULT))
        return Outcome(refusal=invalid("policy", "argument.enum", allowed=known))
    found = controls.of(relay, row)
    verdict = policy.judge_override(
        policy.OverrideFacts(cast("Any", wanted), found.floor.inbound or "none", found.default)
    )
    floor = found.floor.inbound or "none"
    if verdict.refused:
        values = {"floor": floor, "file": literal(found.floor.file)}
        return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id, values))
    own = "" if wanted == DEFAULT else wanted
    after = policy.effective(cast("Any", own), found.default, found.floor.inbound)
    changed = bool(seen) and seen != _seen(found)
    verdict = policy.judge_relax(policy.RelaxFacts(found.policy, after, confirmed, changed))
    if verdict.refused:
        asked: dict[str, Any] = {
            "old": found.policy,
            "new": after,
            "floor": floor,
            "count": messages.held_count(tx, row.id),
        }
        needed = asked if verdict.answer == "policy.confirm" else {}
        return Outcome(refusal=Refusal(verdict.answer, verdict.spec_id, needed))
    said = {"session": row.ref, "title": name_line(row.title), "policy": wanted, "effective": after}
    tx.emit("session.policy", **said)
    row = controls.grow(tx, relay, row, inbound=own)
    text = word("controls.policy", session=row.ref, policy=after, own=wanted, floor=floor).text
    return Outcome(view(tx, relay, row) | {"text": text})


def subscribe(tx: Tx, relay: Relay, *, session: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> Outcome:
    """OWN-8: patterns are added and removed all or none. A session that is there catches up at once."""
    row = _ready(tx, relay, session)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    have = channels.patterns(tx, row.id)
    left = topics.remove_patterns(have, tuple(remove))
    wanted = (
        left if isinstance(left, Refusal) else topics.add_patterns(left, tuple(add), limit("patterns_per_session_max"))
    )
    if isinstance(wanted, Refusal):
        return Outcome(refusal=wanted)
    if wanted != have:
        channels.set_patterns(tx, row.id, wanted)
        tx.emit("session.topics", session=row.ref, title=name_line(row.title), topics=list(wanted))
        if row.link_state == "exact":
            catch_up.catch_up(tx, relay, row)
    text = word("controls.topics", session=row.ref, count=len(wanted), count_max=limit("patterns_per_session_max")).text
    return Outcome(view(tx, relay, sessions.need(tx, row.id)) | {"text": text})


def set_broadcasts(tx: Tx, relay: Relay, *, session: str, on: bool) -> Outcome:
    """OWN-9: whether the session receives broadcasts."""
    row = _ready(tx, relay, session)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    if bool(row.broadcasts) != on:
        row = sessions.change(tx, row.id, broadcasts=int(on))
        tx.emit("session.broadcasts", session=row.ref, title=name_line(row.title), on=on)
    text = word("controls.broadcasts_on" if on else "controls.broadcasts_off", session=row.ref).text
    return Outcome(view(tx, relay, row) | {"text": text})


def choose_name(tx: Tx, relay: Relay, *, session: str, name: str) -> Outcome:
    """OWN-10: the session's `@name`, without or with the `@`; an empty one gives the generated name back."""
    row = _ready(tx, relay, session)
    if isinstance(row, Refusal):
        return Outcome(refusal=row)
    wanted = name.strip().removeprefix("@")
    if wanted:
        refusal = _may_choose(tx, relay, row, wanted)
        if refusal is not None:
            return Outcome(refusal=refusal)
    row = sessions.change(tx, row.id, name_chosen=wanted)
    live = row.link_state in naming.LIVE
    if live and row.name and row.name != wanted:
        # Cleared, it is the generated one again; chosen, the claim below takes the place of what it went by.
        row = sessions.change(tx, row.id, name=None)
    if live and (wanted or row.link_state == "exact"):
        row = naming.claim_name(tx, row, channels=True)
    tx.emit("session.named", session=row.ref, title=name_line(row.title), name=row.name)
    answer = "controls.name" if live else "controls.name_saved"
    text = word(answer, session=row.ref, name=row.name or wanted or row.ref).text
    return Outcome(view(tx, relay, row) | {"text": text})


def _may_choose(tx: Tx, relay: Relay, row: SessionRow, wanted: str) -> Refusal | None:
    if not valid_name(wanted):
        verdict = judge_chosen(
            ChosenNameFacts(
                grammar_ok=False, own_already=False, held_by_other_live=False, names_other_live_session=False
            )
        )
        return Refusal(verdict.answer, verdict.spec_id, {"name": name_literal(wanted)})
    holder = naming.by_handle(tx, wanted)
    if holder is not None and holder.id != row.id and processes.gone(holder.process):
        sweep.end_gone(tx, relay, [holder.id])
    return None if wanted == row.name_chosen else naming.held_by_other(tx, wanted, row.id)


def _ready(tx: Tx, relay: Relay, session: str) -> SessionRow | Refusal:
    """The row that is meant, its controls looked at; refused without the switch."""
    if not relay.messaging.channels:
        return Refusal("channels.off", "CH-10")
    row = one_session(tx, session)
    if isinstance(row, Refusal):
        return row
    return controls.look(tx, relay, relay.presence.write_back(tx, row))
