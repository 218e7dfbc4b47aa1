"""Depth-effect labels: false ones where depth does not matter, and right ones where it does."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from needlework.results.statistics.depth import depth_effect
from needlework.results.statistics.panels import ScoredTrial
from perf.simulations.models import Data

FIVE = (0.0, 25.0, 50.0, 75.0, 100.0)
ELEVEN = tuple(float(depth) for depth in range(0, 101, 10))
GRIDS = (FIVE, ELEVEN)
UNNAMED = ("undetermined", "flat", "ceiling", "floor")
Curve = Callable[[float], float]

TRUTHS: dict[str, Curve] = {
    "V .95 > .6": lambda depth: 0.6 + 0.35 * abs(depth - 50) / 50,
    "V .9 > .7": lambda depth: 0.7 + 0.2 * abs(depth - 50) / 50,
    "first fifth .95, else .75": lambda depth: 0.95 if depth <= 20 else 0.75,
    "last fifth .98, else .5": lambda depth: 0.98 if depth >= 80 else 0.5,
    "linear .98 > .6": lambda depth: 0.98 - 0.38 * depth / 100,
    "hole at 100 % (.98 > .4)": lambda depth: 0.4 if depth == 100 else 0.98,
    "hole at 10..30 % (.95 > .5)": lambda depth: 0.5 if 10 <= depth <= 30 else 0.95,
    "peak in the middle (.6 > .95)": lambda depth: 0.95 if 40 <= depth <= 60 else 0.6,
}


def labels(curve: Curve, samples: int, depths: Sequence[float], times: int) -> Counter[str]:
    """The shapes named in `times` runs."""
    rng = np.random.default_rng([samples, len(depths), times, 0])
    chance = [curve(depth) for depth in depths]
    runs = (_trials((rng.random((samples, len(depths))) < chance).astype(np.float64), depths) for _ in range(times))
    return Counter(depth_effect(trials).shape for trials in runs)


def luck(samples: int, depths: Sequence[float], times: int, spread: float = 1.5, lengths: int = 4) -> float:
    """The share of labels where each needle has luck of its own at each depth, shared by all lengths."""
    rng = np.random.default_rng([samples, len(depths), lengths])
    named = 0
    for _ in range(times):
        chance = 1 / (1 + np.exp(-(2.0 + spread * rng.standard_normal((samples, len(depths))))))
        trials = []
        for length in range(lengths):
            data = (rng.random(chance.shape) < chance).astype(np.float64)
            trials += _trials(data, depths, 1000 * (length + 1))
        named += depth_effect(trials).shape not in UNNAMED
    return named / times


def named(shapes: Counter[str]) -> float:
    """The share of runs with a shape."""
    return 1 - sum(shapes[shape] for shape in UNNAMED) / sum(shapes.values())


def _trials(data: Data, depths: Sequence[float], length: int = 1000) -> list[ScoredTrial]:
    return [
        ScoredTrial("m", "t", "n", length, depth, sample, "partial", float(score))
        for sample, scores in enumerate(data)
        for depth, score in zip(depths, scores, strict=True)
    ]
