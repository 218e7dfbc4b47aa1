"""What a record tells of the time that an answer took."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from needlework.core.grid import Cell
from needlework.models.model import Response
from needlework.pipeline.exchange import Exchange
from needlework.results.run.record_builder import make_record
from needlework.scoring.recording import ScoringResult


@pytest.mark.parametrize(
    ("completion_tokens", "ttft_s", "latency_s", "tokens_per_s"),
    [
        (11, 0.5, 1.5, 10.0),  # the first token came with the first byte: ten more in a second
        (2, 1.0, 1.5, 2.0),
        (1, 0.5, 1.5, None),
        (None, 0.5, 1.5, None),
        (11, None, 1.5, None),
        (11, 1.5, 1.5, None),
    ],
)
def test_the_speed_is_that_of_the_tokens_after_the_first(
    completion_tokens: int | None, ttft_s: float | None, latency_s: float, tokens_per_s: float | None
) -> None:
    response = Response("x", completion_tokens=completion_tokens, ttft_s=ttft_s, latency_s=latency_s)
    suite = cast(Any, SimpleNamespace(language="en"))
    exchange = Exchange(Cell("niah", 400, 50.0, "code", 0), suite, "m", "k", response)
    record = make_record(exchange, ScoringResult(None), nodeid="", worker="main", recipe="r")

    assert record.timing.tokens_per_s == tokens_per_s
