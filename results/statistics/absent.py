"""Questions whose needle is absent, and votes of repeats."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any, Literal

import numpy as np

from needlework.core.record import SCORED, Record
from needlework.results.records.journal import AnswerVectors
from needlework.results.records.samples import control_of, retriever_of
from needlework.results.statistics.intervals import FEWEST_CLUSTERS, cluster_sums, score_interval
from needlework.results.statistics.paired import Difference, mean_difference
from needlework.results.statistics.panels import Tally, depth_order, tally, trial_of
from needlework.scoring.content_words import content_words


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
    groups: dict[tuple[str, str], list[Record]] = {}
    every = list(records)
    for record in every if any(map(is_absent, every)) else ():
        if control_of(record) == "focused" or retriever_of(record):
            continue
        groups.setdefault((record.model, record.task_label), []).append(record)
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


# The medoid is the answer with the highest mean cosine similarity to the others, of equal ones that of the lowest
# repeat (snorkel's long-context-eval calls it medoid voting). Answers are bags of content words, and nothing is asked;
# with `--vote-by embeddings`, as published, they are vectors. The same answers elect the same one. Two ways to take K
# answers from the same trials:
#
# * `moved`: each at another depth of the answer document, as a random order of all documents would have it;
# * `fixed`: all at one depth, only the other documents are reordered. This is the control.
_DIGITS = 5  # of a cosine that two machines agree on
Ways = Literal["moved", "fixed"]
WORDS = "words"
CONTROL = 25.0
"""Percent: the depth of the published control."""


@dataclass(frozen=True, slots=True)
class Vote:
    """Votes of `of` answers each, of one task and arm.

    `depth`: percent, where the answer document stands in each of them; `None` for all depths. `n`: votes; `incomplete`:
    groups with an answer that has no score, which are left out. `voted`, `single`: the score of the elected answers,
    and of all that were voted on. `gain`: their difference, paired by question. `requests`, `tokens`: what the votes
    took, prompts and answers; a single order takes the `of`-th part. `by`: what answers are alike in, `words` or an
    embedder.
    """

    task: str
    arm: str
    ways: Ways
    depth: float | None
    of: int
    n: int
    incomplete: int
    voted: Rate
    single: Rate
    gain: Difference | None
    requests: int
    tokens: int
    by: str = WORDS


def votes(records: Sequence[Record], of: int, vectors: AnswerVectors | None = None) -> tuple[Vote, ...]:
    """Return the votes of one model's records, by task and arm; nothing where `of` (answers a vote) is 0.

    `vectors`: of the answers; without one of them all vote by words.
    """
    if not of:
        return ()
    if vectors is not None and vectors.of([text for record in records if (text := _answer(record)).strip()]) is None:
        vectors = None
    series: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        arm = record.arm
        if "focused" not in arm.split("_"):
            series.setdefault((record.task, arm), []).append(record)
    found: list[Vote] = []
    for (task, arm), own in sorted(series.items()):
        depths = sorted({record.depth for record in own if record.depth is not None})
        fixed = list(_groups(own, of, moved=False))
        if len(depths) > 1:
            found.append(_vote(task, arm, "moved", None, of, list(_groups(own, of, moved=True)), vectors))
        found.append(_vote(task, arm, "fixed", depths[0] if len(depths) == 1 else None, of, fixed, vectors))
        if len(depths) > 1 and CONTROL in depths:
            control = [group for group in fixed if group[0].depth == CONTROL]
            found.append(_vote(task, arm, "fixed", CONTROL, of, control, vectors))
    return tuple(each for each in found if each.n or each.incomplete)


def medoid(answers: Sequence[str], vectors: AnswerVectors | None = None) -> int:
    """Return the place of the answer that is most like the others: in their vectors where there are any, else in words.

    Of answers that are as like as another but for rounding, the first.
    """
    if vectors is not None:
        return _by_vectors(answers, vectors)
    words = [content_words(answer) for answer in answers]
    means = [
        fsum(_cosine(one, other) for at, other in enumerate(words) if at != here) for here, one in enumerate(words)
    ]
    # Equal sums of other orders of the same terms are equal: `fsum` is exact.
    return means.index(max(means))


def _by_vectors(answers: Sequence[str], vectors: AnswerVectors) -> int:
    """Blank answers have no vector: they are like each other and like nothing else."""
    said = [at for at, answer in enumerate(answers) if answer.strip()]
    likeness = np.eye(len(answers))
    blank = [at for at in range(len(answers)) if at not in said]
    likeness[np.ix_(blank, blank)] = 1
    found = vectors.of([answers[at] for at in said]) if said else None
    if found is not None:
        sizes = np.linalg.norm(found, axis=1, keepdims=True)
        unit = np.divide(found, sizes, out=np.zeros_like(found), where=sizes > 0).astype(np.float64)
        likeness[np.ix_(said, said)] = unit @ unit.T
    # Equal answers have equal rows but for the last digits.
    return int(np.argmax((likeness.sum(axis=1) - likeness.diagonal()).round(_DIGITS)))


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    """Of bags of words; blank answers are like each other and like nothing else."""
    if not one or not other:
        return float(one == other)
    return len(one & other) / sqrt(len(one) * len(other))


def _groups(records: Sequence[Record], of: int, *, moved: bool) -> Iterator[tuple[Record, ...]]:
    """The trials that vote together: one of each of `of` repeats of a question, at one depth or each at the next."""
    places: dict[tuple[str, int], dict[tuple[int, float | None], Record]] = {}
    for record in records:
        place = places.setdefault((record.needle, record.length), {})
        place[record.repeat, record.depth] = record
    for _, trials in sorted(places.items()):
        depths = sorted({depth for _, depth in trials}, key=lambda depth: -1.0 if depth is None else depth)
        rounds = (1 + max(repeat for repeat, _ in trials)) // of
        for first in range(0, rounds * of, of):
            for start in range(len(depths)):
                at = [(first + turn, depths[(start + turn * moved) % len(depths)]) for turn in range(of)]
                if all(each in trials for each in at):
                    yield tuple(trials[each] for each in at)


def _vote(
    task: str,
    arm: str,
    ways: Ways,
    depth: float | None,
    of: int,
    groups: Sequence[tuple[Record, ...]],
    vectors: AnswerVectors | None,
) -> Vote:
    whole = [group for group in groups if all(record.outcome in SCORED for record in group)]
    names = [group[0].item for group in whole]
    elected = [_score(group[medoid([_answer(record) for record in group], vectors)]) for group in whole]
    each = [[_score(record) for record in group] for group in whole]
    gains = [score - fsum(scores) / of for score, scores in zip(elected, each, strict=True)]
    return Vote(
        task=task,
        arm=arm or "whole",
        ways=ways,
        depth=depth,
        of=of,
        n=len(whole),
        incomplete=len(groups) - len(whole),
        voted=rate_of(elected, names),
        single=rate_of([score for scores in each for score in scores], [name for name in names for _ in range(of)]),
        gain=mean_difference(gains, names),
        requests=of * len(whole),
        tokens=sum(_tokens(record) for group in whole for record in group),
        by=vectors.embedder if vectors is not None else WORDS,
    )


def _answer(record: Record) -> str:
    return record.response.text


def _score(record: Record) -> float:
    return record.score or 0.0


def _tokens(record: Record) -> int:
    response = record.response
    counts = (response.prompt_tokens or record.prompt.tokens, response.completion_tokens)
    return sum(count or 0 for count in counts)
