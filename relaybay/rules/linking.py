"""What a write does to links and rows (page 10, table LINK), and the words in which rows and ids are told apart.

`stand` turns plain values of rows into a `Standing`: who A and B are and how the call's hook id H stands to them.
The tables LINK, SEND, ACK, WRITE and the reader's are all judged on it, so they can't differ about what "taken" is.

`judge` gives one of these outcomes; what each does to rows and links stands in `EFFECTS`, as values the service
carries out:

* `nothing`: no link and no hook id changes. A new name still gets its row (ROW-3) in a send or another write;
* `warn_unknown`: as `nothing`, with the warning `hook_session_unknown`;
* `warn_taken`: as `nothing`, in A's name, not verified, with the warning `hook_session_taken`;
* `speak_as_b`: no row is made, the call speaks as B, verified; the warning `name_ignored` tells B's title;
* `make_exact` (LINK-2): A's guess becomes exact, or without a name B's; then it may be an *unnamed* row's;
* `take_unseen` (LINK-1): A gets H, exact and unseen; B, if there is one, loses it;
* `merge`, `merge_ended` (LINK-6): A gets H, all that B has goes to A, B is deleted;
* `take_guess` (LINK-7): A gets H, B loses its folder guess and keeps its mail;
* `take_ended_hook` (LINK-8): A gets H, B is deleted and its open deliveries lose their row;
* `take_ended_other` (LINK-9): A gets H, B's link is moved, B keeps row and mail;
* `move_and_merge`, `move_and_take_guess` (LINK-10): as `merge` and `take_guess`, and A's own id counts as moved;
* `rename_b` (LINK-14): no row is made; B takes the name as its title, the old one becomes an alias;
* `split_folder_guess` (LINK-15): a new hook row gets H, exact; B loses its folder guess and keeps its mail;
* `refuse`: nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from relaybay.domain import Verdict

Call = Literal["send", "mark", "other", "bind"]
LinkState = Literal[
    "none", "guessed_unseen", "exact_unseen", "guessed", "exact", "ended_guessed", "ended_exact", "moved"
]
Kind = Literal["hook", "agent", "desktop"]
Session = Literal["absent", "new", "one", "several", "several_occupied"]
ALink = Literal["none", "no_link", "unseen", "folder_guess", "hook_guess", "exact", "ended", "moved"]
HookId = Literal[
    "none",
    "own",
    "nobody",
    "unseen",
    "folder_guess",
    "hook_guess",
    "unnamed",
    "taken",
    "ended_guess",
    "ended_hook",
    "ended_other",
]


@dataclass(frozen=True, slots=True)
class RowView:
    """What the tables need of one row. `unnamed` is the store's own finding (page 10: an unnamed row)."""

    id: int
    kind: Kind
    link_state: LinkState
    unnamed: bool = False

    @property
    def holds(self) -> bool:
        """Whether the row holds its hook id: a moved link is held by another row."""
        return self.link_state not in ("none", "moved")

    @property
    def occupied(self) -> bool:
        """Live and exact, or live and made by the row's own events (page 10: occupied)."""
        return self.link_state == "exact" or (self.link_state == "guessed" and self.kind == "hook")


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """The inputs of table LINK; `specs/decisions/linking.toml` says what each value means."""

    call: Call
    session: Session
    a: ALink
    h: HookId


@dataclass(frozen=True, slots=True)
class Standing:
    """Who A and B are, and how the call stands to them, before anything is changed."""

    session: Session
    a_link: ALink
    h: HookId
    a: RowView | None
    b: RowView | None
    occupied: bool

    @property
    def taken(self) -> bool:
        """Page 10: H is taken."""
        return self.h == "taken"

    @property
    def at_hand(self) -> bool:
        """Page 10: H is at hand."""
        return self.h in ("folder_guess", "hook_guess", "unnamed")


@dataclass(frozen=True, slots=True)
class Effect:
    """What an outcome does to the rows (page 10, LINK and MOVE).

    `a_link` is the speaking row's link state afterwards, empty where it stays. `a_life` says where its activity and
    client process come from: kept, B's (then B's process is forgotten there), unknown (an unseen id; no process),
    or ended. `b` is what becomes of B: kept, unlinked (no hook id, link none, activity unknown, process forgotten,
    mail kept: MOVE-2), moved (likewise, with link moved), merged (all it has goes to A, MOVE-1 and 10, row deleted)
    or orphaned (open deliveries lose their row, tasks are bound to nobody, row deleted: MOVE-3, 11).
    `takes_id` means that A's hook id becomes H: A's former one is taken off (HL-7), then, after MOVE-1, MOVE-12 and
    MOVE-5 hold for A and its control epoch grows. `link_moved` asks for the event `session.link_moved`.
    """

    a_link: Literal["", "exact", "exact_unseen", "ended_exact"] = ""
    a_life: Literal["keep", "of_b", "unknown", "ended"] = "keep"
    b: Literal["keep", "unlinked", "moved", "merged", "orphaned"] = "keep"
    takes_id: bool = False
    link_moved: bool = False


_NO_EFFECT = Effect()
_MERGE = Effect(a_link="exact", a_life="of_b", b="merged", takes_id=True)
_TAKE_GUESS = Effect(a_link="exact", a_life="of_b", b="unlinked", takes_id=True)

EFFECTS: dict[str, Effect] = {
    "nothing": _NO_EFFECT,
    "warn_unknown": _NO_EFFECT,
    "warn_taken": _NO_EFFECT,
    "speak_as_b": _NO_EFFECT,
    "rename_b": _NO_EFFECT,
    "refuse": _NO_EFFECT,
    "make_exact": Effect(a_link="exact"),
    "take_unseen": Effect(a_link="exact_unseen", a_life="unknown", b="unlinked", takes_id=True),
    "merge": _MERGE,
    "merge_ended": Effect(a_link="ended_exact", a_life="ended", b="merged", takes_id=True),
    "take_guess": _TAKE_GUESS,
    "take_ended_hook": Effect(a_link="ended_exact", a_life="ended", b="orphaned", takes_id=True),
    "take_ended_other": Effect(a_link="ended_exact", a_life="ended", b="moved", takes_id=True),
    "move_and_merge": replace(_MERGE, link_moved=True),
    "move_and_take_guess": replace(_TAKE_GUESS, link_moved=True),
    # The row is new, so it has no former id and no mail that could wait again.
    "split_folder_guess": Effect(a_link="exact", a_life="of_b", b="unlinked"),
}


def link_of(row: RowView) -> ALink:
    """How a row's own link stands, in the words of table LINK."""
    if row.link_state == "none":
        return "no_link"
    if row.link_state in ("guessed_unseen", "exact_unseen"):
        return "unseen"
    if row.link_state == "guessed":
        return "hook_guess" if row.kind == "hook" else "folder_guess"
    if row.link_state == "exact":
        return "exact"
    return "moved" if row.link_state == "moved" else "ended"


def hook_id_on(holder: RowView, witnessed: bool) -> HookId:
    """How H stands when `holder`, another row than A, holds it."""
    assert holder.holds, "a row without a link, or with a moved one, holds no hook id"
    hook = holder.kind == "hook"
    match holder.link_state:
        case "guessed_unseen" | "exact_unseen":
            return "unseen"
        case "guessed":
            return "hook_guess" if hook else "folder_guess"
        case "exact":
            return "unnamed" if holder.unnamed and witnessed else "taken"
        case "ended_guessed":
            assert hook, "HL-11 drops a folder guess instead of ending it"
            return "ended_guess"
        case _:
            return "ended_hook" if hook else "ended_other"


def stand(named: Sequence[RowView] | None, holder: RowView | None, proven: bool, witnessed: bool) -> Standing:
    """Finds A and B (page 10). `named` are the rows the name fits, None when the call names no row; `holder` is the
    row that holds the proven H; `witnessed` says that the client vouches for H (PROOF-2, PROOF-6).
    """
    assert holder is None or (proven and holder.holds)
    rows = tuple(named or ())
    occupied = any(row.occupied for row in rows)
    own = next((row for row in rows if holder is not None and row.id == holder.id), None)
    session: Session
    a: RowView | None = None
    if named is None:
        session = "absent"
    elif not rows:
        session = "new"
    elif own is not None or len(rows) == 1:
        session, a = "one", own or rows[0]
    else:
        session = "several_occupied" if occupied else "several"
    b = None if own is not None else holder
    h: HookId = "none"
    if own is not None:
        h = "own"
    elif b is not None:
        h = hook_id_on(b, witnessed)
    elif proven:
        h = "nobody"
    return Standing(session, link_of(a) if a else "none", h, a, b, occupied)


def facts_of(call: Call, standing: Standing) -> LinkFacts:
    """The inputs of table LINK for one call."""
    return LinkFacts(call, standing.session, standing.a_link, standing.h)


def judge(facts: LinkFacts) -> Verdict:
    """Table LINK. The module's docstring says what each outcome does."""
    if facts.call == "bind":
        return Verdict("LINK-12", "nothing")
    if facts.h == "none":
        return Verdict("LINK-0", "nothing")
    if facts.session == "absent":
        return _without_name(facts.h)
    if facts.session in ("several", "several_occupied"):
        return _of_several(facts)
    if facts.h == "own":
        return _own(facts.a)
    if facts.h == "taken":
        return _taken(facts)
    if facts.call == "mark":
        return Verdict("LINK-13", "nothing")
    if facts.a in ("hook_guess", "exact"):
        return _occupied(facts)
    return _free(facts)


def _without_name(h: HookId) -> Verdict:
    if h == "hook_guess":
        return Verdict("LINK-2", "make_exact")
    if h in ("taken", "unnamed"):
        return Verdict("LINK-3", "nothing")
    if h == "folder_guess":
        return Verdict("LINK-15", "split_folder_guess")
    return Verdict("LINK-16", "refuse", "send.sender_dead")


def _of_several(facts: LinkFacts) -> Verdict:
    if facts.h == "taken" and facts.call != "other":
        return Verdict("LINK-5", "refuse", "send.hook_session_taken")
    if facts.call == "send" and facts.session == "several_occupied":
        return Verdict("LINK-17", "refuse", "send.sender_not_proven")
    return Verdict("LINK-17", "refuse", "send.sender_ambiguous")


def _own(a: ALink) -> Verdict:
    if a in ("folder_guess", "hook_guess"):
        return Verdict("LINK-2", "make_exact")
    if a == "ended":
        return Verdict("LINK-4", "nothing")
    return Verdict("LINK-3", "nothing")


def _taken(facts: LinkFacts) -> Verdict:
    if facts.call != "other":
        return Verdict("LINK-5", "refuse", "send.hook_session_taken")
    if facts.session == "new":
        return Verdict("LINK-5", "speak_as_b", "link.name_ignored")
    return Verdict("LINK-5", "warn_taken", "link.hook_session_taken")


def _occupied(facts: LinkFacts) -> Verdict:
    if facts.call == "send":
        return Verdict("LINK-11", "refuse", "send.sender_not_proven")
    if facts.h in ("hook_guess", "unnamed"):
        return Verdict("LINK-10", "move_and_merge")
    if facts.h == "folder_guess":
        return Verdict("LINK-10", "move_and_take_guess")
    return Verdict("LINK-21", "warn_unknown", "link.hook_session_unknown")


def _free(facts: LinkFacts) -> Verdict:
    """A is new or not occupied, H is B's or nobody's and not taken, the call a send or another write."""
    if facts.h in ("nobody", "unseen"):
        if facts.a not in ("ended", "moved"):
            return Verdict("LINK-1", "take_unseen")
        if facts.call == "send":
            return Verdict("LINK-18", "nothing")
        return Verdict("LINK-18", "warn_unknown", "link.hook_session_unknown")
    if facts.h == "unnamed" and facts.session == "new":
        return Verdict("LINK-14", "rename_b")
    if facts.h in ("hook_guess", "unnamed"):
        return Verdict("LINK-6", "merge")
    if facts.h == "folder_guess":
        return Verdict("LINK-7", "take_guess")
    if facts.call == "send":
        return Verdict("LINK-19", "nothing")
    if facts.h == "ended_guess":
        return Verdict("LINK-6", "merge_ended")
    if facts.h == "ended_hook":
        return Verdict("LINK-8", "take_ended_hook")
    return Verdict("LINK-9", "take_ended_other")
