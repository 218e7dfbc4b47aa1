"""pytest-benchmark: its table, files and comparisons have the requests' times, also under xdist.

pytest-benchmark measures calls that it makes itself and switches itself off under xdist. Ours are measured by the
client around each request, travel in the records, and become entries of its session here, on the controller.
This is the one file that touches its private names (`config._benchmarksession`, `stats.Metadata`; seen in 5.3.1).
"""

import os
import shlex
from collections.abc import Callable, Generator, Iterable, Mapping
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import pytest

from needlework.core.record import Record
from needlework.pytest_plugin.workers import cell_of, is_worker
from needlework.results.statistics.run_facts import latency_of, token_of, ttft_of

_OPTION = "--benchmark-"
_FIXTURE = "benchmark"
_MEASURES: Mapping[str, Callable[[Record], float | None]] = {
    "latency": latency_of,
    "first token": ttft_of,
    "time per token": token_of,
}


def benchmark_asked(config: pytest.Config) -> bool:
    """Whether an option of pytest-benchmark was given, and none that switches its measuring off."""
    for off, on in (("benchmark_skip", "benchmark_only"), ("benchmark_disable", "benchmark_enable")):
        if config.getoption(off, False) and not config.getoption(on, False):
            return False
    words = [*config.invocation_params.args, *shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))]
    return any(str(word).startswith(_OPTION) for word in [*words, *config.getini("addopts")])


def latency_groups(records: Iterable[Record]) -> list[SimpleNamespace]:
    """Times of this session's answers by measure, model, task and length, without replayed ones.

    Each as pytest-benchmark reads a fixture, with its `seconds`.
    """
    groups: dict[tuple[str, str, int], list[Record]] = {}
    for record in sorted(records, key=lambda record: record.id):
        if latency_of(record) is not None and not record.timing.replayed:
            groups.setdefault((record.model, record.task_label, record.length), []).append(record)
    several = len({model for model, _, _ in groups}) > 1  # so that runs of two models can be compared
    fixtures = []
    for measure, of in _MEASURES.items():
        for (model, task, length), group_records in sorted(groups.items()):
            param = f"{task}-len{length}" + (f"-{model}" if several else "")
            # Answers from a shared prefix are faster than the model: whoever compares has to see it.
            cached = sum(record.timing.cached_tokens or 0 for record in group_records)
            fixture = SimpleNamespace(
                group=measure,
                name=f"{measure}[{param}]",
                fullname=f"needlework::{measure}[{param}]",
                param=param,
                params={"model": model, "task": task, "length": length},
                extra_info={"model": model, "cached_prompt_tokens": cached},
                seconds=tuple(value for record in group_records if (value := of(record)) is not None),
                cprofile_stats=None,
                has_error=False,
            )
            fixtures += [fixture] if fixture.seconds else []
    return fixtures


def publish_latencies(config: pytest.Config, records: Iterable[Record]) -> None:
    """Add one entry for each group to pytest-benchmark's session, when an option of its own was given.

    Call it on the controller only, from a `pytest_sessionfinish` that is a wrapper with `tryfirst`, before its yield:
    pytest-benchmark saves from a wrapper of its own, which runs before every plain hook.
    """
    session = getattr(config, "_benchmarksession", None)
    if session is None or is_worker(config) or not benchmark_asked(config):
        return
    from pytest_benchmark import stats

    metadata: Any = stats.Metadata  # typed, to mypy's mind, but for its constructor
    for group in latency_groups(records):
        entry = metadata(group, iterations=1, options={})
        for seconds in group.seconds:
            entry.update(seconds)
        session.benchmarks.append(entry)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Make cells benchmarks to `--benchmark-only` and `-skip` while pytest-benchmark filters."""
    cells: list[Any] = [item for item in items if cell_of(item) is not None]
    drawn = cells and not is_worker(config) and config.getoption("benchmark_histogram", None)
    if drawn and not (find_spec("pygal") and find_spec("pygaljs")):  # it would fail at the end
        raise pytest.UsageError("--benchmark-histogram draws with pygal: pip install 'pytest-benchmark[histogram]'")
    chosen = config.getoption("benchmark_only", False) or config.getoption("benchmark_skip", False)
    names = {id(item.fixturenames): item.fixturenames for item in cells if hasattr(item, "fixturenames")}
    marked = [fixtures for fixtures in names.values() if chosen and _FIXTURE not in fixtures]
    for fixtures in marked:
        fixtures.append(_FIXTURE)
    try:
        return (yield)
    finally:
        for fixtures in marked:
            fixtures.remove(_FIXTURE)
