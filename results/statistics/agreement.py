"""Agreement of judges and raters."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from needlework.core.record import Record
from needlework.results.statistics.intervals import (
    FEWEST_CLUSTERS,
    Floats,
    cluster_sums,
    expanded_interval,
    resampled_means,
)
from needlework.results.statistics.panels import Share, rate_of
from needlework.results.statistics.wording import share_words
from needlework.scoring.judges.judges import JUDGE_SAID


# Krippendorff's alpha for ordered marks (K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011)): for any
# number of raters, who need not have rated the same. For two: Cohen's kappa (J. Cohen, "A Coefficient of Agreement for
# Nominal Scales", Educational and Psychological Measurement 20 (1960) 37-46), of marks with squared weights ("Weighted
# Kappa", Psychological Bulletin 70 (1968) 213-220). All are 1 where raters always agree, 0 where they do as by chance.
def ordinal_alpha(units: Sequence[Sequence[int]], clusters: Sequence[Hashable], levels: int) -> Share:
    """Krippendorff's alpha of marks 1..`levels`. `units`: the marks of each thing, two or more.

    `clusters` names what each unit shares with others. No value where all marks are the same.
    """
    several = [(marks, cluster) for marks, cluster in zip(units, clusters, strict=True) if len(marks) > 1]
    cells = np.zeros((len(several), levels * levels))
    for row, (marks, _) in enumerate(several):
        counts = np.bincount(marks, minlength=levels + 1)[1:].astype(np.float64)
        cells[row] = ((np.outer(counts, counts) - np.diag(counts)) / (len(marks) - 1)).ravel()
    values = sum(len(marks) for marks, _ in several)

    def alphas(tables: Floats) -> Floats:
        shares: Floats = tables / tables.sum(axis=(1, 2), keepdims=True)
        marks = shares.sum(axis=2)
        # The distance of two marks is the number of marks between their middles.
        middles = marks.cumsum(axis=1) - marks / 2
        distance = (middles[:, :, None] - middles[:, None, :]) ** 2
        chance = (marks[:, :, None] * marks[:, None, :] * distance).sum(axis=(1, 2)) * values / (values - 1)
        return _one_minus((shares * distance).sum(axis=(1, 2)), chance)

    return _of_table(cells, levels, [cluster for _, cluster in several], alphas)


def weighted_kappa(pairs: Sequence[tuple[int, int]], clusters: Sequence[Hashable], levels: int) -> Share:
    """Kappa of pairs of marks 1..`levels`, a disagreement weighing the square of its distance.

    No value where both raters gave one and the same mark only.
    """
    marks = np.arange(levels)
    weights = (marks[:, None] - marks[None, :]) ** 2
    return _kappa(_pair_cells([(one - 1, other - 1) for one, other in pairs], levels), weights, clusters)


def _pair_cells(pairs: Sequence[tuple[int, int]], kinds: int) -> Floats:
    """The contribution of each pair of kinds to the table."""
    cells = np.zeros((len(pairs), kinds * kinds))
    cells[np.arange(len(pairs)), np.array([one * kinds + other for one, other in pairs], np.intp)] = 1
    return cells


def _kappa(cells: Floats, weights: NDArray[np.int_], clusters: Sequence[Hashable]) -> Share:
    """`weights`: of each disagreement, (kinds, kinds)."""

    def kappas(tables: Floats) -> Floats:
        chance = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]
        return _one_minus((tables * weights).sum(axis=(1, 2)), (chance * weights).sum(axis=(1, 2)))

    return _of_table(cells, len(weights), clusters, kappas)


def _one_minus(observed: Floats, expected: Floats) -> Floats:
    ratios = np.full(len(observed), np.nan)
    np.divide(observed, expected, out=ratios, where=expected > 1e-12)
    return 1 - ratios


class Agreement(Struct, frozen=True):
    """Agreement of pairs of labels."""

    agreement: Share  # of pairs of labels that are the same, 0..1
    kappa: Share  # -1..1, with an interval from `FEWEST_CLUSTERS` items on; no value where both only use one label
    labels: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]  # how often each label (rows: the first of a pair) met each (columns)
    n: int  # pairs
    items: int


def agreement(pairs: Sequence[tuple[str, str]], items: Sequence[str]) -> Agreement:
    """Compare pairs of labels. `items`: the cluster of each pair; pairs of one are not independent."""
    labels = tuple(sorted({label for pair in pairs for label in pair}))
    kinds, index = len(labels), {label: at for at, label in enumerate(labels)}
    cells = _pair_cells([(index[one], index[other]) for one, other in pairs], kinds)
    return Agreement(
        agreement=rate_of([float(one == other) for one, other in pairs], items),
        kappa=_kappa(cells, 1 - np.eye(kinds, dtype=np.int_), items),
        labels=labels,
        table=tuple(tuple(map(int, row)) for row in cells.sum(axis=0).reshape(kinds, kinds)),
        n=len(pairs),
        items=len(set(items)),
    )


def _of_table(cells: Floats, kinds: int, clusters: Sequence[Hashable], statistic: Callable[[Floats], Floats]) -> Share:
    """A statistic of the table that rows add up to; its interval from `FEWEST_CLUSTERS` clusters on.

    `cells`: what each row adds to the table, (rows, kinds * kinds). `statistic`: -1..1 of each of several tables, of
    which only shares matter, (tables, kinds, kinds); NaN where it has no value.
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


LEVELS = range(1, 6)  # that people rate answers by


class AnswerRating(Struct, frozen=True):
    """One rating of one answer."""

    rater: str
    model: str
    group: Hashable
    rating: int
    late: bool  # made after names were shown
    shown: str  # the same for answers of an item that say the same, and were rated once


def rating_tables(ratings: Sequence[AnswerRating]) -> dict[str, Any]:
    """Make the tables: `models`, highest mean first; `pairs` of raters; `alpha` of doubly rated ones."""
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
    """A model's ratings: mean of 1..5, and counts."""
    marks = [each for each in ratings if each.model == model]
    scaled = rate_of([(each.rating - 1) / (len(LEVELS) - 1) for each in marks], [each.group for each in marks])
    ends = (None if end is None else 1 + end * (len(LEVELS) - 1) for end in (scaled.value, scaled.low, scaled.high))
    counts = Counter(each.rating for each in marks)
    return {"model": model, "mean": Share(*ends), "counts": [counts[level] for level in LEVELS], "n": len(marks)}


def _agreement_row(first: str, second: str, several: Sequence[Mapping[str, AnswerRating]]) -> dict[str, Any]:
    """Two raters on the `n` answers that both rated: shares equal, and at most 1 apart; kappa."""
    both = [(rated[first], rated[second]) for rated in several if first in rated and second in rated]
    marks, groups = [(one.rating, other.rating) for one, other in both], [one.group for one, _ in both]
    return {
        "raters": (first, second),
        "equal": rate_of([float(one == other) for one, other in marks], groups),
        "within_one": rate_of([float(abs(one - other) <= 1) for one, other in marks], groups),
        "kappa": weighted_kappa(marks, groups, len(LEVELS)),
        "n": len(marks),
    }


_RIGHT = 0.9  # of a mark 0..1: found


def judge_notes(records: Sequence[Record]) -> Iterator[str]:
    """Agreement of several judges; nothing for a run with one judge."""
    marks = [(record, by_judge) for record in records if (by_judge := _marks(record))]
    names = list(dict.fromkeys(name for _, by_judge in marks for name in by_judge))
    if len(names) < 2:
        return
    right = [
        ({name: mark if mark is None else mark >= _RIGHT for name, mark in by_judge.items()}, record.item or record.id)
        for record, by_judge in marks
    ]
    read = [(set(row.values()), sample) for row, sample in right if None not in row.values()]
    same = rate_of([float(len(kinds) == 1) for kinds, _ in read], [sample for _, sample in read])
    ties = sum(1 for record, _ in marks if record.details.score.get("tied"))
    split = f"; an even split on {ties}: no score" if ties else ""
    yield f"judges: all {len(names)} agree on {share_words(same)} of {len(read)} answers{split}"
    for one, other in combinations(names, 2):
        both = [(row, sample) for row, sample in right if None not in (row[one], row[other])]
        pair = agreement([(str(row[one]), str(row[other])) for row, _ in both], [sample for _, sample in both])
        kappa = "" if pair.kappa.value is None else f", Cohen's kappa {pair.kappa.value:.2f}"
        yield f"judges {one} and {other} agree on {share_words(pair.agreement)} of {pair.n} answers{kappa}"


def _marks(record: Record) -> dict[str, float | None]:
    """The marks of several judges, 0..1, by name; `None` where a reply could not be read."""
    details = record.details.score
    return {key.removeprefix(JUDGE_SAID): value for key, value in details.items() if key.startswith(JUDGE_SAID)}
