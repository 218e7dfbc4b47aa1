"""The answers of a model and of its rival to the same questions, pair by pair; nothing is left out in silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.errors import InputError
from needlework.results.leval.predictions import Answers, Prediction

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to one question."""

    ours: Prediction
    rival: Prediction

    @property
    def question(self) -> Key:
        """What makes two rows the same question: its words and its reference."""
        return _key(self.ours)


@dataclass(frozen=True, slots=True)
class Matched:
    """`alone`, `rival_alone`: rows without a partner in the other file. `repeated`: the pairs of each question that
    stands in both files more than once; they are paired in the order of the rows.
    """

    pairs: tuple[Pair, ...]
    alone: tuple[Prediction, ...]
    rival_alone: tuple[Prediction, ...]
    repeated: tuple[tuple[Pair, ...], ...]


def match(ours: Answers, rival: Answers) -> Matched:
    """Pair the rows of both files by question and reference. Raises `InputError` where there is no pair at all."""
    one, other = _by_question(ours.rows), _by_question(rival.rows)
    groups = [
        tuple(Pair(mine, its) for mine, its in zip(one[key], other.get(key, ()), strict=False))  # the rest is alone
        for key in one
    ]
    matched = {pair.ours.line: pair.rival.line for group in groups for pair in group}
    if not matched:
        raise InputError("RIVAL", rival.path, f"has no question of {ours.path}: rows are paired by `query` and `gt`")
    partners = set(matched.values())
    return Matched(
        pairs=tuple(sorted((pair for group in groups for pair in group), key=lambda pair: pair.ours.line)),
        alone=tuple(row for row in ours.rows if row.line not in matched),
        rival_alone=tuple(row for row in rival.rows if row.line not in partners),
        repeated=tuple(group for group in groups if len(group) > 1),
    )


def _by_question(rows: Sequence[Prediction]) -> dict[Key, list[Prediction]]:
    found: dict[Key, list[Prediction]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(row)
    return found


def _key(row: Prediction) -> Key:
    return row.question, row.gold
