"""Pairs of answers: no row is lost; win rates against published counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.results.leval.judged_pairs import Preference, match, win_rate
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


def test_the_same_words_with_another_reference_are_another_question() -> None:
    other = Answers(Path("its"), "its", (Prediction(1, "question 1", "another", "x"),), ())

    with pytest.raises(InputError, match="by `query` and `gt`"):
        match(_answers([1]), other)


def _judgements(wins: int, ties: int, losses: int) -> list[tuple[int, Preference | None]]:
    kinds: list[Preference] = ["win"] * wins + ["tie"] * ties + ["loss"] * losses
    return [(at % 96, kind) for at, kind in enumerate(kinds)]


def test_claude_against_turbo_as_published() -> None:
    rate = win_rate(_judgements(106, 46, 40), pairs=96)

    assert rate.score.value == 0.671875
    assert (rate.wins, rate.ties, rate.losses, rate.n, rate.expected) == (106, 46, 40, 192, 192)
    assert rate.score.low is not None
    assert rate.score.high is not None
    assert rate.score.low < 0.671875 < rate.score.high


@pytest.mark.parametrize("missing", [1, 2, 192])
def test_no_rate_of_missing_judgements(missing: int) -> None:
    judged = _judgements(106, 46, 40)
    failed = [(question, None) for question, _ in judged[:missing]]

    for found in (judged[missing:], [*failed, *judged[missing:]]):
        rate = win_rate(found, pairs=96)
        assert (rate.score.value, rate.n, rate.expected) == (None, 192 - missing, 192)


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "errors", "rate"),
    [
        (75, 84, 25, 8, 0.4755434783),  # claude against turbo, 96 questions
        (82, 70, 30, 10, 0.5329670330),  # gpt4 against llama2
        (137, 156, 55, 14, 0.4727011494),  # claude against turbo, 181 questions
        (136, 138, 58, 20, 0.4969879518),  # vicuna against turbo, 176 pairs of narrative_qa
    ],
)
def test_counts_of_upstreams_own_code_with_a_stub_judge(
    wins: int, losses: int, ties: int, errors: int, rate: float
) -> None:
    kinds: list[Preference | None] = ["win"] * wins + ["loss"] * losses + ["tie"] * ties + [None] * errors
    pairs = len(kinds) // 2

    found = win_rate([(at % pairs, kind) for at, kind in enumerate(kinds)], pairs)

    assert found.of_those_there.value == pytest.approx(rate, abs=1e-10)
    assert (found.score.value, found.n, found.expected) == (None, 2 * pairs - errors, 2 * pairs)
    assert found.least < rate < found.most
    assert found.most - found.least == pytest.approx(errors / len(kinds))


def test_without_any_verdict_there_is_no_rate() -> None:
    assert win_rate([(0, None), (0, None)], pairs=1).of_those_there.value is None
