"""The open win rate against published counts."""

from __future__ import annotations

import pytest

from results.leval.win_rate import Preference, win_rate


def _judgements(wins: int, ties: int, losses: int) -> list[tuple[int, Preference | None]]:
    kinds: list[Preference] = ["win"] * wins + ["tie"] * ties + ["loss"] * losses
    return [(at % 96, kind) for at, kind in enumerate(kinds)]


def test_claude_against_turbo_as_published() -> None:
    rate = win_rate(_judgements(106, 46, 40), questions=96)

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
        rate = win_rate(found, questions=96)
        assert (rate.score.value, rate.n, rate.expected) == (None, 192 - missing, 192)


def test_both_sides_of_a_comparison_add_up_to_one() -> None:
    one = win_rate(_judgements(100, 30, 62), questions=96).score.value
    other = win_rate(_judgements(62, 30, 100), questions=96).score.value
    assert one is not None
    assert other is not None
    assert one + other == pytest.approx(1)
