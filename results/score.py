"""`needlework score BENCHMARK FILES...`: score another benchmark's prediction files, without a model."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, cast
from zlib import crc32

from needlework.core.errors import InputError, OneLineParser, refuse
from needlework.core.files import write_whole
from needlework.core.record import OutcomeName
from needlework.haystack_fixtures.documents.data_set import DataSet, DataSetLayout, RowSummary, open_data
from needlework.haystack_fixtures.tasks.published import data_sets, mrcr_sets
from needlework.haystack_fixtures.tasks.published.data_sets import LETTERS
from needlework.haystack_fixtures.tasks.published.mrcr_sets import MrcrPieces, mrcr_reference
from needlework.results.leval import scores as leval
from needlework.results.report.section import section_lines
from needlework.results.report.suites import data_set_sections
from needlework.results.statistics.panels import ScoredTrial
from needlework.results.statistics.suites.data_sets import (
    DataSetAnswer,
    FieldTable,
    authors_notes,
    bins_note,
    field_object,
    field_table,
    judged,
    longbench_groups,
    mrcr_groups,
    noise_of,
    others_of,
    unread,
)
from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named
from needlework.scoring.scores import Score


class _Command(Protocol):
    """What scores the files of one benchmark."""

    ABOUT: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, options: argparse.Namespace) -> None: ...


_ANSWERS_HELP = """`needlework score mrcr|graphwalks|longbench-v2 ANSWERS...`: predictions made without needlework.

They are scored by every rule. ANSWERS: jsonl rows {"id": ..., "prediction": "the reply"} with --data, or with the
columns of the data set; or logs of inspect_ai (.eval, .json; needs `pip install inspect-ai`).
"""


class PredictionTask:
    """The command for one benchmark, or for both MRCRs, which are told apart by their columns."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self.ABOUT = f"score predictions for {' or '.join(names)} that were made without needlework"
        self.__doc__ = _ANSWERS_HELP

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
        for line in section_lines(data_set_sections(tables)):
            print(line)
        if options.out is not None:
            _write(options.out, {"schema": SCHEMA, "answers": told})

    def _benchmark(self, answers: list[ScoredPrediction]) -> Benchmark:
        if len(self._names) == 1:
            return BENCHMARKS[self._names[0]]
        v2 = "queries" in answers[0].columns
        return BENCHMARKS[next(name for name in self._names if name.startswith("deepmind") == v2)]


LONGBENCH_V2 = PredictionTask("longbench-v2")


MRCR = PredictionTask("openai-mrcr", "deepmind-mrcr")
GRAPHWALKS = PredictionTask("graphwalks")


_BENCHMARKS: dict[str, _Command] = {
    "leval": leval,
    "mrcr": MRCR,
    "graphwalks": GRAPHWALKS,
    "longbench-v2": LONGBENCH_V2,
}


def main(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code: 0, or 2 after one line about what was wrong."""
    parser = OneLineParser(prog="needlework score", description=__doc__)
    benchmarks = parser.add_subparsers(dest="benchmark", required=True, metavar="BENCHMARK")
    for name, benchmark in _BENCHMARKS.items():
        benchmark.add_arguments(benchmarks.add_parser(name, help=benchmark.ABOUT, description=benchmark.__doc__))
    options = parser.parse_args(argv)
    try:
        _BENCHMARKS[options.benchmark].run(options)
    except InputError as error:
        return refuse("score", error)
    return 0


# A row is a JSON object. Its fields:
#
# * `prediction`: the reply, a text. Required.
# * `id`: the row of `--data`: its `_id`, its number from 0, or the label of our trial.
# * `error`: why the request failed, where it did. Such a row is in no mean.
# * all others: columns of the data set, such as `answer` or `prompt`. Without `--data` they tell what is right.
ARGUMENT = "ANSWERS"
PREDICTION = "prediction"
_ROWS = ".jsonl"
_LOGS = (".eval", ".json")


@dataclass(frozen=True, slots=True)
class ScoredPrediction:
    """A prediction, and the columns of its question.

    `key`: the row's id in the data set. `failed`: the request's error; such a prediction is not scored.
    """

    text: str = field(repr=False)
    columns: Mapping[str, Any] = field(repr=False)
    key: str = ""
    failed: str = ""


def read_answers(path: Path) -> list[ScoredPrediction]:
    """Read a file, or all files below a folder. Raises `InputError`."""
    if not path.exists():
        raise InputError(ARGUMENT, path, "is no file and no folder")
    kinds = (_ROWS, *_LOGS)
    paths = sorted(each for each in path.rglob("*") if each.suffix in kinds) if path.is_dir() else [path]
    answers = [answer for each in paths for answer in (_read_rows(each) if each.suffix == _ROWS else _read_log(each))]
    if not answers:
        raise InputError(ARGUMENT, path, "has no answers; give jsonl rows with a prediction, or a log of inspect_ai")
    return answers


def _read_rows(path: Path) -> Iterator[ScoredPrediction]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
        rows = {number: json.loads(line) for number, line in enumerate(lines, start=1) if line.strip()}
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(ARGUMENT, path, f"cannot be read ({error})") from None
    for number, row in rows.items():
        if not isinstance(row, dict) or not isinstance(row.get(PREDICTION), str):
            remedy = f'has no text in {PREDICTION!r}; write {{"id": ..., "{PREDICTION}": "the reply"}}'
            raise InputError(ARGUMENT, f"{path}, line {number}", remedy)
        columns = {name: value for name, value in row.items() if name not in (PREDICTION, "error")}
        key = next((str(row[name]) for name in ("_id", "id") if row.get(name) is not None), "")
        yield ScoredPrediction(row[PREDICTION], columns, key, str(row.get("error") or ""))


def _read_log(path: Path) -> Iterator[ScoredPrediction]:
    """Read a log by inspect_ai's own reader, which knows all versions of its format."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise InputError(ARGUMENT, path, "a log of inspect_ai needs its reader: pip install inspect-ai") from None
    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 - its reader raises errors of many packages
        raise InputError(ARGUMENT, path, f"cannot be read as a log of inspect_ai ({error})") from None
    yield from map(_from_sample, log.samples or [])


def _from_sample(sample: Any) -> ScoredPrediction:
    """The answer of an `EvalSample`: its metadata are the columns, with its prompt and target where they have none."""
    columns = dict(sample.metadata or {})
    if isinstance(sample.input, str):
        columns.setdefault("prompt", sample.input)
    else:
        messages = [{"role": message.role, "content": message.text} for message in sample.input]
        columns.setdefault("prompt", messages[0]["content"] if len(messages) == 1 else json.dumps(messages))
    columns.setdefault("answer_nodes" if isinstance(sample.target, list) else "answer", sample.target)
    failed = sample.error.message if sample.error else sample.output.error
    return ScoredPrediction(sample.output.completion, columns, str(sample.id), failed or "")


_STRING = re.compile(r"\A[A-Za-z0-9]{10}")
_STRING_V2 = 12


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`reference(columns)`: what an answer is scored with, `None` where the columns do not tell. `groups(columns)`:
    the rows of the table that it belongs to. `scorer`: the sound rule with the published ones in its details."""

    task: str
    layout: DataSetLayout
    scorer: str
    reference: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    groups: Callable[[Mapping[str, Any]], tuple[str, ...]]


def _openai(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    answer = columns.get("answer")
    if not isinstance(answer, str):
        return None
    told = columns.get("random_string_to_prepend")
    found = _STRING.match(answer)
    string = told if isinstance(told, str) else found[0] if found else ""
    row = {**columns, "random_string_to_prepend": string, "desired_msg_index": columns.get("desired_msg_index")}
    try:
        return mrcr_sets.openai_mrcr_reference(str(columns["prompt"]), RowSummary(0, 0, row))
    except (KeyError, InputError):  # without the conversation its other pieces are not known
        reference = mrcr_reference(answer, string, MrcrPieces((answer.removeprefix(string),), 0))
        needles = columns.get("n_needles")
        return reference | {"chance": 1 / needles if isinstance(needles, int) and needles else 0.0}


def _openai_groups(columns: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = columns.get("total_tok_cnt")
    needles = columns.get("n_needles")
    return mrcr_groups(needles, tokens if isinstance(tokens, int) else None) if needles else ()


def _deepmind(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    answer = columns.get("answer")
    if not isinstance(answer, str):
        return None
    if isinstance(columns.get("queries"), str):
        return mrcr_sets.deepmind_mrcr_reference(columns["queries"], RowSummary(0, 0, columns))
    answer = answer.strip()
    return mrcr_reference(answer, answer[:_STRING_V2], MrcrPieces((answer[_STRING_V2:].strip(),), 0)) | {"chance": 0.0}


def _graphwalks(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        return {"parts": data_sets.graph_nodes(RowSummary(0, 0, columns))}
    except InputError:
        return None


def _graphwalks_groups(columns: Mapping[str, Any]) -> tuple[str, ...]:
    kind = columns.get("problem_type")
    return (str(kind),) if kind else ()


def right_letter(columns: Mapping[str, Any]) -> str:
    """The right letter, A to D; empty where the columns do not tell it."""
    answer = columns.get("answer")
    right = answer.strip() if isinstance(answer, str) else ""
    return right if len(right) == 1 and right in LETTERS else ""


def _longbench(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    right = right_letter(columns)
    return {"answers": (right,), "chance": 1 / len(LETTERS)} if right else None


BENCHMARKS = {
    "openai-mrcr": Benchmark("openai_mrcr", mrcr_sets.OPENAI_MRCR_LAYOUT, "openai_mrcr", _openai, _openai_groups),
    "deepmind-mrcr": Benchmark(
        "deepmind_mrcr", mrcr_sets.DEEPMIND_MRCR_LAYOUT, "deepmind_mrcr", _deepmind, lambda _columns: ()
    ),
    "graphwalks": Benchmark("graphwalks", data_sets.GRAPHWALKS_LAYOUT, "graphwalks", _graphwalks, _graphwalks_groups),
    "longbench-v2": Benchmark(
        "longbench_v2",
        data_sets.LONGBENCH_V2_LAYOUT,
        "longbench_v2",
        _longbench,
        lambda columns: longbench_groups(data_sets.longbench_groups(columns)),
    ),
}


SCHEMA = "needlework-answers-scores-1"


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


def _item(each: PredictionScore) -> dict[str, Any]:
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


# Reasoning that a harness left in the reply: our rule reads what follows it, the published ones read all of it.
_THOUGHT = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"(?:\A|_q)(\d+)(?:-r\d+)?\Z")  # a number, or an id of ours


@dataclass(frozen=True, slots=True)
class PredictionScore:
    """An answer with its score, and the columns of its question. `score`: `None` where the request failed. `entry`: the
    number of its row in the data that was given."""

    answer: ScoredPrediction
    score: Score | None
    row: DataSetAnswer
    columns: Mapping[str, Any] = field(repr=False)
    entry: int | None = None


@dataclass(frozen=True, slots=True)
class ScoredAnswers:
    """All answers of a file that have a reference. `without`: how many have none: give --data."""

    items: tuple[PredictionScore, ...]
    without: int


def score_answers(
    answers: Sequence[ScoredPrediction], benchmark: Benchmark, data: DataSet | None, model: str
) -> ScoredAnswers:
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


def _entry(answer: ScoredPrediction, data: DataSet) -> RowSummary | None:
    """The row that an answer names: by its id, else by its number."""
    by_id = next((entry for entry in data.entries if str(entry.row.get("_id")) == answer.key), None)
    if by_id is not None:
        return by_id
    number = _NUMBER.search(answer.key)
    return data.entries[int(number[1])] if number and int(number[1]) < len(data.entries) else None


def _scored(
    answer: ScoredPrediction,
    benchmark: Benchmark,
    columns: Mapping[str, Any],
    reference: Mapping[str, Any],
    model: str,
    number: int,
) -> PredictionScore:
    scorer = scorer_named(benchmark.scorer)
    context = columns.get(benchmark.layout.text)
    sample = crc32(context.encode("utf-8", "surrogatepass")) if isinstance(context, str) else number
    score, details, empty = None, {}, not answer.text.strip()
    outcome: OutcomeName = "error"
    if not answer.failed:
        score = scorer.judge(_THOUGHT.sub("", answer.text), as_reference(reference))
        details = dict(score.details) | _published(answer.text, benchmark, reference, score)
        outcome = cast("OutcomeName", score.verdict)
    trial = ScoredTrial(
        model=model,
        task=benchmark.task,
        needle="",
        length=0,
        depth=None,
        sample=sample,
        outcome=outcome,
        score=score.value if score else None,
    )
    row = DataSetAnswer(
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
    return PredictionScore(answer, score, row, short)


def _published(text: str, benchmark: Benchmark, reference: Mapping[str, Any], score: Score) -> dict[str, Any]:
    """The published rules on the whole reply, which they read with its reasoning."""
    if not _THOUGHT.match(text):
        return {}
    whole = scorer_named(benchmark.scorer).judge(text, as_reference(reference)).details
    return {name: value for name, value in whole.items() if name.startswith("as_")} if score else {}
