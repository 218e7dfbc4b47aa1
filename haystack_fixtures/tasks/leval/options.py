"""L-Eval's own options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from needlework.haystack_fixtures.settings.option import HOW, WHAT, Option, file_or_hub, never
from needlework.haystack_fixtures.settings.option_values import (
    one_of,
    path,
    switch,
)


@dataclass(frozen=True, slots=True)
class LevalOptions:
    """Where L-Eval's files lie, which of its rows to ask, how documents are cut, whether open questions tell the length
    of the reference."""

    leval_data: str | None = None
    leval_subset: str = "scored"
    leval_truncation: Literal["exact", "compat"] = "exact"
    leval_length_hint: bool = True
    no_truncate: bool = False


OPTIONS = (
    Option(
        "leval-data",
        WHAT,
        'a jsonl file of L-Eval\'s form, a quoted pattern ("mine/*.jsonl"), a folder of such files, a clone of its'
        " data, or hf:L4NLP/LEval[@REVISION]; each file is a task, leval_NAME; without --preset, --task all are asked",
        path,
        metavar="WHERE",
        suite=True,
        counts=never,
        file=file_or_hub,
    ),
    Option(
        "leval-subset",
        WHAT,
        "rows of L-Eval to ask, by their own `evaluation`: scored (exam, f1, rouge), llm, human, both (llm and human)",
        one_of("scored", "llm", "human", "both"),
        "scored",
        suite=True,
    ),
    Option(
        "leval-truncation",
        HOW,
        "how L-Eval's documents are cut to a length: exact (to the token), compat (L-Eval's own steps of words)",
        one_of("exact", "compat"),
        "exact",
        suite=True,
    ),
    Option(
        "no-truncate",
        HOW,
        "skip the questions of L-Eval's documents that are too long, rather than cut them",
        switch,
        "false",
        flag=True,
        suite=True,
    ),
    Option(
        "leval-length-hint",
        HOW,
        "tell the words of the reference in L-Eval's open tasks, as L-Eval does",
        switch,
        "true",
        metavar="true|false",
        suite=True,
    ),
)
