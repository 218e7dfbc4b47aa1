"""`results.json`: every record and the summary in one file; two equal runs differ in `run` and in times."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any, cast

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.haystack_fixtures.writing.json_encoder import encoder_of
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.files.run_object import models_object, run_object
from needlework.results.records.checks import completed, fault_of
from needlework.results.records.record import SCHEMA, UNSCORED, Record
from needlework.results.records.run_file import read_run_json
from needlework.results.statistics.documents import documents_object
from needlework.results.statistics.intervals.score import METHOD
from needlework.results.statistics.latency import latency_object
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.published.field import field_object
from needlework.results.statistics.published.leval import leval_object
from needlework.results.statistics.published.needlebench import needlebench_object
from needlework.results.statistics.published.ruler import ruler_object
from needlework.results.statistics.retrieval import retrieval_object
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_rows import statistics_object
from needlework.results.statistics.tasks import macros_object, tasks_object

_FIELDS = tuple(Record.__annotations__)
_KNOWN = frozenset(_FIELDS)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_quoted = json.encoder.encode_basestring
_sorted = encoder_of(json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True))


def write_json(path: Path, report: RunReport) -> None:
    """Write `path` atomically: schema, summary, and the records, one a line, sorted by what they are about."""
    write_whole(path, _content(report))


def json_text(report: RunReport) -> str:
    """Return the text of `results.json`. NaN and infinities become null; keys have a fixed order."""
    return _content(report).decode()


def _content(report: RunReport) -> bytes:
    parts: dict[str, object] = {
        "run": plain(run_object(report.facts)),
        "models": plain(models_object(report.facts, report.models)),
        "planned": report.planned,
        "recorded": len(report.records),
        "notes": list(report.notes),
        "gates": [asdict(row) for row in report.gates],
        "adaptive": plain([statement.as_object() for statement in report.adaptive]),
        "summary": [panel_object(panel) for panel in report.panels],
        "statistics": plain(statistics_object(report.statistics)),
        "absent_twins": plain([asdict(twins) for twins in report.twins]),
        "tasks": plain(tasks_object(report.tasks)),
        "macro": plain(macros_object(report.macros)),
        "retrieval": plain(retrieval_object(report.retrieval)),
        "ruler": plain(ruler_object(report.ruler)),
        "needlebench": plain(needlebench_object(report.suites)),
        "documents": plain(documents_object(report.documents)),
        "field": plain(field_object(report.field)),
        "leval": plain(leval_object(report.leval)),
        "latency": plain(latency_object(report.latency)),
        "stability": plain(report.stability.as_object() if report.stability else None),
    }
    told = "".join(f'"{name}": {_dump(part, indent=1)},\n' for name, part in parts.items())
    head = f'{{\n"schema": {SCHEMA},\n{told}"records": [\n'
    return b"".join([head.encode(), b",\n".join(map(_record_line, report.records)), b"\n]\n}\n"])


def read_json(path: Path) -> list[Record]:
    """Read the records of a `results.json`. Raises `InputError` where it is none or is of a newer schema."""
    return records_in(parsed(path), path)


def parsed(path: Path) -> Any:
    """Return what a JSON file holds. Raises `InputError` where it cannot be read, or is none."""
    try:
        return read_run_json(path)
    except (ValueError, RecursionError) as error:
        raise InputError("results file", path, f"is not JSON ({error})") from None
    except OSError as error:
        raise InputError("results file", path, f"cannot be read ({error.strerror})") from None


def records_in(content: object, path: Path) -> list[Record]:
    """Return the records of a parsed `results.json`; `path` is for messages."""
    if not isinstance(content, dict) or not isinstance(content.get("records"), list):
        raise InputError("results file", path, "has no list of records; give a results.json of this harness")
    schema = content.get("schema")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise InputError("results file", path, f"has schema {schema!r}, this version reads {SCHEMA}; update Needlework")
    for number, record in enumerate(content["records"], start=1):
        check_record(record, path, f"record {number}")
    return [completed(record) for record in content["records"]]


def check_record(record: object, path: Path, where: str) -> None:
    """Raise `InputError` where `record` is none; `where` says which record of `path` it is."""
    fault = fault_of(record)
    if fault:
        raise InputError("results file", path, f"{where} {fault}")


def panel_object(panel: Panel) -> dict[str, Any]:
    """Return a panel as JSON objects. Cells that never ran are left out; outcome counts of zero are too."""
    overall = _tally_object(panel.overall)
    for name in UNSCORED:
        overall[name] = panel.overall.unscored.get(name, 0)
    return {
        "model": panel.model,
        "task": panel.task,
        "needle": panel.needle,
        "source": panel.source,
        "overall": overall,
        "lengths": list(panel.lengths),
        "depths": [depth_label(depth) for depth in panel.depths],
        "columns": [
            {"length": length, **_tally_object(column)}
            for length, column in zip(panel.lengths, panel.columns, strict=True)
        ],
        "rows": [{"depth": depth, **_tally_object(row)} for depth, row in zip(panel.depths, panel.rows, strict=True)],
        "cells": [
            {"length": length, "depth": depth, **_tally_object(cell)} for (length, depth), cell in panel.cells.items()
        ],
    }


def _tally_object(tally: Tally) -> dict[str, Any]:
    interval = tally.interval
    return {
        "range": None if tally.range is None else list(tally.range),
        "n": tally.n,
        "trials": tally.trials,
        "mean": tally.mean,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "interval": None if interval is None else METHOD,
        "clusters": tally.samples,
        "outcomes": {name: count for name, count in tally.counts.items() if count},
    }


def _record_line(record: Record) -> bytes:
    """The fields in the order of `Record`, then those of later schemas by name; keys inside them sorted."""
    fields = cast("Mapping[str, object]", record)
    known = [name for name in _FIELDS if name in fields]
    names = known if len(known) == len(fields) else [*known, *sorted(fields.keys() - set(known))]
    pairs = []
    try:
        for name in names:
            value = fields[name]
            kind = type(value)
            if kind is str:
                text = _quoted(cast("str", value))
            elif kind is int or (kind is float and isfinite(cast("float", value))):
                text = repr(value)  # most fields are short: an encoder takes longer to begin than to write them
            else:
                text = "null" if value is None else _sorted(value)
            pairs.append(f'"{name}": {text}' if name in _KNOWN else f"{_quoted(name)}: {text}")
    except (ValueError, TypeError):  # NaN or infinity, or keys that are no texts
        return _dump({name: plain(fields[name]) for name in names}).encode()
    line = f"{{{', '.join(pairs)}}}"
    try:
        return line.encode()
    except UnicodeEncodeError:
        return escaped(line).encode()


def _dump(value: object, indent: int | None = None) -> str:
    return escaped(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent))


def escaped(text: str) -> str:
    """The text of a JSON file, as UTF-8 can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which some model sent; its JSON escape can be encoded
        return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return text


def plain(value: object) -> object:
    """Sort the keys of objects; null for numbers that JSON does not have."""
    if isinstance(value, Mapping):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
