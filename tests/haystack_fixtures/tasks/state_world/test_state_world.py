"""A small world: the facts in the text, followed by a reader that knows nothing of the generator, give the answer."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings

from needlework.core.draws import draws
from needlework.haystack_fixtures.tasks.state_world import KINDS, POLAR, ROOMS, SAID, SENTENCES, THINGS
from tests.haystack_fixtures.tasks.built import context
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

READ = {
    "en": (
        (r"([A-Z]\w+) (?:went to|walked over to|moved to|came into) the (\w+)\.", "go"),
        (r"([A-Z]\w+) (?:picked up|took|got hold of) the (\w+)\.", "take"),
        (r"([A-Z]\w+) (?:put down|dropped) the (\w+)\.", "drop"),
        (r"([A-Z]\w+) left the (\w+) behind\.", "drop"),
        (r"([A-Z]\w+) (?:handed|gave|passed) the (\w+) to (\w+)\.", "give"),
        (r"([A-Z]\w+) is now either in the (\w+) or in the (\w+)\.", "either"),
    ),
    "zh": (
        (r"(\w{3})(?:去|走到|来到|转到)了(\w+)。", "go"),
        (r"(\w{3})(?:拿起|捡起|取走)了(\w+)。", "take"),
        (r"(\w{3})(?:放下|丢下|搁下)了(\w+)。", "drop"),
        (r"(\w{3})把(\w+?)(?:交给|递给|给)了(\w+)。", "give"),
        (r"(\w{3})现在不是在(\w+)就是在(\w+)。", "either"),
    ),
}


def events(trial, language):
    """What happened, in the order of the text."""
    text = context(trial)
    found = [(m.start(), kind, *m.groups()) for pattern, kind in READ[language] for m in re.finditer(pattern, text)]
    return [event[1:] for event in sorted(found)]


def answer(told, kind, question, language):
    """Play the events back, then answer."""
    where, path, holds, lies = {}, {}, {}, {}
    for event in told:
        match event:
            case ("go", person, place):
                where[person] = {place}
                path.setdefault(person, []).append(place)
            case ("either", person, one, other):
                where[person] = {one, other}
            case ("take", person, thing):
                assert lies.pop(thing, where[person]) == where[person], "it lies in another room"
                assert thing not in holds
                holds[thing] = person
            case ("drop", person, thing):
                assert holds.pop(thing) == person
                lies[thing] = where[person]
            case ("give", person, thing, other):
                assert holds[thing] == person
                assert where[person] == where[other]
                holds[thing] = other
    words = ROOMS[language] + THINGS[language]
    asked = [name for name in where if name in question] + [word for word in words if word in question]
    yes, no, maybe = POLAR[language]
    match kind:
        case "where_person":
            (right,) = where[asked[0]]
        case "where_object":
            (right,) = where[holds[asked[0]]] if asked[0] in holds else lies[asked[0]]
        case "where_before":
            right = path[asked[0]][path[asked[0]].index(asked[1]) - 1]
            assert path[asked[0]].count(asked[1]) == 1
        case "who_has":
            right = holds[asked[0]]
        case "how_many":
            right = str(list(holds.values()).count(asked[0]))
        case _:
            known = where[asked[0]]
            right = no if asked[1] not in known else yes if len(known) == 1 else maybe
    return right


@pytest.mark.parametrize("task", ["state_where", "state_closed"])
@given(seed=seeds, language=languages)
def test_the_facts_give_the_answer(task, seed, language):
    for trial in trials_of(task, seed=str(seed), language=language):
        told = events(trial, language)
        kind = trial.cell.needle.removesuffix("_zh")
        assert len(told) == len(trial.asked.needles)
        assert answer(told, kind, trial.asked.question, language) == trial.asked.answer
        assert trial.asked.answer in trial.asked.reference["labels"]


@settings(max_examples=15)
@given(seed=seeds, language=languages)
def test_what_is_needed_gives_the_answer_alone(seed, language):
    for task in ("state_where", "state_closed"):
        twins = {trial.cell.needle: trial for trial in trials_of(task, seed=str(seed), language=language)}
        for trial in trials_of(task, "focused", seed=str(seed), language=language):
            label = trial.asked.reference["twin"]
            told = events(trial, language)
            if "who_has" in label:  # where people are is not told, and does not matter
                people = {event[1] for event in told} | {event[3] for event in told if event[0] == "give"}
                told = [("go", person, "") for person in people] + told
            right = answer(told, label.removesuffix("_zh"), trial.asked.question, language)
            assert right == twins[label].asked.answer


@pytest.mark.parametrize("kind", ["how_many", "yes_no", "yes_no_maybe"])
def test_every_answer_is_as_likely(kind):
    make = KINDS["state_closed"][kind]
    stories = [make(draws(kind, number), "en") for number in range(600)]
    counts = Counter(story.answer for story in stories)
    expected = 600 / len(stories[0].labels)
    assert counts.keys() == set(stories[0].labels)
    assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())
    assert all(story.floor == pytest.approx(1 / len(story.labels)) for story in stories)


def test_a_fact_happens_as_often_as_it_can_be_said():
    for sentences in SENTENCES.values():
        assert {kind: len(forms) for kind, forms in sentences.items() if kind != "either"} == SAID
