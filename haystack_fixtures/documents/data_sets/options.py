"""The options of tasks on published data sets: the user's copy, and which of its rows to ask."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.settings.option import HOW, WHAT, Option, file_or_hub, never
from needlework.haystack_fixtures.settings.option_values import one_of, path, text, tokens, whole


@dataclass(frozen=True, slots=True)
class DataOptions:
    """`data`: file, folder or `hf:NAME` of the user's copy. `data_where`: `COLUMN=VALUE|VALUE` conditions that a row
    has to meet; `data_limit`: rows of each group, 0 for all. `data_cut`: how LongBench v2's documents are cut, and
    `data_window`: the tokens of a whole prompt with `compat`."""

    data: str | None = None
    data_where: tuple[str, ...] = ()
    data_limit: int = 0
    data_cut: Literal["exact", "compat", "none"] = "exact"
    data_window: int = 120_000


def conditions(option: str, value: str) -> tuple[str, ...]:
    """`n_needles=8,difficulty=hard|easy` as a tuple of conditions."""
    found = tuple(part.strip() for part in text(option, value).split(","))
    for part in found:
        if not re.fullmatch(r"[\w]+\s*=\s*\S.*", part):
            raise InputError(option, part, "write COLUMN=VALUE, or COLUMN=VALUE|VALUE, with commas between them")
    return found


def _file_or_hub(option: str, value: str) -> str:
    return value if value.startswith("hf:") else str(path(option, value))


OPTIONS = (
    Option(
        "data",
        WHAT,
        "your copy of the data of openai_mrcr, deepmind_mrcr, graphwalks or longbench_v2: a file (parquet, jsonl, json,"
        " csv), a folder, or hf:NAME[@REVISION]",
        _file_or_hub,
        metavar="PATH",
        suite=True,
        counts=never,
        file=file_or_hub,
    ),
    Option(
        "data-where",
        WHAT,
        "rows of --data to ask, by their columns: n_needles=8,difficulty=hard|easy",
        conditions,
        shown_default="all",
        metavar="COLUMN=VALUE",
        suite=True,
        counts=never,
    ),
    Option(
        "data-limit",
        WHAT,
        "ask this many rows of each kind and length of --data: a smaller number asks a part of what a larger one does",
        whole(0),
        "0",
        shown_default="all",
        metavar="N",
        suite=True,
        counts=never,
    ),
    Option(
        "data-cut",
        HOW,
        "LongBench v2's long documents: exact (the middle goes, to the token; question and template stay), compat (the"
        " middle of the whole prompt, as the authors), none (skip the question)",
        one_of("exact", "compat", "none"),
        "exact",
        suite=True,
    ),
    Option(
        "data-window",
        HOW,
        "tokens of a whole prompt with --data-cut compat",
        tokens,
        "120000",
        suite=True,
    ),
)
