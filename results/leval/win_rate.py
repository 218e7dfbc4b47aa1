"""L-Eval's open win rate: how often a judge prefers a model's answer to a rival's, each pair shown in both orders."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from results.intervals import score_interval
from results.statistics.tasks import Share

Preference = Literal["win", "loss", "tie"]
_POINTS = {"win": 1.0, "tie": 0.5, "loss": 0.0}
ORDERS = 2


@dataclass(frozen=True, slots=True)
class WinRate:
    """`(wins + ties / 2) / judgements`, 0..1, with its interval over questions.

    No value where a judgement is missing or in error: `n` of `expected` are there.
    """

    score: Share
    wins: int
    losses: int
    ties: int
    n: int
    expected: int


def win_rate(judgements: Sequence[tuple[Hashable, Preference | None]], questions: int) -> WinRate:
    """Rate the judgements (question, preference) of a run that was to ask both orders of so many questions.

    `None` is a judgement without a verdict. Both orders of a question are one cluster.
    """
    there = [(question, preference) for question, preference in judgements if preference is not None]
    points = [_POINTS[preference] for _, preference in there]
    share = Share(None)
    if len(there) == ORDERS * questions:
        interval = score_interval(points, [question for question, _ in there])
        share = Share(fsum(points) / len(points), interval.low, interval.high) if interval else share
    found = [preference for _, preference in there]
    wins, losses, ties = (found.count(kind) for kind in ("win", "loss", "tie"))
    return WinRate(share, wins, losses, ties, len(there), ORDERS * questions)
