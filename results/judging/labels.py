"""Files with a human's labels beside a judge's verdicts, JSON lines or CSV.

A row has `item`, `human` (the label) and `verdict` (the judge's; in JSON also a list of them). Rows of one item belong
together: the label needs to stand in one of them only. An empty verdict is a judgement without a verdict; in JSON a row
may leave `verdict` out. A row may name its `judge`; a file has the verdicts of one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.errors import InputError

_FIELDS = ("item", "human", "verdict")
_MOST_LABELS = 50


@dataclass(slots=True)
class Labelled:
    """One item. `human`: its label, `None` without one. `failed`: judgements without a verdict."""

    human: str | None = None
    verdicts: list[str] = field(default_factory=list)
    failed: int = 0


def read_labels(path: Path) -> dict[str, Labelled]:
    """Read the file; items in the order in which they come. Raises `InputError`, which names the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # no UTF-8; a name that no file can have
        raise InputError("FILE", path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    items: dict[str, Labelled] = {}
    judges: dict[str, None] = {}
    kinds: set[bool] = set()
    for line, row in (_csv_rows if path.suffix.lower() == ".csv" else _json_rows)(path, text):
        name = _label(row.get("item"))
        if name is None:
            raise InputError("FILE", path, f"line {line} has no `item`: every row names what was judged")
        item = items.setdefault(name, Labelled())
        judges |= dict.fromkeys([str(row["judge"])] if row.get("judge") else ())
        kinds |= {"shown_first" in row} if "replies" in row else set()
        human = _one(path, line, row.get("human"))
        if human is not None and item.human not in (None, human):
            both = f"{name} has the human labels {item.human} and {human}"
            raise InputError("FILE", path, f"line {line}: {both}: keep one")
        item.human = item.human if human is None else human
        given = row.get("verdict", [])
        for each in given if isinstance(given, list) else [given]:
            verdict = _one(path, line, each)
            if verdict is None:
                item.failed += 1
            else:
                item.verdicts.append(verdict)
    if not items:
        raise InputError("FILE", path, "is empty: give rows with `item`, `human` and `verdict`")
    if len(judges) > 1:
        raise InputError("FILE", path, f"has verdicts of several judges, {', '.join(judges)}: keep those of one")
    if len(kinds) > 1:
        raise InputError("FILE", path, "has comparisons of two answers and marks of one: keep rows of one kind")
    labels = {label for each in items.values() for label in (each.human, *each.verdicts)}
    if len(labels) > _MOST_LABELS:
        raise InputError("FILE", path, f"has {len(labels)} different labels: give at most {_MOST_LABELS} kinds")
    return items


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InputError("FILE", path, f"line {number} is not a JSON object (a table is called NAME.csv)")
        yield number, row


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    table = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        missing = [name for name in _FIELDS if name not in (table.fieldnames or ())]
        if missing:
            raise InputError("FILE", path, f"has no column {' and '.join(missing)}: name them in its first row")
        for row in table:
            yield table.line_num, row
    except csv.Error as error:
        raise InputError("FILE", path, f"line {table.line_num} is no CSV ({error})") from None


def _one(path: Path, line: int, value: object) -> str | None:
    if isinstance(value, (dict, list)):
        raise InputError(
            "FILE", path, f"line {line}: a label is text or a number; only `verdict` may be a list of them"
        )
    return _label(value)


def _label(value: object) -> str | None:
    """A label as text; the numbers 1 and 1.0 are one."""
    if value is None:
        return None
    text = f"{value:g}" if isinstance(value, float) else str(value).strip()
    return text or None
