"""A run's trials as a Parquet table: one flat row each, for pandas, DuckDB, Spark, BigQuery."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from needlework.haystack_fixtures.errors import InputError
from needlework.results.files.read_run import Run
from needlework.results.records.record import Record

# Column -> type as pyarrow names it; scores 0..1, lengths and prompts in tokens, times in seconds.
COLUMNS = {
    **dict.fromkeys(("run", "started", "key", "id", "model", "task", "needle", "language"), "string"),
    "length": "int64",
    "depth": "float64",
    "repeat": "int64",
    "seed": "int64",
    "outcome": "string",
    "score": "float64",
    "scorer": "string",
    "scorer_version": "int64",
    **dict.fromkeys(("why", "question", "expected", "answer", "read_as"), "string"),
    "finish_reason": "string",
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "reasoning_tokens"), "int64"),
    "prompt_sha256": "string",
    **dict.fromkeys(("latency_s", "ttft_s"), "float64"),
    "error": "string",
}
_RESPONSE = ("finish_reason", "prompt_tokens", "completion_tokens", "reasoning_tokens")


def parquet_bytes(run: Run) -> bytes:
    """Return the file. Raises `InputError` where pyarrow is missing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise InputError("--to", "parquet", "needs pyarrow: pip install 'needlework[data]'") from None
    rows = [_row(run, record) for record in run.records]
    schema = pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in COLUMNS.items()])
    out = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), out, compression="zstd")
    return out.getvalue()


def _row(run: Run, record: Record) -> dict[str, Any]:
    fields: dict[str, Any] = {**record}
    response, timing, error = record["response"], record["timing"], record["error"]
    started = run.manifest.get("started")
    told = {
        "run": run.name,
        "started": started if isinstance(started, str) else None,
        "expected": _joined(record["expected"]),
        "answer": response.get("text", record["answer"]),
        "read_as": record["answer"],
        **{name: response.get(name) for name in _RESPONSE},
        "prompt_sha256": record["prompt"].get("sha256"),
        **{name: timing.get(name) for name in ("latency_s", "ttft_s")},
        "error": f"{error['kind']}: {error['message']}" if error else None,
    }
    return {name: _encodable(told[name] if name in told else fields.get(name)) for name in COLUMNS}


def _encodable(value: Any) -> Any:
    """Half a surrogate pair, which some model sent, has no UTF-8."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _joined(values: Sequence[str]) -> str:
    return "\n".join(values)
