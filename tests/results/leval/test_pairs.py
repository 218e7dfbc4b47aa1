"""Pairs of answers: no row is lost; win rates against published counts."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.leval.judge import match, win_rate
from needlework.results.leval.predictions import Answers, Prediction


def _answers(questions, path="mine"):
    rows = (Prediction(line, f"question {each}", "gold", f"{path} {line}") for line, each in enumerate(questions, 1))
    return Answers(Path(path), path, tuple(rows), ())


_questions = st.lists(st.integers(0, 5), min_size=1, max_size=12)


@given(_questions, _questions)
def test_every_row_is_in_one_pair_or_alone(ours, rival):
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


def test_the_same_words_with_another_reference_are_another_question():
    other = Answers(Path("its"), "its", (Prediction(1, "question 1", "another", "x"),), ())
    with pytest.raises(InputError, match="by `query` and `gt`"):
        match(_answers([1]), other)


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "errors", "rate"),
    [
        (106, 40, 46, 0, 0.671875),  # claude against turbo as published
        (75, 84, 25, 8, 0.4755434783),  # counts of upstream's own code with a stub judge: 96 questions
        (137, 156, 55, 14, 0.4727011494),  # 181 questions
        (0, 0, 0, 2, None),
    ],
)
def test_win_rates_of_published_counts(wins, losses, ties, errors, rate):
    kinds = ["win"] * wins + ["loss"] * losses + ["tie"] * ties + [None] * errors
    pairs = len(kinds) // 2
    found = win_rate([(at % pairs, kind) for at, kind in enumerate(kinds)], pairs)
    assert (found.wins, found.ties, found.losses, found.n) == (wins, ties, losses, 2 * pairs - errors)
    assert found.of_those_there.value == (rate if rate is None else pytest.approx(rate, abs=1e-10))
    assert found.score.value == (None if errors else found.of_those_there.value)
    assert found.most - found.least == pytest.approx(errors / len(kinds))
    if rate is not None:
        assert found.of_those_there.low < rate < found.of_those_there.high
        assert found.least <= rate <= found.most
    missing = win_rate([(at % pairs, kind) for at, kind in enumerate(kinds[:-1])], pairs)
    assert missing.score.value is None
