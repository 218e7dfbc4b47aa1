"""Pairs of answers: no row is lost, whatever two files hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.leval.judged_pairs import match
from needlework.results.leval.predictions import Answers, Prediction


def _answers(questions: list[int], path: str = "mine") -> Answers:
    rows = (Prediction(line, f"question {each}", "gold", f"{path} {line}") for line, each in enumerate(questions, 1))
    return Answers(Path(path), path, tuple(rows), ())


_questions = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@given(_questions, _questions)
def test_every_row_is_in_one_pair_or_alone(ours: list[int], rival: list[int]) -> None:
    if not set(ours) & set(rival):
        with pytest.raises(InputError, match="has no question of"):
            match(_answers(ours), _answers(rival))
        return
    found = match(_answers(ours), _answers(rival, "its"))

    mine = [pair.ours.line for pair in found.pairs] + [row.line for row in found.alone]
    its = [pair.rival.line for pair in found.pairs] + [row.line for row in found.rival_alone]
    assert sorted(mine) == list(range(1, len(ours) + 1))
    assert sorted(its) == list(range(1, len(rival) + 1))
    assert all(pair.ours.question == pair.rival.question for pair in found.pairs)
    assert len(found.pairs) == sum(min(ours.count(each), rival.count(each)) for each in set(ours))


def test_a_question_that_comes_twice_is_paired_in_order() -> None:
    found = match(_answers([7, 8, 7, 7]), _answers([7, 7, 8]))

    assert [(pair.ours.line, pair.rival.line) for pair in found.pairs] == [(1, 1), (2, 3), (3, 2)]
    assert [row.line for row in found.alone] == [4]
    assert [[pair.ours.line for pair in group] for group in found.repeated] == [[1, 3]]


def test_the_same_words_with_another_reference_are_another_question() -> None:
    other = Answers(Path("its"), "its", (Prediction(1, "question 1", "another", "x"),), ())

    with pytest.raises(InputError, match="by `query` and `gt`"):
        match(_answers([1]), other)
