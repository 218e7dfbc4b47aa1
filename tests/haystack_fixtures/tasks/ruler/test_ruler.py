"""RULER's 13 tasks: every answer can be worked out again from the text that the model is given."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.haystack_fixtures.configuration.presets import built_in_presets
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import RULER_TASKS as RULER
from needlework.haystack_fixtures.tasks.catalogue import TASKS, grid
from needlework.haystack_fixtures.tasks.published.ruler_lists import rank_counts
from tests.haystack_fixtures.tasks.built import context, judged, mock_says, mock_value
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


@pytest.mark.parametrize("task", NAMES)
@settings(max_examples=3)
@given(seed=seeds, language=languages)
def test_the_right_answer_scores_1_and_a_wrong_one_0(task, seed, language):
    trial = one(task, seed=str(seed), language=language)
    assert mock_value(trial, "perfect") == 1
    right = judged(trial, trial.asked.answer).for_asserting
    assert (right.value, right.details["strict"]) == (1, 1)
    assert mock_value(trial, "wrong") == mock_value(trial, "echo") == mock_value(trial, "ramble") == 0
    assert judged(trial, "NOT FOUND" if language == "en" else "没有提到").for_asserting.verdict == "refused"
    assert judged(trial, "").for_asserting.verdict == "empty"


@pytest.mark.parametrize("task", NAMES)
@given(seed=seeds, language=languages)
@settings(max_examples=3)
def test_controls(task, seed, language):
    options = {"seed": str(seed), "language": language}
    trial, focused = one(task, **options), one(task, "focused", **options)
    assert focused.asked.answer == trial.asked.answer
    assert mock_value(focused, "perfect") == 1
    assert all(needle.text in focused.prompt.text for needle in trial.asked.needles[: len(trial.asked.rests_on)])
    if not TASKS[task].absent:
        return
    absent = one(task, "absent", **options)
    assert absent.asked.question == trial.asked.question
    values = (*trial.asked.reference["answers"], *trial.asked.reference.get("parts", ()))
    assert not any(value in context(absent) for value in values)
    assert mock_value(absent, "perfect") == 1


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


@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_tracking_by_its_text(seed, language):
    trial = one("ruler_vt", seed=str(seed), language=language)
    holds: dict[str, str] = {}
    for name, source in re.findall(r"VAR ([A-Z]{5}) = (?:VAR )?(\w+)", context(trial)):
        holds[name] = holds.get(source, source)
    wanted = re.search(r"\d{5}", trial.asked.question)[0]
    assert [name for name, value in holds.items() if value == wanted] == list(trial.asked.reference["parts"])
    assert len(holds) == 5
    # The example is solved, with other names and another value.
    example = trial.asked.introduction
    names = re.findall(r"VAR ([A-Z]{3}) =", example)
    assert example.rstrip().split("\n\n")[-2].endswith(", ".join(names))
    assert wanted not in example


@pytest.mark.parametrize(("lengths", "often", "seldom"), [("2k", 6, 1), ("10k", 30, 3)])
@settings(max_examples=3)
@given(seed=seeds, language=languages)
def test_common_words_by_their_text(seed, language, lengths, often, seldom):
    trial = one("ruler_cwe", seed=str(seed), language=language, lengths=lengths)
    entries = re.findall(r"(\d+)\. (\S+)", context(trial))
    assert [int(number) for number, _ in entries] == list(range(1, len(entries) + 1))
    found = Counter(word for _, word in entries)
    assert set(found.values()) == {often, seldom}
    top = [word for word, count in found.items() if count == often]
    assert sorted(top) == sorted(trial.asked.reference["parts"])
    assert len(top) == 10
    assert not any(word in other for word in top for other in found if other != word)
    assert trial.asked.reference["entries"] == len(entries)
    # The example has the answer that its list gives, and no word of the list.
    example = Counter(re.findall(r"\d+\. (\S+)", trial.asked.introduction))
    solved = re.split(r"[,、] ?", re.split(r"[:：] ", trial.asked.introduction.strip().split("\n")[-3])[-1])
    assert sorted(word for word, count in example.items() if count == max(example.values())) == sorted(solved)
    assert not example.keys() & found.keys()


@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_frequent_words_by_their_text(seed, language):
    trial = one("ruler_fwe", seed=str(seed), language=language)
    ranked = Counter(context(trial).split()).most_common()
    assert ranked[0][0] == "..."
    assert tuple(word for word, _ in ranked[1:4]) == trial.asked.reference["parts"]
    assert all(left > right for (_, left), (_, right) in pairwise(ranked[:5]))
    assert [count for _, count in ranked] == rank_counts(trial.asked.reference["entries"])


@settings(max_examples=5)
@given(seed=seeds, language=languages)
def test_questions_by_their_documents(seed, language):
    for steps in (1, 2):
        trial = one(f"ruler_qa_{steps}", seed=str(seed), language=language)
        documents = re.split(r"(?:Document|文档) (\d+)[:：]\n", context(trial))
        numbers, texts = list(map(int, documents[1::2])), documents[2::2]
        told = trial.asked.reference
        assert numbers == list(range(1, told["documents"] + 1))
        assert len(set(texts)) == len(texts)
        (answer,) = told["answers"]
        assert [number for number, text in zip(numbers, texts, strict=True) if answer in text] == [told["gold"][-1]]
        named = texts[told["gold"][0] - 1].split("\n")[0]
        assert named in trial.asked.question
        assert len(told["gold"]) == steps
        if steps == 2:
            assert texts[told["gold"][1] - 1].split("\n")[0] in texts[told["gold"][0] - 1]


@pytest.mark.parametrize("task", NAMES)
def test_a_started_answer_ends_the_prompt(task):
    plain, begun = one(task), one(task, answer_prefix="true")
    prefix = begun.asked.answer_prefix
    assert prefix
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
