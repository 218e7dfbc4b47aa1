"""How answers that were made elsewhere are scored: each benchmark's reference and groups, of the columns of a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from needlework.haystack_fixtures.documents.data_sets.layout import Entry, Layout
from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.tasks.published import deepmind_mrcr, graphwalks, openai_mrcr
from needlework.haystack_fixtures.tasks.published.longbench_v2_rows import LAYOUT as LONGBENCH
from needlework.haystack_fixtures.tasks.published.longbench_v2_rows import LETTERS, groups_of
from needlework.haystack_fixtures.tasks.published.mrcr_rows import Pieces, reference_of
from needlework.results.statistics.published.field import longbench_groups, mrcr_groups

_STRING = re.compile(r"\A[A-Za-z0-9]{10}")
_STRING_V2 = 12


@dataclass(frozen=True, slots=True)
class Benchmark:
    """`reference(columns)`: what an answer is scored with, `None` where the columns do not tell. `groups(columns)`:
    the rows of the table that it belongs to. `scorer`: the sound rule with the published ones in its details."""

    task: str
    layout: Layout
    scorer: str
    reference: Callable[[Mapping[str, Any]], dict[str, Any] | None]
    groups: Callable[[Mapping[str, Any]], tuple[str, ...]]


def _openai(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    answer = columns.get("answer")
    if not isinstance(answer, str):
        return None
    told = columns.get("random_string_to_prepend")
    found = _STRING.match(answer)
    string = told if isinstance(told, str) else found[0] if found else ""
    row = {**columns, "random_string_to_prepend": string, "desired_msg_index": columns.get("desired_msg_index")}
    try:
        return openai_mrcr.scored_with(str(columns["prompt"]), Entry(0, 0, row))
    except (KeyError, InputError):  # without the conversation its other pieces are not known
        reference = reference_of(answer, string, Pieces((answer.removeprefix(string),), 0))
        needles = columns.get("n_needles")
        return reference | {"chance": 1 / needles if isinstance(needles, int) and needles else 0.0}


def _openai_groups(columns: Mapping[str, Any]) -> tuple[str, ...]:
    tokens = columns.get("total_tok_cnt")
    needles = columns.get("n_needles")
    return mrcr_groups(needles, tokens if isinstance(tokens, int) else None) if needles else ()


def _deepmind(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    answer = columns.get("answer")
    if not isinstance(answer, str):
        return None
    if isinstance(columns.get("queries"), str):
        return deepmind_mrcr.scored_with(columns["queries"], Entry(0, 0, columns))
    answer = answer.strip()
    return reference_of(answer, answer[:_STRING_V2], Pieces((answer[_STRING_V2:].strip(),), 0)) | {"chance": 0.0}


def _graphwalks(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    try:
        return graphwalks.reference_of(Entry(0, 0, columns))
    except InputError:
        return None


def _graphwalks_groups(columns: Mapping[str, Any]) -> tuple[str, ...]:
    kind = columns.get("problem_type")
    return (str(kind),) if kind else ()


def right_letter(columns: Mapping[str, Any]) -> str:
    """The right letter, A to D; empty where the columns do not tell it."""
    answer = columns.get("answer")
    right = answer.strip() if isinstance(answer, str) else ""
    return right if len(right) == 1 and right in LETTERS else ""


def _longbench(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    right = right_letter(columns)
    return {"answers": (right,), "chance": 1 / len(LETTERS)} if right else None


BENCHMARKS = {
    "openai-mrcr": Benchmark("openai_mrcr", openai_mrcr.LAYOUT, "openai_mrcr", _openai, _openai_groups),
    "deepmind-mrcr": Benchmark("deepmind_mrcr", deepmind_mrcr.LAYOUT, "deepmind_mrcr", _deepmind, lambda _columns: ()),
    "graphwalks": Benchmark("graphwalks", graphwalks.LAYOUT, "graphwalks", _graphwalks, _graphwalks_groups),
    "longbench-v2": Benchmark(
        "longbench_v2",
        LONGBENCH,
        "longbench_v2",
        _longbench,
        lambda columns: longbench_groups(groups_of(columns)),
    ),
}
