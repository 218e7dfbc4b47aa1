"""Coverage of means over tasks, which weigh families alike, and `lower_bound` gates: rows of their tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from needlework.results.statistics.intervals import exact_ends
from needlework.results.statistics.panels import Share
from needlework.results.statistics.tasks import weighted_mean
from perf.simulations.intervals import LOOKS, Decided, counts_of_data
from perf.simulations.models import chances, hits, true_mean

MEANS = (0.95, 0.5, 0.8, 0.9, 0.99, 0.7)


def macro(tasks: int, samples: int, depths: int, icc: float, times: int, *, shared: bool) -> tuple[float, float]:
    """The share of intervals of a macro score that hold the true one, and their mean width.

    The first task is a family, the others are another one: it weighs half. `shared`: a sample that is hard is hard in
    every task, as one needle would be; the interval takes tasks for independent.
    """
    rng = np.random.default_rng([tasks, samples, depths, round(100 * icc), shared])
    means = [MEANS[at % len(MEANS)] for at in range(tasks)]
    weights = [0.5, *[0.5 / (tasks - 1)] * (tasks - 1)]
    true = sum(w * true_mean("logit", depths, mean, icc) for w, mean in zip(weights, means, strict=True))
    held, width = 0, 0.0
    for _ in range(times):
        luck = [int(rng.integers(2**32))] * tasks if shared else rng.integers(2**32, size=tasks).tolist()
        shares = []
        for seed, mean in zip(luck, means, strict=True):
            data = hits(rng, chances(np.random.default_rng(seed), "logit", samples, depths, mean, icc))
            shares.append(Share(float(data.mean()), *exact_ends(counts_of_data(data))))
        found = weighted_mean(shares, weights)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= true <= found.high
        width += found.high - found.low
    return held / times, width / times


def macros(times: int) -> Iterator[tuple[object, ...]]:
    """Tasks by samples, ICC .3 and .8, tasks of their own needles or of the same."""
    yield (
        "tasks x samples x depths",
        "ICC .3: held %",
        "ICC .8",
        "same needles, ICC .3",
        "same needles, ICC .8",
        "width",
    )
    for tasks, (samples, depths) in product((2, 6, 13), ((5, 5), (10, 5), (20, 5), (10, 11))):
        found = [
            macro(tasks, samples, depths, icc, times, shared=shared) for shared in (False, True) for icc in (0.3, 0.8)
        ]
        yield f"{tasks} x {samples} x {depths}", *(f"{100 * held:.1f}" for held, _ in found), f"{found[0][1]:.2f}"


def bounded(first: int, depths: int, limit: float, mean: float, icc: float, times: int) -> Decided:
    """Gates `lower_bound >= limit` on models of score `mean`, looked at as `looks` does."""
    rng = np.random.default_rng([first, depths, round(100 * limit), round(100 * mean), round(100 * icc)])
    passed = failed = 0
    for _ in range(times):
        data = hits(rng, chances(rng, "beta", first * LOOKS, depths, mean, icc))
        for look in range(1, LOOKS + 1):
            own = data[: first * look]
            low, _ = exact_ends(counts_of_data(own), 0.025 * 0.5 ** (look - 1))
            if low >= limit or own.mean() <= limit:
                passed, failed = passed + (low >= limit), failed + (low < limit)
                break
    return Decided(passed / times, failed / times)


def lower_bounds(times: int) -> Iterator[tuple[object, ...]]:
    """At the limit, below it and over it: passes, fails, and what is left undecided after all looks."""
    yield "true score", "first look", "ICC 0: pass / fail / open %", "ICC .3", "ICC .8"
    for mean, (first, depths) in product((0.85, 0.9, 0.95, 0.99), ((10, 5), (10, 11), (20, 1))):
        told = []
        for icc in (0.0, 0.3, 0.8):
            found = bounded(first, depths, 0.9, mean, icc, times)
            parts = found.passed, found.failed, 1 - found.passed - found.failed
            told.append(" / ".join(f"{100 * part:.1f}" for part in parts))
        yield f"{mean}, limit .9", f"{first} x {depths}", *told
