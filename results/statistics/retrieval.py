"""Retrieval beside the whole documents: what was found, and what the answers make of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

from needlework.results.records.controls import control_of, retriever_of
from needlework.results.records.record import SCORED, Record
from needlework.results.records.samples import panel_and_sample
from needlework.results.statistics.absent import Rate, rate_of
from needlework.results.statistics.intervals.paired import Difference, mean_difference
from needlework.results.statistics.panels import Tally, tally, trial_of

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
    ordered = sorted(asked, key=_order)
    whole: dict[tuple[str, str], dict[_Question, list[Record]]] = {}
    arms: dict[tuple[str, str, str], list[Record]] = {}
    for record in ordered:
        at = (record["model"], record["task"])
        if retriever := retriever_of(record):
            arms.setdefault((*at, retriever), []).append(record)
        elif not control_of(record) and record["outcome"] in SCORED:
            whole.setdefault(at, {}).setdefault(_question(record, record["needle"]), []).append(record)
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
    told = [(record, facts) for record in records if (facts := _facts(record))]
    gold = [(record, facts.get("rank")) for record, facts in told if facts.get("gold") is not None]
    words = [(record, facts["answer_recall"]) for record, facts in told if facts.get("answer_recall") is not None]
    first = told[0][1] if told else {}
    return ArmScore(
        model=model,
        task=task,
        retriever=retriever,
        embedder=first.get("embedder"),
        k=first.get("k"),
        score=tally(trial_of(record) for record in records),
        recall=_rate([(record, float(rank is not None)) for record, rank in gold]),
        reciprocal_rank=_rate([(record, 1 / rank if rank else 0.0) for record, rank in gold]),
        answer_recall=_rate(words),
        found=tally(trial_of(record) for record, rank in gold if rank),
        missed=tally(trial_of(record) for record, rank in gold if not rank),
        cut=sum(bool(facts.get("cut_chunks")) for _, facts in told),
        paired=_paired([record for record in records if record["outcome"] in SCORED], whole),
    )


def _paired(records: Sequence[Record], whole: dict[_Question, list[Record]]) -> Paired | None:
    pairs = [
        (record, others)
        for record in records
        if (others := whole.get(_question(record, record["reference"].get("twin", ""))))
    ]
    scores = [(record["score"] or 0.0, _mean([other["score"] or 0.0 for other in others])) for record, others in pairs]
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


def _facts(record: Record) -> dict[str, Any]:
    found = record["prompt"].get("retrieval")
    return found if isinstance(found, dict) else {}


def _question(record: Record, needle: str) -> _Question:
    return needle, record["length"], record["repeat"], record.get("seed")


def _sample(record: Record) -> int:
    return panel_and_sample(record["task"], record["needle"], record["repeat"])[1]


def _tokens(record: Record) -> float:
    return float(record["prompt"].get("tokens", 0))


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _tally_object(found: Tally) -> dict[str, Any]:
    interval = found.interval
    return {
        "n": found.n,
        "trials": found.trials,
        "mean": found.mean,
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
    }


def _order(record: Record) -> tuple[str, str, str, int, int]:
    return record["model"], record["task"], record["needle"], record["length"], record["repeat"]
