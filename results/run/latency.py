"""Latencies for pytest-benchmark: `--benchmark-json`, `-save`, `-compare` and `-compare-fail`, also under xdist.

pytest-benchmark measures calls that it makes itself and switches itself off under xdist. Ours are measured by the
client around each request, travel in the records, and become entries of its session here, on the controller.
This is the one file that touches its private names (`config._benchmarksession`, `stats.Metadata`; seen in 5.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import pytest

from needlework.results.records.record import SCORED, UNDECIDED, Record

_ASKED = ("benchmark_json", "benchmark_save", "benchmark_autosave", "benchmark_compare")
# A request that failed has no latency worth comparing: a timeout would only show the timeout.
_ANSWERED = (*SCORED, *UNDECIDED)


@dataclass(frozen=True, slots=True)
class LatencyGroup:
    """The latencies, in seconds, of one (model, task, length), in the order of their trials."""

    model: str
    task: str
    length: int
    seconds: tuple[float, ...]
    cached_tokens: int

    @property
    def name(self) -> str:
        """As pytest-benchmark shows it; the same in every run, so that runs can be compared."""
        return f"{self.task}-len{self.length}-{self.model}"


def latency_groups(records: Iterable[Record]) -> tuple[LatencyGroup, ...]:
    """Group the latencies of answered requests, sorted by model, task and length."""
    groups: dict[tuple[str, str, int], list[Record]] = {}
    for record in sorted(records, key=lambda record: record["id"]):
        seconds = record["timing"].get("latency_s")
        if record["outcome"] in _ANSWERED and isinstance(seconds, (int, float)) and isfinite(seconds) and seconds > 0:
            groups.setdefault((record["model"], record["task"], record["length"]), []).append(record)
    return tuple(
        LatencyGroup(
            *key,
            seconds=tuple(float(record["timing"]["latency_s"]) for record in groups[key]),
            cached_tokens=sum(record["timing"].get("cached_tokens") or 0 for record in groups[key]),
        )
        for key in sorted(groups)
    )


def publish_latencies(config: pytest.Config, records: Iterable[Record]) -> None:
    """Add one entry for each group to pytest-benchmark's session, when its output was asked for.

    Call it on the controller only, from a `pytest_sessionfinish` that is a wrapper with `tryfirst`, before its yield:
    pytest-benchmark saves from a wrapper of its own, which runs before every plain hook.
    """
    session = getattr(config, "_benchmarksession", None)
    if session is None or hasattr(config, "workerinput"):
        return
    if not any(config.getoption(name, None) for name in _ASKED):
        return
    from pytest_benchmark import stats

    metadata: Any = stats.Metadata  # typed, to mypy's mind, but for its constructor
    for group in latency_groups(records):
        entry = metadata(_Entry.of(group), iterations=1, options={})
        for seconds in group.seconds:
            entry.update(seconds)
        session.benchmarks.append(entry)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What pytest-benchmark reads of a benchmark fixture."""

    name: str
    fullname: str
    group: str
    param: str
    params: Mapping[str, Any]
    extra_info: Mapping[str, Any]
    cprofile_stats: None = None
    has_error: bool = field(default=False)

    @classmethod
    def of(cls, group: LatencyGroup) -> _Entry:
        return cls(
            name=f"latency[{group.name}]",
            fullname=f"needlework::latency[{group.name}]",
            group="latency",
            param=group.name,
            params={"model": group.model, "task": group.task, "length": group.length},
            # Answers from a shared prefix are faster than the model: whoever compares has to see it.
            extra_info={"cached_prompt_tokens": group.cached_tokens},
        )
