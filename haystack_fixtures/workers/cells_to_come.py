"""Whether a run has cells, asked before workers start: their controller never collects, and has things to prepare."""

from __future__ import annotations

import ast
from contextlib import suppress
from importlib.util import find_spec

import pytest


def cells_to_come(config: pytest.Config) -> bool:
    """Whether the files that pytest was given speak of the mark `cells`.

    A guess from their source. Where it misses some (a mark that is made elsewhere), what would have been prepared here
    is prepared by each worker, which also refuses to share a device with others (`worker_devices.check_devices`).
    """
    paths = [config.invocation_params.dir / _path_named(arg.partition("::")[0], config) for arg in config.args]
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")))
    return any(_speaks_of_cells(file.read_bytes()) for file in files if file.suffix == ".py")


def _path_named(name: str, config: pytest.Config) -> str:
    """The path of what is given to pytest: with `--pyargs` it may be a module's name."""
    spec = None
    if config.option.pyargs:
        with suppress(ImportError, AttributeError, ValueError):  # no such module, or no module's name
            spec = find_spec(name)
    found = spec and (next(iter(spec.submodule_search_locations or ()), spec.origin))
    return found or name


def _speaks_of_cells(source: bytes) -> bool:
    """`mark.cells` in the code, called or not (`cells = pytest.mark.cells`); text and comments do not count."""
    if b"mark.cells" not in source:
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return True  # collecting it says what is wrong
    return any(isinstance(node, ast.Attribute) and node.attr == "cells" for node in ast.walk(tree))
