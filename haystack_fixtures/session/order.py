"""The order in which a session runs its cells."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model_named import runs_here
from needlework.haystack_fixtures.session.kept import settings_of, tasks_of
from needlework.haystack_fixtures.tasks.catalogue import (
    deepest_first,
    longest_first,
)
from needlework.haystack_fixtures.workers import distribution


def in_order(config: pytest.Config, cells: Sequence[Cell]) -> list[Cell]:
    if distribution.is_worker(config):
        return longest_first(cells)
    return (
        deepest_first(cells, tasks_of(config))
        if all(runs_here(spec) for spec in settings_of(config).model)
        else list(cells)
    )
