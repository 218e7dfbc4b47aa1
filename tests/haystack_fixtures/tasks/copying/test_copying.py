"""Copying: the words, the odd one among them, and room for both the text and its copy."""

from __future__ import annotations

from collections import Counter

import pytest

from needlework.core.errors import InputError, TooShortError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.examples import TASK
from needlework.haystack_fixtures.tasks.statements import words
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.tasks.built import (
    build,
    builder,
    context,
    judged,
    mock_says,
    mock_value,
    settings_of,
    trials,
)
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

ROOM = {"lengths": "14k", "answer_budget": "6500", "repeats": "2"}


def said(trial: Trial) -> list[str]:
    """The words of the prompt's document."""
    word, odd = trial.asked.reference["parts"]
    text = context(trial)
    if trial.suite.language == "en":
        return text.split()
    found = [text[place : place + len(word)] for place in range(0, len(text), len(word))]
    assert len(odd) == len(word)
    return found


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_document_is_the_words_with_one_odd_one(language: str) -> None:
    sizes = []
    for trial in trials("copy", language=language, **ROOM):
        word, odd = trial.asked.reference["parts"]
        size = int(trial.cell.needle.removeprefix("n").partition("_")[0])
        assert Counter(said(trial)) == {word: size - 1, odd: 1}
        assert context(trial) == trial.asked.answer
        assert trial.asked.reference["keyword"] == odd
        assert trial.prompt.text.count(odd) == 1
        sizes.append(size)
    assert sizes == [size for size in (25, 50, 100, 250, 500, 1000) for _ in range(2)]


def test_the_odd_word_may_stand_anywhere() -> None:
    places = [
        said(trial).index(trial.asked.reference["keyword"])
        for trial in trials("copy", language="en", lengths="512", answer_budget="40", repeats="200")
    ]
    assert set(places) == set(range(25))
    assert max(Counter(places).values()) < 25


def test_sizes_are_those_that_window_and_budget_hold() -> None:
    def labels(**options: str) -> tuple[str, ...]:
        [suite] = settings_of("copy", language="en", **options).suites
        return TASK.labels(suite)

    assert labels(lengths="1k,4k", answer_budget="300") == ("n25", "n50", "n100", "n250")
    assert labels(lengths="512", answer_budget="300") == ("n25", "n50", "n100")
    assert len(labels(lengths="4k", answer_budget="1200")) == 6
    with pytest.raises(InputError, match="--answer-budget: '24': task copy needs 25 or more"):
        labels(lengths="4k", answer_budget="24")
    with pytest.raises(TooShortError, match="--lengths: '400': its shortest text and the answer need more") as caught:
        labels(lengths="400", answer_budget="350")
    assert labels(lengths=str(caught.value.least), answer_budget="350") == ("n25",)


def test_every_size_is_asked_once_at_the_shortest_length_that_holds_it() -> None:
    found = {
        trial.cell.needle: trial.cell.length
        for trial in trials("copy", language="en", lengths="1k,2k,4k", answer_budget="900")
    }
    assert found == {"n25": 1000, "n50": 1000, "n100": 2000, "n250": 2000, "n500": 2000}


def test_a_budget_too_small_for_the_copy_names_the_least_and_that_works(tokenizer: Tokenizer) -> None:
    def trial(budget: int) -> Trial:
        options = {"language": "en", "lengths": "2k", "answer_budget": str(budget)}
        [suite] = settings_of("copy", **options).suites
        return build(builder("copy", tokenizer, **options), suite, Cell("copy", 2000, None, "n25"))

    with pytest.raises(InputError, match=r"--answer-budget.*n25.*use at least") as caught:
        trial(25)
    least = int(str(caught.value).rsplit(" ", 1)[1])
    assert len(tokenizer.encode(trial(least).asked.answer).ids) == least - 1
    with pytest.raises(InputError, match=f"use at least {least}"):
        trial(least - 1)


def test_mock_models_score_as_they_should() -> None:
    for trial in trials("copy", lengths="2k", answer_budget="600"):
        assert mock_value(trial, "perfect") == 1
        for behaviour in ("wrong", "empty", "echo", "refuse", "ramble"):
            assert mock_value(trial, behaviour) == 0, behaviour
        copied = mock_says(trial, "perfect")
        cut = judged(trial, copied[: len(copied) // 2], "length").score
        assert cut is not None
        assert cut.verdict == "wrong"  # and with that finish reason censored


def test_pairs_are_of_two_words_that_differ() -> None:
    for language in ("en", "zh"):
        pairs = [pair.split(":") for pair in words("copying", language, "pairs")]
        assert all(len(pair) == 2 and pair[0] != pair[1] for pair in pairs)
        assert len({word for pair in pairs for word in pair}) == 2 * len(pairs) >= 40
        if language == "zh":
            assert all(len(word) == 2 for pair in pairs for word in pair)
