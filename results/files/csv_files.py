"""`results.csv` and `cells.csv`."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from pathlib import Path

from needlework.core.files import write_whole
from needlework.core.grid import depth_label
from needlework.core.record import PromptFacts, Record
from needlework.results.records.samples import retriever_of
from needlework.results.statistics.intervals import METHOD
from needlework.results.statistics.panels import OUTCOMES, Panel
from needlework.results.statistics.run_report import reading_order
from needlework.results.style import clean

LONGEST = 2_000  # characters of a text cell; spreadsheets refuse more than 32,767, and the JSON has all of it
# What makes spreadsheets read a cell as a formula (OWASP, "CSV Injection"), full-width forms included. A leading
# apostrophe disarms it; text that already looks disarmed gets another one, so that reading back is exact.
_MARKS = "=+-@\t\r\n＝＋－＠"
_FORMULA = re.compile(f"'*[{re.escape(_MARKS)}]")
_FIRST = frozenset(f"'{_MARKS}")  # what such a text begins with; looked up quicker than matched


def write_csv(path: Path, records: Iterable[Record]) -> None:
    """Write `path` atomically, UTF-8, rows in the order of results.json."""
    write_whole(path, csv_text(records).encode("utf-8"))


def csv_text(records: Iterable[Record]) -> str:
    """Return the text of `results.csv`; with columns for what was retrieved where anything was, and for the context
    where lengths are its alone."""
    ordered = sorted(records, key=reading_order)
    parts: list[tuple[tuple[str, ...], Callable[[Record], tuple[object, ...]]]] = [(COLUMNS, _values)]
    if any(record.prompt.length_means for record in ordered):
        parts.append((CONTEXT, _context))
    if any(map(retriever_of, ordered)):
        parts.append((RETRIEVAL, _retrieval))
    rows = ([cell for _, values in parts for cell in values(record)] for record in ordered)
    return table_text([name for names, _ in parts for name in names], rows)


def table_text(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return the text of a CSV file, no cell of which a spreadsheet takes for a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    for row in rows:
        writer.writerow([cell if cell is None or type(cell) is int else safe_cell(cell) for cell in row])
    return out.getvalue()


COLUMNS = (
    "model", "task", "needle", "language", "length", "depth", "achieved_depth", "repeat", "seed", "outcome", "score",
    "scorer", "scorer_version", "why", "question", "expected", "answer", "read_as", "prompt_tokens",
    "server_prompt_tokens", "completion_tokens", "finish_reason", "latency_s", "ttft_s", "tokens_per_s",
    "cached_tokens", "attempts", "error_kind", "error_message", "key", "id",
)  # fmt: skip
CONTEXT = ("length_means", "context_tokens")
RETRIEVAL = ("retriever", "retrieval_gold", "retrieval_rank", "retrieval_answer_recall")


def _values(record: Record) -> tuple[object, ...]:
    """What `COLUMNS` have of a trial."""
    prompt, response, timing, error = record.prompt, record.response, record.timing, record.error
    return (
        record.model,
        record.task_label,
        record.needle,
        record.language,
        record.length,
        "all" if record.depth is None else f"{record.depth:.12g}",
        _achieved_depth(prompt),
        record.repeat,
        record.seed,
        record.outcome,
        record.score,
        record.scorer,
        record.scorer_version,
        record.why,
        record.question,
        " | ".join(record.expected),
        response.text or record.answer,
        record.read_as,
        prompt.tokens or None,
        response.prompt_tokens,
        response.completion_tokens,
        response.finish_reason,
        timing.latency_s,
        timing.ttft_s,
        timing.tokens_per_s,
        timing.cached_tokens,
        timing.attempts,
        error.kind if error else None,
        error.message if error else None,
        record.key,
        record.id,
    )


def _context(record: Record) -> tuple[object, ...]:
    prompt = record.prompt
    return prompt.length_means or ("total" if prompt.sha256 else ""), prompt.context_tokens


def _retrieval(record: Record) -> tuple[object, ...]:
    retrieval = record.prompt.retrieval
    if retrieval is None:
        return retriever_of(record) or "none", None, None, None
    return retriever_of(record) or "none", retrieval.gold, retrieval.rank, retrieval.answer_recall


def _achieved_depth(prompt: PromptFacts) -> object:
    """Where the needle came to stand, percent; several needles with a space between."""
    depths = [needle.depth for needle in prompt.needles]
    return depths[0] if len(depths) == 1 else " ".join(f"{depth:g}" for depth in depths)


def safe_cell(value: object) -> str:
    """Write a value so that no spreadsheet takes it for a formula: numbers as they are, texts short and disarmed."""
    if isinstance(value, str):
        return _safe_text(value)
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value) if isfinite(value) else ""
    return repr(value) if isinstance(value, int) else _safe_text(str(value))


def _safe_text(text: str) -> str:
    if text.isascii() and text.isprintable() and len(text) <= LONGEST and text[:1] not in _FIRST:
        return text
    text = clean(text)
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… [{len(text)} characters]"
    return f"'{text}" if text[:1] in _FIRST and _FORMULA.match(text) else text


_RANGE = ("score_if_undecided_missed", "score_if_undecided_hit")
CELL_COLUMNS = (
    "model",
    "task",
    "needle",
    "length",
    "depth",
    "score",
    "low",
    "high",
    "interval",
    "n",
    "trials",
    *OUTCOMES,
    *_RANGE,
)


def write_cells(path: Path, panels: Iterable[Panel]) -> None:
    """Write `path` atomically, UTF-8."""
    write_whole(path, cells_text(panels).encode("utf-8"))


def cells_text(panels: Iterable[Panel]) -> str:
    """Return the text of `cells.csv`: lengths in tokens, depths in percent, scores and ends of the interval in 0..1.

    `n` trials have a score, of all `trials`; then the trials of every outcome, and where some are
    undecided what the score would be if all of them were misses, or hits. Cells that never ran have no row.
    """
    return table_text(CELL_COLUMNS, (row for panel in panels for row in _rows(panel)))


def _rows(panel: Panel) -> Iterator[tuple[object, ...]]:
    for (length, depth), cell in panel.cells.items():
        interval = cell.interval
        ends = (None, None, None) if interval is None else (interval.low, interval.high, METHOD)
        cell_name = (panel.model, panel.task, panel.needle, length, depth_label(depth))
        yield (
            *cell_name,
            cell.mean,
            *ends,
            cell.n,
            cell.trials,
            *(cell.counts[name] for name in OUTCOMES),
            *(cell.range or (None, None)),
        )
