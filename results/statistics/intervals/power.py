"""Planning: how many samples show that a score is over a limit; how many show a drop, and which drop so many show.

A sample here is one needle in one text at one depth, for a drop asked of both runs: such samples are independent. Asked
at several depths each, as many samples say a little more, and never as much as their trials would.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from needlework.haystack_fixtures.errors import InputError
from needlework.results.statistics.intervals.clustered import ERROR, Floats

POWER = 0.80
BASE = 0.9  # score of the better run, where nothing better is known
_MOST = 10_000_000  # samples; what needs more is nobody's plan
_EXACT = 100_000  # samples; beyond, the interval is the one that Connor's formula takes
_TAIL = 1e-7  # of gains, and of losses, that are left out


def assumed_discordance(drop: float, base: float = BASE) -> float:
    """Return the share of pairs, 0..1, in which two runs of score `base` and `base - drop` disagree by chance.

    That of runs that know nothing of each other: p1 (1 - p2) + p2 (1 - p1). Runs on the same prompts mostly agree more
    often, and then need fewer trials: a plan on this assumption is on the safe side. A measured share is better.
    """
    other = base - drop
    return base * (1 - other) + other * (1 - base)


def samples_needed(drop: float, *, discordance: float | None = None, base: float = BASE, power: float = POWER) -> int:
    """Return how many samples a comparison needs to find a drop of `drop` (0..1): its interval is then below 0.

    Starts at R. J. Connor's n = (z_a sqrt(q) + z_b sqrt(q - d2))2 / d2, q the discordance ("Sample size for testing
    differences in proportions for the paired-sample design", Biometrics 43 (1987) 207-211), and goes up until the
    interval of `paired` has the power. Raises `InputError`.
    """
    q = _checked(drop, discordance, base)
    n = connor(drop, q, power)
    while n <= _EXACT and interval_power(n, drop, q) < power:
        n += max(1, n // 100)
    return n


def connor(drop: float, discordance: float, power: float = POWER) -> int:
    """Return Connor's number of pairs for the uncorrected McNemar test."""
    from scipy.special import ndtri

    level, wanted = float(ndtri(1 - ERROR)), float(ndtri(power))
    root = level * sqrt(discordance) + wanted * sqrt(max(0.0, discordance - drop * drop))
    return ceil(root * root / (drop * drop))


def interval_power(n: int, drop: float, discordance: float, beyond: float = 0.0, error: float = ERROR) -> float:
    """Return the chance, 0..1, that the interval of `n` samples at one depth each lies below -`beyond` (see `paired`).

    `error`: of the interval, per side.

    Losses and gains are multinomial, with chances (discordance + drop) / 2 and (discordance - drop) / 2.
    """
    from scipy import special, stats

    chances = (discordance + drop) / 2, max(0.0, (discordance - drop) / 2)
    lost, gained = (
        np.arange(int(stats.binom.ppf(_TAIL, n, p)), int(stats.binom.ppf(1 - _TAIL, n, p)) + 1) for p in chances
    )
    low = np.where(lost > 0, special.betaincinv(np.maximum(lost, 1), n - np.maximum(lost, 1) + 1, error), 0.0)
    under = np.minimum(gained, n - 1)
    high = np.where(gained < n, special.betaincinv(under + 1, n - under, 1 - error), 1.0)
    loss, gain = (lost / n)[:, None], (gained / n)[None, :]
    both = loss * gain
    rest = np.maximum((1 - loss) * (1 - gain), 1e-300)
    exclusive = np.where(both > 0, np.sqrt(np.minimum(1.0, both / rest)), 0.0)
    one, other = high[None, :] - gain, loss - low[:, None]
    below = gain - loss + np.sqrt(one**2 + other**2 + 2 * exclusive * one * other) < -beyond
    return float(np.sum(_multinomial(n, lost, gained, chances), where=below))


def _multinomial(n: int, lost: NDArray[np.intp], gained: NDArray[np.intp], chances: tuple[float, float]) -> Floats:
    """The chance of each pair of numbers, (lost, gained)."""
    from scipy.special import gammaln, xlogy

    one, other = lost[:, None], gained[None, :]
    rest = n - one - other
    logs = gammaln(n + 1) - gammaln(one + 1) - gammaln(other + 1) - gammaln(np.maximum(rest, 0) + 1)
    logs += xlogy(one, chances[0]) + xlogy(other, chances[1]) + xlogy(rest, max(0.0, 1 - sum(chances)))
    return np.asarray(np.where(rest >= 0, np.exp(logs), 0.0))


def detectable_drop(
    n: int,
    *,
    discordance: float | None = None,
    base: float = BASE,
    power: float = POWER,
    beyond: float = 0.0,
    error: float = ERROR,
) -> float | None:
    """Return the smallest drop (0..1) that `n` samples find with `power`; `None` where even the largest is missed.

    Found: its whole interval is `beyond` so much; `error`: of that interval, per side.
    """
    if n < 1:
        raise InputError("samples", n, "is a number of samples, at least 1")
    largest = base if discordance is None else min(base, discordance)
    _checked(largest, discordance, base)

    def enough(drop: float) -> bool:
        q = discordance if discordance is not None else assumed_discordance(drop, base)
        return interval_power(n, drop, q, beyond, error) >= power

    if not enough(largest):
        return None
    low, high = beyond, largest
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def samples_to_show(limit: float, true: float, *, power: float = POWER) -> int | None:
    """Return how many samples, at one depth each, show that a model with the score `true` has `limit` or more.

    Shown: the low end of the 95 % interval is at the limit or over it, as a gate asks for. `None` where more than ten
    million would be needed. Raises `InputError`.
    """
    from scipy import stats

    if not 0 < limit < 1:
        raise InputError("score", limit, "is a limit above 0 and below 1; 90 % is 0.9")
    if not limit < true <= 1:
        raise InputError("true score", true, f"is above the limit {limit:g}, at most 1")
    n = 1
    while n <= _MOST:
        # One more than the most hits that are no proof: with the limit as score, more come in over 2.5 % of the runs.
        least = stats.binom.isf(ERROR, n, limit) + 1
        if stats.binom.sf(least - 1, n, true) >= power:
            return n
        n += max(1, n // 200)
    return None


def _checked(drop: float, discordance: float | None, base: float) -> float:
    if not 0 < base <= 1:
        raise InputError("base score", base, "is a score above 0, at most 1")
    if not 0 < drop <= base:
        raise InputError("drop", drop, f"is a share above 0 and at most the base score {base:g}; 5 points are 0.05")
    q = assumed_discordance(drop, base) if discordance is None else discordance
    if not drop - 1e-12 <= q <= 1:
        raise InputError("discordance", q, f"is the share of pairs that disagree, {drop:g} (the drop) to 1")
    return max(q, drop)
