"""Agreement of judges and raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np

from needlework.core.record import Record
from needlework.results.statistics.intervals import (
    FEWEST_CLUSTERS,
    Floats,
    cluster_sums,
    expanded_interval,
    resampled_means,
    score_interval,
)
from needlework.results.statistics.panels import Share
from needlework.results.style import percent1
from needlework.scoring.judges.judges import JUDGE_SAID


# Krippendorff's alpha for ordered marks (K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011)): for any
# number of raters, who need not have rated the same. For two: Cohen's kappa with squared weights (J. Cohen, "Weighted
# Kappa", Psychological Bulletin 70 (1968) 213-220). Both are 1 where raters always agree, 0 where they do as by chance.
def ordinal_alpha(units: Sequence[Sequence[int]], clusters: Sequence[Hashable], levels: int) -> Share:
    """Alpha of marks 1..`levels`. `units`: the marks that each thing got; those with one mark or none do not count.

    `clusters` names what each unit shares with others. No value where all marks are the same.
    """
    several = [(marks, cluster) for marks, cluster in zip(units, clusters, strict=True) if len(marks) > 1]
    cells = np.zeros((len(several), levels * levels))
    for row, (marks, _) in enumerate(several):
        counts = np.bincount(marks, minlength=levels + 1)[1:].astype(np.float64)
        cells[row] = ((np.outer(counts, counts) - np.diag(counts)) / (len(marks) - 1)).ravel()
    values = sum(len(marks) for marks, _ in several)
    return of_table(cells, levels, [cluster for _, cluster in several], partial(_alphas, values))


def weighted_kappa(pairs: Sequence[tuple[int, int]], clusters: Sequence[Hashable], levels: int) -> Share:
    """Kappa of pairs of marks 1..`levels`, a disagreement weighing the square of its distance.

    No value where both raters gave one and the same mark only.
    """
    return of_table(_pair_cells([(one - 1, other - 1) for one, other in pairs], levels), levels, clusters, _kappas)


def _pair_cells(pairs: Sequence[tuple[int, int]], kinds: int) -> Floats:
    """What each pair of kinds adds to the table of all."""
    cells = np.zeros((len(pairs), kinds * kinds))
    cells[np.arange(len(pairs)), np.array([one * kinds + other for one, other in pairs], np.intp)] = 1
    return cells


def _alphas(values: int, tables: Floats) -> Floats:
    """Alpha of each table of coincidences, from `values` marks in all; only shares of a table matter."""
    shares = _shares(tables)
    marks = shares.sum(axis=2)
    # The distance of two marks is the number of marks between their middles.
    middles = marks.cumsum(axis=1) - marks / 2
    distance = (middles[:, :, None] - middles[:, None, :]) ** 2
    chance = (marks[:, :, None] * marks[:, None, :] * distance).sum(axis=(1, 2)) * values / (values - 1)
    return _one_minus((shares * distance).sum(axis=(1, 2)), chance)


def _kappas(tables: Floats) -> Floats:
    shares, place = _shares(tables), np.arange(tables.shape[1])
    weights = (place[:, None] - place[None, :]) ** 2
    chance = shares.sum(axis=2)[:, :, None] * shares.sum(axis=1)[:, None, :]
    return _one_minus((shares * weights).sum(axis=(1, 2)), (chance * weights).sum(axis=(1, 2)))


def _shares(tables: Floats) -> Floats:
    shares: Floats = tables / tables.sum(axis=(1, 2), keepdims=True)
    return shares


def _one_minus(observed: Floats, expected: Floats) -> Floats:
    found = np.full(len(observed), np.nan)
    np.divide(observed, expected, out=found, where=expected > 1e-12)
    return 1 - found


# Cohen's kappa (J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20
# (1960) 37-46): agreement beyond what two raters of these shares of labels reach by chance.
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
    cells = _pair_cells([(place[one], place[other]) for one, other in pairs], kinds)
    table = cells.sum(axis=0).reshape(kinds, kinds)
    return Agreement(
        agreement=share([float(one == other) for one, other in pairs], items),
        kappa=of_table(cells, kinds, items, _rates_kappas),
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


def _rates_kappas(tables: Floats) -> Floats:
    """Kappa of each table of shares, (tables, kinds, kinds); NaN where chance alone agrees always."""
    observed = np.trace(tables, axis1=1, axis2=2)
    chance = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    return _one_minus(1 - observed, 1 - chance)


LEVELS = range(1, 6)  # that people rate answers by


@dataclass(frozen=True, slots=True)
class AnswerRating:
    """One rating of one answer. `shown`: the same for answers of an item that say the same, and were rated once.

    `late`: made after names were shown.
    """

    rater: str
    model: str
    group: Hashable
    rating: int
    late: bool
    shown: str


def rating_tables(ratings: Sequence[AnswerRating]) -> dict[str, Any]:
    """Make the tables: `models`, the highest mean first; `pairs` of raters; `alpha` of the `doubly` rated answers."""
    by_answer: dict[str, dict[str, AnswerRating]] = {}
    for rating in ratings:
        by_answer.setdefault(rating.shown, {}).setdefault(rating.rater, rating)
    several = [by_rater for by_rater in by_answer.values() if len(by_rater) > 1]
    groups = [next(iter(by_rater.values())).group for by_rater in several]
    models = [_model_row(model, ratings) for model in sorted({each.model for each in ratings})]
    pairs = combinations(dict.fromkeys(each.rater for each in ratings), 2)
    return {
        "models": sorted(models, key=lambda row: -row["mean"].value),
        "pairs": [row for pair in pairs if (row := _agreement_row(*pair, several))["n"]],
        "alpha": ordinal_alpha([[each.rating for each in rated.values()] for rated in several], groups, len(LEVELS)),
        "doubly": len(several),
    }


def _model_row(model: str, ratings: Sequence[AnswerRating]) -> dict[str, Any]:
    """What a model got: its mean of 1..5, and how often each of them."""
    marks = [each for each in ratings if each.model == model]
    scaled = share([(each.rating - 1) / (len(LEVELS) - 1) for each in marks], [each.group for each in marks])
    ends = (None if end is None else 1 + end * (len(LEVELS) - 1) for end in (scaled.value, scaled.low, scaled.high))
    counts = Counter(each.rating for each in marks)
    return {"model": model, "mean": Share(*ends), "counts": [counts[level] for level in LEVELS], "n": len(marks)}


def _agreement_row(first: str, second: str, several: Sequence[Mapping[str, AnswerRating]]) -> dict[str, Any]:
    """Two raters on the `n` answers that both rated: shares that are equal, and at most 1 apart; their kappa."""
    both = [(rated[first], rated[second]) for rated in several if first in rated and second in rated]
    marks, groups = [(one.rating, other.rating) for one, other in both], [one.group for one, _ in both]
    return {
        "raters": (first, second),
        "equal": share([float(one == other) for one, other in marks], groups),
        "within_one": share([float(abs(one - other) <= 1) for one, other in marks], groups),
        "kappa": weighted_kappa(marks, groups, len(LEVELS)),
        "n": len(marks),
    }


_RIGHT = 0.9  # of a mark 0..1: found


def judge_notes(records: Sequence[Record]) -> Iterator[str]:
    """How far several judges agree; nothing for a run with one judge."""
    ruled = [record for record in records if _said(record)]
    names = list(dict.fromkeys(name for record in ruled for name in _said(record)))
    if len(names) > 1:
        yield from _agreement(ruled, names)


def _agreement(ruled: Sequence[Record], names: Sequence[str]) -> Iterator[str]:
    samples = [record.item or record.id for record in ruled]
    labels = [{name: _label(value) for name, value in _said(record).items()} for record in ruled]
    whole = [
        (set(each.values()), sample) for each, sample in zip(labels, samples, strict=True) if None not in each.values()
    ]
    same = share([float(len(found) == 1) for found, _ in whole], [sample for _, sample in whole])
    ties = sum(1 for record in ruled if (record.details.score or {}).get("tied"))
    split = f"; an even split on {ties}: no score" if ties else ""
    yield f"judges: all {len(names)} agree on {_percent(same)} of {len(whole)} answers{split}"
    for one, other in combinations(names, 2):
        both = [(each[one], each[other], sample) for each, sample in zip(labels, samples, strict=True)]
        pairs = [(first, second, sample) for first, second, sample in both if first and second]
        found = agreement([pair[:2] for pair in pairs], [pair[2] for pair in pairs])
        kappa = "" if found.kappa.value is None else f", Cohen's kappa {found.kappa.value:.2f}"
        yield f"judges {one} and {other} agree on {_percent(found.agreement)} of {found.n} answers{kappa}"


def _percent(share: Share) -> str:
    """`89.5 % (95 %: 68.6 to 97.1)`."""
    if share.value is None:
        return "no share"
    ends = (
        "" if share.low is None or share.high is None else f" (95 %: {100 * share.low:.1f} to {100 * share.high:.1f})"
    )
    return f"{percent1(share.value)} %{ends}"


def _said(record: Record) -> dict[str, float | None]:
    """What each of several judges made of an answer, 0..1, by its name; `None` where its reply could not be read."""
    details = record.details.score or {}
    return {key.removeprefix(JUDGE_SAID): value for key, value in details.items() if key.startswith(JUDGE_SAID)}


def _label(value: float | None) -> str | None:
    return None if value is None else "right" if value >= _RIGHT else "wrong"
