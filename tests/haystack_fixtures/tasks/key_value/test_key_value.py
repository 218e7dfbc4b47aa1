"""Key-value lookup: an object that is JSON, with the asked pair at its depth and nowhere else."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.haystack_fixtures.tasks.arms import NOT_FOUND
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.tasks.built import build, builder, context, mock_value, settings_of, trials
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


def answer_by_reading(trial: Trial) -> str | None:
    """The value of the key that the question names, out of the object in the prompt's text."""
    begin, end = trial.prompt.text.index("{\n"), trial.prompt.text.rindex("\n}") + 2
    table = json.loads(trial.prompt.text[begin:end])
    asked = UUID.findall(trial.asked.question)
    assert len(asked) == 1
    return table.get(asked[0])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_object_gives_the_answer_at_every_length_and_depth(tokenizer: Tokenizer, language: str) -> None:
    for trial in trials("key_value", tokenizer, language=language, lengths="700,2k", depths="0,37,100", repeats="2"):
        control = trial.asked.reference.get("control")
        if control == "absent":
            assert answer_by_reading(trial) is None
            assert trial.asked.answer == NOT_FOUND[language]
            continue
        assert answer_by_reading(trial) == trial.asked.answer
        assert trial.asked.reference["answers"] == (trial.asked.answer,)
        found = UUID.findall(context(trial))
        assert len(found) == len(set(found)) == (2 if control else len(found))
        assert found.count(trial.asked.answer) == 1
        if not control:
            [placed] = trial.prompt.placed
            size = placed.tokens + 8  # of one pair
            assert trial.cell.depth is not None
            assert abs(placed.depth - trial.cell.depth) / 100 * trial.prompt.context_tokens <= size
            assert (placed.depth == trial.cell.depth) or trial.cell.depth not in (0, 100)


@settings(max_examples=15)
@given(seed=st.integers(0, 99), repeat=st.integers(0, 9), language=st.sampled_from(["en", "zh"]))
def test_only_the_depth_moves_the_pair_and_lists_are_prefixes(seed: int, repeat: int, language: str) -> None:
    options = {"language": language, "lengths": "600,1500", "depths": "0,50,100", "seed": str(seed)}
    options |= {"repeats": str(repeat + 1)}
    made, [suite] = builder("key_value", **options), settings_of("key_value", **options).suites
    from needlework.core.grid import Cell

    label = "uuid" if language == "en" else "uuid_zh"
    built = [
        build(made, suite, Cell("key_value", length, depth, label, repeat))
        for length in (600, 1500)
        for depth in (0.0, 50.0, 100.0)
    ]
    assert len({(trial.asked.question, trial.asked.answer, trial.asked.needles) for trial in built}) == 1
    lists = [context(trial).replace(f"{trial.asked.needles[0].text}\n", "") for trial in built]
    longest = max(lists, key=len)
    assert all(longest.startswith(text) for text in lists)


def test_mock_models_score_as_they_should() -> None:
    for trial in trials("key_value", lengths="512"):
        absent = trial.asked.reference.get("control") == "absent"
        assert mock_value(trial, "perfect") == 1
        assert mock_value(trial, "wrong") == mock_value(trial, "empty") == mock_value(trial, "echo") == 0
        assert mock_value(trial, "refuse") == absent


def test_a_repeat_or_seed_asks_something_else() -> None:
    asked = [
        trial.asked.question
        for seed in "01"
        for trial in trials("key_value", lengths="512", depths="50", repeats="3", seed=seed, language="en")
        if not trial.asked.reference.get("control")
    ]
    assert len(set(asked)) == len(asked) == 6
