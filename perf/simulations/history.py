"""Changes in series of runs: how often one is told where there is none, and how often one is found."""

from dataclasses import dataclass

import numpy as np

from needlework.results.statistics.leaderboard import changes

SETTINGS = ((0.5, 5), (0.9, 5), (0.97, 1), (0.99, 11))
"""The mean score, and trials of a sample."""
RUNS = (2, 4, 10, 30)
SAMPLES = (6, 10, 20, 40)


@dataclass(frozen=True, slots=True)
class DetectionRates:
    """Shares of simulated series.

    `false`: with a change, though all runs are alike. Where half of the runs score four fifths, `detected`: with a
    change; `placed`: with it at its place; `misplaced`: with a change that holds no true one.
    """

    false: float
    detected: float
    placed: float
    misplaced: float


def detection_rates(runs: int, samples: int, mean: float, trials: int, times: int) -> DetectionRates:
    """Simulate series. Samples differ in how hard they are (beta), and keep that from run to run."""
    rng = np.random.default_rng([runs, samples, round(100 * mean), trials])
    middle = runs // 2
    counts = np.zeros(4)
    for _ in range(times):
        chance = rng.beta(3 * mean, 3 * (1 - mean), size=(1, samples))
        same = rng.binomial(trials, chance, size=(runs, samples)).astype(float)
        lower = np.where(np.arange(runs)[:, None] >= middle, 0.8, 1.0)
        fallen = changes(rng.binomial(trials, chance * lower).astype(float), trials * samples)
        counts += (
            bool(changes(same, trials * samples)),
            bool(fallen),
            any(each.at == middle for each in fallen),
            any(not each.first < middle <= each.last for each in fallen),
        )
    return DetectionRates(*(counts / times))
