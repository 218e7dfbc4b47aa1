"""Sentences that differ in one attribute: the text tells the needle from them, and each says what was mistaken."""

from __future__ import annotations

import re

from hypothesis import given, settings

from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named
from tests.haystack_fixtures.tasks.built import context
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

SAID = {
    "en": r"As (?P<person>\w+) tells it, the most useful (?P<thing>\w+) came from (?P<source>[\w ]+) in "
    r'(?P<year>\d{4}): "(?P<saying>[\w ]+)"',
    "zh": r"据(?P<person>\w+)说，最有用的(?P<thing>\w+)是(?P<year>\d{4})年(?P<source>\w+)给的：“(?P<saying>\w+)”",
}
ATTRIBUTES = ("person", "thing", "source", "year")


@settings(max_examples=15)
@given(seed=seeds, language=languages)
def test_only_the_needle_has_every_attribute_of_the_question(seed, language):
    for trial in trials_of("semantic", seed=str(seed), language=language):
        told = [match.groupdict() for match in re.finditer(SAID[language], context(trial))]
        asked = trial.asked
        assert len(told) == 1 + int(trial.cell.needle[1])
        (right,) = [said for said in told if all(said[name] in asked.question for name in ATTRIBUTES)]
        assert right["saying"] == asked.answer
        kinds = {
            said["saying"]: [name for name in ATTRIBUTES if said[name] != right[name]] for said in told if said != right
        }
        assert kinds == {saying: [name] for saying, name in asked.reference["kinds"].items()}


@settings(max_examples=10)
@given(seed=seeds, language=languages)
def test_a_wrong_saying_names_the_mistaken_attribute(seed, language):
    for trial in trials_of("semantic", seed=str(seed), language=language):
        reference = as_reference(trial.asked.reference)
        for saying, kind in reference.kinds.items():
            score = scorer_named("confusion").judge(f'"{saying.capitalize()}."', reference)
            assert (score.verdict, score.details["confused"]) == ("distractor", kind)
            assert "stale" not in score.details


def test_four_distractors_differ_in_four_attributes():
    trials = {trial.cell.needle: trial.asked for trial in trials_of("semantic", language="en")}
    assert set(trials["d4"].reference["kinds"].values()) == set(ATTRIBUTES)
    assert trials["d1"].distractors == trials["d4"].distractors[:1]
    assert trials["d0"].question == trials["d1"].question == trials["d4"].question
