"""The share of a server's ideal throughput (concurrency / latency), at a known latency.

The server is a process on this machine and takes CPU time of its own: run it where nothing else runs, on two cores
at least.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from needlework.core.prompts import rendered_prompt
from needlework.models.model import Request, Response
from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import load_tokenizer
from needlework.pipeline.queue import LookAhead
from perf.arms import PYTEST, child_cpu_seconds, users_environment
from tests.source import ROOT
from tests.storm_server import storm_server

LATENCY_S = 0.05
WAVES = 40  # answers one after another in each place


def requests_of(tokens: int) -> Callable[[int], Request]:
    """Requests that differ from each other, of so many tokens."""
    tokenizer = load_tokenizer("tiktoken:gpt-4")

    def make(i: int) -> Request:
        text = f"{i}. " + "The harbour was quiet. " * (tokens // 5)
        return Request(rendered_prompt((), text, tokenizer.encode(text).ids), "raw", 64)

    return make


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_asking(benchmark: Any, perf_row: Any, concurrency: int) -> None:
    """The way from a request to its response, without pytest and without building prompts."""
    requests = [requests_of(400)(i) for i in range(concurrency * WAVES)]
    with storm_server(LATENCY_S) as storm:
        connection = ServerOptions(storm.url, concurrency=concurrency)
        model = ServedModel(transport_of("openai", "m", {}, connection), load_tokenizer("tiktoken:gpt-4"), connection)

        def ask_all() -> list[Response]:
            keys = range(len(requests))
            look_ahead: LookAhead[int, Response] = LookAhead(
                lambda i: model.begin(requests[i]), concurrency, queued=concurrency
            )
            look_ahead.extend(keys)
            responses = [look_ahead.take(i) for i in keys]
            look_ahead.close()
            return responses

        begun = time.process_time()
        responses = benchmark.pedantic(ask_all, rounds=2, warmup_rounds=1)
        each_s = (time.process_time() - begun) / (3 * len(requests))  # two rounds, and one to warm up
        model.close()
        seen = storm.seen()
    assert all(response.text == "OK." for response in responses)
    assert seen["most_in_flight"] == concurrency
    share = 100 * WAVES * LATENCY_S / benchmark.stats["min"]
    benchmark.extra_info["percent_of_ideal"] = round(share, 1)
    perf_row(
        what=f"asking a server, {concurrency} in flight",
        ours=share,
        unit="% of ideal",
        target=90,
        more=True,
        note=f"server of {1000 * LATENCY_S:.0f} ms; without pytest and prompts; {1000 * each_s:.2f} CPU ms a "
        f"request, so that one core could do {1 / each_s:,.0f} a second",
    )


@pytest.mark.parametrize(("latency_s", "repeats"), [(0.05, 200), (0.1, 1000), (0.5, 400)])
def test_a_run_at_64(benchmark: Any, perf_row: Any, tmp_path: Path, latency_s: float, repeats: int) -> None:
    """`pytest benchmarks` from the first question to the last answer, with prompts, scores, journal.

    One process answers for pytest, prompts and requests: it cannot do more cells in a second than its CPU time for one
    allows, however fast the server is.
    """

    def run() -> dict[str, Any]:
        with storm_server(latency_s) as storm:
            command = [
                sys.executable, *PYTEST, "benchmarks/test_niah.py",
                "--model=openai:gpt-4", "--template=raw", f"--base-url={storm.url}", "--concurrency=64",
                "--lengths=400", "--depths=0:100:10", f"--repeats={repeats}", "--corpus=pydoc",
                f"--results-dir={tmp_path}", "--run-name=r", "--fresh",
            ]  # fmt: skip
            taken, out = child_cpu_seconds(command, cwd=ROOT, env=users_environment())
            assert f"{10 * repeats} scored" in out
            return storm.seen() | {"cpu_s": taken}

    seen = benchmark.pedantic(run, rounds=1)
    took_s = seen["ended"] - seen["began"]
    share = 100 * (10 * repeats * latency_s / 64) / took_s
    benchmark.extra_info.update(percent_of_ideal=round(share, 1), ms_per_cell=round(took_s / (10 * repeats) * 1000, 3))
    perf_row(
        what=f"a run of {10 * repeats:,} cells, 64 in flight at {1000 * latency_s:.0f} ms",
        ours=share,
        unit="% of ideal",
        target=90,
        more=True,
        note="from the first question to the last answer, two short ones that calibrate included",
    )
    each_ms = 1000 * seen["cpu_s"] / (10 * repeats)
    perf_row(
        what=f"a cell of a run of {10 * repeats:,} at {1000 * latency_s:.0f} ms",
        ours=each_ms,
        unit="CPU ms",
        target=3,
        note=f"the whole process, from its start to its files, divided by its cells: {1000 / each_ms:.0f} a second",
    )
