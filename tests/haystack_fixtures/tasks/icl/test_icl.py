"""Many-shot classes: the shots in the prompt tell the class of the input, and nothing else does."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.draws import draws
from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.statements import nonsense
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.tasks.built import build, builder, context, mock_value, settings_of, trials
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

SHOT = re.compile(r"([a-z]{6}(?: [a-z]{6}){3}) -> (\d\d)\n")


def answer_by_reading(trial: Trial) -> str:
    """The class whose words the input has: words that were only ever seen with one class."""
    classes: dict[str, Counter[str]] = defaultdict(Counter)
    shots = SHOT.findall(context(trial))
    assert "".join(f"{text} -> {number}\n" for text, number in shots) == context(trial)
    assert len(shots) == trial.asked.reference["shots"]
    for text, number in shots:
        for word in text.split():
            classes[word][number] += 1
    [asked] = re.findall(r'["“]([a-z ]+)["”]', trial.asked.question)
    known = [classes[word] for word in asked.split()]
    assert all(known)  # every word was shown
    telling = [next(iter(counts)) for counts in known if len(counts) == 1]
    assert len(telling) == 2
    assert asked not in {text for text, _ in shots}
    assert len(set(telling)) == 1
    return telling[0]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reading_the_shots_gives_the_class(tokenizer: Tokenizer, language: str) -> None:
    for trial in trials("icl", tokenizer, language=language, lengths="700,2k", repeats="4"):
        assert answer_by_reading(trial) == trial.asked.answer
        reference = trial.asked.reference
        numbers = {number for _, number in SHOT.findall(context(trial))}
        assert numbers == {trial.asked.answer, *reference["distractors"]}
        assert reference["chance"] == pytest.approx(1 / len(numbers)) == pytest.approx(1 / 6)
        assert reference["shots"] >= 12


def test_classes_are_shown_evenly() -> None:
    for trial in trials("icl", language="en", lengths="2k", repeats="3"):
        counts = Counter(number for _, number in SHOT.findall(context(trial)))
        assert max(counts.values()) - min(counts.values()) <= 1


@given(
    seed=st.integers(0, 20),
    repeat=st.integers(0, 9),
    language=st.sampled_from(["en", "zh"]),
    length=st.integers(600, 2500),
)
def test_any_seed_repeat_and_length(seed: int, repeat: int, language: str, length: int) -> None:
    options = {"language": language, "lengths": "600,2500", "seed": str(seed), "repeats": "10"}
    made, [suite] = builder("icl", **options), settings_of("icl", **options).suites
    label = "c6" if language == "en" else "c6_zh"
    short, long = (build(made, suite, Cell("icl", size, None, label, repeat)) for size in (length, 2500))
    assert answer_by_reading(short) == answer_by_reading(long) == short.asked.answer
    assert short.asked.question == long.asked.question
    assert context(long).startswith(context(short))


def test_answers_are_spread_over_numbers() -> None:
    answers = [
        trial.asked.answer
        for trial in trials("icl", language="en", lengths="600", repeats="60")
        if not trial.asked.reference.get("control")
    ]
    assert len(answers) == 60
    assert len(set(answers)) > 30


def test_mock_models_score_as_they_should() -> None:
    for trial in trials("icl", lengths="600", repeats="2"):
        assert mock_value(trial, "perfect") == 1
        for behaviour in ("wrong", "empty", "echo", "refuse", "ramble"):
            assert mock_value(trial, behaviour) == 0, behaviour


def test_nonsense_never_repeats() -> None:
    found = list(islice(nonsense(draws("words")), 20_000))
    assert len(set(found)) == len(found)
    assert all(re.fullmatch(r"([^aeiou][aeiou]){3}", word) for word in found)
