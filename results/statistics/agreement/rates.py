"""How far two ways of labelling the same items agree.

Cohen's kappa (J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20
(1960) 37-46): agreement beyond what two raters of these shares of labels reach by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.intervals.resampling import (
    FEWEST_CLUSTERS,
    cluster_sums,
    expanded_interval,
    resampled_means,
)
from needlework.results.statistics.intervals.score import score_interval
from needlework.results.statistics.tasks import Share


@dataclass(frozen=True, slots=True)
class Agreement:
    """`agreement`: share of pairs of labels that are the same, 0..1. `kappa`: -1..1, with an interval from
    `FEWEST_CLUSTERS` items on; no value where both only ever use one label. `table`: how often each of `labels` (rows:
    the first of a pair) met each (columns). `n`: pairs, of so many `items`.
    """

    agreement: Share
    kappa: Share
    labels: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    n: int
    items: int


def agreement(pairs: Sequence[tuple[str, str]], items: Sequence[str]) -> Agreement:
    """Compare pairs of labels. `items` names the cluster of each pair: pairs of one item are not independent."""
    labels = tuple(sorted({label for pair in pairs for label in pair}))
    kinds, place = len(labels), {label: at for at, label in enumerate(labels)}
    cells = np.zeros((len(pairs), kinds * kinds))
    for row, (one, other) in enumerate(pairs):
        cells[row, place[one] * kinds + place[other]] = 1
    table = cells.sum(axis=0).reshape(kinds, kinds)
    return Agreement(
        agreement=share([float(one == other) for one, other in pairs], items),
        kappa=of_table(cells, kinds, items, _kappas),
        labels=labels,
        table=tuple(tuple(int(count) for count in row) for row in table),
        n=len(pairs),
        items=len(set(items)),
    )


def share(values: Sequence[float], clusters: Sequence[Hashable]) -> Share:
    """Return the mean of values 0..1 with its interval over clusters; no value without values."""
    if not values:
        return Share(None)
    mean, interval = fsum(values) / len(values), score_interval(values, clusters)
    return Share(mean, interval.low, interval.high) if interval else Share(mean)


def of_table(cells: Floats, kinds: int, clusters: Sequence[Hashable], statistic: Callable[[Floats], Floats]) -> Share:
    """A statistic of the table that rows add up to, with its interval from `FEWEST_CLUSTERS` clusters of rows on.

    `cells`: what each row adds to the table, (rows, kinds * kinds). `statistic`: -1..1 of each of several tables whose
    rows' mean is given, (tables, kinds, kinds); NaN where it has no value.
    """
    if not len(cells):
        return Share(None)
    value = float(statistic(cells.mean(axis=0).reshape(1, kinds, kinds))[0])
    if np.isnan(value):
        return Share(None)
    sums, sizes = cluster_sums(cells, clusters)
    if len(sums) < FEWEST_CLUSTERS:
        return Share(value)
    drawn = statistic(resampled_means(sums, sizes).reshape(-1, kinds, kinds))
    known = drawn[~np.isnan(drawn)]
    if len(known) < len(drawn) / 2:
        return Share(value)
    low, high = expanded_interval(known, len(sums))
    return Share(value, max(-1.0, min(low, value)), min(1.0, max(high, value)))


def _kappas(tables: Floats) -> Floats:
    """Kappa of each table of shares, (tables, kinds, kinds); NaN where chance alone agrees always."""
    observed = np.trace(tables, axis1=1, axis2=2)
    chance = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    found = np.full(len(tables), np.nan)
    np.divide(observed - chance, 1 - chance, out=found, where=chance < 1 - 1e-12)
    return found
