"""Words of documents, and documents that are the same, or nearly."""

import unicodedata

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.documents.near_copies import NEARLY, SHINGLE, twins, unspaced_pairs, word_runs
from needlework.haystack_fixtures.documents.readers import OwnDocument


def _groups(**texts):
    return twins([OwnDocument(name, text) for name, text in sorted(texts.items())])


OWLS = "猫头鹰在夜里飞行，白天睡觉。它们的眼睛很大，能在黑暗中看见老鼠。" * 3


@pytest.mark.parametrize(
    ("one", "twin", "other"),
    [
        ("The owl sleeps, by day.", "the OWL  sleeps by day", "The owl sleeps by night."),
        (OWLS, OWLS.replace("。", "；"), "完全不同的一段文字，讲的是火车和车站。"),
        *((short, short, "No, not at all.") for short in ("Yes.", "...", "猫")),
    ],
)
def test_equal_texts_are_twins_whatever_case_spaces_and_punctuation(one, twin, other):
    assert _groups(a=one, b=twin, c=other) == (("a", "b"),)


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=14), min_size=2, max_size=8))
def test_the_pairs_are_those_that_comparing_all_with_all_finds(texts):
    def shingles(words):
        return {tuple(words[at : at + SHINGLE]) for at in range(max(1, len(words) - SHINGLE + 1))}

    sets = [shingles(words) for words in texts]
    group = list(range(len(texts)))
    for one, first in enumerate(sets):
        for other, second in enumerate(sets[:one]):
            if len(first & second) >= NEARLY * len(first | second):
                group = [group[other] if each == group[one] else each for each in group]
    wanted = {tuple(str(at) for at, each in enumerate(group) if each == root) for root in group}
    found = twins([OwnDocument(str(at), " ".join(words)) for at, words in enumerate(texts)])
    assert set(found) == {names for names in wanted if len(names) > 1}


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("The ferry_boat's ＡＢＣ, 1,234!", ["the", "ferry", "boat", "s", "abc", "1", "234"]),
        ("cafe\u0301 Straße हिन्दी", ["café", "strasse", "हिन्दी"]),
        ("用GPT模型，カタカナ2号", ["用", "gpt", "模型", "カタカナ", "2", "号"]),
        ("… _", []),
    ],
)
def test_the_words_of_a_text(text, runs):
    assert word_runs(text) == runs
    assert [unspaced_pairs(run) for run in ("梨树在", "梨", "pear")] == [["梨树", "树在"], [], []]


@given(st.text(st.sampled_from("aZ1_é\u0301猫の,. \n٣") | st.characters()))
def test_every_letter_and_digit_is_in_a_run_and_none_is_of_two_kinds(text):
    runs = word_runs(text)
    folded = unicodedata.normalize("NFKC", text).casefold()
    assert "".join(runs) == "".join(char for char in folded if char != "_" and regex.match(r"\w", char))
    assert all(bool(unspaced_pairs(char * 2)) == bool(unspaced_pairs(run * 2)) for run in runs for char in run)
