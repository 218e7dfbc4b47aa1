"""`needlework score mrcr|graphwalks|longbench-v2 ANSWERS...`: predictions made without needlework, by every rule.

ANSWERS: jsonl rows {"id": ..., "prediction": "the reply"} with --data, or with the columns of the data set; or logs of
inspect_ai (.eval, .json; needs `pip install inspect-ai`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.documents.data_sets.data_set import DataSet, open_data
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.elsewhere.answers import Answer, read_answers
from needlework.results.elsewhere.benchmarks import BENCHMARKS, Benchmark, right_letter
from needlework.results.elsewhere.scoring import Scored, ScoredAnswers, score_answers
from needlework.results.statistics.published.as_published import authors_notes, bins_note, judged
from needlework.results.statistics.published.field import FieldTable, field_object, field_table
from needlework.results.tables.field import field_lines

SCHEMA = "needlework-answers-scores-1"


class Elsewhere:
    """The command for one benchmark, or for both MRCRs, which are told apart by their columns."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self.ABOUT = f"score predictions for {' or '.join(names)} that were made without needlework"
        self.__doc__ = __doc__

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""
        parser.add_argument("answers", nargs="+", type=Path, metavar="ANSWERS", help="files, or folders of them")
        parser.add_argument(
            "--data", help="your copy of the data, where the files do not tell questions and right answers"
        )
        parser.add_argument("--out", type=Path, help="JSON file to write, with the scores of every answer")

    def run(self, options: argparse.Namespace) -> None:
        """Print a table for each of ANSWERS, and write `--out`. Raises `InputError`."""
        tables, told = [], []
        for path in options.answers:
            answers = read_answers(path)
            benchmark = self._benchmark(answers)
            data = open_data(options.data, benchmark.layout) if options.data else None
            scored = score_answers(answers, benchmark, data, path.name)
            if not scored.items:
                columns = ", ".join(benchmark.layout.columns)
                remedy = (
                    f"has no row of {options.data}: give rows with its ids, or its rows' numbers from 0"
                    if data
                    else f"tells no right answers ({columns}): give --data PATH, and rows with its ids or numbers"
                )
                raise InputError("ANSWERS", path, remedy)
            table = field_table(
                path.name,
                benchmark.task,
                [each.row for each in scored.items],
                _notes(scored, data) + _as_published(benchmark, scored),
            )
            tables.append(table)
            told.append(_object(path, table, scored))
        for line in field_lines(tables):
            print(line)
        if options.out is not None:
            _write(options.out, {"schema": SCHEMA, "answers": told})

    def _benchmark(self, answers: list[Answer]) -> Benchmark:
        if len(self._names) == 1:
            return BENCHMARKS[self._names[0]]
        v2 = "queries" in answers[0].columns
        return BENCHMARKS[next(name for name in self._names if name.startswith("deepmind") == v2)]


def _notes(scored: ScoredAnswers, data: DataSet | None) -> list[str]:
    notes = []
    if scored.without:
        remedy = "the data has no row of theirs" if data is not None else "no right answer is told: give --data"
        notes.append(f"left out, since {remedy}: {scored.without}")
    failed = sum(each.score is None for each in scored.items)
    if failed:
        notes.append(f"failed requests, in no mean: {failed}")
    if data is not None:
        notes.append(f"data: sha256 {data.sha256[:12]}, {len(data.entries):,} rows")
        missing = len(data.entries) - len({each.entry for each in scored.items})
        if missing:
            notes.append(f"{missing:,} of {len(data.entries):,} rows have no answer here: the score is of the others")
        if data.outdated:
            notes.append(data.outdated)
    return notes


def _as_published(benchmark: Benchmark, scored: ScoredAnswers) -> list[str]:
    """What the makers' own scripts print of these answers."""
    if benchmark.task == "longbench_v2":
        return authors_notes(
            judged(
                each.answer.text,
                difficulty=each.columns.get("difficulty"),
                length=each.columns.get("length"),
                answer=right_letter(each.columns),
            )
            for each in scored.items
            if each.score is not None
        )
    return bins_note([tokens for each in scored.items if isinstance(tokens := each.columns.get("total_tok_cnt"), int)])


def _object(path: Path, table: FieldTable, scored: ScoredAnswers) -> dict[str, Any]:
    return {"file": str(path), "table": field_object([table])[0], "items": [_item(each) for each in scored.items]}


def _item(each: Scored) -> dict[str, Any]:
    score = each.score
    return {
        "key": each.answer.key,
        "groups": list(each.row.groups),
        "outcome": each.row.trial.outcome,
        "score": score.value if score else None,
        "why": score.why if score else each.answer.failed,
        "details": dict(score.details) if score else {},
        "others": dict(each.row.others),
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        write_whole(path, f"{json.dumps(content, indent=1, allow_nan=False)}\n".encode())
    except OSError as error:
        raise InputError("--out", path, f"cannot be written ({error.strerror or error})") from None
    print(f"written to {path}")


MRCR = Elsewhere("openai-mrcr", "deepmind-mrcr")
GRAPHWALKS = Elsewhere("graphwalks")
LONGBENCH_V2 = Elsewhere("longbench-v2")
