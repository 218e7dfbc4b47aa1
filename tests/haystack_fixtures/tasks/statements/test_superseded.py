"""Dated updates: the text says which value held when."""

from __future__ import annotations

import re
from datetime import date, datetime

from hypothesis import given, settings

from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named
from tests.haystack_fixtures.tasks.built import context
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

UPDATE = {
    "en": r"From (\d+ \w+ \d{4}) on, the \w+ code for the \w+ \w+ is (\d{7})\.",
    "zh": r"自(\d+年\d+月\d+日)起，\w+的\w+代码是(\d{7})。",
}


def day(text):
    if "年" in text:
        return date(*map(int, re.findall(r"\d+", text)))
    return datetime.strptime(text, "%d %B %Y").date()


@settings(max_examples=10)
@given(seed=seeds, language=languages)
def test_the_dates_give_the_answer(seed, language):
    for trial in trials_of("superseded", seed=str(seed), language=language):
        updates = [(day(when), value) for when, value in re.findall(UPDATE[language], context(trial))]
        name, asked = trial.cell.needle.removesuffix("_zh"), trial.asked
        assert len(updates) == int(name[1])
        assert (updates == sorted(updates)) == ("shuffled" not in name)
        in_order = sorted(updates)
        if name.endswith("asof"):
            (when,) = re.findall(r"\d+ \w+ \d{4}|\d+年\d+月\d+日", asked.question)
            in_order = [update for update in in_order if update[0] <= day(when)]
        right = in_order[0 if name.endswith("earliest") else -1]
        assert right[1] == asked.answer
        kinds = {value: "stale" if since < right[0] else "newer" for since, value in updates if value != right[1]}
        assert kinds == asked.reference["kinds"]


@settings(max_examples=10)
@given(seed=seeds)
def test_an_older_value_is_a_stale_one(seed):
    for trial in trials_of("superseded", seed=str(seed), language="en"):
        reference = as_reference(trial.asked.reference)
        for value, kind in reference.kinds.items():
            score = scorer_named("confusion").judge(value, reference)
            assert score.verdict == "distractor"
            assert score.details["confused"] == kind
            assert score.details.get("stale", False) == (kind == "stale")


@settings(max_examples=10)
@given(seed=seeds)
def test_what_is_asked_does_not_change_the_updates(seed):
    trials = trials_of("superseded", seed=str(seed), language="en")
    texts = {trial.cell.needle: [needle.text for needle in trial.asked.needles] for trial in trials}
    assert texts["m4_latest"] == texts["m4_earliest"] == texts["m4_asof"]
    assert sorted(texts["m4_shuffled_latest"]) == sorted(texts["m4_latest"])
