"""`batch_cells.json`: the cells of the session that wrote requests for a batch service."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.records.run_file import read_run_json

BATCH_CELLS = "batch_cells.json"
_AGAIN = "give the pytest command again, with --batch-in in place of --batch-out"


def write_batch_cells(folder: Path, cells: Iterable[str], *, packaged: bool) -> None:
    """Write the ids of the cells that were selected. `packaged`: all their tests are needlework's own."""
    content = {"schema": 1, "packaged": packaged, "cells": sorted(set(cells))}
    write_whole(folder / BATCH_CELLS, f"{json.dumps(content, indent=0)}\n".encode())


def read_batch_cells(folder: Path) -> frozenset[str]:
    """The ids of the cells that requests were written of. Raises `InputError` where they are not known, or were asked
    by the user's own tests, which no data can run again."""
    try:
        told = read_run_json(folder / BATCH_CELLS)
        cells, packaged = frozenset(map(str, told["cells"])), told["packaged"] is True
    except OSError:
        remedy = f"has no {BATCH_CELLS}, which --batch-out writes: {_AGAIN}"
        raise InputError("RUN", folder, remedy) from None
    except (ValueError, RecursionError, KeyError, TypeError):
        raise InputError("RUN", folder, f"its {BATCH_CELLS} is damaged: {_AGAIN}") from None
    if not packaged:
        raise InputError("RUN", folder, f"was asked by test files of your own, which this does not run: {_AGAIN}")
    return cells
