"""When a judge is asked, beside a rule or in its place: EvalScope's strategies (`JudgeStrategy`, fde259d2).

`rule`: never. `llm`: of every answer. `llm_recall`: of those that the rule does not score in full; the score is the
greater of both. `auto`: of every answer where the scorer is a judge, else only of answers that the rule cannot tell.
EvalScope keeps the rule's score where the judge fails; here such a trial is an error: nobody knows what was missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from json import dumps
from typing import Literal, Protocol

from needlework.scoring.judges.asking import Ask
from needlework.scoring.judges.documents import STYLE
from needlework.scoring.judges.scorers import OWN, judged_by
from needlework.scoring.scorers.abstaining import ABSTAIN
from needlework.scoring.scorers.documents import DOCUMENTS
from needlework.scoring.scorers.match import MATCH
from needlework.scoring.scores import Reference, Score, Scorer

Strategy = Literal["auto", "rule", "llm", "llm_recall"]
JUDGE = "judge_"  # `judge_evalscope`, `judge_documents`: made of the run's judges
_ENOUGH = 0.99  # of a rule's score: EvalScope's number


class Judging(Protocol):
    """What scoring needs of a run's judges. `asks`: by name. `prompt`: the text of one's own. `identity`: a hash of
    whatever can change their replies. `at_once`: threads that may ask them.
    """

    @property
    def asks(self) -> Mapping[str, Ask]: ...

    @property
    def strategy(self) -> str: ...

    @property
    def prompt(self) -> str | None: ...

    @property
    def identity(self) -> str: ...

    @property
    def at_once(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """Who scores one answer. `rule`: the scorer that is no judge, `None` where it is not looked at; `style`: the
    judge's, `None` where it is not asked of every answer.
    """

    rule: str | None
    style: str | None


def chosen(name: str, strategy: str, prompt: str | None, *, absent: bool = False) -> Chosen:
    """Who scores, where the suite's scorer is `name`. `absent`: the answer is taken out on purpose; what is right there
    only `judge_documents` is told.
    """
    by_judge = name.startswith(JUDGE)
    style = name.removeprefix(JUDGE) if by_judge else _style(name, prompt)
    rule = (DOCUMENTS.name if style == STYLE else MATCH.name) if by_judge else name
    if name == ABSTAIN.name or strategy == "rule" or (absent and style != STYLE):
        return Chosen(rule, None)
    if strategy == "llm_recall":
        return Chosen(rule, style)
    return Chosen(None, style) if by_judge or strategy == "llm" else Chosen(name, None)


def recalling(rule: Scorer, judge: Scorer) -> Scorer:
    """Make the scorer that asks the judge only where the rule does not give the full score, and takes the greater."""

    def score(answer: str, reference: Reference) -> Score:
        by_rule = rule.judge(answer, reference)
        if by_rule.value > _ENOUGH and by_rule.verdict != "unclear":
            return replace(by_rule, details={**by_rule.details, "rule": by_rule.verdict})
        ruled = judge.judge(answer, reference)
        undecided = "unclear" in (by_rule.verdict, ruled.verdict)
        better = ruled if ruled.value > by_rule.value or undecided else by_rule
        why = f"{ruled.why} (by rule: {by_rule.why or by_rule.verdict})"
        return replace(better, why=why, details={**by_rule.details, **ruled.details, "rule": by_rule.verdict})

    return Scorer(f"{rule.name}+{judge.name}", rule.version, score, rule.whole)


def judge_scorer(judging: Judging, style: str) -> Scorer:
    """The scorer of the run's judges in one style."""
    return judged_by(judging.asks, style, judging.prompt)


def ruling_key(judging: Judging, scorer: str, answer: str) -> str:
    """What names a ruling on one answer: who judged by what, and the answer. The trial's key says the question."""
    return sha256(dumps([judging.identity, scorer, answer]).encode()).hexdigest()[:16]


def _style(name: str, prompt: str | None) -> str:
    return OWN if prompt is not None else STYLE if name == DOCUMENTS.name else "evalscope"
