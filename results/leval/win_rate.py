"""L-Eval's open win rate: how often a judge prefers a model's answer to a rival's, each pair shown in both orders."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from needlework.results.statistics.agreement.rates import share
from needlework.results.statistics.tasks import Share

Preference = Literal["win", "loss", "tie"]
_POINTS = {"win": 1.0, "tie": 0.5, "loss": 0.0}
ORDERS = 2


@dataclass(frozen=True, slots=True)
class WinRate:
    """`(wins + ties / 2) / judgements`, 0..1, with its interval over questions.

    `score` has no value where a judgement is missing or in error: `n` of `expected` are there. `of_those_there` is the
    rate of these alone, as it is published. `least`, `most`: what it would be if every missing one were a loss, a win.
    """

    score: Share
    of_those_there: Share
    least: float | None
    most: float | None
    wins: int
    losses: int
    ties: int
    n: int
    expected: int


def win_rate(judgements: Sequence[tuple[Hashable, Preference | None]], pairs: int) -> WinRate:
    """Rate the judgements (question, preference) of a run that was to judge so many pairs in both orders.

    `None` is a judgement without a verdict. All judgements of a question are one cluster.
    """
    there = [(question, preference) for question, preference in judgements if preference is not None]
    points = [_POINTS[preference] for _, preference in there]
    rate = share(points, [question for question, _ in there])
    expected = ORDERS * pairs
    found = [preference for _, preference in there]
    return WinRate(
        score=rate if len(there) == expected else Share(None),
        of_those_there=rate,
        least=fsum(points) / expected if expected else None,
        most=(fsum(points) + expected - len(there)) / expected if expected else None,
        wins=found.count("win"),
        losses=found.count("loss"),
        ties=found.count("tie"),
        n=len(there),
        expected=expected,
    )
