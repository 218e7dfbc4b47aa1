"""Error rate of an adaptive run's statement, and its cost beside a full grid.

Nothing of a walk is simulated but the answers: the walk is the one of `--adaptive`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from needlework.results.adaptive.design import BASE_LOOK, BaseScore, Mode, SearchDesign, unit_of
from needlework.results.adaptive.walk import Trials, bracket, walk
from needlework.results.statistics.effective_length import RULER_THRESHOLD as BAR
from needlework.results.statistics.intervals import counts_of, exact_ends
from tests.parity.cases import cases

DEPTHS = 11
LENGTHS = tuple(4_000 * 2**step for step in range(9))
_JUST_BELOW = BAR - 0.001
Curve = tuple[float, ...]
"""The mean score at each of `LENGTHS`, 0..1."""

LEAST_FAVOURABLE: dict[str, Curve] = {
    "all at the bar": (BAR,) * 9,
    "the first just below": (_JUST_BELOW, *(BAR,) * 8),
    "all just below": (_JUST_BELOW,) * 9,
    "just below at 16k, high again": (0.97, 0.97, _JUST_BELOW, *(0.97,) * 6),
    "dips to 80 % at 16k": (0.97, 0.97, 0.8, *(0.97,) * 6),
    "cliff after 32k": (*(0.98,) * 4, *(0.2,) * 5),
    "all 99 %": (0.99,) * 9,
    "all 30 %": (0.3,) * 9,
}
"""Curves that tempt a walk into a wrong statement, or into asking much."""


def ruler_curves() -> list[Curve]:
    """The 43 models of RULER's table that have all of its six lengths, 4k to 128k.
    Beyond them the trend of their last four lengths on the logit scale."""
    curves = []
    for row in cases("ruler/leaderboard_table"):
        scores = [row["scores"].get(length) for length in ("4K", "8K", "16K", "32K", "64K", "128K")]
        if None not in scores:
            known = np.clip(np.array(scores, dtype=float) / 100, 0.01, 0.995)
            last = special.logit(known[-4:])
            fall = min(0.0, float(np.polyfit(range(4), last, 1)[0]))
            curves.append(tuple(map(float, (*known, *special.expit(last[-1] + fall * np.arange(1, 4))))))
    return curves


Scores = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, float, int], Scores]
"""Scores of so many samples at a length of some mean, each at one depth, all depths equally often."""


class Simulated(NamedTuple):
    """Means over runs."""

    wrong: float  # share of runs whose statement is wrong
    tokens: float
    width: float  # of the bracket, in lengths
    narrow: float  # share of brackets of one doubling
    turns: float


def effective(curve: Sequence[float], bar: float = BAR) -> int:
    """The number of lengths that hold the bar, from the shortest on."""
    return next((at for at, score in enumerate(curve) if score < bar), len(curve))


def hits(rng: np.random.Generator, mean: float, count: int) -> Scores:
    """Hits and misses, alike at every depth."""
    return (rng.random(count) < mean).astype(float)


def middle_lost(rng: np.random.Generator, mean: float, count: int) -> Scores:
    """Hits and misses of a model two logits worse in the middle; needles differ in difficulty."""
    depth = np.tile(np.linspace(-1, 1, DEPTHS), -(-count // DEPTHS))[:count]
    luck = rng.standard_normal(count)
    return (rng.random(count) < special.expit(_shift(round(mean, 6)) + 2 * np.abs(depth) + luck)).astype(float)


def quarters(rng: np.random.Generator, mean: float, count: int) -> Scores:
    """Scores of 0, 1/4, ..., 1: four parts of an answer, which are alike."""
    chance = rng.beta(2 * mean, 2 * (1 - mean), count) if 0 < mean < 1 else np.full(count, mean)
    return rng.binomial(4, chance) / 4.0


MODES: tuple[Mode, ...] = ("quick", "normal", "careful")
DRAWS: dict[str, Draw] = {"hits": hits, "lost in the middle": middle_lost, "quarters": quarters}


def adaptive(
    curve: Curve, times: int, mode: Mode = "normal", draw: Draw = hits, lengths: Sequence[int] = LENGTHS
) -> Simulated:
    """Simulate runs of a model that scores `curve`."""
    rng = np.random.default_rng([round(1e6 * score) for score in curve])
    design, curve = SearchDesign.absolute(mode, tuple(lengths), DEPTHS, BAR), curve[: len(lengths)]
    return _mean_of([_walked(rng, design, curve, effective(curve), draw, lengths) for _ in range(times)])


def adaptive_share(curve: Curve, times: int, mode: Mode = "normal") -> Simulated:
    """Simulate adaptive runs with the relative bar, whose base is the first length."""
    rng = np.random.default_rng([round(1e6 * score) for score in curve])
    trials, truth, runs = BASE_LOOK * unit_of(DEPTHS), effective(curve[1:], 0.85 * curve[0]), []
    for _ in range(times):
        design = SearchDesign.relative(
            mode, LENGTHS, DEPTHS, BaseScore.measured(LENGTHS[0], hits(rng, curve[0], trials).tolist())
        )
        run = _walked(rng, design, curve[1:], truth, hits, LENGTHS[1:])
        runs.append(run._replace(tokens=run.tokens + trials * LENGTHS[0]))
    return _mean_of(runs)


def _walked(
    rng: np.random.Generator, design: SearchDesign, curve: Curve, truth: int, draw: Draw, lengths: Sequence[int]
) -> Simulated:
    scores = [draw(rng, mean, design.cap(at)) for at, mean in enumerate(curve)]
    end = walk(design, lambda at, n: Trials(scores[at][:n].tolist()))
    tokens = sum(column.n * length for column, length in zip(end.columns, lengths, strict=True))
    return _run(*bracket(end.columns), truth, tokens, len(end.turns))


def _run(low: int, high: int, truth: int, tokens: float, turns: int) -> Simulated:
    return Simulated(not low <= truth <= high, tokens, high - low, high - low <= 1, turns)


def _mean_of(runs: Sequence[Simulated]) -> Simulated:
    return Simulated(*np.mean(np.array(runs, dtype=float), axis=0).tolist())


def grid(
    curve: Curve,
    times: int,
    samples: int,
    *,
    spread: bool,
    lengths: Sequence[int] = LENGTHS,
    stop_at_first_fail: bool = False,
) -> Simulated:
    """Simulate full grids, judged by reports' intervals: `samples` at every depth, or at one (`spread`).

    Answers of a sample at several depths are alike, as those of `middle_lost` are. `stop_at_first_fail`: lengths are
    asked in ascending order, and none after the first that fails.
    """
    rng = np.random.default_rng([samples, int(spread), *(round(1e6 * score) for score in curve)])
    trials = samples if spread else samples * DEPTHS
    names = list(range(samples)) if spread else np.repeat(np.arange(samples), DEPTHS).tolist()
    curve, runs = curve[: len(lengths)], []
    for _ in range(times):
        scores = (_grid_scores(rng, mean, samples, spread).tolist() for mean in curve)
        ends = [exact_ends(counts_of(each, names)) for each in scores]
        low, high = (effective([each[side] for each in ends]) for side in (0, 1))
        tokens = trials * sum(lengths[: high + 1] if stop_at_first_fail else lengths)
        runs.append(_run(low, high, effective(curve), tokens, 1))
    return _mean_of(runs)


def _grid_scores(rng: np.random.Generator, mean: float, samples: int, spread: bool) -> Scores:
    if spread:
        return middle_lost(rng, mean, samples)
    luck = rng.standard_normal((samples, 1))
    chance = special.expit(_shift(round(mean, 6)) + 2 * np.abs(np.linspace(-1, 1, DEPTHS))[None] + luck)
    return (rng.random(chance.shape) < chance).astype(float).ravel()


_Z = np.linspace(-6, 6, 601)
_W = np.exp(-_Z * _Z / 2) / np.exp(-_Z * _Z / 2).sum()


@cache
def _shift(mean: float) -> float:
    """The shift of logits that gives the mean over depths and needles."""
    if not 0 < mean < 1:
        return 60.0 * (2 * mean - 1)
    depth = 2 * np.abs(np.linspace(-1, 1, DEPTHS))[:, None]
    return float(optimize.brentq(lambda at: (special.expit(at + depth + _Z[None]) @ _W).mean() - mean, -60, 60))
