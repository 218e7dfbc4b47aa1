"""The K-th of several pieces of one kind: pieces that cannot be mistaken, the same at every depth and length."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from needlework.core.grid import Cell
from needlework.haystack_fixtures.tasks.arms import NOT_FOUND
from needlework.haystack_fixtures.tasks.mrcr import depths_around, grammar, piece, wanted_number
from needlework.haystack_fixtures.trials.builder import Trial
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.tasks.built import build, builder, judged, mock_says, mock_value, settings_of, trials
from tests.toy_tokenizers import tokenizer, tokenizers

__all__ = ["tokenizer", "tokenizers"]

COUNTS = {"n2": 2, "n4": 4, "n8": 8}
languages = st.sampled_from(("en", "zh"))


def wanted(trial: Trial) -> list[str]:
    """The assistant's replies to the asks of the wanted kind, in the order of the messages sent."""
    ask = trial.asked.needles[0].ask if trial.asked.needles else None
    said = trial.prompt.messages
    return [reply.content for asked, reply in pairwise(said) if asked.content == ask]


def one(language: str, label: str, length: int, depth: float | None, seed: int = 0, repeat: int = 0) -> Trial:
    options = {"language": language, "lengths": "4500,5500", "seed": str(seed), "repeats": "8", "answer_budget": "300"}
    made, [suite] = builder("mrcr", **options), settings_of("mrcr", **options).suites
    name = label if language == "en" else f"{label}_zh"
    return build(made, suite, Cell("mrcr", length, depth, name, repeat))


@pytest.mark.parametrize(("language", "template"), [("en", "chat"), ("zh", "raw")])
def test_every_tokenizer_gives_exact_conversations(tokenizer: Tokenizer, language: str, template: str) -> None:
    options = {"language": language, "template": template, "lengths": "8k", "answer_budget": "1k", "controls": "absent"}
    for trial in trials("mrcr", tokenizer, **options):
        pieces = wanted(trial)
        if trial.asked.reference.get("control") == "absent":
            assert trial.asked.answer == NOT_FOUND[language]
            assert trial.asked.reference["distractors"][0] not in pieces or len(pieces) < 8
            continue
        number = int(trial.asked.reference["wanted"][1:])
        assert len(pieces) == COUNTS[trial.cell.needle.partition("_")[0]]
        [string] = trial.asked.reference["given"]
        assert trial.asked.answer == string + pieces[number - 1]
        assert string in trial.prompt.messages[-1].content
        assert not any(string in message.content for message in trial.prompt.messages[:-1])
        assert trial.prompt.messages[-1].content == trial.asked.question


@settings(max_examples=4)
@given(seed=st.integers(0, 1000), repeat=st.integers(0, 7), label=st.sampled_from(sorted(COUNTS)), language=languages)
def test_a_trial_is_the_same_at_every_depth_and_length(seed: int, repeat: int, label: str, language: str) -> None:
    made = [one(language, label, length, depth, seed, repeat) for length, depth in ((4500, 0), (5500, 40), (5500, 100))]
    first = made[0]
    for trial in made:
        assert trial.asked.reference == first.asked.reference
        assert trial.asked.question == first.asked.question
        assert wanted(trial) == wanted(first)
        number = int(trial.asked.reference["wanted"][1:]) - 1
        placed = trial.prompt.placed[number]
        assert abs(placed.depth - (trial.cell.depth or 0)) < 100 * 450 / 4000
        assert trial.prompt.text[placed.start : placed.end] == wanted(trial)[number]
        assert [each.start for each in trial.prompt.placed] == sorted(each.start for each in trial.prompt.placed)
    others = [[m.content for m in trial.prompt.messages[:-3] if m.content not in wanted(first)] for trial in made]
    asks = first.asked.needles[0].ask
    rest = [[text for text in each if text != asks] for each in others]
    assert rest[1] == rest[2]
    assert rest[1][: len(rest[0])] == rest[0]


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000), repeat=st.integers(0, 7), label=st.sampled_from(sorted(COUNTS)), language=languages)
def test_wanted_pieces_cannot_be_mistaken(seed: int, repeat: int, label: str, language: str) -> None:
    trial = one(language, label, 5500, 50, seed, repeat)
    pieces, messages = wanted(trial), [message.content for message in trial.prompt.messages]
    topic = re.search(r"about (\w+)\.|关于(.+)的", trial.asked.needles[0].ask)
    assert topic
    word = topic[1] or topic[2]
    assert len(set(messages[1::2])) == len(messages[1::2])
    for text in pieces:
        assert text.count(word) == 1
        assert text.index(word) < 40
        assert SequenceMatcher(None, f" {text}", text).ratio() >= 0.99
    for one_piece, other in combinations(pieces, 2):
        assert Indel.normalized_similarity(one_piece, other) <= 0.6
        assert SequenceMatcher(None, one_piece, other).ratio() <= (0.25 if language == "en" else 0.4)
        assert one_piece[:30] != other[:30]
        assert 0.85 <= len(one_piece) / len(other) <= 1.15
    inside = [text for text in messages[1:-3:2] if text not in pieces]
    named = [text for text in inside if word in text]
    assert all(word not in text[40:] for text in named)
    assert Counter(messages[:-3:2])[trial.asked.needles[0].ask] == len(pieces)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_each_piece_is_asked_for_equally_often(count: int) -> None:
    for seed in range(5):
        for block in range(3):
            asked = [wanted_number(seed, block * count + repeat, count) for repeat in range(count)]
            assert sorted(asked) == list(range(1, count + 1))


@given(depth=st.floats(0, 100), count=st.sampled_from((2, 4, 8)), data=st.data())
def test_pieces_before_and_after_the_wanted_one(depth: float, count: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, count))
    depths = depths_around(depth, number, count)
    assert len(depths) == count
    assert depths[number - 1] == depth
    assert list(depths) == sorted(depths)
    assert 0 <= depths[0] <= depths[-1] <= 100


@pytest.mark.parametrize("language", ["en", "zh"])
def test_rounds_of_a_like_format_and_of_a_like_topic_stand_among_the_others(language: str) -> None:
    trial = one(language, "n8", 5500, 50)
    kinds = Counter(trial.asked.reference["kinds"].values())
    assert kinds["topic"] + kinds["format"] == 16
    assert {f"#{number}" for number in range(1, 9)} <= set(kinds)
    shown = [text for text in trial.asked.reference["kinds"] if text in trial.prompt.text]
    assert len(shown) > 10


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_focused_twin_has_the_wanted_pieces_and_nothing_else(language: str) -> None:
    options = {"lengths": "4k", "controls": "focused", "language": language, "answer_budget": "300", "depths": "50"}
    for trial in trials("mrcr", **options):
        if trial.cell.needle.endswith("focused"):
            pieces = [message.content for message in trial.prompt.messages[1:-1:2]]
            number = int(trial.asked.reference["wanted"][1:])
            assert len(trial.prompt.messages) == 2 * len(pieces) + 1
            assert trial.asked.answer.endswith(pieces[number - 1])
            assert len({message.content for message in trial.prompt.messages[:-1:2]}) == 1


def test_the_absent_twin_lacks_the_wanted_piece_and_those_behind_it() -> None:
    for repeat in range(8):
        twin, trial = one("en", "n8", 4500, 50, repeat=repeat), one("en", "n8_absent", 4500, None, repeat=repeat)
        number = int(twin.asked.reference["wanted"][1:])
        ask = twin.asked.needles[0].ask
        said = trial.prompt.messages
        left = [reply.content for asked, reply in pairwise(said) if asked.content == ask]
        assert left == wanted(twin)[: number - 1]
        assert trial.asked.question == twin.asked.question


def test_mock_models_score_as_they_should() -> None:
    for trial in trials("mrcr", lengths="2k", depths="50", controls="absent,focused", repeats="2", language="en"):
        absent = trial.asked.reference.get("control") == "absent"
        assert mock_value(trial, "perfect") == 1
        for behaviour in ("wrong", "empty", "echo", "ramble"):
            assert mock_value(trial, behaviour) == 0, behaviour
        assert mock_value(trial, "refuse") == absent
        if not absent and trial.asked.needles:
            assert judged(trial, mock_says(trial, "distractor")).for_asserting.verdict == "distractor"


def test_the_piece_given_is_recorded_against_the_piece_asked_for() -> None:
    trial = one("en", "n8", 5500, 50, repeat=3)
    reference, pieces = trial.asked.reference, wanted(trial)
    [string] = reference["given"]
    for number, text in enumerate(pieces, 1):
        scored = judged(trial, string + text).for_asserting
        right = reference["wanted"] == f"#{number}"
        assert scored.details["given"] == ("wanted" if right else f"#{number}")
        assert scored == (1.0 if right else 0.0)
        assert scored.verdict == ("found" if right else "distractor")
    other = next(text for text, kind in reference["kinds"].items() if kind == "topic")
    assert judged(trial, string + other).for_asserting.details["given"] == "topic"
    assert judged(trial, pieces[int(reference["wanted"][1:]) - 1]).for_asserting == 0
    assert (reference["chance"], reference["floor"]) == (1 / 8, 1 / 8)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_topics_and_formats_cannot_be_mistaken_for_each_other(language: str) -> None:
    made = grammar(language)
    assert len(made.topics) > 280
    assert len(made.formats) == 10
    if language == "en":
        assert not [(one, other) for one in made.topics for other in made.topics if one != other and one in other]
    fixed = " ".join(text for kind in made.formats for text in (kind.name, *kind.head, kind.tail))
    assert not [topic for topic in made.topics if topic in fixed]
    for kind in made.formats:
        sizes = [len(piece(language, kind, made.topics[0], ("test", number), "-")) for number in range(20)]
        assert min(sizes) > made.chars * 0.95
        assert max(sizes) < made.chars * 1.2
