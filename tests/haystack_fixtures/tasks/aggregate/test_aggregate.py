"""Questions about the whole text: the answers are those that reading every line of the prompt gives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.aggregate import TASKS, _paragraphs
from needlework.haystack_fixtures.tasks.statements import words
from needlework.haystack_fixtures.tasks.task import labelled
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.tasks.built import build, builder, context, mock_value, settings_of, trials
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

FIRST = {"count": "to20", "distinct": "paragraphs", "numbers": "median", "common_words": "top10"}
BIRD = {"en": "A red kite was seen over ", "zh": "有人看见一只红鸢飞过"}


def document(trial: Trial) -> str:
    begin, end = (trial.prompt.text.index(mark) for mark in ("<document>", "</document>"))
    return trial.prompt.text[begin + 10 : end]


def read_count(trial: Trial) -> str:
    return str(document(trial).count(BIRD[trial.suite.language]))


def read_distinct(trial: Trial) -> str:
    found = re.findall(r"^(?:Paragraph |段落)(\d+)[:：] ?(.+)$", document(trial), re.MULTILINE)
    assert [int(number) for number, _ in found] == list(range(1, len(found) + 1))
    return str(len({text for _, text in found}))


def read_numbers(trial: Trial) -> str:
    values = sorted(map(int, re.findall(r"(?:weighs |重)(\d+)(?: grams\.|克。)", document(trial))))
    assert len(set(values)) == len(values)
    assert len(values) % 2
    label = trial.cell.needle.partition("_")[0]
    return str(values[{"largest": -1, "smallest": 0, "median": len(values) // 2}[label]])


def read_common_words(trial: Trial) -> str:
    counts = Counter(context(trial).split("\n")[:-1])
    ranked = counts.most_common()
    tenth, eleventh = ranked[9][1], ranked[10][1]
    assert tenth > 2 * eleventh or (tenth, eleventh) == (3, 1)
    assert max(counts.values()) - tenth <= 1
    assert set(trial.asked.reference["distractors"]) == {word for word, _ in ranked[10:]}
    assert set(trial.asked.reference["parts"]) == {word for word, _ in ranked[:10]}
    return ", ".join(word for word in trial.asked.answer.split(", ") if counts[word] >= tenth)


READ: dict[str, Callable[[Trial], str]] = {
    "count": read_count,
    "distinct": read_distinct,
    "numbers": read_numbers,
    "common_words": read_common_words,
}


@pytest.mark.parametrize("task", READ)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_reading_the_prompt_gives_the_answer(tokenizer: Tokenizer, task: str, language: str) -> None:
    for trial in trials(task, tokenizer, language=language, lengths="900,3k", repeats="3"):
        assert READ[task](trial) == trial.asked.answer
        wanted = trial.asked.reference.get("answers") or (", ".join(trial.asked.reference["parts"]),)
        assert wanted == (trial.asked.answer,)
        assert 0 < trial.asked.reference["chance"] <= 0.25
        assert 0 <= trial.asked.reference["floor"] <= trial.asked.reference["chance"]


@given(
    task=st.sampled_from(sorted(READ)),
    seed=st.integers(0, 20),
    repeat=st.integers(0, 5),
    language=st.sampled_from(["en", "zh"]),
    length=st.integers(800, 2500),
)
def test_any_seed_repeat_and_length(task: str, seed: int, repeat: int, language: str, length: int) -> None:
    options = {"language": language, "lengths": "800,2500", "seed": str(seed), "repeats": "6"}
    made, [suite] = builder(task, **options), settings_of(task, **options).suites
    label = labelled(FIRST[task], suite)
    short, long = (build(made, suite, Cell(task, size, None, label, repeat)) for size in (length, 2500))
    assert READ[task](short) == short.asked.answer
    assert short.asked.question == long.asked.question
    if task != "count":
        assert context(long).startswith(context(short))  # a shorter list begins a longer one
    else:
        assert [needle.text for needle in short.asked.needles] == [needle.text for needle in long.asked.needles]
        assert short.asked.depths == long.asked.depths


def test_counts_reach_from_none_to_twenty() -> None:
    found = Counter(
        trial.asked.answer
        for trial in trials("count", lengths="1k", repeats="150", language="en")
        if not trial.asked.reference.get("control")
    )
    assert set(found) == set(map(str, range(21)))
    assert max(found.values()) <= 20


def test_a_text_that_has_what_is_counted_is_refused(tmp_path) -> None:
    from needlework.core.errors import InputError

    (tmp_path / "birds.txt").write_text("We waited. A Red Kite circled above us. Then it rained again. " * 200)
    options = {"corpus": str(tmp_path / "birds.txt"), "lengths": "1k", "language": "en", "repeats": "1"}
    with pytest.raises(InputError, match="red kite"):
        list(trials("count", **options))


def test_every_number_of_different_paragraphs_is_as_likely() -> None:
    size, draws = 12, 3000
    found = Counter(len(set(_paragraphs(0, repeat, "en", size))) for repeat in range(draws))
    assert set(found) == set(range(1, size + 1))
    assert all(0.7 < count * size / draws < 1.3 for count in found.values())


def test_largest_numbers_are_not_alike() -> None:
    answers = [
        int(trial.asked.answer)
        for trial in trials("numbers", lengths="2k", repeats="20", language="en")
        if trial.cell.needle == "largest"
    ]
    assert max(answers) - min(answers) > 200_000
    assert 300_000 < mean(answers) < 800_000


@pytest.mark.parametrize("task", READ)
def test_mock_models_score_as_they_should(task: str) -> None:
    for trial in trials(task, lengths="900", repeats="2"):
        assert mock_value(trial, "perfect") == 1
        for behaviour in ("wrong", "empty", "echo", "refuse", "ramble", "distractor"):
            assert mock_value(trial, behaviour) == 0, behaviour


def test_data_has_no_word_twice() -> None:
    for language in ("en", "zh"):
        for kind, least in (("names", 50), ("places", 40), ("things", 50), ("works", 20)):
            found = words("aggregate", language, kind)
            assert len(set(found)) == len(found) >= least, (language, kind)


def test_the_family_has_four_tasks() -> None:
    assert {task.name for task in TASKS} == set(READ)
    assert {task.family for task in TASKS} == {"aggregate"}
