"""The tool itself: what it changes, that a change is another program, and what it says of a run."""

from __future__ import annotations

import ast
import dis
from dataclasses import replace
from pathlib import Path
from types import CodeType

import pytest

from relaybay.machines.delivery import Delivery
from tests.explore.plants import planted
from tests.mutation import about, argued, children, mutants, put_in
from tests.mutation.__main__ import Result, as_json, survivors_of, told
from tests.mutation.edits import Edit, Mutant
from tests.mutation.imports import reaches_the_core
from tests.mutation.operators import MARK
from tests.mutation.running import Verdict
from tests.mutation.same import other_answers
from tests.mutation.session import TOO_LONG

FILE = "relaybay/rules/stop.py"


def words(source: str, file: str = "relaybay/rules/x.py") -> list[str]:
    finder = mutants._Finder(file, ast.parse(source), source.splitlines())
    finder.children(finder.tree, mutants._Around())
    return [mutant.words for mutant in finder.found]


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = a < b", ["< → <="]),
        ("x = a == b is not c", ["== → !=", "is not → is"]),
        ("x = a and b and c", ["and → or"]),
        ("x = not a", ["not dropped"]),
        ("x = 5", ["5 → 6", "5 → 4"]),
        ("x = [0, 1]", ["0 → 1", "1 → 0"]),
        ("x = True", ["True → False"]),
        ("x = 'sent'", [f"'sent' → 'sent{MARK}'"]),
        ("x = f'S-{n}: {m}'", [f"'S-' → 'S-{MARK}'"]),
        ("if a.b:\n    pass", ["a.b negated"]),
        ("x = [b for b in c if d]", ["d negated"]),
        ("x = 'refuse'", ["'refuse' → 'repeat'"]),
        ("def f(x: Literal['a'] = 'b') -> Literal['c']:\n    '''Says it.'''\n", [f"'b' → 'b{MARK}'"]),
        ("assert a == b and 'c', 'never'", ["== → !="]),
        ("log.info('x')", []),
        ("raise ValueError('x')", []),
        ("__all__ = ['x']", []),
        ("Kind = Literal['a', 'b']", []),
        ("class C(Protocol):\n    x: int = 1", []),
        ("if TYPE_CHECKING:\n    x = 1", []),
    ],
)
def test_what_is_changed(source: str, changes: list[str]) -> None:
    assert words(source) == changes


def test_what_is_changed_of_a_machine() -> None:
    source = (
        "class M(Machine):\n"
        "    FACTS = ('a', 'b')\n"
        "    one = State(initial=True)\n"
        "    two = State()\n"
        "    go = one.to(two, cond='a and not b')\n"
        "    ROWS = {('one', 'go', 'a and not b'): Row('X-1', 'move')}\n"
    )
    found = words(source, "relaybay/machines/m.py")
    for change in (
        "target: two → one",
        "cond 'a and not b' negated",
        "cond 'a and not b' left out",
        "guard: a → not a",
        "guard: not b left out",
        "row ('one', 'go', 'a and not b') left out",
        "guard of row ('one', 'go', 'a and not b') left out",
        "'move' → 'repeat'",
    ):
        assert change in found, (change, found)


def test_what_a_changed_statement_binds() -> None:
    source = "A, B = f(1), g(2)\nC: int = 3\ndef d(e: int = 4) -> int:\n    return 5\n"
    finder = mutants._Finder("relaybay/rules/x.py", ast.parse(source), source.splitlines())
    finder.children(finder.tree, mutants._Around())
    assert {one.words[0]: one.names for one in finder.found} == {
        "1": ("A", "B"), "2": ("A", "B"), "3": ("C",), "4": ("d",), "5": ("d",),
    }  # fmt: skip


def test_every_file_is_looked_at_and_no_two_mutants_have_one_name() -> None:
    all_ = [mutant for file in mutants.files() for mutant in mutants.of_file(file)]
    assert len({mutant.key for mutant in all_}) == len(all_)
    without = set(mutants.files()) - {m.file for m in all_}
    assert all(len(mutants.tree_of(file).body) <= 1 for file in without), "files with a docstring alone have none"


def test_the_tests_about_a_file_are_there() -> None:
    assert about.unknown() == []
    assert "tests/unit/test_linking_service.py" in about.modules("relaybay/service/identity.py")
    assert about.modules("relaybay/rules/identity.py") == frozenset()


def test_each_mutant_is_another_program(tmp_path: Path) -> None:
    unchanged = compile(mutants.tree_of(FILE), "x", "exec")
    same: list[str] = []

    def done(at: int, ended: children.Ended) -> None:
        if not ended.answer:
            same.append(str(mutants.of_file(FILE)[at]))

    def differs(at: int) -> bool:
        return _listing(mutants.compiled(mutants.of_file(FILE)[at])) != _listing(unchanged)

    children.run(range(0, len(mutants.of_file(FILE)), 4), differs, done, jobs=1, folder=tmp_path)
    assert not same


def _listing(code: CodeType) -> str:
    return "".join(dis.Bytecode(code).dis() + "".join(_listing(c) for c in code.co_consts if isinstance(c, CodeType)))


def mutant(text: str, file: str = FILE) -> Mutant:
    return next(m for m in mutants.of_file(file) if text in str(m))


def test_a_changed_body_is_put_in_and_the_parent_keeps_its_own(tmp_path: Path) -> None:
    from relaybay.rules.stop import StopItemFacts, judge

    facts = StopItemFacts("message", "sent", 0, fresh=False, passive=False)
    answers = []

    def changed(one: Mutant) -> str:
        put_in.body(one, put_in.Loaded())
        return judge(facts).outcome

    one = mutant("'eligible' → 'eligible~x'    return Verdict(\"DLV-1\"")
    children.run([one], changed, lambda _, ended: answers.append(ended.answer), jobs=1, folder=tmp_path)
    assert (answers, judge(facts).outcome) == (["eligible~x"], "eligible")


def test_a_changed_machine_is_put_in_and_the_pairs_are_told(tmp_path: Path) -> None:
    answers = []
    one = mutant("'DLV-2' → 'DLV-2~x'", "relaybay/machines/delivery.py")
    children.run(
        [one],
        lambda m: put_in.machine(m, put_in.Loaded()),
        lambda _, ended: answers.append(ended.answer),
        jobs=1,
        folder=tmp_path,
    )
    assert answers == [frozenset({("Delivery", "sent", "acknowledge")})]


def test_a_machine_that_says_it_in_other_words_is_the_same_and_no_other_is() -> None:
    last = ("sent", "acknowledge", "not link_proven and linked_itself")
    for guard, changed in (
        ("", set()),
        ("linked_itself", set()),
        ("not link_proven and not linked_itself", {last[:2]}),
    ):
        other = planted(Delivery, last, guard, Delivery.ROWS[last])
        assert other_answers(Delivery, other, [last[:2]]) == {("Delivery", *pair) for pair in changed}, guard


def test_a_child_that_never_ends_is_timed_out_and_one_that_fails_is_the_tools_own_error(tmp_path: Path) -> None:
    ended = []

    def forever(_: str) -> None:
        children.bound(0.0, 0.0)
        while True:
            pass

    real = children.CPU_SECONDS_MIN
    children.CPU_SECONDS_MIN = 0.2
    try:
        children.run(["x"], forever, lambda _, e: ended.append(e.timed_out), jobs=1, folder=tmp_path)
    finally:
        children.CPU_SECONDS_MIN = real
    assert ended == [True]
    with pytest.raises(children.ChildFailedError, match="ZeroDivisionError"):
        children.run([0], lambda n: 1 // n, lambda *_: None, jobs=1, folder=tmp_path)


def verdicts(*hows: str) -> list[tuple[Mutant, Verdict]]:
    return [(mutants.of_file(FILE)[at], Verdict(how, ran=("tests/x.py::t",))) for at, how in enumerate(hows)]


def test_survivors_need_an_argument_and_arguments_a_survivor() -> None:
    found = verdicts("failed", "survived", "timed out", "survived")
    known = [argued.Argued(found[at][0].key, "because") for at in (0, 1)]
    gone = argued.Argued((FILE, "judge", "no such line", "== → !=", 0), "because")
    unargued, stale = argued.compared(found, [*known, gone], whole=True)
    assert unargued == [found[3]]
    assert [line.partition(":")[0] for line in stale] == ["caught now by failed", "no mutant any more"]
    assert argued.compared(found, [gone], whole=False)[1] == [], "a part of the files says nothing of the others"


def test_a_later_run_takes_up_what_an_earlier_one_did_not_catch_or_did_not_have(tmp_path: Path) -> None:
    found = verdicts("failed", "survived", "timed out", "no test")
    (tmp_path / "earlier.json").write_text(as_json(Result(found)), encoding="utf-8")
    chosen = [one for one, _ in verdicts(*["failed"] * 5)]
    assert survivors_of(tmp_path / "earlier.json", chosen) == [chosen[at] for at in (1, 3, 4)]


def test_an_entry_without_a_reason_or_twice_is_an_error(tmp_path: Path) -> None:
    entry = '[[survivor]]\nfile = "f"\ntext = "t"\nwords = "w"\nwhy = "{}"\n'
    file = tmp_path / "a.toml"
    for text in (entry.format(" "), entry.format("a") * 2):
        file.write_text(text)
        with pytest.raises(AssertionError):
            argued.read(file)
    assert {one.key[0] for one in argued.read()} <= set(mutants.files())


def test_the_run_fails_below_the_share_and_with_anything_unexplained() -> None:
    good = Result(verdicts(*["failed"] * 19, "survived"))
    assert good.green
    assert "19/20 mutants caught (95.0 %), 1 survivors argued, 0 not" in told(good)[-1]
    assert not Result(verdicts(*["failed"] * 18, "survived", "survived")).green
    for wrong in ({"unargued": verdicts("survived")}, {"stale": ["x"]}, {"broken": ["x"]}):
        assert not replace(good, **wrong).green
    assert any(
        "survived: relaybay/rules/stop.py:" in line for line in told(replace(good, unargued=verdicts("survived")))
    )


def test_only_tests_that_can_come_to_the_core_are_looked_at() -> None:
    assert reaches_the_core("tests/unit/test_delivery.py")
    assert not reaches_the_core("tests/unit/test_settings.py")


def test_what_is_left_out_for_its_length_is_still_there() -> None:
    for name in TOO_LONG:
        file, _, test = name.partition("::")
        assert f"def {test}(" in (mutants.ROOT / file).read_text()


def test_an_edit_changes_a_tree_in_one_place() -> None:
    tree = ast.parse("x = [1, 2]")
    found = next(node for node in ast.walk(tree) if isinstance(node, ast.List))
    Edit(found, "elts", 1, ast.Constant(3)).apply()
    assert ast.unparse(tree) == "x = [1, 3]"
