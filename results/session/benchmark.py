"""Cells are benchmarks to pytest-benchmark's own options: what is measured are their requests."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from needlework.haystack_fixtures.workers.distribution import is_worker
from needlework.haystack_fixtures.workers.top_up_items import cell_of
from needlework.results.run.latency import cells_as_benchmarks, check_benchmark


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    cells = [item for item in items if cell_of(item) is not None]
    if cells and not is_worker(config):
        check_benchmark(config)
    with cells_as_benchmarks(config, cells):
        return (yield)
