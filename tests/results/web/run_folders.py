"""Run folders for the pages: a manifest and a journal of records written by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from needlework.core.record import Record
from needlework.results.records.journal import line_of


def record(number: int = 0, *, length: int = 2000, depth: float | None = 50.0, **more: Any) -> Record:
    """A trial that was found, unless told otherwise."""
    task, needle, repeat = more.get("task", "niah"), more.get("needle", "code"), more.get("repeat", number)
    at = "all" if depth is None else f"{depth:g}"
    plain: dict[str, Any] = {
        "schema": 1, "key": f"{number:064x}", "id": f"{task}-len{length}-depth{at}-{needle}-r{repeat}",
        "nodeid": "", "model": "mock", "task": task, "needle": needle, "language": "en", "length": length,
        "depth": depth, "repeat": repeat, "seed": 0, "outcome": "found", "score": 1.0, "scorer": "match",
        "scorer_version": 2, "why": "it is there", "question": "What is the code?", "expected": ["123"],
        "reference": {"answers": ["123"]}, "answer": "123", "prompt": {"tokens": length - 100},
        "response": {"text": "It is 123.", "reasoning": "", "finish_reason": "stop"},
        "details": {"flags": [], "recipe": "a"}, "error": None, "timing": {"latency_s": 0.5},
    }  # fmt: skip
    return plain | more  # type: ignore[return-value]


def write_journal(folder: Path, records: Iterable[Record], *, ended: str | None = None) -> Path:
    """A run's folder as a run that has not ended leaves it; `ended`: as one that has, but for its results."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"ended": ended, "suites": [], "options": {}}))
    (folder / "journal.jsonl").write_text("".join(f"{line_of(each)}\n" for each in records), encoding="utf-8")
    return folder
