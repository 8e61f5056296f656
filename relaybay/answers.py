"""Answer id + values → code, text, status. The only place that words anything (tool descriptions, pages and help
apart). The sentences themselves stand in `specs/answers.toml`; here values are put into them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.domain import Refusal
from relaybay.specs import answers


@dataclass(frozen=True, slots=True)
class Answer:
    """A worded answer: id, stable code, the spec id it speaks for, HTTP status, whether it is a refusal, text."""

    id: str
    code: str
    spec_id: str
    status: int
    error: bool
    text: str


def word(answer_id: str, /, spec_id: str = "", **values: Any) -> Answer:
    """Words one answer. `spec_id` overrides the table's own (several rows may share a sentence).

    A missing value or an unknown id is a programmer's error and raises KeyError.
    """
    spec = answers()[answer_id]
    return Answer(
        id=spec.id,
        code=spec.code,
        spec_id=spec_id or spec.spec,
        status=spec.status,
        error=spec.error,
        text=spec.text.format(**values),
    )


def word_refusal(refusal: Refusal) -> Answer:
    """Words a refusal with the row that refused."""
    return word(refusal.answer, spec_id=refusal.spec_id, **refusal.values)


def with_code(answer: Answer) -> str:
    """The text as a model gets it of an error: the sentence, then `[code SPEC-ID]` (page 75)."""
    return f"{answer.text} [{answer.code} {answer.spec_id}]"
