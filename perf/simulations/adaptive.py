"""How often an adaptive run's statement is wrong, and what it costs beside a full grid.

Nothing of a walk is simulated but the answers: the walk is the one of `--adaptive`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from needlework.results.adaptive.design import BASE_LOOK, Mode, absolute, measured, relative, unit_of
from needlework.results.adaptive.walk import Seen, walk
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
    """The 43 models of RULER's table that have all of its six lengths, 4k to 128k, and beyond them the trend of their
    last four lengths on the logit scale."""
    found = []
    for row in cases("ruler/leaderboard_table"):
        scores = [row["scores"].get(length) for length in ("4K", "8K", "16K", "32K", "64K", "128K")]
        if None not in scores:
            known = np.clip(np.array(scores, dtype=float) / 100, 0.01, 0.995)
            last = special.logit(known[-4:])
            fall = min(0.0, float(np.polyfit(range(4), last, 1)[0]))
            beyond = special.expit(last[-1] + fall * np.arange(1, 4))
            found.append(tuple(map(float, (*known, *beyond))))
    return found


Scores = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, float, int], Scores]
"""Scores of so many samples at a length of some mean, each at one depth, all depths equally often."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """Shares of runs whose statement is wrong, and means over runs: tokens, width of the bracket in lengths, turns."""

    wrong: float
    tokens: float
    width: float
    narrow: float
    turns: float


def effective(curve: Sequence[float], bar: float = BAR) -> int:
    """How many of the lengths hold the bar, from the shortest on."""
    return next((at for at, score in enumerate(curve) if score < bar), len(curve))


def hits(rng: np.random.Generator, mean: float, count: int) -> Scores:
    """Hits and misses, alike at every depth."""
    return (rng.random(count) < mean).astype(float)


def middle_lost(rng: np.random.Generator, mean: float, count: int) -> Scores:
    """Hits and misses of a model that is two logits worse in the middle, and for needles that are harder or easier."""
    depth = np.tile(np.linspace(-1, 1, DEPTHS), -(-count // DEPTHS))[:count]
    luck = rng.standard_normal(count)
    shift = _shift(round(mean, 6))
    return (rng.random(count) < special.expit(shift + 2 * np.abs(depth) + luck)).astype(float)


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
    design = absolute(mode, tuple(lengths), DEPTHS, BAR)
    truth, runs = effective(curve[: len(lengths)]), []
    for _ in range(times):
        scores = [draw(rng, mean, design.cap(at)) for at, mean in enumerate(curve[: len(lengths)])]
        found = walk(design, lambda at, n, scores=scores: Seen(scores[at][:n].tolist()))  # type: ignore[misc]
        low, high = found.bracket
        tokens = sum(column.n * length for column, length in zip(found.columns, lengths, strict=True))
        runs.append((not low <= truth <= high, tokens, high - low, high - low <= 1, len(found.turns)))
    return Simulated(*(float(value) for value in np.mean(np.array(runs, dtype=float), axis=0)))


def adaptive_share(curve: Curve, times: int, mode: Mode = "normal") -> Simulated:
    """The same for the relative bar, whose base is the first length."""
    rng = np.random.default_rng([round(1e6 * score) for score in curve])
    base_trials, truth, runs = BASE_LOOK * unit_of(DEPTHS), effective(curve[1:], 0.85 * curve[0]), []
    for _ in range(times):
        base = measured(LENGTHS[0], hits(rng, curve[0], base_trials).tolist())
        design = relative(mode, LENGTHS, DEPTHS, base)
        scores = [hits(rng, mean, design.cap(at)) for at, mean in enumerate(curve[1:])]
        found = walk(design, lambda at, n, scores=scores: Seen(scores[at][:n].tolist()))  # type: ignore[misc]
        low, high = found.bracket
        tokens = base_trials * LENGTHS[0]
        tokens += sum(column.n * length for column, length in zip(found.columns, LENGTHS[1:], strict=True))
        runs.append((not low <= truth <= high, tokens, high - low, high - low <= 1, len(found.turns)))
    return Simulated(*(float(value) for value in np.mean(np.array(runs, dtype=float), axis=0)))


def grid(
    curve: Curve,
    times: int,
    samples: int,
    *,
    spread: bool,
    lengths: Sequence[int] = LENGTHS,
    stop_at_first_fail: bool = False,
) -> Simulated:
    """Simulate full grids, judged by the intervals of the reports: `samples` at every depth, or each at one (`spread`).

    Answers of a sample at several depths are alike, as those of `middle_lost` are. `stop_at_first_fail`: lengths are
    asked in ascending order, and none after the first that fails.
    """
    rng = np.random.default_rng([samples, int(spread), *(round(1e6 * score) for score in curve)])
    trials = samples if spread else samples * DEPTHS
    truth, runs = effective(curve[: len(lengths)]), []
    for _ in range(times):
        names = list(range(samples)) if spread else np.repeat(np.arange(samples), DEPTHS).tolist()
        ends = [_ends(_grid_scores(rng, mean, samples, spread), names) for mean in curve[: len(lengths)]]
        low = next((at for at, each in enumerate(ends) if each[0] < BAR), len(ends))
        high = next((at for at, each in enumerate(ends) if each[1] < BAR), len(ends))
        asked = lengths[: high + 1] if stop_at_first_fail else lengths
        runs.append((not low <= truth <= high, trials * sum(asked), high - low, high - low <= 1, 1))
    return Simulated(*(float(value) for value in np.mean(np.array(runs, dtype=float), axis=0)))


def _ends(scores: Scores, names: list[int]) -> tuple[float, float]:
    low, high = exact_ends(counts_of(scores.tolist(), names))
    return low, high


def _grid_scores(rng: np.random.Generator, mean: float, samples: int, spread: bool) -> Scores:
    if spread:
        return middle_lost(rng, mean, samples)
    depth = np.abs(np.linspace(-1, 1, DEPTHS))[None]
    luck = rng.standard_normal((samples, 1))
    chance = special.expit(_shift(round(mean, 6)) + 2 * depth + luck)
    return (rng.random(chance.shape) < chance).astype(float).ravel()


_Z = np.linspace(-6, 6, 601)
_W = np.exp(-_Z * _Z / 2) / np.exp(-_Z * _Z / 2).sum()
_KNOWN: dict[float, float] = {}


def _shift(mean: float) -> float:
    """What makes the mean over depths and needles what it should be."""
    if mean not in _KNOWN:
        depth = 2 * np.abs(np.linspace(-1, 1, DEPTHS))[:, None]

        def off(at: float) -> float:
            return float((special.expit(at + depth + _Z[None]) @ _W).mean() - mean)

        _KNOWN[mean] = float(optimize.brentq(off, -60, 60)) if 0 < mean < 1 else 60.0 * (2 * mean - 1)
    return _KNOWN[mean]
