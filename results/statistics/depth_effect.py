"""Where in a document a model reads less well: tests and contrasts over depth, paired by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum
from typing import Literal

import numpy as np

from needlework.results.statistics.paired import Difference, holm, mean_difference, paired_p
from needlework.results.statistics.panels import Trial
from needlework.results.statistics.resampling import FEWEST_CLUSTERS, Floats, sample_clusters

Label = Literal["flat", "lost in the middle", "primacy", "recency", "uneven", "undetermined"]
# `flat` is a claim too: an effect this large, in score, would have shown.
FLAT_MARGIN = 0.20
# Below this many scores of samples that differ over depths, chi-square is no fair approximation of Cochran's Q
# (M. W. Tate, S. M. Brown, "Note on the Cochran Q test", JASA 65 (1970) 155-160).
_FEWEST_FOR_Q = 24
_SIGNIFICANT = 0.05

Band = Callable[[float], bool]


@dataclass(frozen=True, slots=True)
class DepthTest:
    """Whether depths differ at all: Cochran's Q, or Friedman's chi-square where there is partial credit."""

    name: Literal["cochran", "friedman"]
    statistic: float
    freedom: int
    p: float


@dataclass(frozen=True, slots=True)
class Extremes:
    """The best depth against the worst (percent), with their mean scores.

    `p`: exact McNemar (permutation test for partial credit) as it stands. `p_adjusted`: for having picked these two
    among all pairs of depths (Bonferroni), and then for the number of panels (Holm).
    """

    best: float
    worst: float
    best_score: float
    worst_score: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class DepthEffect:
    """What one panel says about depth.

    `samples`: (length, repeat) with a score at every depth, the only ones used; `incomplete`: the others.
    Contrasts are `None` where the grid has no depth on one of their sides.
    """

    label: Label
    samples: int
    incomplete: int
    test: DepthTest | None
    extremes: Extremes | None
    ends_middle: Difference | None
    primacy: Difference | None
    recency: Difference | None


def depth_effects(panels: Sequence[Iterable[Trial]]) -> list[DepthEffect]:
    """Return the effect of each panel (the trials of one model, task and needle), Holm-adjusted over all of them."""
    effects = [depth_effect(trials) for trials in panels]
    adjusted = holm([effect.extremes.p_adjusted if effect.extremes else None for effect in effects])
    return [
        replace(effect, extremes=replace(effect.extremes, p_adjusted=p))
        if effect.extremes and p is not None
        else effect
        for effect, p in zip(effects, adjusted, strict=True)
    ]


def depth_effect(trials: Iterable[Trial]) -> DepthEffect:
    """Return the depth effect of one panel. Trials that are asked at no depth are left out.

    Contrasts: ends (<= 10 % and >= 90 %) - middle (40..60 %); primacy, the first 20 % - the rest; recency, the last
    20 % - the rest. Each is taken within a sample and averaged over samples; each depth weighs the same.
    """
    depths, samples, scores, incomplete = _complete(trials)
    if len(depths) < 2 or not samples:
        return DepthEffect("undetermined", len(samples), incomplete, None, None, None, None, None)
    clusters = sample_clusters(samples)

    def contrast(high: Band, low: Band) -> Difference | None:
        above, below = [high(depth) for depth in depths], [low(depth) for depth in depths]
        if not any(above) or not any(below):
            return None
        return mean_difference((scores[:, above].mean(axis=1) - scores[:, below].mean(axis=1)).tolist(), clusters)

    test = _depth_test(scores)
    contrasts = (
        contrast(lambda depth: depth <= 10 or depth >= 90, lambda depth: 40 <= depth <= 60),
        contrast(lambda depth: depth <= 20, lambda depth: depth > 20),
        contrast(lambda depth: depth >= 80, lambda depth: depth < 80),
    )
    enough = len(set(clusters)) >= FEWEST_CLUSTERS
    label = _label(*contrasts, test) if enough else "undetermined"
    return DepthEffect(label, len(samples), incomplete, test, _extremes(depths, scores, clusters), *contrasts)


def _complete(trials: Iterable[Trial]) -> tuple[list[float], list[tuple[int, int]], Floats, int]:
    """Depths, the samples with a score at each of them, their scores (samples, depths), and how many others."""
    table: dict[tuple[int, int], dict[float, list[float]]] = {}
    for trial in trials:
        if trial.depth is not None:
            found = table.setdefault((trial.length, trial.sample), {}).setdefault(trial.depth, [])
            found += [] if trial.score is None else [trial.score]
    depths = sorted({depth for row in table.values() for depth in row})
    rows = {
        # A question that is asked over several orders of its documents is one sample: its mean.
        sample: [fsum(asked) / len(asked) for depth in depths if (asked := row.get(depth))]
        for sample, row in sorted(table.items())
    }
    whole = {sample: row for sample, row in rows.items() if len(row) == len(depths)}
    scores = np.array(list(whole.values()), dtype=np.float64).reshape(len(whole), len(depths))
    return depths, list(whole), scores, len(rows) - len(whole)


def _depth_test(scores: Floats) -> DepthTest | None:
    """Cochran's Q (W. G. Cochran, Biometrika 37 (1950) 256-266): on 0/1 scores, Friedman's statistic corrected for
    ties is Q. `None` where there are fewer than three depths or too few samples differ."""
    depths = scores.shape[1]
    binary = bool(np.all((scores == 0) | (scores == 1)))
    name: Literal["cochran", "friedman"] = "cochran" if binary else "friedman"
    differing = scores[np.ptp(scores, axis=1) > 0]
    if depths < 3 or 0 < differing.size < _FEWEST_FOR_Q:
        return None
    if not len(differing):
        return DepthTest(name, 0.0, depths - 1, 1.0)
    statistic = _friedman(differing)
    return DepthTest(name, statistic, depths - 1, _chi_square_tail(depths - 1, statistic))


def _friedman(scores: Floats) -> float:
    """Friedman's chi-square corrected for ties (M. Friedman, JASA 32 (1937) 675-701; the corrected form as in
    W. J. Conover, Practical Nonparametric Statistics, 5.8): the spread of the rank sums over the spread of the ranks.
    """
    samples, depths = scores.shape
    ranks = np.stack([((row < row[:, None]).sum(1) + (row <= row[:, None]).sum(1) + 1) / 2 for row in scores])
    middle = (depths + 1) / 2
    between = ((ranks.sum(axis=0) - samples * middle) ** 2).sum()
    return float((depths - 1) * between / ((ranks - middle) ** 2).sum())


def _chi_square_tail(freedom: int, statistic: float) -> float:
    from scipy.special import chdtrc  # scipy.stats has it too, and takes half a second to import

    return float(chdtrc(freedom, statistic))


def _extremes(depths: Sequence[float], scores: Floats, clusters: Sequence[tuple[int, ...]]) -> Extremes:
    means = scores.mean(axis=0)
    best = int(means.argmax())
    worst = int(len(means) - 1 - means[::-1].argmin())  # of equal depths two different ones
    p = paired_p(scores[:, worst].tolist(), scores[:, best].tolist(), clusters)
    pairs = sum(1 for _ in combinations(depths, 2))
    return Extremes(depths[best], depths[worst], float(means[best]), float(means[worst]), p, min(1.0, p * pairs))


def _label(
    ends_middle: Difference | None, primacy: Difference | None, recency: Difference | None, test: DepthTest | None
) -> Label:
    """A shape is named only where the interval of its contrast excludes 0, and `flat` only where all are narrow."""
    middle, first, last = (0 if each is None else each.sign for each in (ends_middle, primacy, recency))
    if min(first, last) >= 0 and (middle > 0 or first > 0 < last):
        return "lost in the middle"
    if first > last and first > 0:
        return "primacy"
    if last > first and last > 0:
        return "recency"
    if any((middle, first, last)) or (test is not None and test.p < _SIGNIFICANT):
        return "uneven"
    known = [each for each in (ends_middle, primacy, recency) if each is not None]
    narrow = all(
        each.low is not None and each.high is not None and max(-each.low, each.high) <= FLAT_MARGIN for each in known
    )
    return "flat" if known and narrow else "undetermined"
