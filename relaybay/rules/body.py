"""Whether a body is taken: SEND-9, 15, 10 and 11, in this order (page 30; comments are held to the same, page 40)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relaybay.domain import Refusal, Verdict
from relaybay.rules.text import blank, check_text, doubled, literal, normalise, units


@dataclass(frozen=True, slots=True)
class BodyFacts:
    """What the table asks of a body."""

    blank: bool
    no_text: bool
    too_long: bool
    too_long_quoted: bool


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """`chars_max` code points after normalisation; `answer_units_max` UTF-16 units of one hook answer;
    `frame_units_max` of it for the longest frame around an empty body (`frames.longest_frame_units()`).
    """

    chars_max: int
    answer_units_max: int
    frame_units_max: int

    @property
    def quoted_units_max(self) -> int:
        """What is left for the body's literal."""
        return self.answer_units_max - self.frame_units_max


@dataclass(frozen=True, slots=True)
class JudgedBody:
    """The body as it is to be stored, and the refusal if it is not to be stored at all."""

    text: str
    verdict: Verdict
    refusal: Refusal | None


def decide(facts: BodyFacts) -> Verdict:
    """Table `body`: the first check that fails speaks."""
    if facts.blank:
        return Verdict("SEND-9", "refuse", "body.blank")
    if facts.no_text:
        return Verdict("SEND-15", "refuse", "body.not_text")
    if facts.too_long:
        return Verdict("SEND-10", "refuse", "body.too_long")
    if facts.too_long_quoted:
        return Verdict("SEND-11", "refuse", "body.too_long_quoted")
    return Verdict("TEXT-6", "take")


def _values(verdict: Verdict, text: str, limits: BodyLimits) -> dict[str, Any]:
    if verdict.spec_id == "SEND-10":
        return {"chars": len(text), "chars_max": limits.chars_max}
    if verdict.spec_id == "SEND-11":
        costs = {"short": 0, "astral": 0, "escaped": 0} | doubled(text)
        return {"units": units(literal(text)), "units_max": limits.quoted_units_max} | costs
    return {}


def judge(body: str, limits: BodyLimits) -> JudgedBody:
    """Normalises a body and checks it (TEXT-1 first: lengths are those of the normalised text).

    The refusal's values are what its sentence needs: lengths, limits, and how many characters of each costly kind.
    """
    text = normalise(body)
    too_long = len(text) > limits.chars_max
    facts = BodyFacts(
        blank=blank(text),
        no_text=check_text(text) is not None,
        too_long=too_long,
        # A body that is too long in any case is not quoted first: it may be a mebibyte.
        too_long_quoted=not too_long and units(literal(text)) > limits.quoted_units_max,
    )
    verdict = decide(facts)
    if not verdict.refused:
        return JudgedBody(text, verdict, None)
    return JudgedBody(text, verdict, Refusal(verdict.answer, verdict.spec_id, _values(verdict, text, limits)))
