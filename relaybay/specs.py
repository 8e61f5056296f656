"""The one reader of `specs/`. At run time it gives answers and limits; tests and docs read the other tables too.

Every table is read once, checked for shape, and handed out as frozen values. A malformed table is a `SpecError`
at start, never a surprise later.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from relaybay.domain import StepKind
from relaybay.errors import SpecError


@lru_cache(maxsize=1)
def specs_folder() -> Path:
    """The folder of the tables: inside the installed package, else beside it in the source tree."""
    here = Path(__file__).resolve().parent
    for folder in (here / "_specs", here.parent / "specs"):
        if (folder / "limits.toml").is_file():
            return folder
    raise SpecError("specs/ is missing from this installation")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SpecError(f"{path.name}: {error}") from error


@dataclass(frozen=True, slots=True)
class AnswerSpec:
    """One sentence: its id, the stable code, the spec id it speaks for, HTTP status, and the text with {values}."""

    id: str
    code: str
    spec: str
    status: int
    error: bool
    text: str


@dataclass(frozen=True, slots=True)
class Limit:
    """One bound: name with its unit last, value, the spec id or page, why it is so, and whether it may be set."""

    name: str
    value: int
    spec: str
    why: str
    settable: bool


@dataclass(frozen=True, slots=True)
class MachineRow:
    """One row of a machine: in `states` × `event`, where `when` holds, it is a move, repeat or refusal."""

    id: str
    states: tuple[str, ...]
    event: str
    when: str
    kind: StepKind
    next: str
    answer: str
    effects: tuple[str, ...]
    never_asked: bool


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """One machine's table. Rows are tried in order; the first that applies wins."""

    name: str
    page: str
    path: str
    initial: str
    states: tuple[str, ...]
    events: tuple[str, ...]
    facts: dict[str, str]
    rows: tuple[MachineRow, ...]
    impossible: tuple[str, ...]

    def rows_of(self, state: str, event: str) -> tuple[MachineRow, ...]:
        """The rows that can meet this pair, in order."""
        return tuple(r for r in self.rows if r.event == event and state in r.states)


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One row of a decision table: `when` names allowed values per input; an input not named may be any."""

    id: str
    when: dict[str, tuple[Any, ...]]
    outcome: str
    answer: str

    def meets(self, combination: dict[str, Any]) -> bool:
        """Whether the row applies to a full combination of inputs."""
        return all(combination[name] in allowed for name, allowed in self.when.items())


@dataclass(frozen=True, slots=True)
class DecisionSpec:
    """One decision table: its inputs with their finite domains, its hit policy and the function held against it."""

    name: str
    page: str
    path: str
    hit: str
    function: str
    facts: str
    inputs: dict[str, tuple[Any, ...]]
    rows: tuple[DecisionRow, ...]
    impossible: tuple[dict[str, tuple[Any, ...]], ...]

    def combinations(self) -> list[dict[str, Any]]:
        """Every combination of inputs that can arise."""
        names = list(self.inputs)
        every = (dict(zip(names, values, strict=True)) for values in product(*self.inputs.values()))
        return [c for c in every if not any(_within(c, i) for i in self.impossible)]


def _within(combination: dict[str, Any], allowed: dict[str, tuple[Any, ...]]) -> bool:
    return all(combination[name] in values for name, values in allowed.items())


@lru_cache(maxsize=1)
def answers() -> dict[str, AnswerSpec]:
    """Every sentence, by id (`specs/answers.toml` and the files of `specs/answers/`)."""
    found: dict[str, AnswerSpec] = {}
    folder = specs_folder()
    paths = [folder / "answers.toml", *sorted((folder / "answers").glob("*.toml"))]
    for path in paths:
        if not path.exists():
            continue
        for row in _read(path).get("answer", []):
            answer = AnswerSpec(
                id=row["id"],
                code=row.get("code", ""),
                spec=row.get("spec", ""),
                status=row.get("status", 200),
                error=row.get("error", row.get("status", 200) >= 400),  # noqa: PLR2004
                text=row["text"],
            )
            if answer.id in found:
                raise SpecError(f"{path.name}: answer {answer.id} stands twice")
            found[answer.id] = answer
    return found


@lru_cache(maxsize=1)
def limits() -> dict[str, Limit]:
    """Every bound, by name (`specs/limits.toml`)."""
    rows = _read(specs_folder() / "limits.toml")["limit"]
    found = {r["name"]: Limit(r["name"], r["value"], r["spec"], r["why"], r.get("settable", False)) for r in rows}
    if len(found) != len(rows):
        raise SpecError("limits.toml: a name stands twice")
    return found


def limit(name: str) -> int:
    """The value of one bound. An unknown name is a `SpecError`."""
    try:
        return limits()[name].value
    except KeyError:
        raise SpecError(f"limits.toml has no {name}") from None


def _states(row: dict[str, Any], states: tuple[str, ...]) -> tuple[str, ...]:
    given = row["state"]
    if given == "any":
        return states
    listed = (given,) if isinstance(given, str) else tuple(given)
    unknown = set(listed) - set(states)
    if unknown:
        raise SpecError(f"{row['id']}: unknown state {sorted(unknown)}")
    return listed


def _machine(path: Path) -> MachineSpec:
    data = _read(path)
    head, events, facts = data["machine"], data["events"], data.get("facts", {})
    states = tuple(head["states"])
    rows = []
    for row in data["row"]:
        if row["event"] not in events:
            raise SpecError(f"{path.name} {row['id']}: unknown event {row['event']}")
        kind = row["kind"]
        if kind not in ("move", "repeat", "refuse") or (kind == "move") != ("next" in row):
            raise SpecError(f"{path.name} {row['id']}: a move has a next state, nothing else has one")
        rows.append(
            MachineRow(
                id=row["id"],
                states=_states(row, states),
                event=row["event"],
                when=row.get("when", ""),
                kind=kind,
                next=row.get("next", ""),
                answer=row.get("answer", ""),
                effects=tuple(row.get("effects", ())),
                never_asked=row.get("never_asked", False),
            )
        )
    return MachineSpec(
        name=head["name"],
        page=str(head["page"]),
        path=head["class"],
        initial=head["initial"],
        states=states,
        events=tuple(events),
        facts=dict(facts),
        rows=tuple(rows),
        impossible=tuple(head.get("impossible", ())),
    )


def _listed(when: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {name: tuple(v) if isinstance(v, list) else (v,) for name, v in when.items()}


def _decision(path: Path) -> DecisionSpec:
    data = _read(path)
    head = data["table"]
    inputs = {name: tuple(domain) for name, domain in data["inputs"].items()}
    rows = tuple(
        DecisionRow(r["id"], _listed(r.get("when", {})), r["outcome"], r.get("answer", "")) for r in data["row"]
    )
    impossible = tuple(_listed(i["when"]) for i in data.get("impossible", []))
    for allowed in (*(r.when for r in rows), *impossible):
        for name, values in allowed.items():
            if name not in inputs or set(values) - set(inputs[name]):
                raise SpecError(f"{path.name}: {name} = {values} is outside its domain")
    if head["hit"] not in ("unique", "first"):
        raise SpecError(f"{path.name}: hit is unique or first")
    return DecisionSpec(
        head["name"],
        str(head["page"]),
        str(path.name),
        head["hit"],
        head["function"],
        head["facts"],
        inputs,
        rows,
        impossible,
    )


@lru_cache(maxsize=1)
def machines() -> dict[str, MachineSpec]:
    """Every machine's table, by name (`specs/machines/*.toml`). For tests and docs."""
    return {m.name: m for m in map(_machine, sorted((specs_folder() / "machines").glob("*.toml")))}


@lru_cache(maxsize=1)
def decisions() -> dict[str, DecisionSpec]:
    """Every decision table, by name (`specs/decisions/*.toml`). For tests and docs."""
    return {d.name: d for d in map(_decision, sorted((specs_folder() / "decisions").glob("*.toml")))}
