"""Names for names for a value: the links in the text lead to the answer."""

from __future__ import annotations

import re

from hypothesis import given, settings

from tests.haystack_fixtures.tasks.built import context
from tests.haystack_fixtures.tasks.prose import languages, seeds, trials_of

FIRST = {"en": r"Let (\w+) be (\d+)\.", "zh": r"设([A-Z]+)为(\d+)。"}
NEXT = {"en": r"Let (\w+) equal (\w+)\.", "zh": r"令([A-Z]+)等于([A-Z]+)。"}


def values_of(trial, language):
    """Every name with its value and how many links lead to it, followed in the text."""
    known = {name: (value, 0) for name, value in re.findall(FIRST[language], context(trial))}
    links = dict(re.findall(NEXT[language], context(trial)))
    while links.keys() - known:
        for name, other in links.items():
            if other in known:
                known[name] = (known[other][0], known[other][1] + 1)
    return known


@settings(max_examples=8)
@given(seed=seeds, language=languages)
def test_the_links_lead_to_every_name(seed, language):
    for trial in trials_of("chain", seed=str(seed), language=language):
        hops, chains = (int(part[1:]) for part in trial.cell.needle.split("_")[:2])
        known = values_of(trial, language)
        (value,) = re.findall(r"\d{5}", trial.asked.question)
        right = {name for name, (its, _) in known.items() if its == value}
        assert len(known) == chains * (hops + 1)
        assert right == set(trial.asked.reference["parts"])
        assert known.keys() - right == set(trial.asked.reference["distractors"])


@settings(max_examples=8)
@given(seed=seeds, language=languages)
def test_the_last_name_is_as_many_links_away_as_the_label_says(seed, language):
    for trial in trials_of("chain_last", seed=str(seed), language=language):
        (name,) = re.findall(r"[B-DF-HJ-NP-TV-XZ]{5}", trial.asked.question)
        value, links = values_of(trial, language)[name]
        assert value == trial.asked.answer
        assert f"h{links}_" in trial.cell.needle


@settings(max_examples=8)
@given(seed=seeds, language=languages)
def test_forward_explains_names_before_they_are_used_and_shuffled_does_not(seed, language):
    for trial in trials_of("chain", seed=str(seed), language=language):
        told = re.findall(f"{FIRST[language]}|{NEXT[language]}", context(trial))
        own = set(trial.asked.reference["parts"])
        links = [((a or c), (b or d)) for a, b, c, d in told]
        seen: set[str] = set()
        unexplained = 0
        for name, on in links:
            if name in own:
                unexplained += on in own and on not in seen
                seen.add(name)
        assert (unexplained == 0) == ("forward" in trial.cell.needle)


@given(seed=seeds)
def test_names_are_five_consonants_and_do_not_begin_alike(seed):
    for trial in trials_of("chain_last", seed=str(seed), language="en"):
        names = [name for name, _ in values_of(trial, "en").items()]
        assert all(re.fullmatch("[BCDFGHJKLMNPQRSTVWXZ]{5}", name) for name in names)
        assert len({name[:2] for name in names}) == len(names)
