"""Several judges of one answer: the verdict of most of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median

from needlework.scoring.judges.asking import JudgeUnreachableError
from needlework.scoring.judges.replies import JudgeReplyError
from needlework.scoring.scores import Reference, Score, Scorer

JUDGE_SAID = "judge:"  # and the judge's name: the key of a score's details that has one judge's value
TIED = "tied"

Rebuilt = Callable[[Score, float], Score]
"""A score like the given one, of another value (0..1)."""


def majority(scorers: Mapping[str, Scorer], marked: Rebuilt) -> Scorer:
    """Make one scorer of each judge's, asked at once: the median of their values, so the majority of rights and wrongs.

    `marked`: makes the score of a value between their marks; an even split of rights and wrongs is `unclear`. A judge
    without a readable reply has no say; where half of them or more have none, the first one's fault is raised.
    """
    names = list(scorers)
    first = scorers[names[0]]
    if len(names) == 1:
        return first

    def judge(answer: str, reference: Reference) -> Score:
        if not answer.strip():
            return first.judge(answer, reference)
        threads = ThreadPoolExecutor(len(names))
        try:
            said = list(threads.map(lambda name: _said(scorers[name], answer, reference), names))
        finally:
            threads.shutdown(wait=False)  # who ends the run does not wait for the judges; no `with`, which would
        scores = [each for each in said if isinstance(each, Score)]
        faults = [each for each in said if not isinstance(each, Score)]
        if faults and 2 * len(scores) <= len(names):
            raise faults[0]
        told = {
            f"{JUDGE_SAID}{name}": each.value if isinstance(each, Score) else None
            for name, each in zip(names, said, strict=True)
        }
        value = median(each.value for each in scores)
        alike = next((each for each in scores if each.value == value), None)
        if alike is None and {each.value for each in scores} == {0, 1}:
            sides = ", ".join(
                f"{name} {'right' if each.value else 'wrong'}"
                for name, each in zip(names, said, strict=True)
                if isinstance(each, Score)
            )
            chosen = Score(0.0, "unclear", scores[0].answer, f"the judges are split: {sides}", {TIED: True})
        else:
            chosen = alike or marked(scores[0], value)
        return replace(chosen, details={**scores[0].details, **chosen.details, **told})

    return Scorer(first.name, first.version, judge)


def _said(scorer: Scorer, answer: str, reference: Reference) -> Score | JudgeReplyError | JudgeUnreachableError:
    try:
        return scorer.judge(answer, reference)
    except (JudgeReplyError, JudgeUnreachableError) as error:
        return error
