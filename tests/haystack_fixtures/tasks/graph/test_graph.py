"""Walks in graphs: an independent search of the prompt's own text gives the answer, at every length."""

from __future__ import annotations

import re
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needlework.core.draws import draws
from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.graph import EMPTY, Names, further_edges, levels_around, mark
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from needlework.scoring.scorers.sets import node_set_score
from needlework.scoring.scores import Reference
from tests.haystack_fixtures.tasks.built import build, builder, context, judged, mock_value, settings_of, trials
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

LABELS = ("d1", "d2", "d3", "d4", "parents")
NAME = re.compile(r"[0-9a-f]{10}")


def edges(trial: Trial) -> list[tuple[str, str]]:
    """The edges in the prompt's list."""
    found = []
    for line in context(trial).splitlines():
        source, target = line.split(" -> ")
        assert NAME.fullmatch(source)
        assert NAME.fullmatch(target)
        found.append((source, target))
    return found


def searched(trial: Trial) -> set[str]:
    """What the question asks for, by a search of all edges."""
    listed = edges(trial)
    [start] = set(NAME.findall(trial.asked.question))
    label = trial.cell.needle.partition("_")[0]
    if label == "parents":
        return {source for source, target in listed if target == start}
    seen = here = {start}
    for _ in range(int(label[1])):
        here = {target for source, target in listed if source in here} - seen
        seen = seen | here
    return here


def task(label: str) -> str:
    return "graph_parents" if label == "parents" else "graph_bfs"


@pytest.mark.parametrize("name", ["graph_bfs", "graph_parents"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_search_of_the_text_gives_the_answer(tokenizer: Tokenizer, name: str, language: str) -> None:
    for trial in trials(name, tokenizer, language=language, lengths="4k", repeats="2"):
        listed = edges(trial)
        assert searched(trial) == set(trial.asked.reference["parts"])
        assert len(set(listed)) == len(listed)
        assert all(source != target for source, target in listed)
        names = {name for edge in listed for name in edge}
        assert len({name[:6] for name in names}) == len(names)
        assert all(sum(char.isalpha() for char in name) > 1 for name in names)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 1000),
    repeat=st.integers(0, 5),
    label=st.sampled_from(LABELS),
    language=st.sampled_from(["en", "zh"]),
    length=st.integers(2500, 4000),
)
def test_the_answer_is_the_same_at_every_length(seed: int, repeat: int, label: str, language: str, length: int) -> None:
    options = {"language": language, "lengths": "2500,6k", "seed": str(seed), "repeats": "6"}
    made, [suite] = builder(task(label), **options), settings_of(task(label), **options).suites
    name = label if language == "en" else f"{label}_zh"
    short, long = (build(made, suite, Cell(task(label), size, None, name, repeat)) for size in (length, 6000))
    for trial in (short, long):
        assert searched(trial) == set(trial.asked.reference["parts"])
    assert (short.asked.question, short.asked.needles) == (long.asked.question, long.asked.needles)
    rests_on = {needle.text for needle in short.asked.needles}
    rest = [[line for line in context(each).splitlines() if line not in rests_on] for each in (short, long)]
    assert rest[1][: len(rest[0])] == rest[0]


@given(seed=st.integers(0, 10_000), steps=st.integers(2, 4))
def test_walks_reach_nodes_that_the_search_has_seen_before(seed: int, steps: int) -> None:
    rng = draws("test", seed)
    around = levels_around(rng, Names(rng, "key"), steps)
    here = {around.start}
    for _ in range(steps):
        here = {target for source, target in around.edges if source in here}
    earlier = here - set(around.answer)
    assert earlier
    assert earlier <= {node for node, kind in around.kinds.items() if kind in ("earlier", "start")}


def test_sizes_of_answers_and_the_share_of_empty_ones() -> None:
    rng = draws("test", "sizes")
    sizes = [len(levels_around(rng, Names(rng, "key"), 1 + n % 4).answer) for n in range(2000)]
    assert set(sizes) == {0, 1, 2, 3, 5, 8, 13, 21}
    assert abs(sizes.count(0) / 2000 - EMPTY) < 0.03


def test_degree_does_not_tell_what_the_answer_rests_on() -> None:
    rng = draws("test", "degrees")
    names = Names(rng, "key")
    around = levels_around(rng, names, 3)
    rest = list(islice(further_edges(rng, names, around), 3000))
    nodes = {node for edge in rest for node in edge}
    left = [sum(source == node for source, _ in rest) for node in nodes]
    assert 1 <= sum(left) / len(left) <= 4
    assert max(left) > 5
    assert sum(each == 0 for each in left) < len(left) / 2


def test_wrong_nodes_are_told_apart() -> None:
    nodes = ("aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd")
    own = [node + mark("key", node) for node in nodes]
    reference = Reference(own[:1], parts=tuple(own[:1]), kinds={own[1]: "earlier"}, name_key="key")
    said = f"Final Answer: [{own[0]}, {own[1]}, {own[2]}, {own[3][:-1]}0, 12345]"
    details = node_set_score(said, reference).details
    assert (details["extra"], details["extra_earlier"], details["invented"]) == (4, 1, 2)
    assert "invented" not in node_set_score(said, Reference(own[:1])).details


@pytest.mark.parametrize("name", ["graph_bfs", "graph_parents"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_mock_models_score_as_they_should(name: str, language: str) -> None:
    for trial in trials(name, lengths="2k", language=language, repeats="3"):
        assert mock_value(trial, "perfect") == 1
        assert judged(trial, trial.asked.answer).for_asserting == 1
        for behaviour in ("empty", "echo", "ramble", "refuse"):
            assert mock_value(trial, behaviour) == 0, behaviour
        empty = not trial.asked.reference["parts"]
        assert mock_value(trial, "wrong") == 0 or empty
        assert judged(trial, "Final Answer: []").for_asserting == empty
        assert (trial.asked.reference["chance"], trial.asked.reference["floor"]) == (0, EMPTY)
