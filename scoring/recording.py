"""Scoring one exchange without ever raising: what the `assert_scored` fixture does, apart from pytest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan, nan
from typing import Any, Protocol, cast, get_args

from needlework.core.record import Record
from needlework.core.settings import Judging
from needlework.scoring.judges.judges import JUDGE, JudgeUnreachableError, judge_scorer, ruling_key, scorer_of_run
from needlework.scoring.judges.replies import JudgeReplyError
from needlework.scoring.registry import SCORERS, label, scorer_named, scorer_of, version_of
from needlework.scoring.scorers.documents import DOCUMENTS, abstain_scorer
from needlework.scoring.scores import CUT_OFF, Reference, Score, Scorer, Verdict, contradicts

DEFAULT_SCORER = "match"
RULED = "ruling"  # in a score's details: the `ruling_key` of what judges said

_LONGEST = 300  # characters of an error's message
_DEFAULTS = asdict(Reference(()))
_VERDICTS = get_args(Verdict)

ScorerLike = str | Scorer | Callable[[str, Reference], Score | float]


class Answered(Protocol):
    """The parts of an exchange with a model that scoring reads."""

    @property
    def answer(self) -> str: ...  # without reasoning

    @property
    def reference(self) -> object: ...  # a `Reference`, a mapping with its fields, or an object with its attributes

    @property
    def error_kind(self) -> str | None: ...

    @property
    def finish_reason(self) -> str | None: ...

    @property
    def scorer(self) -> str | None: ...  # the suite's

    @property
    def judging(self) -> Judging | None: ...

    @property
    def asked_again(self) -> Sequence[Answered]: ...  # further answers to the same prompt


@dataclass(frozen=True, slots=True)
class ScoringResult:
    """A score, or the kind and message of an error."""

    score: Score | None
    scorer: str = ""
    version: int = 0
    error_kind: str | None = None  # `harness`: scorer or reference are wrong; `judge`: no readable reply
    message: str = ""
    again: tuple[ScoringResult, ...] = ()  # of the further answers to the same prompt, in their order
    known: bool = False  # whether an earlier session scored it

    @property
    def for_asserting(self) -> Score:
        """The score, or one whose value is NaN: it passes no comparison, and says why."""
        if self.score is not None and self.score.verdict == "unclear":
            return replace(self.score, value=nan)
        return self.score or Score(nan, "empty", why=self.message or "no score", scorer=self.scorer)


def score_all(exchange: Answered, scorer: ScorerLike | None = None) -> ScoringResult:
    """Score an exchange, and the further answers to the same prompt (`ScoringResult.again`)."""
    again = tuple(score_exchange(repeat, scorer) for repeat in exchange.asked_again)
    return replace(score_exchange(exchange, scorer), again=again)


def score_exchange(exchange: Answered, scorer: ScorerLike | None = None) -> ScoringResult:
    """Score by the test's scorer, else the suite's (`exchange.scorer`), else `match`. Never raises.

    Where the reference says that the answer is absent, `abstain` replaces a suite's scorer that does not know what is
    right there.
    """
    if exchange.error_kind:
        return ScoringResult(None, error_kind=exchange.error_kind, message=f"no score: error {exchange.error_kind}")
    chosen_scorer = scorer if scorer is not None else exchange.scorer or DEFAULT_SCORER
    judging: Judging | None = getattr(exchange, "judging", None)
    before: Record | None = getattr(exchange, "scored_before", None)
    name = chosen_scorer if isinstance(chosen_scorer, str) else label(chosen_scorer)
    version = version_of(chosen_scorer)

    def ruled_before(key: str) -> Score | None:
        """The score that the same judges gave this answer in an earlier session."""
        return _score_of(before) if key and before and before.details.score.get(RULED) == key else None

    try:
        answer, reference = without_escapes(exchange.answer), as_reference(exchange.reference)
        if scorer is None and reference.absent and not knows_absence(name):
            chosen_scorer = abstain_scorer.name
        if judging is None and before and isinstance(chosen_scorer, str) and _is_known(before, chosen_scorer):
            return ScoringResult(_score_of(before), chosen_scorer, before.scorer_version, known=True)
        used, by_judge = _scorer(chosen_scorer, judging, of_suite=scorer is None, absent=reference.absent)
        name, version = used.name, used.version
        key = ruling_key(judging, name, answer) if judging and by_judge else ""
        score = ruled_before(key) or used.judge(answer, reference)
        if used.whole and exchange.finish_reason in CUT_OFF and score.verdict == "partial":
            score = replace(score, verdict="wrong", why=f"cut off; {score.why}")  # and so censored
        if score.verdict == "unclear" and not by_judge and judging and judging.strategy != "rule":
            key = ruling_key(judging, name, answer)
            score = ruled_before(key) or _by_judge(exchange.answer, reference, judging, score)
        if key and score.verdict not in ("unclear", "empty"):
            score = replace(score, details={**score.details, RULED: key})
        return ScoringResult(replace(_checked(score), scorer=f"{name} v{version}"), name, version)
    except JudgeReplyError as error:
        return ScoringResult(None, name, version, "judge", f"the judge's replies cannot be read: {error}"[:_LONGEST])
    except JudgeUnreachableError as error:
        return ScoringResult(None, name, version, "judge", f"the judge gave no reply: {error}"[:_LONGEST])
    except Exception as error:  # noqa: BLE001 - a user's scorer may raise anything; a bad cell never ends the run
        return ScoringResult(None, name, version, "harness", _one_line(f"no score: {name}", error))


def _scorer(scorer: ScorerLike, judging: Judging | None, *, of_suite: bool, absent: bool) -> tuple[Scorer, bool]:
    """The scorer to use, and whether it asks judges. One that a test names itself is used as it is."""
    if not isinstance(scorer, str):
        return scorer if isinstance(scorer, Scorer) else scorer_of(scorer), False
    if judging is None:
        if scorer.startswith(JUDGE):
            raise ValueError(f"{scorer} needs a judge: give --judge SPEC")
        return scorer_named(scorer), False
    return scorer_of_run(scorer, judging, judging.strategy if of_suite else "auto", absent=absent)


def _by_judge(answer: str, reference: Reference, judging: Judging, unclear: Score) -> Score:
    """The ruling of the run's judges on an answer that is unclear by the rules."""
    try:
        ruling = judge_scorer(judging, DOCUMENTS.name).judge(answer, reference)
    except (JudgeReplyError, JudgeUnreachableError) as error:
        return replace(unclear, why=f"{unclear.why}; {_one_line('no ruling: judge', error)}")
    return replace(ruling, why=f"{ruling.why} (by rule: {unclear.why})", details={**ruling.details, "rule": "unclear"})


def _is_known(before: Record, scorer: str) -> bool:
    """Whether an earlier session scored the answer by this version of our scorer, without judges.

    Scorers of the user's own are asked again: they may have changed under their version.
    """
    ours = SCORERS.get(scorer)
    same = ours is not None and (before.scorer, before.scorer_version) == (ours.name, ours.version)
    return same and RULED not in before.details.score


def _score_of(before: Record) -> Score:
    """The score of an earlier session. It is settled: cut-off answers that could be right have none."""
    return Score(
        before.score or 0.0,
        cast("Verdict", before.outcome),
        answer=before.read_as or before.answer,
        why=before.why,
        details=before.details.score,
        settled=True,
        scorer=f"{before.scorer} v{before.scorer_version}",
    )


def knows_absence(scorer: str) -> bool:
    """Whether a scorer of that name knows what is right where the answer is absent."""
    documents = (DOCUMENTS.name, f"{JUDGE}{DOCUMENTS.name}")
    return scorer in (abstain_scorer.name, *documents, "+".join(documents))


def as_reference(reference: object) -> Reference:
    """Turn a mapping or an object with a `Reference`'s fields into one; a string is the one answer."""
    if isinstance(reference, Reference):
        return reference
    if isinstance(reference, str):
        return Reference((reference,))
    if isinstance(reference, Mapping):
        values = {name: reference[name] for name in _DEFAULTS if name in reference}
    else:
        values = {name: getattr(reference, name) for name in _DEFAULTS if hasattr(reference, name)}
    if not values:
        raise ValueError(f"a reference needs answers or parts, this {type(reference).__name__} has none")
    fields: dict[str, Any] = {"answers": (), "absent": values.pop("absent", None) is True}
    for name, value in values.items():
        kind = type(_DEFAULTS[name])
        texts = [value] if isinstance(value, str) else value
        fields[name] = tuple(map(str, texts)) if kind is tuple else kind(value)
    return Reference(**fields)


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
