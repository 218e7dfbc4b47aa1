"""Two runs compared trial by trial: the same prompts, asked twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Literal

from haystack_fixtures.errors import InputError
from results.records import SCORED, Record
from results.statistics.joining import Family, Identity, identity_order, joined, prompts_match
from results.statistics.paired import Difference, holm, mean_difference, paired_p
from results.statistics.resampling import sample_clusters
from results.summary import depth_order

Verdict = Literal["better", "worse", "no difference shown"]
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class CellDifference:
    """One cell: `n` pairs that both runs scored, their means 0..1 and B - A; `None` without pairs.

    `unscored`: trials that only one run or none of the two scored, or that one of them does not have.
    """

    family: Family
    length: int
    depth: float | None
    n: int
    first: float | None
    second: float | None
    unscored: int

    @property
    def difference(self) -> float | None:
        return None if self.first is None or self.second is None else self.second - self.first


@dataclass(frozen=True, slots=True)
class FamilyDifference:
    """One (task, needle): mean scores of A and B over the pairs, B - A with its interval, and what may be said of it.

    `p`: as of `paired_p`; `p_adjusted`: Holm over all families. `better` (B beats A) and `worse` need both the interval
    to exclude 0, which knows of clusters, and the adjusted p below 5 %, which knows of the other families.
    `columns`: B - A over the pairs of each length.
    """

    family: Family
    first: float | None
    second: float | None
    difference: Difference | None
    p: float | None
    p_adjusted: float | None
    cells: tuple[CellDifference, ...]
    columns: Mapping[int, float | None]

    @property
    def n(self) -> int:
        return self.difference.n if self.difference else 0

    @property
    def unscored(self) -> int:
        return sum(cell.unscored for cell in self.cells)

    @property
    def verdict(self) -> Verdict:
        if self.difference is None or self.p_adjusted is None or self.p_adjusted >= LEVEL:
            return "no difference shown"
        return "better" if self.difference.sign > 0 else "worse" if self.difference.sign < 0 else "no difference shown"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A (first) against B (second).

    Trials, each in one number only: `pairs` scored by both; unscored by one or both; only in one of the runs.
    Of the trials in both runs: `prompts_differ`, and `prompts_unknown` where a hash is missing. `scorers_differ`: of
    the pairs, those that two different scorers judged.
    """

    families: tuple[FamilyDifference, ...]
    pairs: int
    unscored_first: int
    unscored_second: int
    unscored_both: int
    only_first: int
    only_second: int
    prompts_differ: int
    prompts_unknown: int
    scorers_differ: int

    def changed(self, sign: Literal[-1, 1]) -> list[CellDifference]:
        """Cells whose mean rose (1) or fell (-1), the largest change first: what was seen, not what was shown."""
        cells = [cell for family in self.families for cell in family.cells if sign * (cell.difference or 0.0) > 0]
        return sorted(
            cells,
            key=lambda cell: (
                -round(abs(cell.difference or 0.0), 9),
                cell.family,
                cell.length,
                depth_order(cell.depth),
            ),
        )


def compare(first: Sequence[Record], second: Sequence[Record]) -> Comparison:
    """Join the records of two runs on (task, needle, length, depth, repeat, seed) and compare what both scored.

    Runs of one model each are compared whatever the models are; runs of several models must have the same ones, and
    each is compared with itself. Raises `InputError` where the runs cannot be joined.
    """
    a, b, both = joined(first, second)
    missing = Counter(
        ("first" if _score(a[at]) is None else "") + ("second" if _score(b[at]) is None else "") for at in both
    )
    same_prompt = [prompts_match(a[at], b[at]) for at in both]
    trials: dict[Family, dict[Identity, tuple[Record | None, Record | None]]] = {}
    for at in sorted(a.keys() | b.keys(), key=identity_order):
        trials.setdefault(at[0], {})[at] = (a.get(at), b.get(at))
    families = [_family(family, pairs) for family, pairs in trials.items()]
    adjusted = holm([family.p for family in families])
    return Comparison(
        families=tuple(replace(family, p_adjusted=p) for family, p in zip(families, adjusted, strict=True)),
        pairs=missing[""],
        unscored_first=missing["first"],
        unscored_second=missing["second"],
        unscored_both=missing["firstsecond"],
        only_first=len(a.keys() - b.keys()),
        only_second=len(b.keys() - a.keys()),
        prompts_differ=same_prompt.count(False),
        prompts_unknown=same_prompt.count(None),
        scorers_differ=sum(
            _score(a[at]) is not None and _score(b[at]) is not None and _scorer(a[at]) != _scorer(b[at]) for at in both
        ),
    )


def _family(family: Family, trials: Mapping[Identity, tuple[Record | None, Record | None]]) -> FamilyDifference:
    """`trials` in order; those without two scores only count."""
    cells: dict[tuple[int, float | None], list[tuple[float, float] | None]] = {}
    samples: list[tuple[int, int]] = []
    seen: list[tuple[float, float]] = []
    for (_, length, depth, repeat, _), (a, b) in trials.items():
        x, y = (None if record is None else _score(record) for record in (a, b))
        pair = None if x is None or y is None else (x, y)
        cells.setdefault((length, depth), []).append(pair)
        if pair is not None:
            samples.append((length, repeat))
            seen.append(pair)
    clusters = sample_clusters(samples)
    difference = mean_difference([y - x for x, y in seen], clusters)
    lengths = sorted({length for length, _ in cells})
    return FamilyDifference(
        family=family,
        first=_mean([x for x, _ in seen]),
        second=_mean([y for _, y in seen]),
        difference=difference,
        p=paired_p([x for x, _ in seen], [y for _, y in seen], clusters) if seen else None,
        p_adjusted=None,
        cells=tuple(_cell(family, *at, cells[at]) for at in cells),
        columns={
            length: _mean([y - x for at, cell in cells.items() if at[0] == length for x, y in filter(None, cell)])
            for length in lengths
        },
    )


def _cell(
    family: Family, length: int, depth: float | None, trials: Sequence[tuple[float, float] | None]
) -> CellDifference:
    pairs = [pair for pair in trials if pair is not None]
    means = _mean([x for x, _ in pairs]), _mean([y for _, y in pairs])
    return CellDifference(family, length, depth, len(pairs), *means, len(trials) - len(pairs))


def _score(record: Record) -> float | None:
    """The score, `None` where the outcome has none. A scored outcome without a score is a damaged file."""
    if record["outcome"] not in SCORED:
        return None
    score = record["score"]
    if score is None or not 0 <= score <= 1:
        raise InputError(
            "results", record.get("id", ""), f"has outcome {record['outcome']} and score {score}, not 0..1"
        )
    return score


def _scorer(record: Record) -> tuple[object, object]:
    return record.get("scorer"), record.get("scorer_version")


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
