"""Ratings as tables, by hand."""

from __future__ import annotations

import pytest

from needlework.results.web.rating_marks import RatingMark
from needlework.results.web.rating_tables import AnswerRating, results_of, state_of


def rating(annotator: str, model: str, question: int, mark: int, *, late: bool = False) -> AnswerRating:
    return AnswerRating(annotator, model, f"{model} {question}", f"document {question // 2}", mark, late)


def test_means_counts_and_their_n() -> None:
    found = results_of(
        [rating("Ann", "m", at, mark) for at, mark in enumerate((5, 4, 1))]
        + [rating("Bob", "m", 0, 3), rating("Ann", "other", 0, 5)],
        with_late=False,
    )
    best, second = found.models

    assert (best.model, best.mean.value, best.n) == ("other", 5.0, 1)
    assert (second.mean.value, second.n, second.answers) == (3.25, 4, 3)
    assert second.counts == (1, 0, 1, 1, 1)
    assert second.mean.low is not None
    assert second.mean.high is not None
    assert 1 <= second.mean.low < 3.25 < second.mean.high <= 5


def test_questions_of_one_document_say_less_than_those_of_several() -> None:
    """Ten ratings that go by the document are no better than two or three."""
    marks = [5, 5, 1, 1, 5, 5, 1, 1, 5, 5]
    together = results_of([rating("Ann", "m", at, mark) for at, mark in enumerate(marks)], with_late=False).models[0]
    apart = results_of([rating("Ann", "m", 2 * at, mark) for at, mark in enumerate(marks)], with_late=False).models[0]

    assert together.mean.value == apart.mean.value == pytest.approx(3.4)
    assert (together.mean.high or 0) - (together.mean.low or 0) > (apart.mean.high or 0) - (apart.mean.low or 0)


def test_agreement_is_of_the_answers_that_both_rated() -> None:
    ann, bob = (1, 2, 5, 4), (1, 3, 3, None)
    found = results_of(
        [rating("Ann", "m", at, mark) for at, mark in enumerate(ann)]
        + [rating("Bob", "m", at, mark) for at, mark in enumerate(bob) if mark is not None],
        with_late=False,
    )

    assert found.doubly == 3
    (pair,) = found.pairs
    assert (pair.first, pair.second, pair.n) == ("Ann", "Bob", 3)
    assert pair.equal.value == pytest.approx(1 / 3)
    assert pair.within_one.value == pytest.approx(2 / 3)
    # Weighted disagreement 0 + 1 + 4 of three; by chance 35 / 9, every mark of one with every mark of the other.
    assert pair.kappa.value == pytest.approx(1 - (5 / 3) / (35 / 9))


def test_late_ratings_count_only_on_demand() -> None:
    given = [rating("Ann", "m", 0, 1), rating("Ann", "m", 1, 5, late=True)]
    assert [results_of(given, with_late=late).models[0].mean.value for late in (False, True)] == [1.0, 3.0]
    assert [results_of(given, with_late=late).late for late in (False, True)] == [1, 1]


def test_how_far_an_item_is() -> None:
    one, other = RatingMark(answer="a", rating=3), RatingMark(answer="b", rating=1)
    skip, back = RatingMark(skipped=True), RatingMark(skipped=False)
    comment = RatingMark(answer="a", comment="hm")
    assert state_of([], 2) == state_of([comment], 2) == state_of([back], 2) == "open"
    assert state_of([one], 2) == "begun"
    assert state_of([one, other], 2) == state_of([one, other, back], 2) == "rated"
    assert state_of([one, skip], 2) == "skipped"
