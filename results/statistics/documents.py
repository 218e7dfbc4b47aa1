"""Own documents: positions, sizes, search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

from msgspec import structs

from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import SCORED, OutcomeName, Record, RetrievalFacts
from needlework.results.records.journal import AnswerVectors
from needlework.results.records.samples import control_of, grouped, retriever_of
from needlework.results.statistics.absent import AbsentTwins, Rate, abstains, is_absent, rate_of, twins_of
from needlework.results.statistics.agreement import Agreement, agreement
from needlework.results.statistics.depth import DepthEffect, depth_effect
from needlework.results.statistics.paired import Difference, mean_difference
from needlework.results.statistics.panels import Tally, tally, trial_of
from needlework.results.statistics.votes import Vote, votes

# A question is one sample, at whatever depth, size and order of the documents it was asked: intervals take its trials
# together. Of the scored trials some abstain ("the documents do not say"), some assert wrong content, few are blank:
# one accuracy hides which (of 208 wrong answers in snorkel's records 109 abstain and 99 assert).
WHOLE, FOCUSED = "whole", "focused"
_POSITION, _SIZE = "doc_position", "doc_size"


@dataclass(frozen=True, slots=True)
class ArmAtPlace:
    """The trials of one arm at one place.

    `arm`: `whole` (all documents in the context), a retriever, or `focused` (the answer document alone). `length`:
    tokens, 0 for `focused`; `depth`: percent, `None` over all depths. `tokens`: mean tokens of the context, `None`
    where records do not tell. `abstains`, `asserts`: of scored trials, those that say that the documents do not tell,
    and those that state something wrong. `unscored`: trials that are in none of the rates.
    """

    arm: str
    length: int
    depth: float | None
    tokens: float | None
    questions: int
    score: Rate
    abstains: Rate
    asserts: Rate
    unscored: Mapping[OutcomeName, int]


@dataclass(frozen=True, slots=True)
class DocumentScores:
    """What a model's answers about the user's documents say; scores and rates 0..1.

    `by_depth`: of `doc_position`. `by_size`: of `doc_size`, the answer document alone first; `size_depths`: where the
    answer document stands in the others, percent; `size_spread`: each question has one of these, in all sizes the same.
    `depth`: best and worst depth and their paired test, over the whole context. `loss`: the score at the largest size
    minus that of the answer document alone (the smallest size without it), paired by question. `absent`: where the
    answer document is not there, by arm (`absent`; `near`: the most similar document in its place). `judge`: the
    offline rule beside the judge; `votes`: of `--vote`.
    """

    model: str
    questions: int
    by_depth: tuple[ArmAtPlace, ...]
    by_size: tuple[ArmAtPlace, ...]
    size_depths: tuple[float, ...]
    size_spread: bool
    depth: DepthEffect | None
    loss: Difference | None
    absent: Mapping[str, AbsentTwins]
    judge: Agreement | None
    votes: tuple[Vote, ...]


def document_statistics(
    records: Iterable[Record], vote: int = 0, vectors: AnswerVectors | None = None
) -> tuple[DocumentScores, ...]:
    """Return the statistics of each model that was asked about documents, sorted. `vote`: as `--vote`, 0 for none;
    `vectors`: of the answers that vote."""
    asked = [record for record in records if record.task_label in OWN_DOCUMENTS]
    groups = grouped(asked, lambda record: record.model)
    return tuple(_of_model(model, sorted(groups[model], key=_order), vote, vectors) for model in sorted(groups))


def arm_of(record: Record) -> str:
    """The arm of a record whose answer document was there: `whole`, `bm25`, `dense`, `focused`."""
    words = record.arm.split("_")
    if control_of(record) == FOCUSED or FOCUSED in words:
        return FOCUSED
    return next((word for word in words if word in ("bm25", "dense")), WHOLE)


def _of_model(model: str, records: Sequence[Record], vote: int, vectors: AnswerVectors | None) -> DocumentScores:
    present = [record for record in records if not is_absent(record)]
    position = [record for record in present if record.task == _POSITION]
    size = [record for record in present if record.task == _SIZE]
    whole = [record for record in position if arm_of(record) == WHOLE]
    return DocumentScores(
        model=model,
        questions=len({_question(record) for record in records}),
        by_depth=_points(position, over_depths=False),
        by_size=_points(size, over_depths=True),
        size_depths=tuple(sorted({record.depth for record in size if record.depth is not None})),
        size_spread=_is_spread(size),
        depth=depth_effect(map(trial_of, whole)) if len({record.depth for record in whole}) > 1 else None,
        loss=_loss(size),
        absent=_absent_arms(records),
        judge=_judge_and_rule(records),
        votes=votes(present, vote, vectors),
    )


def _is_spread(records: Sequence[Record]) -> bool:
    """Whether questions have other depths than one another, and each trial of one has one."""
    depths: dict[tuple[str, int, int], set[float]] = {}
    for record in records:
        if record.depth is not None:
            at = _question(record), record.length, record.repeat
            depths.setdefault(at, set()).add(record.depth)
    return len(set().union(*depths.values())) > 1 and all(len(each) == 1 for each in depths.values())


def _points(records: Sequence[Record], *, over_depths: bool) -> tuple[ArmAtPlace, ...]:
    """One point for each arm, size and, unless `over_depths`, depth; the answer document alone comes first."""
    places: dict[tuple[bool, str, int, float | None], list[Record]] = {}
    for record in records:
        arm = arm_of(record)
        at = (0, None) if arm == FOCUSED else (record.length, None if over_depths else record.depth)
        places.setdefault((arm != FOCUSED, arm, *at), []).append(record)
    order = sorted(places, key=lambda at: (at[0], at[1] != WHOLE, at[1], at[2], -1.0 if at[3] is None else at[3]))
    return tuple(_point(*at[1:], places[at]) for at in order)


def _point(arm: str, length: int, depth: float | None, records: Sequence[Record]) -> ArmAtPlace:
    scored = [record for record in records if record.outcome in SCORED]
    clusters = [_question(record) for record in scored]
    sizes = [float(size) for record in records if isinstance(size := record.prompt.context_tokens, int)]
    return ArmAtPlace(
        arm=arm,
        length=length,
        depth=depth,
        tokens=fsum(sizes) / len(sizes) if sizes else None,
        questions=len(set(clusters)),
        score=rate_of([_score(record) for record in scored], clusters),
        abstains=rate_of([float(abstains(record)) for record in scored], clusters),
        asserts=rate_of([float(record.outcome in ("wrong", "distractor")) for record in scored], clusters),
        unscored=tally(map(trial_of, records)).unscored,
    )


def _loss(records: Sequence[Record]) -> Difference | None:
    """Of the whole context, each question's mean over its orders and depths."""
    means: dict[int, dict[str, list[float]]] = {}
    for record in records:
        arm = arm_of(record)
        if arm in (WHOLE, FOCUSED) and record.outcome in SCORED:
            length = 0 if arm == FOCUSED else record.length
            means.setdefault(length, {}).setdefault(_question(record), []).append(_score(record))
    if len(means) < 2:
        return None
    small, large = means[min(means)], means[max(means)]
    both = sorted(small.keys() & large.keys())
    return mean_difference(
        [fsum(large[name]) / len(large[name]) - fsum(small[name]) / len(small[name]) for name in both], both
    )


def _absent_arms(records: Sequence[Record]) -> dict[str, AbsentTwins]:
    """Both arms of each kind of absence. Twins share question, length and order of documents, in whatever task."""
    unsearched = [record for record in records if arm_of(record) == WHOLE]
    arms = grouped(filter(is_absent, unsearched), lambda record: "near" if _is_near(record) else "absent")
    whole = [record for record in unsearched if not is_absent(record)]
    found = {}
    for arm, absent in sorted(arms.items()):
        lengths = {record.length for record in absent}
        beside = [record for record in whole if record.length in lengths]
        tasks = {record.task for record in beside}
        present = [record for record in beside if record.task == (_POSITION if _POSITION in tasks else _SIZE)]
        found[arm] = twins_of(absent[0].model, arm, [_as_twin(record) for record in (*present, *absent)])
    return found


def _is_near(record: Record) -> bool:
    return record.reference.get("arm") == "near" or "near" in record.arm.split("_")


def _as_twin(record: Record) -> Record:
    return structs.replace(record, reference={**record.reference, "twin": _question(record)})


def _judge_and_rule(records: Sequence[Record]) -> Agreement | None:
    """The offline rule's verdicts beside the judge's; `None` where no judge said anything."""
    judged = [record for record in records if record.score is not None and rule_of(record)]
    if not judged:
        return None
    pairs = [(right_or_wrong(rule_of(record) == "found"), right_or_wrong(_score(record) == 1)) for record in judged]
    return agreement(pairs, [_question(record) for record in judged])


def rule_of(record: Record) -> str:
    """The offline rule's verdict on an answer that a judge has judged; empty where there is none."""
    rule = record.details.score.get("rule")
    return rule if isinstance(rule, str) else ""


def right_or_wrong(right: bool) -> str:
    """The label of a verdict: what judge, rule and people are compared by."""
    return "right" if right else "wrong"


def _question(record: Record) -> str:
    return record.item


def _score(record: Record) -> float:
    return record.score or 0.0


def _order(record: Record) -> tuple[Any, ...]:
    depth = record.depth
    return record.task, record.needle, record.length, -1.0 if depth is None else depth, record.repeat


_Question = tuple[str, int, int, int | None]
"""Needle label, length, repeat, seed."""


@dataclass(frozen=True, slots=True)
class Paired:
    """The trials of an arm whose question was also scored on the whole documents, at the same length and repeat.

    `arm`, `whole`: mean scores of both; where the whole was asked at several depths their mean counts. `difference`:
    arm - whole. Tokens are those of the prompts, on average.
    """

    arm: float
    whole: float
    difference: Difference
    arm_tokens: float
    whole_tokens: float


@dataclass(frozen=True, slots=True)
class ArmScore:
    """One (model, task, retriever), all rates 0..1.

    `recall`: of trials whose answer document is known, those with a chunk of it among the `k`; `reciprocal_rank`: the
    mean of 1 / the place of its first chunk (0 for none). `answer_recall`: mean share of the reference's content words
    that the context has, of those that the documents have. `found`, `missed`: the score where a chunk of the answer
    document was retrieved, and where none was. `cut`: trials of which the embedder read only beginnings of chunks.
    """

    model: str
    task: str
    retriever: str
    embedder: str | None
    k: int | None
    score: Tally
    recall: Rate
    reciprocal_rank: Rate
    answer_recall: Rate
    found: Tally
    missed: Tally
    cut: int
    paired: Paired | None


def arm_scores(records: Iterable[Record]) -> tuple[ArmScore, ...]:
    """Return the rows of every retriever that a run has, sorted; none for a run without."""
    asked = list(records)
    if not any(map(retriever_of, asked)):
        return ()
    ordered = sorted(asked, key=_retrieval_order)
    whole: dict[tuple[str, str], dict[_Question, list[Record]]] = {}
    arms: dict[tuple[str, str, str], list[Record]] = {}
    for record in ordered:
        at = (record.model, record.task)
        if retriever := retriever_of(record):
            arms.setdefault((*at, retriever), []).append(record)
        elif not control_of(record) and record.outcome in SCORED:
            whole.setdefault(at, {}).setdefault(_retrieval_question(record, record.needle), []).append(record)
    return tuple(_row(*key, arms[key], whole.get(key[:2], {})) for key in sorted(arms))


def retrieval_object(rows: Sequence[ArmScore]) -> list[dict[str, Any]]:
    """The rows for `results.json`; scores, rates and differences 0..1."""
    return [
        {
            "model": row.model,
            "task": row.task,
            "retriever": row.retriever,
            "embedder": row.embedder,
            "k": row.k,
            "score": _tally_object(row.score),
            "recall_at_k": asdict(row.recall),
            "reciprocal_rank": asdict(row.reciprocal_rank),
            "answer_recall": asdict(row.answer_recall),
            "score_if_found": _tally_object(row.found),
            "score_if_missed": _tally_object(row.missed),
            "cut_chunks": row.cut,
            "paired": asdict(row.paired) if row.paired else None,
        }
        for row in rows
    ]


def _row(
    model: str, task: str, retriever: str, records: Sequence[Record], whole: dict[_Question, list[Record]]
) -> ArmScore:
    told = [(record, facts) for record in records if (facts := record.prompt.retrieval)]
    gold = [(record, facts.rank) for record, facts in told if facts.gold is not None]
    words = [(record, facts.answer_recall) for record, facts in told if facts.answer_recall is not None]
    first = told[0][1] if told else RetrievalFacts()
    return ArmScore(
        model=model,
        task=task,
        retriever=retriever,
        embedder=first.embedder,
        k=first.k,
        score=tally(trial_of(record) for record in records),
        recall=_rate([(record, float(rank is not None)) for record, rank in gold]),
        reciprocal_rank=_rate([(record, 1 / rank if rank else 0.0) for record, rank in gold]),
        answer_recall=_rate(words),
        found=tally(trial_of(record) for record, rank in gold if rank),
        missed=tally(trial_of(record) for record, rank in gold if not rank),
        cut=sum(bool(facts.cut_chunks) for _, facts in told),
        paired=_paired([record for record in records if record.outcome in SCORED], whole),
    )


def _paired(records: Sequence[Record], whole: dict[_Question, list[Record]]) -> Paired | None:
    pairs = [
        (record, others)
        for record in records
        if (others := whole.get(_retrieval_question(record, record.reference.get("twin", ""))))
    ]
    scores = [(record.score or 0.0, _mean([other.score or 0.0 for other in others])) for record, others in pairs]
    difference = mean_difference([arm - other for arm, other in scores], [_sample(record) for record, _ in pairs])
    if difference is None:
        return None
    return Paired(
        arm=_mean([arm for arm, _ in scores]),
        whole=_mean([other for _, other in scores]),
        difference=difference,
        arm_tokens=_mean([_tokens(record) for record, _ in pairs]),
        whole_tokens=_mean([_mean([_tokens(other) for other in others]) for _, others in pairs]),
    )


def _rate(values: Sequence[tuple[Record, float]]) -> Rate:
    return rate_of([value for _, value in values], [_sample(record) for record, _ in values])


def _retrieval_question(record: Record, needle: str) -> _Question:
    return needle, record.length, record.repeat, record.seed


def _sample(record: Record) -> int:
    return record.sample_number


def _tokens(record: Record) -> float:
    return float(record.prompt.tokens)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _tally_object(found: Tally) -> dict[str, Any]:
    return {
        "n": found.n,
        "trials": found.trials,
        "mean": found.mean,
        "low": found.share.low,
        "high": found.share.high,
    }


def _retrieval_order(record: Record) -> tuple[str, str, str, int, int]:
    return record.model, record.task, record.needle, record.length, record.repeat
