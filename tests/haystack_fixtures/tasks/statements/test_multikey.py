"""Many statements of one form: the answer can be read off the text, and the others are told apart by their places."""

from __future__ import annotations

import re

from hypothesis import given, settings

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named
from tests.haystack_fixtures.tasks.built import context
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

STATEMENT = {
    "en": r"The \w+ code for (the \w+ \w+) is (\d{7})\.",
    "zh": r"(\w{4})的\w+代码是(\d{7})。",
}


def read(trial, language):
    """Every key of a text with its value."""
    return re.findall(STATEMENT[language], context(trial))


@settings(max_examples=8)
@given(seed=seeds, language=languages)
def test_the_text_gives_the_answer(seed, language):
    for trial in trials_of("multikey", seed=str(seed), language=language, lengths="4k", depths="30"):
        pairs = read(trial, language)
        number = {"k0": 1, "k4": 5, "k16": 17, "near": 17, "k64": 65}[trial.cell.needle.split("_")[0]]
        assert len(pairs) == len({key for key, _ in pairs}) == number
        assert [value for key, value in pairs if key in trial.asked.question] == [trial.asked.answer]
        assert {value for _, value in pairs} == {trial.asked.answer, *trial.asked.reference["distractors"]}


@settings(max_examples=8)
@given(seed=seeds)
def test_near_keys_share_a_word_and_the_others_none(seed):
    for trial in trials_of("multikey", seed=str(seed), language="en", depths="0"):
        keys = [key.split()[1:] for key, _ in read(trial, "en")]
        own = re.search(r"for the (\w+) (\w+)\?", trial.asked.question).groups()
        shared = [len(set(own) & set(key)) for key in keys]
        assert sorted(shared, reverse=True) == [2] + [1 if "near" in trial.cell.needle else 0] * (len(keys) - 1)


def test_more_keys_are_the_fewer_ones_and_others():
    trials = {trial.cell.needle: trial.asked for trial in trials_of("multikey", language="en", depths="0")}
    fewer, more = trials["k4"], trials["k16"]
    assert (fewer.question, fewer.answer) == (more.question, more.answer)
    assert fewer.distractors == more.distractors[:4]


def test_a_wrong_value_says_how_far_away_it_stands():
    trial = next(trial for trial in trials_of("multikey", language="en", depths="90") if trial.cell.needle == "k4")
    reference = as_reference(trial.asked.reference)
    placed = {needle.name: needle for needle in trial.prompt.placed}
    for number, value in enumerate(reference.distractors):
        score = scorer_named("confusion").judge(f"It is {value}.", reference)
        true = placed[f"distractor{number}"].depth - placed["code"].depth
        assert score.verdict == "distractor"
        assert abs(score.details["distance"] - true) < 3  # percent: a sentence of a short context


def test_variants_are_asked_where_they_fit(tmp_path):
    def lengths(asked):
        (suite,) = resolve_settings({"task": "multikey", "lengths": asked, "language": "en"}, {}, tmp_path).suites
        task = TASKS["multikey"]
        return {label: task.lengths(suite, label) for label in task.labels(suite)}

    assert lengths("512,1k,4k") == {
        "k0": (512, 1000, 4000),
        "k4": (512, 1000, 4000),
        "k16": (1000, 4000),
        "near": (1000, 4000),
        "k64": (4000,),
    }
    assert lengths("200") == {"k0": (200,)}
