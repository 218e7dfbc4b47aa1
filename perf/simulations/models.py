"""Simulated models: data sets (samples, depths) of scores 0..1 with more or less alike trials."""

from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Data = NDArray[np.float64]
Kind = Literal["beta", "logit", "slope", "dead", "perfect"]
KINDS: tuple[Kind, ...] = ("beta", "logit", "slope", "dead", "perfect")
SLOPE = 1.5  # logits between the middle of the document and its ends
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


def chances(rng: np.random.Generator, kind: Kind, samples: int, depths: int, mean: float, icc: float) -> Data:
    """The chance of each sample at each depth, (samples, depths), with that mean over both.

    `icc`: the intraclass correlation at one depth. `beta`: beta-binomial; `logit`: normal on the logit scale; `slope`:
    the same, rising by `SLOPE` from the middle of the depths to the last one and falling to the first. `dead`: a share
    of needles always fails, the others have one rate; `perfect`: a share never fails, the others have one rate.
    """
    if kind in ("dead", "perfect"):
        failing = mean if kind == "dead" else 1 - mean
        odds = icc * (1 - failing) / failing  # of the share that is all alike; the rest makes up for it
        extreme = rng.random((samples, 1)) < odds / (1 + odds)
        rates = np.where(extreme, 0.0, min(1.0, failing * (1 + odds)))
        return np.broadcast_to(rates if kind == "dead" else 1 - rates, (samples, depths))
    if kind == "beta":
        if icc == 0:
            return np.full((samples, depths), mean)
        strength = (1 - icc) / icc
        drawn = rng.beta(mean * strength, (1 - mean) * strength, size=(samples, 1))
        return np.broadcast_to(drawn, (samples, depths))
    slope = SLOPE if kind == "slope" and depths > 1 else 0.0
    middle, spread = _logits(mean, icc, slope, depths)
    return special.expit(middle + spread * rng.standard_normal((samples, 1)) + slope * np.linspace(-1, 1, depths))


def hits(rng: np.random.Generator, chance: Data) -> Data:
    """Scores 0 or 1."""
    return (rng.random(chance.shape) < chance).astype(np.float64)


def parts(rng: np.random.Generator, chance: Data, of: int) -> Data:
    """Partial credit: `of` parts, each right by its own."""
    return rng.binomial(of, chance) / of


@cache
def _logits(mean: float, icc: float, slope: float, depths: int) -> tuple[float, float]:
    """Middle and spread of normal logits with this mean over depths and correlation at one depth."""

    def moments(middle: float, spread: float, shift: float) -> tuple[float, float]:
        p = special.expit(middle + shift + spread * _NODES)
        weights = _WEIGHTS / _WEIGHTS.sum()
        first = float(weights @ p)
        return first, float(weights @ (p - first) ** 2)

    def middle_of(spread: float) -> float:
        shifts = slope * np.linspace(-1, 1, depths)
        return float(optimize.brentq(lambda at: np.mean([moments(at, spread, x)[0] for x in shifts]) - mean, -400, 400))

    def correlation(spread: float) -> float:
        first, variance = moments(middle_of(spread), spread, 0.0)
        return variance / (first * (1 - first))

    if icc == 0:
        return middle_of(0.0), 0.0
    # 61 nodes see no correlation above about 0.95: the highest one is then a wide spread.
    spread = 40.0 if correlation(40.0) < icc else float(optimize.brentq(lambda s: correlation(s) - icc, 1e-3, 40.0))
    return middle_of(spread), spread


@cache
def true_mean(kind: Kind, depths: int, mean: float, icc: float) -> float:
    """The mean that such data have: the asked one, but for the quadrature of very wide spreads."""
    if kind in ("beta", "dead", "perfect") or icc == 0:
        return mean
    slope = SLOPE if kind == "slope" and depths > 1 else 0.0
    middle, spread = _logits(mean, icc, slope, depths)
    z = np.linspace(-8, 8, 4_001)
    weights = np.exp(-z * z / 2)
    shifts = slope * np.linspace(-1, 1, depths)
    return float(np.mean([weights @ special.expit(middle + x + spread * z) / weights.sum() for x in shifts]))
