"""One-sided sign-flip tests whose p values may be as small as many comparisons need: exact, without drawing flips."""

from __future__ import annotations

import numpy as np

from needlework.results.statistics.intervals.clustered import Floats

_GRID = 2_048  # steps that the sum of all differences is rounded to, where they are no whole numbers


def tail(differences: Floats) -> float:
    """Return p: the share of all flips of signs whose sum is as large as that of `differences`, one for each sample.

    If two models were alike (or the second better), each sample's difference might as well have the other sign (R. A.
    Fisher, "The Design of Experiments" (1935), section 21). The distribution of a sum of signed numbers is the inverse
    Fourier transform of a product of cosines. Differences are rounded to a grid first, which is a test as exact of the
    rounded ones.
    """
    steps = _steps(differences)
    total, size = int(steps.sum()), int(np.abs(steps).sum())
    if size == 0:
        return 1.0
    sizes, counts = np.unique(np.abs(steps[steps != 0]), return_counts=True)
    points = 2 * size + 1
    waves = np.cos(2 * np.pi / points * np.outer(np.arange(size + 1), sizes))
    shares = np.fft.irfft(np.prod(waves**counts, axis=1), points)  # of the sums 0, 1, .., size, -size, .., -1
    return float(min(1.0, max(0.5 ** len(steps), shares[total : size + 1].sum() if total >= 0 else 1.0)))


def _steps(differences: Floats) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    whole = np.rint(differences)
    size = float(np.abs(differences).sum())
    if size <= _GRID and np.abs(differences - whole).max(initial=0.0) < 1e-6:
        return whole.astype(np.int64)
    return np.rint(differences * (_GRID / size)).astype(np.int64)
