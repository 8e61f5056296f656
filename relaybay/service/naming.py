"""Names on the store: who is meant by one, what a refusal offers instead, and what a row is called (page 10, Names)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from relaybay.answers import word
from relaybay.domain import Refusal, Verdict
from relaybay.rules import names
from relaybay.rules.claim import ChosenNameFacts, ClaimFacts, judge_chosen, judge_claim, valid_name
from relaybay.rules.handles import ATTEMPTS_MAX, generated
from relaybay.rules.names import Alias, GivenBy
from relaybay.rules.recipient import near_names
from relaybay.rules.sender import NameFacts, judge_name
from relaybay.rules.text import literal, name_line, name_literal
from relaybay.service import processes
from relaybay.specs import limit
from relaybay.store import sessions
from relaybay.store.sessions import SessionRow
from relaybay.store.transaction import Tx

LIVE = ("exact", "guessed")


def resolve(tx: Tx, text: str) -> list[SessionRow]:
    """The rows a name fits: titles, aliases, desktop ids, refs, and `@names` of live rows. Makes none (ROW-4)."""
    key = names.key(text)
    return sessions.by_name(tx, key) if key else []


def by_handle(tx: Tx, name: str) -> SessionRow | None:
    """The row that goes by this `@name`. One whose client's process is gone has lost it (HL-9): the caller looks."""
    found = tx.value("SELECT id FROM session WHERE name = ?", name)
    return None if found is None else sessions.need(tx, int(found))


def held_by_other(tx: Tx, name: str, own: int | None) -> Refusal | None:
    """Why another live session keeps the owner from choosing this name (table `chosen_name`); None when nothing does.

    Reserved is also what another live session is called: SEND covers names, titles and aliases alike.
    """
    holder = by_handle(tx, name)
    holder = None if holder is None or holder.id == own or processes.gone(holder.process) else holder
    named = [row for row in sessions.by_name(tx, names.key(name)) if row.id != own and row.link_state in LIVE]
    verdict = judge_chosen(
        ChosenNameFacts(
            grammar_ok=valid_name(name),
            own_already=False,
            held_by_other_live=holder is not None,
            names_other_live_session=bool(named),
        )
    )
    if not verdict.refused:
        return None
    other = holder or (named[0] if named else None)
    values = {"name": name if verdict.answer == "chosen_name.held" else name_literal(name)}
    if other is not None:
        values |= {"title": name_literal(other.title), "ref": other.ref, "folder": literal(other.cwd)}
    return Refusal(verdict.answer, verdict.spec_id, values)


def is_hook_id(tx: Tx, text: str) -> bool:
    """Whether a text is a hook id the board knows, or equal to one as names are equal: it is then nobody's name, and
    is shown to nobody.
    """
    line = names.one_line(text)
    return bool(line) and (sessions.known_hook_id(tx, line) or sessions.known_hook_id(tx, names.key(line)))


def free_of(tx: Tx, hook_id: str) -> None:
    """Takes a name away from whoever bears it, since it turns out to be a hook id: such a title becomes `session`, such
    an alias is forgotten, and what was kept of the name beside mail and comments follows.
    """
    key = names.key(hook_id)
    for row in sessions.by_name(tx, key) if key else []:
        for alias, _, text_key, _ in sessions.aliases(tx, row.id):
            if text_key == key:
                sessions.drop_alias(tx, alias)
        if row.title_key == key:
            title = free_title(tx, "session")
            sessions.change(tx, row.id, title=title, title_key=names.key(title))
            sessions.retitle_kept(tx, row.title, title)


def check(tx: Tx, text: str, *, known: bool, hook_id: bool = False) -> Verdict:
    """Whether a name can be given to a row; `known` when a row has it already (refused `name_invalid`), `hook_id` when
    the caller knows it for a hook id.
    """
    return judge_name(
        NameFacts(
            too_long=names.too_long(text),
            known=known,
            shape=names.shape(text),
            hook_id=hook_id or is_hook_id(tx, text),
        )
    )


def candidates(rows: Iterable[SessionRow]) -> str:
    """Several rows that one name fits, as refusals list them (RECV-2): never with a hook id."""
    listed = []
    for row in rows:
        values = {"ref": row.ref, "title": name_literal(row.title), "activity": row.activity}
        if row.desktop_id:
            listed.append(word("recv.candidate_desktop", desktop_id=name_literal(row.desktop_id), **values).text)
        else:
            listed.append(word("recv.candidate", **values).text)
    return "; ".join(listed)


def near_titles(tx: Tx, text: str, but: int | None = None) -> tuple[str, ...]:
    """Titles that a name which no row has could stand for; `but` is the asking row."""
    known = sessions.titles(tx, but, limit("near_names_looked_at_max"))
    return near_names(names.one_line(text), known, limit("near_names_max"))


def near(tx: Tx, text: str, but: int | None = None) -> str:
    """The sentence that offers names for one that no row has (RECV-1); `but` is the asking row."""
    found = near_titles(tx, text, but)
    if not found:
        return word("recv.nobody_near").text
    return word("recv.near", names=", ".join(name_literal(name) for name in found)).text


def free_title(tx: Tx, wanted: str) -> str:
    """`wanted`, numbered when another row has that name (ROW-2)."""
    return names.free_title(wanted, lambda key: sessions.title_taken(tx, key))


def folder_title(tx: Tx, cwd: str) -> str:
    """The title of a new row from its folder (ROW-2)."""
    last = names.one_line(cwd.rstrip("/").rpartition("/")[2])
    return free_title(tx, names.folder_title(cwd, is_hook_id=is_hook_id(tx, last)))


def keep_alias(tx: Tx, row: SessionRow, text: str, given_by: GivenBy) -> None:
    """One more alias, within the bound of 16 and its rule of who goes first (page 10)."""
    have = sessions.aliases(tx, row.id)
    others = [row.title, row.ref, *([row.desktop_id] if row.desktop_id else [])]
    change = names.put_alias([Alias(name, cast("GivenBy", giver)) for _, name, _, giver in have], text, others=others)
    if not change.kept:
        return
    if change.put_out is not None:
        sessions.drop_alias(tx, have[change.put_out][0])
    sessions.add_alias(tx, row.id, names.one_line(text), names.key(text), given_by)


def rename(tx: Tx, row: SessionRow, title: str) -> SessionRow:
    """A new title; the old one becomes an alias. The new one is no alias any more."""
    shown = names.one_line(title)
    for key, _, text_key, _ in sessions.aliases(tx, row.id):
        if text_key == names.key(shown):
            sessions.drop_alias(tx, key)
    renamed = sessions.change(tx, row.id, title=shown, title_key=names.key(shown), title_given=1)
    if names.key(row.title) != renamed.title_key:
        keep_alias(tx, renamed, row.title, "renaming")
    tx.emit("session.renamed", session=row.ref, title=name_line(shown), old_title=name_line(row.title))
    return renamed


def _goes_by(tx: Tx, name: str, row: SessionRow) -> SessionRow | None:
    """Who keeps a row from going by a name: whoever has it, or another live session that is called so. The owner is
    refused such a name (`held_by_other`), and a start must not come by it either.
    """
    called = (one for one in sessions.by_name(tx, names.key(name)) if one.id != row.id and one.link_state in LIVE)
    return by_handle(tx, name) or next(called, None)


def claim_name(tx: Tx, row: SessionRow, *, channels: bool = False) -> SessionRow:
    """Gives a row that has become exactly linked and live its `@name` (table `claim`): with channels the one that the
    owner chose, if no other live row has it, else the first generated one that is free, else none. A chosen name that
    is taken stays chosen, and is tried again when the session comes back.
    """
    chosen = row.name_chosen if channels else ""
    holder = _goes_by(tx, chosen, row) if chosen else None
    if row.name and (not chosen or row.name == chosen or holder is not None):
        return row
    outcome = judge_claim(ClaimFacts("none" if not chosen else "free" if holder is None else "held")).outcome
    if outcome == "chosen":
        return sessions.change(tx, row.id, name=chosen)
    if outcome == "generated_with_warning" and holder is not None:
        said = {"session": row.ref, "title": name_line(row.title), "name": chosen, "holder": holder.ref}
        tx.emit("session.name_taken", **said)
    for attempt in range(ATTEMPTS_MAX):
        name = generated(row.id, attempt)
        if tx.value("SELECT 1 FROM session WHERE name = ?", name) is None:
            return sessions.change(tx, row.id, name=name)
    # NAME-11: nobody is refused for want of a name. The row is reached by its ref and its title, and says so.
    tx.emit("session.named", session=row.ref, title=name_line(row.title), name=None)
    return row
