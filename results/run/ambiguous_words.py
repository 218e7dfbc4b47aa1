"""Words of `-k` that take more cells than they seem to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.records.record import Record


def ambiguous_words(keyword: str, records: Sequence[Record]) -> list[str]:
    """Say where a word of `-k` took more than one value: `-k depth10` matches depth 100 too."""
    lines = []
    for word, kind, number in re.findall(r"((depth|len)(\d+(?:\.\d+)?))(?![\w.-])", keyword):
        values = {depth_label(r["depth"]) if kind == "depth" else str(r["length"]) for r in records}
        taken = sorted((value for value in values if value.startswith(number)), key=len)
        if len(taken) > 1:
            option = "depths" if kind == "depth" else "lengths"
            lines.append(f"-k {word} took {', '.join(taken)}; -k '{word}-' or --{option} {number} takes one")
    return lines
