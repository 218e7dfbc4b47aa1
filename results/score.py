"""`needlework score BENCHMARK FILES...`: score predictions that were made without needlework."""

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import is_zipfile
from zlib import crc32

from msgspec import Struct

from needlework.core.errors import InputError, OneLineParser, run_command
from needlework.core.files import write_whole
from needlework.core.record import Details, PromptFacts, Record, ResponseFacts
from needlework.haystack_fixtures.documents.data_set import DataSet, DataSetLayout, RowSummary, open_data
from needlework.haystack_fixtures.tasks.published import data_sets, mrcr_sets
from needlework.haystack_fixtures.tasks.published.data_sets import LETTERS
from needlework.haystack_fixtures.tasks.published.mrcr_sets import MrcrPieces, mrcr_reference
from needlework.results.files.json_files import fields_of, json_bytes
from needlework.results.judging import aa_lcr
from needlework.results.leval import scores as leval
from needlework.results.leval.predictions import json_rows
from needlework.results.report.section import section_lines
from needlework.results.report.suites import data_set_sections
from needlework.results.statistics.suites.data_sets import field_table, groups_of, published_scores
from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named

ARGUMENT = "ANSWERS"
_ROWS, _ARCHIVE, _LOG = ".jsonl", ".eval", ".json"
_EXPECTED = "give jsonl rows with a `prediction` (.jsonl), or logs of inspect_ai (.eval, .json)"
_STRING = re.compile(r"\A[A-Za-z0-9]{10}")  # OpenAI MRCR: the random string before an answer
Columns = Mapping[str, Any]


class AnswerRow(Struct, frozen=True):
    """One row of a file: a reply, and the columns of its question.

    A row is a JSON object with `prediction` (the reply), and optionally `id` (the row of `--data`: its `_id`, its
    number from 0, or the label of our trial), `error` (why the request failed) and columns of the data set.
    """

    text: str
    columns: Columns
    id: str = ""
    error: str = ""


def read_answers(path: Path) -> list[AnswerRow]:
    """Read a file, or all files below a folder. Raises `InputError`."""
    if not path.exists():
        raise InputError(ARGUMENT, path, "is no file and no folder")
    kinds = (_ROWS, _ARCHIVE, _LOG)
    paths = sorted(file for file in path.rglob("*") if file.suffix in kinds) if path.is_dir() else [path]
    answers = [row for file in paths for row in (_read_rows(file) if file.suffix == _ROWS else _read_log(file))]
    if not answers:
        raise InputError(ARGUMENT, path, f"has no answers: {_EXPECTED}")
    return answers


def _read_rows(path: Path) -> Iterator[AnswerRow]:
    try:
        text = path.read_text(encoding="utf-8-sig")  # of any size: rows may have their prompts
    except UnicodeDecodeError:
        raise InputError(ARGUMENT, path, f"is no UTF-8 text: {_EXPECTED}") from None
    for number, row in json_rows(text):
        if row is None or not isinstance(row.get("prediction"), str):
            remedy = 'has no text in \'prediction\'; write {"id": ..., "prediction": "the reply"}'
            raise InputError(ARGUMENT, f"{path}, line {number}", remedy)
        columns = {name: value for name, value in row.items() if name not in ("prediction", "error")}
        row_id = next((str(row[name]) for name in ("_id", "id") if row.get(name) is not None), "")
        yield AnswerRow(row["prediction"], columns, row_id, str(row.get("error") or ""))


def _read_log(path: Path) -> Iterator[AnswerRow]:
    """Read a log by inspect_ai's own reader, which knows all versions of its format."""
    if not _may_be_log(path):
        raise InputError(ARGUMENT, path, f"is no file of answers: {_EXPECTED}")
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise InputError(ARGUMENT, path, "a log of inspect_ai needs its reader: pip install inspect-ai") from None
    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 - its reader raises errors of many packages
        raise InputError(ARGUMENT, path, f"cannot be read as a log of inspect_ai ({error})") from None
    yield from map(_answer_of_sample, log.samples or [])


def _may_be_log(path: Path) -> bool:
    """Whether a file is an archive, or a JSON object with an `eval`, as logs of inspect_ai are."""
    if path.suffix != _LOG:
        return path.suffix == _ARCHIVE and is_zipfile(path)
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and "eval" in content


def _answer_of_sample(sample: Any) -> AnswerRow:
    """The answer of an `EvalSample`: its metadata as columns, with prompt and target if missing."""
    columns, prompt = dict(sample.metadata or {}), sample.input
    if not isinstance(prompt, str):
        messages = [{"role": message.role, "content": message.text} for message in prompt]
        prompt = messages[0]["content"] if len(messages) == 1 else json.dumps(messages)
    columns.setdefault("prompt", prompt)
    columns.setdefault("answer_nodes" if isinstance(sample.target, list) else "answer", sample.target)
    error = sample.error.message if sample.error else sample.output.error
    return AnswerRow(sample.output.completion, columns, str(sample.id), error or "")


class Benchmark(Struct, frozen=True):
    """A data set and its rules."""

    task: str  # its scorer too: the sound rule, with the published ones in its details
    layout: DataSetLayout
    reference: Callable[[Columns], dict[str, Any] | None]  # what an answer is scored with; `None` if not in the columns


def _openai_reference(columns: Columns) -> dict[str, Any] | None:
    answer = columns.get("answer")
    if not isinstance(answer, str):
        return None
    string = columns.get("random_string_to_prepend")
    if not isinstance(string, str):
        match = _STRING.match(answer)
        string = match[0] if match else ""
    row = {**columns, "random_string_to_prepend": string, "desired_msg_index": columns.get("desired_msg_index")}
    try:
        return mrcr_sets.openai_mrcr_reference(str(columns["prompt"]), RowSummary(0, 0, row))
    except (KeyError, InputError):  # without the conversation its other pieces are unknown
        reference = mrcr_reference(answer, string, MrcrPieces((answer.removeprefix(string),), 0))
        needles = columns.get("n_needles")
        return reference | {"chance": 1 / needles if isinstance(needles, int) and needles else 0.0}


def _deepmind_reference(columns: Columns) -> dict[str, Any] | None:
    queries, answer = columns.get("queries"), columns.get("answer")
    if not isinstance(queries, str) or not isinstance(answer, str):
        return None
    return mrcr_sets.deepmind_mrcr_reference(queries, RowSummary(0, 0, columns))


def _graphwalks_reference(columns: Columns) -> dict[str, Any] | None:
    try:
        nodes = data_sets.graph_nodes(RowSummary(0, 0, columns))
        return {"parts": nodes, "problem_type": columns.get("problem_type")}
    except InputError:
        return None


def _longbench_reference(columns: Columns) -> dict[str, Any] | None:
    letter = str(columns.get("answer")).strip()
    if letter not in tuple(LETTERS):
        return None
    return {"answers": (letter,), "chance": 1 / len(LETTERS), **data_sets.longbench_groups(columns)}


BENCHMARKS: dict[str, tuple[Benchmark, ...]] = {
    "mrcr": (
        Benchmark("openai_mrcr", mrcr_sets.OPENAI_MRCR_LAYOUT, _openai_reference),
        Benchmark("deepmind_mrcr", mrcr_sets.DEEPMIND_MRCR_LAYOUT, _deepmind_reference),
    ),
    "graphwalks": (Benchmark("graphwalks", data_sets.GRAPHWALKS_LAYOUT, _graphwalks_reference),),
    "longbench-v2": (Benchmark("longbench_v2", data_sets.LONGBENCH_V2_LAYOUT, _longbench_reference),),
}


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
    for name, module, run in (("leval", leval, leval.run), ("aa-lcr", aa_lcr, _score_aa_lcr)):
        one = benchmarks.add_parser(name, help=module.ABOUT, description=module.__doc__)
        module.add_arguments(one)
        one.set_defaults(run=run)
    for name, versions in BENCHMARKS.items():
        about = f"score predictions for {' or '.join(version.task for version in versions)} that were made elsewhere"
        one = benchmarks.add_parser(name, help=about, description=_HELP)
        one.set_defaults(run=_score_files)
        add = one.add_argument
        add("answers", nargs="+", type=Path, metavar=ARGUMENT, help="files, or folders of them")
        add("--data", help="your copy of the data, if the files do not have questions and right answers")
        add("--out", type=Path, help="JSON file to write, with the scores of every answer")
    options = parser.parse_args(argv)
    return run_command("score", lambda: options.run(options))


def _score_aa_lcr(options: argparse.Namespace) -> None:
    files = {path: [row for row in read_answers(path) if not row.error] for path in options.answers}
    named = {
        path: [(str(row.columns.get("question_id", row.id)), row.text) for row in rows] for path, rows in files.items()
    }
    aa_lcr.run(options, named)


def _score_files(options: argparse.Namespace) -> None:
    """Print a table for each of ANSWERS, and write `--out`. Raises `InputError`."""
    tables, objects = [], []
    for path in options.answers:
        answers = read_answers(path)
        is_deepmind = options.benchmark == "mrcr" and "queries" in answers[0].columns
        benchmark = BENCHMARKS[options.benchmark][int(is_deepmind)]
        data = open_data(options.data, benchmark.layout) if options.data else None
        scored = score_answers(answers, benchmark, data, path.name)
        if not scored:
            names = ", ".join(benchmark.layout.columns)
            columns = f"tells no right answers ({names}): give --data PATH, and rows with its ids or numbers"
            rows = f"has no row of {options.data}: give rows with its ids, or its rows' numbers from 0"
            raise InputError(ARGUMENT, path, rows if options.data else columns)
        notes = list(_notes(scored, len(answers), data))
        records = [record for record, _ in scored]
        tables.append(field_table(path.name, benchmark.task, records, notes))
        objects.append({"file": str(path), "table": tables[-1], "items": list(map(_item, records))})
    for line in section_lines(data_set_sections(tables)):
        print(line)
    if options.out is not None:
        write_whole(options.out, json_bytes({"schema": SCHEMA, "answers": objects}))
        print(f"written to {options.out}")


ScoredAnswer = tuple[Record, int | None]
"""An answer as a trial of no length, and the number of its row in `--data`."""


def score_answers(
    answers: Sequence[AnswerRow], benchmark: Benchmark, data: DataSet | None, model: str
) -> list[ScoredAnswer]:
    """Score answers that have a reference, in their columns or in the data's row of their id or number."""
    scored = []
    for number, answer in enumerate(answers):
        columns, data_row = dict(answer.columns), None
        if data is not None and (data_row := _data_row(answer, data)) is not None:
            columns |= {**data_row.row, data.layout.text: data.text(data_row.number)}
        reference = benchmark.reference(columns)
        if reference is None:
            continue
        record = _record(answer, benchmark, columns, reference, model, number)
        scored.append((record, data_row.number if data_row is not None else None))
    return scored


def _data_row(answer: AnswerRow, data: DataSet) -> RowSummary | None:
    """The row that an answer names, by its id, else by its number."""
    by_id = next((entry for entry in data.entries if str(entry.row.get("_id")) == answer.id), None)
    if by_id is not None:
        return by_id
    number = _ROW_NUMBER.search(answer.id)
    return data.entries[int(number[1])] if number and int(number[1]) < len(data.entries) else None


def _record(
    answer: AnswerRow, benchmark: Benchmark, columns: Columns, reference: Mapping[str, Any], model: str, number: int
) -> Record:
    scorer, tokens = scorer_named(benchmark.task), columns.get("total_tok_cnt")
    score = None if answer.error else scorer.judge(_REASONING.sub("", answer.text), as_reference(reference))
    details = dict(score.details) if score else {}
    if score and _REASONING.match(answer.text):
        published = scorer.judge(answer.text, as_reference(reference)).details
        details |= {name: value for name, value in published.items() if name.startswith("as_")}
    context = columns.get(benchmark.layout.text)
    sample = crc32(context.encode("utf-8", "surrogatepass")) if isinstance(context, str) else None
    return Record(
        id=answer.id,
        model=model,
        task=benchmark.task,
        needle="",
        length=0,
        depth=None,
        repeat=number,
        outcome=score.verdict if score else "error",
        score=score.value if score else None,
        scorer=benchmark.task,
        why=score.why if score else answer.error,
        reference={"needles": columns.get("n_needles"), "answer_tokens": 0, "sample": sample, **reference},
        response=ResponseFacts(text=answer.text),
        prompt=PromptFacts(tokens=tokens if isinstance(tokens, int) else 0),
        details=Details(score=details),
    )


def _notes(scored: Sequence[ScoredAnswer], answers: int, data: DataSet | None) -> Iterator[str]:
    if left_out := answers - len(scored):
        remedy = "the data has no row of theirs" if data is not None else "no right answer is told: give --data"
        yield f"left out, since {remedy}: {left_out}"
    if failed := sum(record.score is None for record, _ in scored):
        yield f"failed requests, in no mean: {failed}"
    if data is not None:
        yield f"data: sha256 {data.sha256[:12]}, {len(data.entries):,} rows"
        if missing := len(data.entries) - len({row for _, row in scored}):
            yield f"{missing:,} of {len(data.entries):,} rows have no answer here: the score is of the others"
        if data.outdated:
            yield data.outdated


def _item(record: Record) -> dict[str, Any]:
    return {
        "key": record.id,
        "groups": groups_of(record),
        **fields_of(record, "outcome", "score", "why"),
        "details": record.details.score,
        "others": published_scores(record),
    }
