"""`results.csv`, a row for each trial, and `cells.csv`, a row for each cell of a heatmap."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite

from needlework.core.grid import depth_label
from needlework.core.record import Record
from needlework.results.records.samples import retriever_of
from needlework.results.statistics.intervals import METHOD
from needlework.results.statistics.panels import OUTCOMES, Panel, Tally
from needlework.results.statistics.run_report import reading_order
from needlework.results.style import clean

_LONGEST = 2_000  # characters of a text cell; spreadsheets refuse more than 32,767, and the JSON has all of it
# What makes spreadsheets read a cell as a formula (OWASP, "CSV Injection"), full-width forms included. A leading
# apostrophe disarms it; text that already looks disarmed gets another one, so that reading back is exact.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def csv_text(records: Iterable[Record]) -> str:
    """Return the text of `results.csv`; retrieval and context columns only if a record has them."""
    ordered = sorted(records, key=reading_order)
    columns = dict(COLUMNS)
    if any(record.prompt.length_means for record in ordered):
        columns |= _CONTEXT
    if any(map(retriever_of, ordered)):
        columns |= _RETRIEVAL
    return table_text(columns, ([_value(record, field) for field in columns.values()] for record in ordered))


def cells_text(panels: Iterable[Panel]) -> str:
    """Return the text of `cells.csv`: lengths in tokens, depths in percent, scores and intervals 0..1.

    `n` trials have a score, of all `trials`; then the trials of every outcome, and where some are
    undecided what the score would be if all of them were misses, or hits. Cells that never ran have no row.
    """
    rows = (
        (panel.model, panel.task, panel.needle, length, depth_label(depth), *_tally_values(cell))
        for panel in panels
        for (length, depth), cell in panel.cells.items()
    )
    return table_text(_CELL_COLUMNS, rows)


def table_text(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a CSV file, no cell of which a spreadsheet takes for a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_safe_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _depth(record: Record) -> str:
    return "all" if record.depth is None else f"{record.depth:.12g}"


def _achieved_depth(record: Record) -> object:
    """The achieved depth of the needle, percent; several with a space between."""
    depths = [needle.depth for needle in record.prompt.needles]
    return depths[0] if len(depths) == 1 else " ".join(f"{depth:g}" for depth in depths)


_Field = str | Callable[[Record], object]
# Column -> the field of a record, its parts joined by dots, or a function of the record.
COLUMNS: Mapping[str, _Field] = {
    "model": "model", "task": "task_label", "needle": "needle", "language": "language", "length": "length",
    "depth": _depth, "achieved_depth": _achieved_depth, "repeat": "repeat", "seed": "seed", "outcome": "outcome",
    "score": "score", "scorer": "scorer", "scorer_version": "scorer_version", "why": "why", "question": "question",
    "expected": lambda record: " | ".join(record.expected),
    "answer": lambda record: record.response.text or record.answer, "read_as": "read_as",
    "prompt_tokens": lambda record: record.prompt.tokens or None, "server_prompt_tokens": "response.prompt_tokens",
    "completion_tokens": "response.completion_tokens", "finish_reason": "response.finish_reason",
    "latency_s": "timing.latency_s", "ttft_s": "timing.ttft_s", "tokens_per_s": "timing.tokens_per_s",
    "cached_tokens": "timing.cached_tokens", "attempts": "timing.attempts", "error_kind": "error.kind",
    "error_message": "error.message", "key": "key", "id": "id",
}  # fmt: skip
_CONTEXT: Mapping[str, _Field] = {
    "length_means": lambda record: record.prompt.length_means or ("total" if record.prompt.sha256 else ""),
    "context_tokens": "prompt.context_tokens",
}
_RETRIEVAL: Mapping[str, _Field] = {
    "retriever": lambda record: retriever_of(record) or "none",
    "retrieval_gold": "prompt.retrieval.gold",
    "retrieval_rank": "prompt.retrieval.rank",
    "retrieval_answer_recall": "prompt.retrieval.answer_recall",
}
_CELL_COLUMNS = (
    "model", "task", "needle", "length", "depth", "score", "low", "high", "interval", "n", "trials", *OUTCOMES,
    "score_if_undecided_missed", "score_if_undecided_hit",
)  # fmt: skip


def _value(record: Record, field: _Field) -> object:
    """Return a field of the record; `None` where a part on the path to it is missing."""
    if callable(field):
        return field(record)
    value: object = record
    for name in field.split("."):
        value = getattr(value, name, None)
    return value


def _tally_values(cell: Tally) -> tuple[object, ...]:
    ends = (cell.interval.low, cell.interval.high, METHOD) if cell.interval else (None, None, None)
    counts = (cell.counts[name] for name in OUTCOMES)
    return cell.mean, *ends, cell.n, cell.trials, *counts, *(cell.range or (None, None))


def _safe_cell(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula; texts are cut."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float):
        return repr(value) if isfinite(value) else ""
    text = clean(str(value))
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}… [{len(text)} characters]"
    return f"'{text}" if _FORMULA.match(text) else text
