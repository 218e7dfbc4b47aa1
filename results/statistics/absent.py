"""Questions whose needle is absent."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any

import numpy as np

from needlework.core.record import SCORED, Record
from needlework.results.records.samples import control_of, grouped, retriever_of
from needlework.results.statistics.intervals import FEWEST_CLUSTERS, cluster_sums, score_interval
from needlework.results.statistics.panels import Tally, depth_order, tally, trial_of


# A record of the absent arm says so in its reference: `"absent": true`. Where the twins' needles have different names,
# the references of both say which belong together: `"twin": NAME`. What is right in the absent arm is to abstain. A
# model that never abstains hallucinates; one that always does looks honest and knows nothing: neither rate means much
# alone.
@dataclass(frozen=True, slots=True)
class Rate:
    """A share of `n` trials (pairs, for `discriminates`), 0..1, `None` where n is 0; with its 95 % interval, `None` for
    fewer than two samples."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class AbsentTwins:
    """Both arms of one (model, task).

    `hallucination`: of scored trials of the absent arm, those that state an answer. `needless`: of scored trials of the
    present arm, those that abstain. `balanced`: mean of the present arm's score and the absent arm's abstentions.
    `discriminates`: of pairs of twins, those right in both arms. `present`, `absent`: the arms' trials; those without a
    score are in these counts and in no rate.
    """

    model: str
    task: str
    hallucination: Rate
    needless: Rate
    balanced: Rate
    discriminates: Rate
    present: Tally
    absent: Tally


def is_absent(record: Record) -> bool:
    """Whether the answer to this record's question stands nowhere in its text."""
    return record.reference.get("absent") is True


def abstains(record: Record) -> bool:
    """Whether the answer says that it is not there: a refusal, or whatever the scorer of the absent arm calls right."""
    return record.outcome == "refused" or (is_absent(record) and record.score == 1)


def absent_twins(records: Iterable[Record]) -> tuple[AbsentTwins, ...]:
    """Return the statistics of every (model, task) that has records of the absent arm, sorted."""
    every = list(records)
    asked = every if any(map(is_absent, every)) else []
    whole = [record for record in asked if control_of(record) != "focused" and not retriever_of(record)]
    groups = grouped(whole, lambda record: (record.model, record.task_label))
    return tuple(twins_of(*at, groups[at]) for at in sorted(groups) if any(map(is_absent, groups[at])))


def twins_of(model: str, task: str, records: Sequence[Record]) -> AbsentTwins:
    """Return the statistics of records of both arms, whatever their tasks; `task` is what to call them."""
    scored = sorted((record for record in records if record.outcome in SCORED), key=_place)
    present = [record for record in scored if not is_absent(record)]
    absent = [record for record in scored if is_absent(record)]
    return AbsentTwins(
        model=model,
        task=task,
        hallucination=_rate(absent, _hallucinates),
        needless=_rate(present, lambda record: float(abstains(record))),
        balanced=_balanced(present, absent),
        discriminates=_discriminates(present, absent),
        present=tally(trial_of(record) for record in records if not is_absent(record)),
        absent=tally(trial_of(record) for record in records if is_absent(record)),
    )


def _hallucinates(record: Record) -> float:
    """An answer that states something; a blank one states nothing, and is no abstention either."""
    return float(not abstains(record) and record.outcome != "empty")


def _right(record: Record) -> float:
    return float(abstains(record)) if is_absent(record) else record.score or 0.0


def rate_of(values: Sequence[float], clusters: Sequence[Hashable]) -> Rate:
    """The mean of values 0..1 with its interval; `clusters` names what values that are not independent share."""
    if not values:
        return Rate(None, None, None, 0)
    mean, interval = fsum(values) / len(values), score_interval(values, clusters)
    return Rate(mean, interval.low, interval.high, len(values)) if interval else Rate(mean, None, None, len(values))


def _rate(records: Sequence[Record], value: Callable[[Record], float]) -> Rate:
    return rate_of([value(record) for record in records], _samples(records))


def _samples(records: Sequence[Record]) -> list[int]:
    return [trial_of(record).sample for record in records]


def _balanced(present: Sequence[Record], absent: Sequence[Record]) -> Rate:
    """The mean of both arms' rates, its interval from theirs (MOVER: G. Y. Zou, "On the estimation of additive
    interaction by use of the four-by-two table and beyond", Am. J. Epidemiol. 168 (2008) 212-224), with the correlation
    of the arms over samples that both have."""
    a, b = _rate(present, _right), _rate(absent, _right)
    if a.value is None or b.value is None:
        return Rate(None, None, None, 0)
    mean, together = (a.value + b.value) / 2, _correlation(present, absent)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Rate(mean, None, None, a.n + b.n)

    def reach(first: float, second: float) -> float:
        return sqrt(max(0.0, first * first + second * second + 2 * together * first * second)) / 2

    low = mean - reach(a.value - a.low, b.value - b.low)
    high = mean + reach(a.high - a.value, b.high - b.value)
    return Rate(mean, max(0.0, low), min(1.0, high), a.n + b.n)


def _correlation(present: Sequence[Record], absent: Sequence[Record]) -> float:
    """Of the arms' means over samples; 0 where few samples have both arms, or one arm is alike in all."""
    both = set(_samples(present)) & set(_samples(absent))
    if len(both) < FEWEST_CLUSTERS:
        return 0.0
    means = []
    for arm in (present, absent):
        inside = [record for record in arm if trial_of(record).sample in both]
        sums, sizes = cluster_sums([[_right(record)] for record in inside], _samples(inside))
        means.append((sums / sizes).ravel())
    return 0.0 if min(np.ptp(arm) for arm in means) == 0 else float(np.corrcoef(means[0], means[1])[0, 1])


def _discriminates(present: Sequence[Record], absent: Sequence[Record]) -> Rate:
    # The absent arm of a control has one text for all depths of the present arm.
    twins: dict[tuple[Any, ...], bool] = {}
    for record in absent:
        twins[_place(record)] = twins.get(_place(record), True) and _right(record) == 1
    pairs = []
    for record in present:
        at = next((at for at in (_place(record), _place(record, all_depths=True)) if at in twins), None)
        if at is not None:
            pairs.append((trial_of(record).sample, twins[at] and _right(record) == 1))
    return rate_of([float(right) for _, right in pairs], [sample for sample, _ in pairs])


def _place(record: Record, *, all_depths: bool = False) -> tuple[Any, ...]:
    """What twins share; `all_depths`: the place of a twin without a depth."""
    twin = record.reference.get("twin", record.needle)
    return twin, record.length, *depth_order(None if all_depths else record.depth), record.repeat
