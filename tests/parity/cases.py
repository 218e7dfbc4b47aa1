"""Inputs and the numbers that the original systems' own functions gave for them.

Each file says in `meta` which system, function and version gave them, and what is a quirk; `cases` are the rows.
"""

import json
from pathlib import Path
from typing import Any


def cases(name):
    """The rows of one file: `niah/es_grids`."""
    rows: list[dict[str, Any]] = _content(name)["cases"]
    assert rows
    return rows


def meta(name):
    """Where the rows of one file come from, and what holds for all of them."""
    told: dict[str, Any] = _content(name)["meta"]
    return told


def _content(name):
    content: dict[str, Any] = json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
    return content
