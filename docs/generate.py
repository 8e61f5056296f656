"""Draws `docs/machines.md` and the pages of `docs/reference/` from `specs/`.

`python -m docs.generate` writes them; with `--check` it only compares.

A page holds nothing that its table does not, so nobody edits one: change the table, run `make docs`, and read the
difference. Exit code 1 when `--check` finds a page that differs, is missing or has no table any more.
"""

from __future__ import annotations

import difflib
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

from relaybay import specs

FOLDER = Path(__file__).resolve().parent
REFERENCE = "reference"
NOTE = "<!-- Drawn from {source} by `make docs`; edit the table, not this page. -->"


def cell(text: str) -> str:
    """A text inside a table's cell: a bar would end the cell, and a tag would be taken for one."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(map(cell, row)) + " |" for row in rows),
        "",
    ]


def page(title: str, source: str, lines: Sequence[str]) -> str:
    """A whole page: the note where it comes from, its title, its lines."""
    return "\n".join([NOTE.format(source=source), "", f"# {title}", "", *lines]).rstrip() + "\n"


def diagram(machine: specs.MachineSpec) -> list[str]:
    """The moves as a Mermaid diagram: one arrow per pair of states, with every event that leads along it."""
    arrows: dict[tuple[str, str], dict[str, None]] = {}
    for row in machine.rows:
        if row.kind == "move":
            for state in row.states:
                arrows.setdefault((state, row.next), {})[row.event] = None
    return [
        "```mermaid",
        "stateDiagram-v2",
        f"  [*] --> {machine.initial}",
        *(f"  {start} --> {end}: {', '.join(events)}" for (start, end), events in arrows.items()),
        "```",
        "",
    ]


def machines() -> str:
    lines = [
        "Rows are tried in order and the first that applies wins. A *move* changes the state, a *repeat* is allowed",
        "and changes nothing, a *refusal* is not allowed and changes nothing.",
        "",
    ]
    for machine in specs.machines().values():
        lines += [f"## {machine.name}", "", f"Page {machine.page}, class `{machine.path}`.", "", *diagram(machine)]
        if machine.facts:
            lines += table(["Fact", "Meaning"], [[f"`{name}`", text] for name, text in machine.facts.items()])
        rows = []
        for row in machine.rows:
            states = "any" if row.states == machine.states else ", ".join(row.states)
            what = f"→ {row.next}" if row.kind == "move" else row.kind
            rows.append([row.id, states, row.event, row.when, what, row.answer, ", ".join(row.effects)])
        lines += table(["id", "State", "Event", "When", "Then", "Answer", "Effects"], rows)
    return page("State machines", "specs/machines/", lines)


def _value(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def decisions() -> str:
    lines = [
        "*First*: the first row that applies wins. *Unique*: every combination of inputs meets exactly one row. An",
        "input that a row does not name may have any value.",
        "",
    ]
    for decision in specs.decisions().values():
        lines += [f"## {decision.name}", ""]
        lines += [f"Page {decision.page}, hit policy *{decision.hit}*, function `{decision.function}`.", ""]
        inputs = [[f"`{name}`", ", ".join(map(_value, domain))] for name, domain in decision.inputs.items()]
        lines += table(["Input", "Values"], inputs)
        rows = []
        for row in decision.rows:
            when = "; ".join(f"{name} = {' or '.join(map(_value, values))}" for name, values in row.when.items())
            rows.append([row.id, when or "always", row.outcome, row.answer])
        lines += table(["id", "When", "Outcome", "Answer"], rows)
    return page("Decision tables", "specs/decisions/", lines)


def answers() -> str:
    rows = [
        [f"`{a.id}`", f"`{a.code}`" if a.code else "", a.spec, str(a.status) if a.error else "", a.text]
        for a in sorted(specs.answers().values(), key=lambda answer: answer.id)
    ]
    lines = ["Values stand in braces. A status is given where the sentence refuses something.", ""]
    lines += table(["Answer", "Code", "Rule", "Status", "Text"], rows)
    return page("Answers", "specs/answers/", lines)


def limits() -> str:
    rows = [
        [f"`{bound.name}`", str(bound.value), "yes" if bound.settable else "", bound.spec, bound.why]
        for bound in specs.limits().values()
    ]
    return page("Limits", "specs/limits.toml", table(["Limit", "Value", "Settable", "Rule", "Why"], rows))


def invariants() -> str:
    data = tomllib.loads((specs.specs_folder() / "invariants.toml").read_text(encoding="utf-8"))
    rows = [[row["id"], row["text"], row["where"], row.get("later_why", "")] for row in data["invariant"]]
    lines = table(["id", "Promise", "Looked at over", "Not yet, because"], rows)
    return page("Invariants", "specs/invariants.toml", lines)


def surfaces() -> str:
    data = tomllib.loads((specs.specs_folder() / "surfaces.toml").read_text(encoding="utf-8"))

    def calls(entry: dict[str, str]) -> str:
        return f"`{entry['use_case']}`" if "use_case" in entry else entry["how"]

    lines = ["Each surface translates and calls one use case; none decides anything.", ""]
    lines += ["## Hook events", ""]
    hooks = [[f"`{h['path']}`", ", ".join(h["events"]) or "spooled ones of any kind", calls(h)] for h in data["hook"]]
    lines += table(["Endpoint", "Events", "Use case"], hooks)
    lines += ["## Tools", "", *table(["Tool", "Use case"], [[f"`{t['name']}`", calls(t)] for t in data["tool"]])]
    commands = [[f"`relaybay {c['name']}`", calls(c)] for c in data["command"]]
    lines += ["## Commands", "", *table(["Command", "Use case, or what it acts on"], commands)]
    routes = [[r["method"], f"`{r['path']}`", calls(r)] for r in data["route"]]
    lines += ["## HTTP", "", *table(["Method", "Path", "Use case, or what it acts on"], routes)]
    return page("Surfaces", "specs/surfaces.toml", lines)


PAGES: dict[str, Callable[[], str]] = {
    "machines.md": machines,
    "reference/answers.md": answers,
    "reference/decisions.md": decisions,
    "reference/invariants.md": invariants,
    "reference/limits.md": limits,
    "reference/surfaces.md": surfaces,
}


def differences(folder: Path = FOLDER) -> list[str]:
    """The first lines of each difference between the pages and the tables; empty when they agree.

    Of `docs/` itself only the pages named in `PAGES` are drawn; in its `reference/` there is nothing else.
    """
    beside = (path.relative_to(folder).as_posix() for path in sorted((folder / REFERENCE).glob("*")))
    found = [f"{name}: drawn from no table" for name in beside if name not in PAGES]
    for name, draw in PAGES.items():
        path = folder / name
        now = path.read_text(encoding="utf-8") if path.is_file() else ""
        changed = list(difflib.unified_diff(now.splitlines(), draw().splitlines(), name, "the table", n=0, lineterm=""))
        found += changed[:12]
    return found


def main(arguments: Sequence[str]) -> int:
    if list(arguments) == ["--check"]:
        found = differences()
        if found:
            print("\n".join([*found, "docs/ differs from specs/; run: make docs"]), file=sys.stderr)
        return 1 if found else 0
    if arguments:
        print("usage: python -m docs.generate [--check]", file=sys.stderr)
        return 2
    (FOLDER / REFERENCE).mkdir(exist_ok=True)
    for name, draw in PAGES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
