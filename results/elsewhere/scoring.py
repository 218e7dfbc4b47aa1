"""Answers that were made elsewhere, scored: by our rule and by all published ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast
from zlib import crc32

from needlework.haystack_fixtures.documents.data_sets.data_set import DataSet
from needlework.haystack_fixtures.documents.data_sets.layout import Entry
from needlework.results.elsewhere.answers import Answer
from needlework.results.elsewhere.benchmarks import Benchmark
from needlework.results.records.record import OutcomeName
from needlework.results.statistics.panels import Trial
from needlework.results.statistics.published.field import Row, noise_of, others_of, unread
from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Score

# Reasoning that a harness left in the reply: our rule reads what follows it, the published ones read all of it.
_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"(?:\A|_q)(\d+)(?:-r\d+)?\Z")  # a number, or an id of ours


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer with its score, and the columns of its question. `score`: `None` where the request failed. `entry`: the
    number of its row in the data that was given."""

    answer: Answer
    score: Score | None
    row: Row
    columns: Mapping[str, Any] = field(repr=False)
    entry: int | None = None


@dataclass(frozen=True, slots=True)
class ScoredAnswers:
    """All answers of a file that have a reference. `without`: how many have none: give --data."""

    items: tuple[Scored, ...]
    without: int


def score_answers(answers: Sequence[Answer], benchmark: Benchmark, data: DataSet | None, model: str) -> ScoredAnswers:
    """Score what has a reference, by its own columns or by the row of the data set with its id or number."""
    items, without = [], 0
    for number, answer in enumerate(answers):
        columns, entry = dict(answer.columns), None
        if data is not None and (entry := _entry(answer, data)) is not None:
            columns |= {**entry.row, data.layout.text: data.text(entry.number)}
        reference = benchmark.reference(columns)
        if reference is None:
            without += 1
            continue
        scored = _scored(answer, benchmark, columns, reference, model, number)
        items.append(replace(scored, entry=entry.number if entry is not None else None))
    return ScoredAnswers(tuple(items), without)


def _entry(answer: Answer, data: DataSet) -> Entry | None:
    """The row that an answer names: by its id, else by its number."""
    by_id = next((entry for entry in data.entries if str(entry.row.get("_id")) == answer.key), None)
    if by_id is not None:
        return by_id
    number = _NUMBER.search(answer.key)
    return data.entries[int(number[1])] if number and int(number[1]) < len(data.entries) else None


def _scored(
    answer: Answer,
    benchmark: Benchmark,
    columns: Mapping[str, Any],
    reference: Mapping[str, Any],
    model: str,
    number: int,
) -> Scored:
    scorer = scorer_named(benchmark.scorer)
    context = columns.get(benchmark.layout.text)
    sample = crc32(context.encode("utf-8", "surrogatepass")) if isinstance(context, str) else number
    score, details, empty = None, {}, not answer.text.strip()
    outcome: OutcomeName = "error"
    if not answer.failed:
        score = scorer.judge(_THOUGHT.sub("", answer.text), as_reference(reference))
        details = dict(score.details) | _published(answer.text, benchmark, reference, score)
        outcome = cast("OutcomeName", score.verdict)
    trial = Trial(
        model=model,
        task=benchmark.task,
        needle="",
        length=0,
        depth=None,
        sample=sample,
        outcome=outcome,
        score=score.value if score else None,
    )
    row = Row(
        trial=trial,
        groups=benchmark.groups(columns),
        others=others_of(details),
        unread=score is not None and unread(benchmark.task, details),
        another=str(details.get("given", "")).startswith("#"),
        empty=empty,
        chance=float(reference.get("chance", 0.0)),
        noise=noise_of(details),
    )
    short = {name: value for name, value in columns.items() if name != benchmark.layout.text}
    return Scored(answer, score, row, short)


def _published(text: str, benchmark: Benchmark, reference: Mapping[str, Any], score: Score) -> dict[str, Any]:
    """The published rules on the whole reply, which they read with its reasoning."""
    if not _THOUGHT.match(text):
        return {}
    whole = scorer_named(benchmark.scorer).judge(text, as_reference(reference)).details
    return {name: value for name, value in whole.items() if name.startswith("as_")} if score else {}
