"""Planning: how many trials show that a score is over a limit; how many show a drop, and which drop so many show.

A trial here is one that is independent of the others: one sample, for a drop asked of both runs. Trials at several
depths of one sample count for less.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from needlework.haystack_fixtures.errors import InputError

POWER = 0.80
LEVEL = 0.05  # two-sided
BASE = 0.9  # score of the better run, where nothing better is known
_MOST = 10_000_000  # trials; a drop that needs more is nobody's plan


def assumed_discordance(drop: float, base: float = BASE) -> float:
    """Return the share of pairs, 0..1, in which two runs of score `base` and `base - drop` disagree by chance.

    That of runs that know nothing of each other: p1 (1 - p2) + p2 (1 - p1). Runs on the same prompts mostly agree more
    often, and then need fewer trials: a plan on this assumption is on the safe side. A measured share is better.
    """
    other = base - drop
    return base * (1 - other) + other * (1 - base)


def trials_needed(drop: float, *, discordance: float | None = None, base: float = BASE, power: float = POWER) -> int:
    """Return how many pairs the exact McNemar test needs to find a drop of `drop` (0..1), two-sided at 5 %.

    Starts at R. J. Connor's n = (z_a sqrt(q) + z_b sqrt(q - d2))2 / d2, q the discordance ("Sample size for testing
    differences in proportions for the paired-sample design", Biometrics 43 (1987) 207-211), which holds for the
    uncorrected test, and goes up until the exact test has the power. Raises `InputError`.
    """
    q = _checked(drop, discordance, base)
    n = connor(drop, q, power)
    while n <= _MOST and exact_power(n, drop, q) < power:
        n += max(1, n // 100)
    return n


def connor(drop: float, discordance: float, power: float = POWER) -> int:
    """Return Connor's number of pairs for the uncorrected McNemar test."""
    from scipy import stats

    level, wanted = float(stats.norm.ppf(1 - LEVEL / 2)), float(stats.norm.ppf(power))
    root = level * sqrt(discordance) + wanted * sqrt(max(0.0, discordance - drop * drop))
    return ceil(root * root / (drop * drop))


def exact_power(n: int, drop: float, discordance: float) -> float:
    """Return the chance, 0..1, that exact McNemar on `n` pairs finds the drop: its p is at most 5 %.

    Discordant pairs are binomial (n, discordance); of m such, the gained ones binomial (m, (1 - drop/discordance) / 2).
    """
    from scipy import stats

    pairs = stats.binom(n, discordance)
    m = np.arange(int(pairs.ppf(1e-9)), int(pairs.ppf(1 - 1e-9)) + 1)
    # The most gained pairs with which a fair coin's lower tail stays within half the level; -1 where there are none.
    most = stats.binom.ppf(LEVEL / 2, m, 0.5)
    most = np.where(stats.binom.cdf(most, m, 0.5) <= LEVEL / 2, most, most - 1)
    gained = (1 - drop / discordance) / 2
    found = stats.binom.cdf(most, m, gained) + stats.binom.sf(m - most - 1, m, gained)
    return float(np.sum(pairs.pmf(m) * np.where(most < 0, 0.0, found)))


def detectable_drop(
    n: int, *, discordance: float | None = None, base: float = BASE, power: float = POWER
) -> float | None:
    """Return the smallest drop (0..1) that `n` pairs find with `power`; `None` where even the largest is missed."""
    if n < 1:
        raise InputError("trials", n, "is a number of pairs, at least 1")
    largest = base if discordance is None else min(base, discordance)
    _checked(largest, discordance, base)

    def enough(drop: float) -> bool:
        q = discordance if discordance is not None else assumed_discordance(drop, base)
        return exact_power(n, drop, q) >= power

    if not enough(largest):
        return None
    low, high = 0.0, largest
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def trials_to_show(limit: float, true: float, *, power: float = POWER) -> int | None:
    """Return how many trials a model with the score `true` needs to be shown to score `limit` or more.

    Shown: the low end of the exact 95 % interval is at the limit or over it, as a gate asks for. `None` where more than
    ten million would be needed. Raises `InputError`.
    """
    from scipy import stats

    if not 0 < limit < 1:
        raise InputError("score", limit, "is a limit above 0 and below 1; 90 % is 0.9")
    if not limit < true <= 1:
        raise InputError("true score", true, f"is above the limit {limit:g}, at most 1")
    n = 1
    while n <= _MOST:
        # One more than the most hits that are no proof: with the limit as score, more come in over 2.5 % of the runs.
        least = stats.binom.isf(LEVEL / 2, n, limit) + 1
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
