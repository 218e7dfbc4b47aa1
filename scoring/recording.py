"""Scoring one exchange without ever raising: what the `assert_scored` fixture does, apart from pytest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from math import isnan, nan
from typing import Protocol, TypeVar, cast, get_args

from needlework.core.record import Record
from needlework.scoring.judges.judges import (
    JUDGE,
    JudgePanel,
    JudgeUnreachableError,
    chosen,
    judge_scorer,
    recalling,
    ruling_key,
)
from needlework.scoring.judges.replies import JudgeReplyError
from needlework.scoring.registry import SCORERS, label, scorer_named, scorer_of, version_of
from needlework.scoring.scorers.documents import ABSTAIN, DOCUMENTS
from needlework.scoring.scores import CUT_OFF, Reference, Score, Scorer, Verdict
from needlework.scoring.verdicts import contradicts

DEFAULT_SCORER = "match"
RULED = "ruling"  # in a score's details: the `ruling_key` of what judges said

_LONGEST = 300  # characters of an error's message
_FIELDS = tuple(field.name for field in fields(Reference))
_VERDICTS = get_args(Verdict)

Kind = TypeVar("Kind", str, float)

ScorerLike = str | Scorer | Callable[[str, Reference], Score | float]


class Answered(Protocol):
    """What scoring needs of an exchange with a model."""

    @property
    def answer(self) -> str:
        """The final answer's text, without reasoning."""

    @property
    def reference(self) -> object:
        """A `Reference`, a mapping with its fields, or an object with its attributes."""

    @property
    def error_kind(self) -> str | None:
        """What went wrong with the request, if anything did."""

    @property
    def finish_reason(self) -> str | None:
        """Why the model stopped."""

    @property
    def scorer(self) -> str | None:
        """The name of the scorer that the suite chose, if it chose one."""

    @property
    def judging(self) -> JudgePanel | None:
        """The run's judges and when they are asked; `None` where there are none."""

    @property
    def asked_again(self) -> Sequence[Answered]:
        """Further answers to the same prompt, to be scored alike."""


@dataclass(frozen=True, slots=True)
class ScoringResult:
    """What came of scoring: a score, or the kind and message of an error, and who judged.

    `harness`: the scorer or the reference is at fault; `judge`: the judge's reply could not be read. `again`: what came
    of scoring the further answers to the same prompt, in their order. `known`: an earlier session scored it.
    """

    score: Score | None
    scorer: str = ""
    version: int = 0
    error_kind: str | None = None
    message: str = ""
    again: tuple[ScoringResult, ...] = ()
    known: bool = False

    @property
    def for_asserting(self) -> Score:
        """The score, or one whose value is NaN: it passes no comparison, and says why."""
        if self.score is not None and self.score.verdict == "unclear":
            return replace(self.score, value=nan)
        return self.score or Score(nan, "empty", why=self.message or "no score", scorer=self.scorer)


def score_all(exchange: Answered, scorer: ScorerLike | None = None) -> ScoringResult:
    """What `score_exchange` gives, with what comes of the further answers to the same prompt."""
    again = tuple(score_exchange(each, scorer) for each in exchange.asked_again)
    return replace(score_exchange(exchange, scorer), again=again)


def score_exchange(exchange: Answered, scorer: ScorerLike | None = None) -> ScoringResult:
    """Score an exchange by the given scorer, else the suite's (`exchange.scorer`), else `match`. Never raises.

    Where the reference says that the answer is absent, `abstain` takes the place of a suite's scorer that does not know
    what is right there.
    """
    if exchange.error_kind:
        return ScoringResult(None, error_kind=exchange.error_kind, message=f"no score: error {exchange.error_kind}")
    wanted = scorer if scorer is not None else _suites_scorer(exchange)
    judging: JudgePanel | None = getattr(exchange, "judging", None)
    name, version = (wanted, 1) if isinstance(wanted, str) else (label(wanted), version_of(wanted))
    if judging is None and isinstance(wanted, str) and (known := _scored_before(exchange, wanted)):
        return known
    try:
        answer, reference = without_escapes(exchange.answer), as_reference(exchange.reference)
        used, by_judge = _scorer(wanted, judging, of_suite=scorer is None, absent=reference.absent)
        name, version = used.name, used.version
        key = ruling_key(judging, name, answer) if judging and by_judge else ""
        score = _ruled_before(exchange, key) or used.judge(answer, reference)
        if used.whole and exchange.finish_reason in CUT_OFF and score.verdict == "partial":
            score = replace(score, verdict="wrong", why=f"cut off; {score.why}")  # and so censored
        if score.verdict == "unclear" and not by_judge and judging and judging.strategy != "rule":
            key = ruling_key(judging, name, answer)
            score = _ruled_before(exchange, key) or _by_judge(exchange, judging, score)
        if key and score.verdict not in ("unclear", "empty"):
            score = replace(score, details={**score.details, RULED: key})
        return ScoringResult(replace(_checked(score), scorer=f"{name} v{version}"), name, version)
    except JudgeReplyError as error:
        return ScoringResult(None, name, version, "judge", f"the judge's replies cannot be read: {error}"[:_LONGEST])
    except JudgeUnreachableError as error:
        return ScoringResult(None, name, version, "judge", f"the judge gave no reply: {error}"[:_LONGEST])
    except Exception as error:  # noqa: BLE001 - a user's scorer may raise anything; a bad cell never ends the run
        return ScoringResult(None, name, version, "harness", _one_line(f"no score: {name}", error))


def _scorer(wanted: ScorerLike, judging: JudgePanel | None, *, of_suite: bool, absent: bool) -> tuple[Scorer, bool]:
    """The scorer to use, and whether it asks judges. One that a test names itself is used as it is."""
    if not isinstance(wanted, str):
        return as_scorer(wanted), False
    if judging is None:
        if wanted.startswith(JUDGE):
            raise ValueError(f"{wanted} needs a judge: give --judge SPEC")
        return as_scorer(wanted), False
    choice = chosen(wanted, judging.strategy if of_suite else "auto", judging.prompt, absent=absent)
    if choice.style is None:
        return as_scorer(cast(str, choice.rule)), False
    judge = judge_scorer(judging, choice.style)
    return (judge if choice.rule is None else recalling(as_scorer(choice.rule), judge)), True


def _by_judge(exchange: Answered, judging: JudgePanel, unclear: Score) -> Score:
    """What the run's judges say of an answer that the rules cannot tell."""
    try:
        ruling = judge_scorer(judging, DOCUMENTS.name).judge(exchange.answer, as_reference(exchange.reference))
    except (JudgeReplyError, JudgeUnreachableError) as error:
        return replace(unclear, why=f"{unclear.why}; {_one_line('no ruling: judge', error)}")
    return replace(ruling, why=f"{ruling.why} (by rule: {unclear.why})", details={**ruling.details, "rule": "unclear"})


def _scored_before(exchange: Answered, name: str) -> ScoringResult | None:
    """What the same version of a scorer of ours made of this answer in an earlier session, if the exchange has it.

    Scorers of the user's own are asked again: they may have changed under their version.
    """
    before, ours = _before(exchange), SCORERS.get(name)
    if before is None or ours is None or (before.scorer, before.scorer_version) != (ours.name, ours.version):
        return None
    if RULED in before.details.score:
        return None
    return ScoringResult(_score_of(before), ours.name, ours.version, known=True)


def _ruled_before(exchange: Answered, key: str) -> Score | None:
    """The score that the same judges gave this answer in an earlier session, where the exchange has it."""
    before = _before(exchange)
    return _score_of(before) if key and before and before.details.score.get(RULED) == key else None


def _before(exchange: Answered) -> Record | None:
    """The record with the score that an answer had in an earlier session."""
    before: Record | None = getattr(exchange, "scored_before", None)
    return before


def _score_of(before: Record) -> Score:
    """That score. It is settled: an answer that was cut off and could still have become right has none."""
    return Score(
        before.score or 0.0,
        cast("Verdict", before.outcome),
        answer=before.read_as or before.answer,
        why=before.why,
        details=before.details.score,
        settled=True,
        scorer=f"{before.scorer} v{before.scorer_version}",
    )


def _suites_scorer(exchange: Answered) -> str:
    reference = exchange.reference
    absent = reference.get("absent") if isinstance(reference, Mapping) else getattr(reference, "absent", False)
    name = exchange.scorer or DEFAULT_SCORER
    return ABSTAIN.name if absent is True and not knows_absence(name) else name


def knows_absence(scorer: str) -> bool:
    """Whether a scorer of that name knows what is right where the answer is absent."""
    documents = (DOCUMENTS.name, f"{JUDGE}{DOCUMENTS.name}")
    return scorer in (ABSTAIN.name, *documents, "+".join(documents))


def as_scorer(scorer: ScorerLike) -> Scorer:
    """Turn a name or any `(answer, reference) -> Score | float` into a scorer."""
    if isinstance(scorer, Scorer):
        return scorer
    if isinstance(scorer, str):
        return scorer_named(scorer)
    if not callable(scorer):
        raise TypeError(f"a scorer is a name, a Scorer or a callable, not {type(scorer).__name__}")
    return scorer_of(scorer)


def as_reference(reference: object) -> Reference:
    """Turn a mapping or any object with a `Reference`'s fields into one; a bare string is the one right answer."""
    if isinstance(reference, Reference):
        return reference
    if isinstance(reference, str):
        return Reference((reference,))
    if isinstance(reference, Mapping):
        values = {name: reference[name] for name in _FIELDS if name in reference}
    else:
        values = {name: getattr(reference, name) for name in _FIELDS if hasattr(reference, name)}
    if not values:
        raise ValueError(f"a reference needs answers or parts, this {type(reference).__name__} has none")
    plural = {name: _texts(values[name]) for name in ("parts", "distractors", "labels", "given") if name in values}
    single = {name: str(values[name]) for name in ("statement", "keyword", "question", "language") if name in values}
    tables = {"places": _table(values.get("places"), float), "kinds": _table(values.get("kinds"), str)}
    answers, absent = _texts(values.get("answers", ())), values.get("absent") is True
    return Reference(answers, **plural, **single, **tables, absent=absent)  # type: ignore[arg-type]  # names come from Reference's own fields


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(text) for text in value) if isinstance(value, Sequence) else ()


def _table(value: object, kind: type[Kind]) -> dict[str, Kind]:
    """The entries of a mapping whose values are of one kind; whole numbers count as `float`."""
    if value is None or not isinstance(value, Mapping):
        return {}
    kinds = (int, float) if kind is float else (kind,)
    return {str(name): kind(entry) for name, entry in value.items() if isinstance(entry, kinds)}


def _checked(score: object) -> Score:
    if not isinstance(score, Score):
        raise TypeError(f"a scorer returns a Score, not {type(score).__name__}")
    if isnan(score.value) or not 0 <= score.value <= 1:
        raise ValueError(f"a score is 0..1, not {score.value}")
    if score.verdict not in _VERDICTS:
        raise ValueError(f"a verdict is one of {', '.join(_VERDICTS)}, not {score.verdict!r}")
    if contradicts(score.value, score.verdict):
        raise ValueError(
            f"a score of {score.value:g} is not {score.verdict!r}: 1 is found, 0 neither found nor partial"
        )
    if score.details != {}:
        json.dumps(dict(score.details), allow_nan=False)  # raises for what no record can hold
    return score


def _one_line(prefix: str, error: Exception) -> str:
    return " ".join(f"{prefix}: {type(error).__name__}: {error}".split())[:_LONGEST]


# ECMA-48: control sequences (colours, cursor), strings (titles, links) up to their end, and two-character escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)


def without_escapes(text: str) -> str:
    """The text as a terminal would show it: without the sequences that only control it."""
    return text if text.isascii() and "\x1b" not in text else _ESCAPES.sub("", text)
