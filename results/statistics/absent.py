"""Questions whose answer is not in the text: answers that are invented, and needless abstentions."""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np
from msgspec import Struct

from needlework.core.record import SCORED, Record
from needlework.results.statistics.intervals import FEWEST_CLUSTERS, cluster_sums
from needlework.results.statistics.panels import Rate, Tally, depth_order, rate_of, tally, trial_of


# A record of the absent arm says so in its reference: `"absent": true`. Where the twins' needles have different names,
# the references of both say which belong together: `"twin": NAME`. What is right in the absent arm is to abstain. A
# model that never abstains hallucinates; one that always does looks honest and knows nothing: neither rate means much
# alone.
class AbsentTwins(Struct, frozen=True):
    """Both arms of one (model, task); trials without a score are counted in `present` and `absent` alone."""

    model: str
    task: str
    hallucination: Rate  # of the absent arm: states an answer
    needless: Rate  # of the present arm: abstains
    balanced: Rate  # mean of the present arm's score and the absent arm's abstentions
    discriminates: Rate  # of pairs of twins: right in both arms
    present: Tally
    absent: Tally


def is_absent(record: Record) -> bool:
    """Whether the answer to this record's question stands nowhere in its text."""
    return record.reference.get("absent") is True


def abstains(record: Record) -> bool:
    """Whether the answer is a refusal, or right by the scorer of the absent arm."""
    return record.outcome == "refused" or (is_absent(record) and record.score == 1)


def twins_of(model: str, task: str, records: Sequence[Record]) -> AbsentTwins:
    """Return the statistics of records of both arms, whatever their tasks; `task` is what to call them."""
    arms = [[record for record in records if is_absent(record) is absent] for absent in (False, True)]
    present, absent = (sorted((record for record in arm if record.outcome in SCORED), key=_cell) for arm in arms)
    return AbsentTwins(
        model=model,
        task=task,
        hallucination=_rate(absent, lambda record: not abstains(record) and record.outcome != "empty"),
        needless=_rate(present, abstains),
        balanced=_balanced(present, absent),
        discriminates=_discriminates(present, absent),
        present=tally(map(trial_of, arms[0])),
        absent=tally(map(trial_of, arms[1])),
    )


def _correctness(record: Record) -> float:
    return float(abstains(record)) if is_absent(record) else record.score or 0.0


def _rate(records: Sequence[Record], value: Callable[[Record], float]) -> Rate:
    return rate_of([float(value(record)) for record in records], [record.sample_number for record in records])


def _balanced(present: Sequence[Record], absent: Sequence[Record]) -> Rate:
    """The mean of both arms' rates; its interval from theirs and their correlation over common samples.
    MOVER: G. Y. Zou, "On the estimation of additive interaction by use of the four-by-two table and beyond", Am. J.
    Epidemiol. 168 (2008) 212-224."""
    a, b = _rate(present, _correctness), _rate(absent, _correctness)
    if a.value is None or b.value is None:
        return Rate(None)
    mean, together = (a.value + b.value) / 2, _correlation(present, absent)
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return Rate(mean, n=a.n + b.n)

    def reach(first: float, second: float) -> float:
        return sqrt(max(0.0, first * first + second * second + 2 * together * first * second)) / 2

    low = mean - reach(a.value - a.low, b.value - b.low)
    high = mean + reach(a.high - a.value, b.high - b.value)
    return Rate(mean, max(0.0, low), min(1.0, high), a.n + b.n)


def _correlation(present: Sequence[Record], absent: Sequence[Record]) -> float:
    """The correlation of the arms over samples; 0 if few have both arms, or one arm is constant."""
    both = {record.sample_number for record in present} & {record.sample_number for record in absent}
    if len(both) < FEWEST_CLUSTERS:
        return 0.0
    means = []
    for arm in (present, absent):
        paired = [record for record in arm if record.sample_number in both]
        sums, sizes = cluster_sums([[_correctness(each)] for each in paired], [each.sample_number for each in paired])
        means.append((sums / sizes).ravel())
    return 0.0 if min(np.ptp(arm) for arm in means) == 0 else float(np.corrcoef(means[0], means[1])[0, 1])


def _discriminates(present: Sequence[Record], absent: Sequence[Record]) -> Rate:
    # The absent arm of a control has one text for all depths of the present arm.
    twins: dict[tuple[Any, ...], bool] = {}
    for record in absent:
        twins[_cell(record)] = twins.get(_cell(record), True) and _correctness(record) == 1
    pairs = []
    for record in present:
        cell = next((at for at in (_cell(record), _cell(record, all_depths=True)) if at in twins), None)
        if cell is not None:
            pairs.append((float(twins[cell] and _correctness(record) == 1), record.sample_number))
    return rate_of([value for value, _ in pairs], [sample for _, sample in pairs])


def _cell(record: Record, *, all_depths: bool = False) -> tuple[Any, ...]:
    """The key that twins share; `all_depths`: the cell of a twin without a depth."""
    twin = record.reference.get("twin", record.needle)
    return twin, record.length, *depth_order(None if all_depths else record.depth), record.repeat
