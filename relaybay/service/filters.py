"""Filters on the store: the text of a query → conditions that a list can be narrowed by (page 70, one grammar).

Here the names in a query are looked up. One that nobody has is refused with its place and the near ones, as a value
that the grammar does not know; a name that several sessions have means any of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from relaybay.answers import word
from relaybay.domain import Refusal
from relaybay.rules import topics
from relaybay.rules.query import QUERY_CHARS_MAX, TERMS_MAX, Fault, Query, Term, Value, near, parse
from relaybay.rules.query_keys import KEYS, Subject, age_seconds
from relaybay.rules.text import name_literal
from relaybay.service import naming
from relaybay.store import channels, search, tasks
from relaybay.store import conditions as on
from relaybay.store.conditions import Condition
from relaybay.store.transaction import Tx

_SECOND = 1_000_000
_TASKS_OFFERED = 5


def read(text: str, subject: Subject) -> Query | Refusal:
    """The query that a text stands for, or the refusal that says where it is wrong."""
    found = parse(text, subject)
    return _refused(found, subject) if isinstance(found, Fault) else found


def _refused(fault: Fault, subject: Subject) -> Refusal:
    values = {"at": fault.at + 1, "given": name_literal(fault.given), "subject": subject}
    values |= {"chars_max": QUERY_CHARS_MAX, "values_max": TERMS_MAX}
    if fault.problem in ("key_elsewhere", "key_reserved"):
        values["offers"] = ", ".join(fault.offers)
    else:
        ends = ":" if fault.problem in ("key_unknown", "no_words") else ""
        values["offers"] = offered(f"{offer}{ends}" for offer in fault.offers)
    return Refusal(f"query.{fault.problem}", "40", values)


def offered(words: Iterable[str]) -> str:
    """The sentence that says what could stand there; nothing where nothing could."""
    known = ", ".join(words)
    return word("query.offers", offers=known).text if known else ""


def made(tx: Tx, query: Query, subject: on.Subject) -> list[Condition] | Refusal:
    """The query's conditions on the tables of `subject`; words that a search is for are not among them."""
    found: list[Condition] = []
    for term in query.terms:
        if term.key == "sort" or (subject == "search" and not term.key and not term.negated):
            continue
        parts = [_condition(tx, subject, term, value) for value in term.values]
        for part in parts:
            if isinstance(part, Refusal):
                return part
        condition = on.either(part for part in parts if not isinstance(part, Refusal))
        found.append(on.opposite(condition) if term.negated else condition)
    return found


def narrowed(tx: Tx, text: str, subject: on.Subject) -> tuple[Query, list[Condition]] | Refusal:
    """What a text filters by: the query, and its conditions on the tables of `subject`."""
    query = read(text, subject)
    if isinstance(query, Refusal):
        return query
    conditions = made(tx, query, subject)
    return conditions if isinstance(conditions, Refusal) else (query, conditions)


def _condition(tx: Tx, subject: on.Subject, term: Term, value: Value) -> Condition | Refusal:
    if not term.key:
        sql, asked = (search.tasks_with if subject == "tasks" else search.texts_with)([(value.text, value.prefix)])
        return sql, [asked]
    match KEYS[subject][term.key].kind:
        case "name":
            ids = sessions_called(tx, value)
            return ids if isinstance(ids, Refusal) else on.sessions(subject, term.key, ids)
        case "task":
            about = task_of(tx, value)
            return about if isinstance(about, Refusal) else on.task(subject, about.id)
        case "project":
            owner = project_of(tx, value)
            return owner if isinstance(owner, Refusal) else on.project(subject, owner.id)
        case "time":
            moment = on.before(subject, moment_us(value.text))
            return moment if term.key == "before" else on.opposite(moment)
        case "topic":
            return on.topics([one for one in channels.named(tx) if topics.matches(value.text, one)])
        case "type":
            return on.event_type(value.text)
        case "age":
            return on.before(subject, tx.now - age_seconds(value.text) * _SECOND)
    return on.word(subject, term.key, value.text)


def sessions_called(tx: Tx, value: Value) -> list[int] | Refusal:
    """The rows that a name, ref or `@name` fits."""
    found = [row.id for row in naming.resolve(tx, value.text)]
    if found:
        return found
    shown = name_literal("…" if naming.is_hook_id(tx, value.text) else value.text)
    near_ones = offered(name_literal(title) for title in naming.near_titles(tx, value.text))
    values = {"at": value.at + 1, "given": shown, "offers": near_ones}
    return Refusal("query.session_unknown", "RECV-1", values)


def task_of(tx: Tx, value: Value) -> tasks.TaskRow | Refusal:
    """The task with a key."""
    found = tasks.get(tx, value.text)
    if found is not None:
        return found
    known = [one.task_key for one in tasks.listed(tx, [], 2**62, _TASKS_OFFERED)]
    values = {"at": value.at + 1, "given": name_literal(value.text), "offers": offered(near(value.text, known))}
    return Refusal("query.task_unknown", "75", values)


def project_of(tx: Tx, value: Value) -> tasks.ProjectRow | Refusal:
    """The project with a slug."""
    found = tasks.project(tx, value.text)
    if found is not None:
        return found
    known = [one.slug for one in tasks.projects(tx)]
    values = {"at": value.at + 1, "given": name_literal(value.text), "offers": offered(near(value.text, known))}
    return Refusal("query.project_unknown", "75", values)


def moment_us(value: str) -> int:
    """A day, or a time on it, in µs: in the machine's own zone, as pages show times, unless it ends in `Z`."""
    return int(datetime.fromisoformat(value).astimezone().timestamp()) * _SECOND
