"""How long requests took, by length: whole answers, the first token, each further token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, TypeGuard

import numpy as np

from needlework.results.records.record import SCORED, UNDECIDED, Record

# A request that failed has no latency worth comparing: a timeout would only show the timeout.
_ANSWERED = frozenset({*SCORED, *UNDECIDED})


@dataclass(frozen=True, slots=True)
class Times:
    """Median and 95th percentile (linear between values) of `n` measurements."""

    n: int
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """The answered requests of a model at one length (tokens).

    `latency_s`: seconds to the last token; `ttft_s`: to the first; `token_s`: of each further token; `None` where
    nobody measured it. `tokens_per_s`: 1 / the median of `token_s`. `cached`: share of the prompts' tokens, 0..1, that
    a cache held. `earlier`: how many of the answers are of an earlier session.
    """

    model: str
    length: int
    n: int
    latency_s: Times
    ttft_s: Times | None
    token_s: Times | None
    tokens_per_s: float | None
    cached: float
    earlier: int


def latency_rows(records: Iterable[Record]) -> tuple[LatencyRow, ...]:
    """A row for each model and length, sorted; none where nothing was measured."""
    groups: dict[tuple[str, int], list[Record]] = {}
    for record in records:
        if record["outcome"] in _ANSWERED and _measured(record["timing"].get("latency_s")):
            groups.setdefault((record["model"], record["length"]), []).append(record)
    return tuple(_row(*key, groups[key]) for key in sorted(groups))


def latency_object(rows: Sequence[LatencyRow]) -> list[dict[str, Any]]:
    """The rows for `results.json`, in seconds."""
    return [asdict(row) for row in rows]


def latency_of(record: Record) -> float | None:
    """Seconds to the last token of an answered request; `None` for others, and where nobody measured it."""
    return _positive(record, "latency_s") if record["outcome"] in _ANSWERED else None


def ttft_of(record: Record) -> float | None:
    """Seconds to the first token of an answered request."""
    return _positive(record, "ttft_s") if record["outcome"] in _ANSWERED else None


def token_of(record: Record) -> float | None:
    """Seconds of each token after the first of an answered request."""
    rate = _positive(record, "tokens_per_s") if record["outcome"] in _ANSWERED else None
    return 1 / rate if rate else None


def _positive(record: Record, name: str) -> float | None:
    value = record["timing"].get(name)
    return float(value) if _measured(value) else None


def _measured(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and isfinite(value) and value > 0


def _row(model: str, length: int, records: Sequence[Record]) -> LatencyRow:
    timings = [record["timing"] for record in records]
    whole = _times(timings, "latency_s")
    assert whole is not None  # every one of them was measured
    token = _times(timings, "tokens_per_s", lambda rate: 1 / float(rate))
    prompts = sum([record["prompt"].get("tokens") or 0 for record in records])
    cached = sum([timing.get("cached_tokens") or 0 for timing in timings])
    return LatencyRow(
        model=model,
        length=length,
        n=len(records),
        latency_s=whole,
        ttft_s=_times(timings, "ttft_s"),
        token_s=token,
        tokens_per_s=1 / token.median if token else None,
        cached=min(1.0, cached / prompts) if prompts else 0.0,
        earlier=sum([bool(timing.get("replayed")) for timing in timings]),
    )


def _times(timings: Sequence[Mapping[str, Any]], name: str, measure: Callable[[float], float] = float) -> Times | None:
    """Of answered requests, what `measure` makes of one of their times."""
    values = [value for timing in timings if (value := timing.get(name)) is not None]
    found = [measure(value) for value in values if _measured(value)]
    if not found:
        return None
    median, p95 = np.percentile(found, (50, 95))
    return Times(len(found), float(median), float(p95))
