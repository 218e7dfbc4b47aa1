"""What holds for every family whose statements stand in prose: the same trial at every depth and length, and clean."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from needlework.haystack_fixtures.tasks.catalogue import TASKS
from needlework.scoring.recording import as_reference
from tests.haystack_fixtures.tasks.built import context, judged, mock_value
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

# Whether the values that a task asks for stand in the text once.
TASK_NAMES = {
    "multikey": True,
    "multivalue": True,
    "multiquery": True,
    "chain": False,
    "chain_last": True,
    "superseded": True,
    "association": False,
    "semantic": True,
    "state_where": False,
    "state_closed": False,
}


@pytest.mark.parametrize("task", TASK_NAMES)
@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_a_trial_is_the_same_at_every_depth_and_length(task, seed, language):
    trials = trials_of(task, seed=str(seed), language=language, lengths="1k,1500", depths="0,40,100")
    told = {}
    for trial in trials:
        asked = trial.asked
        texts = [needle.text for needle in asked.needles] + list(asked.all_distractors)
        told.setdefault(trial.cell.needle, []).append((texts, asked.question, asked.answer, asked.reference["answers"]))
        for text in texts:
            assert trial.prompt.text.count(text) == 1
    assert all(each == same[0] for same in told.values() for each in same)
    every = {trial.cell.id: trial.prompt.text_sha256 for trial in trials}
    for trial in trials_of(task, seed=str(seed), language=language, lengths="1500", depths="40"):
        assert every[trial.cell.id] == trial.prompt.text_sha256


@pytest.mark.parametrize("task", TASK_NAMES)
@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_values_stand_once_and_none_is_part_of_another(task, seed, language):
    for trial in trials_of(task, seed=str(seed), language=language):
        reference = trial.asked.reference
        values = [*reference["answers"], *reference.get("parts", ()), *reference.get("distractors", ())]
        assert len(set(values)) == len(values)
        assert not any(one != other and one in other for one in values for other in values)
        if TASK_NAMES[task]:
            assert all(len(re.findall(rf"(?<!\d){re.escape(value)}(?!\d)", context(trial))) == 1 for value in values)


@pytest.mark.parametrize("task", TASK_NAMES)
@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_the_right_answer_scores_1_and_a_wrong_one_0(task, seed, language):
    for trial in trials_of(task, seed=str(seed), language=language):
        assert mock_value(trial, "perfect") == 1
        assert judged(trial, trial.asked.answer).for_asserting == 1
        assert mock_value(trial, "wrong") == mock_value(trial, "echo") == mock_value(trial, "ramble") == 0
        assert judged(trial, "NOT FOUND" if language == "en" else "没有提到").for_asserting.verdict == "refused"
        assert judged(trial, "").for_asserting.verdict == "empty"
        assert 0 <= trial.asked.reference["chance"] < 1
        assert as_reference(trial.asked.reference).question == trial.asked.question


@pytest.mark.parametrize("task", [name for name in TASK_NAMES if TASKS[name].absent])
@settings(max_examples=3)
@given(seed=seeds, language=languages)
def test_the_absent_twin_lacks_what_the_answer_rests_on(task, seed, language):
    twins = {trial.cell.needle: trial for trial in trials_of(task, seed=str(seed), language=language)}
    for trial in trials_of(task, "absent", seed=str(seed), language=language):
        asked = twins[trial.asked.reference["twin"]].asked
        assert not any(asked.needles[number].text in trial.prompt.text for number in asked.rests_on)
        assert trial.asked.question == asked.question
        assert mock_value(trial, "perfect") == 1
        assert judged(trial, asked.answer).for_asserting == 0


@pytest.mark.parametrize("task", TASK_NAMES)
@settings(max_examples=3)
@given(seed=seeds, language=languages)
def test_the_focused_twin_has_nothing_else(task, seed, language):
    twins = {trial.cell.needle: trial for trial in trials_of(task, seed=str(seed), language=language)}
    for trial in trials_of(task, "focused", seed=str(seed), language=language):
        asked = twins[trial.asked.reference["twin"]].asked
        needed = [asked.needles[number].text for number in asked.rests_on]
        assert sorted(context(trial).splitlines()) == sorted(needed)
        assert mock_value(trial, "perfect") == 1
