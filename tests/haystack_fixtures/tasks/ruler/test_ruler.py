"""RULER's 13 tasks: every answer can be worked out again from the text that the model is given."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.haystack_fixtures.configuration.presets import built_in_presets
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import RULER_TASKS as RULER
from needlework.haystack_fixtures.tasks.catalogue import grid
from tests.haystack_fixtures.tasks.built import context, judged, mock_says
from tests.haystack_fixtures.tasks.built import plain_trials as trials_of

seeds, languages = st.integers(0, 10_000), st.sampled_from(("en", "zh"))
NAMES = [task.name for task in RULER]
# Keys, values of each, and how many of the keys are asked for; `True`: the text is made of further ones.
NIAH = {
    "ruler_niah_single_1": (1, 1, 1, False),
    "ruler_niah_single_2": (1, 1, 1, False),
    "ruler_niah_single_3": (1, 1, 1, False),
    "ruler_niah_multikey_1": (4, 1, 1, False),
    "ruler_niah_multikey_2": (1, 1, 1, True),
    "ruler_niah_multikey_3": (1, 1, 1, True),
    "ruler_niah_multivalue": (1, 4, 1, False),
    "ruler_niah_multiquery": (4, 1, 4, False),
}
STATEMENT = {
    "en": r"One of the special magic (?:numbers|uuids) for (\S+) is: (\S+)\.",
    "zh": r"([0-9a-f-]{36}|\w{4})的特殊魔法(?:数字|UUID)之一是：([0-9a-f-]+)。",
}


def one(task, control="", **options):
    """The only trial of a task at one length."""
    (trial,) = trials_of(task, control, **{"language": "en"} | options)
    return trial


@pytest.mark.parametrize("task", NIAH)
@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_niah_by_its_text(task, seed, language):
    trial, (keys, values, queries, among) = one(task, seed=str(seed), language=language), NIAH[task]
    pairs = re.findall(STATEMENT[language], context(trial))
    asked = [value for key, value in pairs if key in trial.asked.question]
    assert sorted(asked) == sorted(trial.asked.reference["answers"] or trial.asked.reference["parts"])
    assert len(asked) == values * queries
    assert len({value for _, value in pairs}) == len(pairs) == len({key for key, _ in pairs}) * values
    assert len(pairs) > 20 if among else len(pairs) == keys * values
    assert set(trial.asked.reference["distractors"]) <= {value for _, value in pairs} - set(asked)
    if trial.asked.reference["distractors"]:
        assert judged(trial, mock_says(trial, "distractor")).for_asserting.verdict == "distractor"
    assert len(set(trial.asked.depths)) == len(trial.asked.needles)
    assert set(trial.asked.depths) <= {float(round(100 * number / 39)) for number in range(40)}


@pytest.mark.parametrize("task", NAMES)
def test_a_started_answer_ends_the_prompt(task):
    plain, begun = one(task), one(task, answer_prefix="true")
    prefix = begun.asked.answer_prefix
    assert prefix
    assert judged(plain, plain.asked.answer).for_asserting.details["strict"] == 1
    assert begun.prompt.text.endswith(prefix)
    assert not plain.prompt.text.endswith(prefix)
    assert [message.role for message in begun.prompt.messages] == ["user", "assistant"]
    assert begun.prompt.messages[-1].content == prefix
    assert begun.prompt.tokens + begun.prompt.slack == plain.prompt.tokens + plain.prompt.slack
    raw = one(task, answer_prefix="true", template="raw")
    assert raw.prompt.text.endswith(f"{raw.asked.question} {prefix}")


@pytest.mark.parametrize("thousands", [4, 8, 16, 32, 64, 128])
def test_presets_have_rulers_counts(thousands, tmp_path):
    assert f"ruler-{thousands}k" in built_in_presets()
    made = resolve_settings({"preset": f"ruler-{thousands}k"}, {}, tmp_path)
    found = grid(made)
    assert [series.suite.task for series in found] == NAMES
    assert all(len(series.cells) == 500 for series in found)
    assert {cell.length for series in found for cell in series.cells} == {thousands * 1024}
    assert all(series.suite.answer_prefix for series in found)
    budgets = {series.suite.task[6:]: series.suite.answer_budget for series in found}
    assert {budgets[task] for task in budgets if task.startswith("niah")} == {128}
    assert [budgets[task] for task in ("vt", "cwe", "fwe", "qa_1", "qa_2")] == [30, 120, 50, 32, 32]
