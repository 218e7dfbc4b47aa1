"""A copy: what it is judged by, and that one that was cut off is not judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.recording import score_exchange
from needlework.scoring.scorers.values import COPY, copy_score
from needlework.scoring.scores import Reference, outcome_of


def reference(size: int, place: int, word: str = "river", odd: str = "rivers", between: str = " ") -> Reference:
    words = [word] * size
    words[place] = odd
    return Reference((between.join(words),), parts=(word, odd), keyword=odd)


TEXT = reference(10, 6)
ZH = reference(8, 2, "河流", "河水", "")
COPIED = TEXT.answers[0]


@pytest.mark.parametrize(
    "answer",
    [
        COPIED,
        f"{COPIED}.",
        f"Sure! Here it is:\n\n{COPIED}\n\nLet me know if you need more.",
        f"```\n{COPIED}\n```",
        f'"{COPIED.capitalize()}"',
        COPIED.replace(" ", "\n"),
        COPIED.replace(" ", ", "),
    ],
)
def test_a_copy_is_right_whatever_stands_around_it(answer: str) -> None:
    score = copy_score(answer, TEXT)
    assert (score.value, score.verdict) == (1.0, "found")
    expected = {"odd_present": True, "odd_in_place": True, "divergence": None, "length_ratio": 1.0}
    assert score.details == expected


@pytest.mark.parametrize(
    "answer", [ZH.answers[0], "河流 河流 河水 河流 河流 河流 河流 河流", f"好的：{ZH.answers[0]}。"]
)
def test_chinese_copies(answer: str) -> None:
    assert copy_score(answer, ZH).value == 1


@pytest.mark.parametrize(
    ("answer", "value", "details"),
    [
        (" ".join(["river"] * 10), 0.9, (False, False, 6, 1.0)),
        (" ".join(["river"] * 5 + ["rivers"] + ["river"] * 4), 0.8, (True, False, 5, 1.0)),
        (" ".join(["river"] * 6 + ["rivers"]), 0.7, (True, True, 7, 0.7)),
        (f"{COPIED} river river", 10 / 12, (True, True, 10, 1.2)),
        (f"{COPIED} rivers", 10 / 11, (True, False, 10, 1.1)),
        (COPIED.replace(" ", " the ", 1), 10 / 11, (True, False, 1, 1.1)),
        ("rivers", 0.1, (True, False, 0, 0.1)),
        ("Lisbon", 0.0, (False, False, 0, 0.0)),
        ("", 0.0, (False, False, 0, 0.0)),
    ],
)
def test_what_a_copy_lost(answer: str, value: float, details: tuple[bool, bool, int, float]) -> None:
    score = copy_score(answer, TEXT)
    assert score.value == pytest.approx(value)
    assert tuple(score.details.values()) == details


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [("", "empty"), ("I'm sorry, I can't reproduce that.", "refused"), ("Lisbon", "wrong"), ("river", "wrong")],
)
def test_what_is_no_copy(answer: str, verdict: str) -> None:
    assert copy_score(answer, TEXT).verdict == verdict


@given(st.integers(2, 60), st.data())
def test_every_place_of_the_odd_word(size: int, data: st.DataObject) -> None:
    place, other = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    wanted = reference(size, place)
    score = copy_score(reference(size, other).answers[0], wanted)
    assert score.details["odd_in_place"] == (place == other) == (score.value == 1)
    assert score.details["divergence"] == (None if place == other else min(place, other))
    cut = copy_score(" ".join(wanted.answers[0].split()[:place]), wanted)
    assert cut.value == pytest.approx(place / size)
    assert cut.details["odd_present"] is False


@given(st.text(max_size=80))
def test_any_answer_has_a_score(answer: str) -> None:
    for wanted in (TEXT, ZH):
        score = copy_score(answer, wanted)
        assert 0 <= score.value <= 1
        assert (score.value == 1) == (score.verdict == "found")


class Exchange:
    """An exchange with an answer to TEXT."""

    def __init__(self, answer: str, finish_reason: str) -> None:
        self.answer, self.finish_reason = answer, finish_reason
        self.reference: object = TEXT
        self.error_kind = self.scorer = self.judging = None
        self.asked_again: tuple[Exchange, ...] = ()


@pytest.mark.parametrize(
    ("answer", "finish_reason", "outcome"),
    [
        (COPIED, "stop", ("found", 1.0)),
        (COPIED, "length", ("found", 1.0)),
        (COPIED.removesuffix(" river"), "stop", ("partial", 0.9)),
        (COPIED.removesuffix(" river"), "length", ("censored", None)),
        (COPIED.removesuffix(" river"), "unfinished", ("censored", None)),
    ],
)
def test_a_copy_that_was_cut_off_has_no_score(
    answer: str, finish_reason: str, outcome: tuple[str, float | None]
) -> None:
    score = score_exchange(Exchange(answer, finish_reason), COPY).score
    made = outcome_of(error_kind=None, finish_reason=finish_reason, invalid=(), score=score, answer_text=answer)
    assert made == outcome


def test_any_text_can_be_copied() -> None:
    wanted = Reference(("The ferry left before dawn.",))
    assert copy_score("the ferry left before dawn", wanted).value == 1
    assert copy_score("Here: the ferry left at dawn", wanted).value == pytest.approx(0.8)


def test_a_reference_without_a_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="no text"):
        copy_score("river", Reference(()))
