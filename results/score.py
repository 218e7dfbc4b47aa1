"""`needlework score BENCHMARK FILES...`: score predictions that were made without needlework."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast
from zlib import crc32

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.core.record import OutcomeName
from needlework.haystack_fixtures.documents.data_set import DataSet, RowSummary, open_data
from needlework.results.leval import scores as leval
from needlework.results.predictions import (
    ARGUMENT,
    BENCHMARKS,
    AnswerRow,
    Benchmark,
    benchmark_of,
    read_answers,
    right_letter,
)
from needlework.results.report.section import section_lines
from needlework.results.report.suites import data_set_sections
from needlework.results.statistics.panels import ScoredTrial
from needlework.results.statistics.suites.data_sets import (
    DataSetAnswer,
    authors_notes,
    bins_note,
    data_set_answer,
    field_table,
    judged,
)
from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Score

SCHEMA = "needlework-answers-scores-1"
_HELP = """score predictions by every rule. ANSWERS: jsonl rows {"id": ..., "prediction": "the reply"} with --data, or
with the columns of the data set; or logs of inspect_ai (.eval, .json; needs `pip install inspect-ai`)"""
# Reasoning that another harness left in the reply: our rule reads what follows it, the published ones read all of it.
_REASONING = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_ROW_NUMBER = re.compile(r"(?:\A|_q)(\d+)(?:-r\d+)?\Z")  # a row's number, or the label of our trial


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about wrong input."""
    parser = OneLineParser(prog="needlework score", description=__doc__)
    benchmarks = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    leval.add_arguments(benchmarks.add_parser("leval", help=leval.ABOUT, description=leval.__doc__))
    for name, versions in BENCHMARKS.items():
        about = f"score predictions for {' or '.join(version.task for version in versions)} that were made elsewhere"
        add = benchmarks.add_parser(name, help=about, description=_HELP).add_argument
        add("answers", nargs="+", type=Path, metavar=ARGUMENT, help="files, or folders of them")
        add("--data", help="your copy of the data, if the files do not have questions and right answers")
        add("--out", type=Path, help="JSON file to write, with the scores of every answer")
    options = parser.parse_args(argv)

    def score() -> int:
        leval.run(options) if options.benchmark == "leval" else _score_files(options)
        return 0

    return run_command("score", score)


def _score_files(options: argparse.Namespace) -> None:
    """Print a table for each of ANSWERS, and write `--out`. Raises `InputError`."""
    tables, objects = [], []
    for path in options.answers:
        answers = read_answers(path)
        benchmark = benchmark_of(options.benchmark, answers)
        data = open_data(options.data, benchmark.layout) if options.data else None
        scored = score_answers(answers, benchmark, data, path.name)
        if not scored:
            names = ", ".join(benchmark.layout.columns)
            columns = f"tells no right answers ({names}): give --data PATH, and rows with its ids or numbers"
            rows = f"has no row of {options.data}: give rows with its ids, or its rows' numbers from 0"
            raise InputError(ARGUMENT, path, rows if options.data else columns)
        notes = [*_notes(scored, len(answers), data), *_published_notes(benchmark, scored)]
        table = field_table(path.name, benchmark.task, [answer.row for answer in scored], notes)
        tables.append(table)
        items = [_item(answer) for answer in scored]
        objects.append({"file": str(path), "table": asdict(table), "items": items})
    for line in section_lines(data_set_sections(tables)):
        print(line)
    if options.out is not None:
        content = {"schema": SCHEMA, "answers": objects}
        write_whole(options.out, f"{json.dumps(content, indent=1, allow_nan=False)}\n".encode())
        print(f"written to {options.out}")


@dataclass(frozen=True, slots=True)
class ScoredAnswer:
    """An answer with its score and the columns of its question."""

    answer: AnswerRow
    score: Score | None  # `None` if the request failed
    row: DataSetAnswer
    columns: Mapping[str, Any] = field(repr=False)
    data_row: int | None = None  # the number of its row in `--data`


def score_answers(
    answers: Sequence[AnswerRow], benchmark: Benchmark, data: DataSet | None, model: str
) -> list[ScoredAnswer]:
    """Score the answers that have a reference, in their columns or in the row of the data with their id or number."""
    scored = []
    for number, answer in enumerate(answers):
        columns, data_row = dict(answer.columns), None
        if data is not None and (data_row := _data_row(answer, data)) is not None:
            columns |= {**data_row.row, data.layout.text: data.text(data_row.number)}
        reference = benchmark.reference(columns)
        if reference is None:
            continue
        score, row = _score(answer, benchmark, columns, reference, model, number)
        short = {name: value for name, value in columns.items() if name != benchmark.layout.text}
        scored.append(ScoredAnswer(answer, score, row, short, data_row.number if data_row is not None else None))
    return scored


def _data_row(answer: AnswerRow, data: DataSet) -> RowSummary | None:
    """The row that an answer names, by its id, else by its number."""
    by_id = next((entry for entry in data.entries if str(entry.row.get("_id")) == answer.id), None)
    if by_id is not None:
        return by_id
    number = _ROW_NUMBER.search(answer.id)
    return data.entries[int(number[1])] if number and int(number[1]) < len(data.entries) else None


def _score(
    answer: AnswerRow,
    benchmark: Benchmark,
    columns: Mapping[str, Any],
    reference: Mapping[str, Any],
    model: str,
    number: int,
) -> tuple[Score | None, DataSetAnswer]:
    scorer = scorer_named(benchmark.task)
    context = columns.get(benchmark.layout.text)
    score: Score | None = None
    details: dict[str, Any] = {}
    if not answer.error:
        score = scorer.judge(_REASONING.sub("", answer.text), as_reference(reference))
        details = dict(score.details)
        if _REASONING.match(answer.text):
            published = scorer.judge(answer.text, as_reference(reference)).details
            details |= {name: value for name, value in published.items() if name.startswith("as_")}
    trial = ScoredTrial(
        model=model,
        task=benchmark.task,
        needle="",
        length=0,
        depth=None,
        sample=crc32(context.encode("utf-8", "surrogatepass")) if isinstance(context, str) else number,
        outcome=cast("OutcomeName", score.verdict) if score else "error",
        score=score.value if score else None,
    )
    row = data_set_answer(
        benchmark.task,
        trial,
        benchmark.groups(columns),
        details,
        chance=reference.get("chance"),
        empty=not answer.text.strip(),
    )
    return score, row


def _notes(scored: Sequence[ScoredAnswer], answers: int, data: DataSet | None) -> Iterator[str]:
    if left_out := answers - len(scored):
        remedy = "the data has no row of theirs" if data is not None else "no right answer is told: give --data"
        yield f"left out, since {remedy}: {left_out}"
    if failed := sum(answer.score is None for answer in scored):
        yield f"failed requests, in no mean: {failed}"
    if data is not None:
        yield f"data: sha256 {data.sha256[:12]}, {len(data.entries):,} rows"
        if missing := len(data.entries) - len({answer.data_row for answer in scored}):
            yield f"{missing:,} of {len(data.entries):,} rows have no answer here: the score is of the others"
        if data.outdated:
            yield data.outdated


def _published_notes(benchmark: Benchmark, scored: Sequence[ScoredAnswer]) -> list[str]:
    """What the published scripts print of these answers."""
    if benchmark.task != "longbench_v2":
        counts = [answer.columns.get("total_tok_cnt") for answer in scored]
        return bins_note([tokens for tokens in counts if isinstance(tokens, int)])
    return authors_notes(
        judged(
            answer.answer.text,
            difficulty=answer.columns.get("difficulty"),
            length=answer.columns.get("length"),
            answer=right_letter(answer.columns),
        )
        for answer in scored
        if answer.score is not None
    )


def _item(answer: ScoredAnswer) -> dict[str, Any]:
    score = answer.score
    return {
        "key": answer.answer.id,
        "groups": list(answer.row.groups),
        "outcome": answer.row.trial.outcome,
        "score": score.value if score else None,
        "why": score.why if score else answer.answer.error,
        "details": dict(score.details) if score else {},
        "others": dict(answer.row.others),
    }
