"""`results.csv`: one row for each trial, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from operator import methodcaller
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.whole_files import write_whole
from needlework.results.records.controls import retriever_of
from needlework.results.records.record import Record
from needlework.results.records.samples import panel_and_sample
from needlework.results.statistics.panels import Trial, outcome_named
from needlework.results.statistics.run_report import reading_order
from needlework.results.style.text import clean

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
    alone = any("length_means" in record["prompt"] for record in ordered)
    columns = COLUMNS | (CONTEXT if alone else {}) | (RETRIEVAL if any(map(retriever_of, ordered)) else {})
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    values = tuple(columns.values())
    for record in ordered:
        cells = [value(record) for value in values]
        writer.writerow([cell if cell is None or type(cell) is int else safe_cell(cell) for cell in cells])
    return out.getvalue()


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read the rows back, apostrophes undone. Raises `InputError` where `path` is not such a file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, restval="")
            header = reader.fieldnames or []
            missing = [name for name in _NEEDED if name not in header]
            if missing:
                raise InputError(
                    "results file", path, f"has no column {missing[0]!r}; give a results.csv of this harness"
                )
            return [{name: _bare(row[name]) for name in header} for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError("results file", path, f"is not a CSV file in UTF-8 ({error})") from None


def read_csv(path: Path) -> list[Trial]:
    """Read what a summary needs of each row."""
    return [_trial(row, path, number) for number, row in enumerate(read_rows(path), start=2)]


def _trial(row: Mapping[str, str], path: Path, number: int) -> Trial:
    outcome = outcome_named(row["outcome"])
    if outcome is None:
        raise InputError("results file", path, f"row {number} has the unknown outcome {row['outcome']!r}")
    try:
        needle, sample = panel_and_sample(row["task"], row["needle"], int(row["repeat"]))
        return Trial(
            model=row["model"],
            task=row["task"],
            needle=needle,
            length=int(row["length"]),
            depth=None if row["depth"] == "all" else float(row["depth"]),
            sample=sample,
            outcome=outcome,
            score=float(row["score"]) if row["score"] else None,
            context_alone=row.get("length_means") == "context",
        )
    except ValueError as error:
        raise InputError("results file", path, f"row {number}: {error}") from None


def _achieved_depth(record: Record) -> object:
    """Where the needle came to stand, percent; several needles with a space between."""
    depths = [needle["depth"] for needle in record["prompt"].get("needles", ())]
    return depths[0] if len(depths) == 1 else " ".join(f"{depth:g}" for depth in depths)


def _error(name: str) -> Callable[[Record], object]:
    return lambda record: (record["error"] or {}).get(name)


def _within(part: str, name: str) -> Callable[[Record], object]:
    def value(record: Mapping[str, Any]) -> object:
        return record[part].get(name)

    return value


def _retrieval(name: str) -> Callable[[Record], object]:
    return lambda record: record["prompt"].get("retrieval", {}).get(name)


def _top(name: str) -> Callable[[Record], object]:
    return methodcaller("get", name)


COLUMNS: dict[str, Callable[[Record], object]] = {
    **{name: _top(name) for name in ("model", "task", "needle", "language", "length")},
    "depth": lambda record: "all" if record["depth"] is None else f"{record['depth']:.12g}",
    "achieved_depth": _achieved_depth,
    **{name: _top(name) for name in ("repeat", "seed", "outcome", "score", "scorer", "scorer_version", "why")},
    "question": _top("question"),
    "expected": lambda record: " | ".join(record["expected"]),
    "answer": lambda record: record["response"].get("text", record["answer"]),
    "read_as": _top("answer"),
    "prompt_tokens": _within("prompt", "tokens"),
    "server_prompt_tokens": _within("response", "prompt_tokens"),
    "completion_tokens": _within("response", "completion_tokens"),
    "finish_reason": _within("response", "finish_reason"),
    **{name: _within("timing", name) for name in ("latency_s", "ttft_s", "tokens_per_s", "cached_tokens", "attempts")},
    "error_kind": _error("kind"),
    "error_message": _error("message"),
    "key": _top("key"),
    "id": _top("id"),
}
CONTEXT: dict[str, Callable[[Record], object]] = {
    "length_means": lambda record: record["prompt"].get("length_means", "total" if record["prompt"] else ""),
    "context_tokens": _within("prompt", "context_tokens"),
}
RETRIEVAL: dict[str, Callable[[Record], object]] = {
    "retriever": lambda record: retriever_of(record) or "none",
    **{f"retrieval_{name}": _retrieval(name) for name in ("gold", "rank", "answer_recall")},
}
_NEEDED = ("model", "task", "needle", "length", "depth", "repeat", "outcome", "score")


def safe_cell(value: object) -> str:
    """Write a value so that no spreadsheet takes it for a formula: numbers as they are, texts short and disarmed."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value) if isfinite(value) else ""
    if isinstance(value, int):
        return repr(value)
    text = clean(str(value))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}… [{len(text)} characters]"
    return f"'{text}" if text[:1] in _FIRST and _FORMULA.match(text) else text


def _bare(text: str) -> str:
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
