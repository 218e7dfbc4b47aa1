"""Words of answers that say something, and control sequences that are no part of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.content_words import content_words, words_to_look_up
from needlework.scoring.recording import without_escapes


@pytest.mark.parametrize(
    ("reference", "text", "recall"),
    [
        ("Oruro", "An unusual dish called 'Oruro'.", 1),
        ("walking the dog", "He walked his dogs.", 1),
        ("1,250 kg", "It weighs 1250 kg.", 1),
        ("red wine and cheese", "some cheese", 1 / 3),
        ("the Amazon river", "the river", 1 / 2),
        ("studies", "a study", 1),
        ("Paris", "London", 0),
        ("", "anything", 0),
        ("to be", "to be or not to be", 1),
        ("北京大学", "他在北京大学读书。", 1),
        ("北京大学", "他在北京。", 1 / 3),
        ("三国演义的作者", "罗贯中是三国演义作者", 1),
        ("大语言模型", "一种GPT3大语言模型", 1),
        ("GPT3", "一种GPT3大语言模型", 1),
    ],
)
def test_recall(reference, text, recall):
    wanted = content_words(reference)
    assert len(wanted & content_words(text)) == pytest.approx(recall * len(wanted))
    assert content_words("The answer is in the document: what the cat did.") == {"cat"}


SENTENCES = ("no", "Both", "who's", "walked", "owls", "1,250", "猫头鹰", "的", "了", "GPT", ".")


@given(st.lists(st.sampled_from(SENTENCES), max_size=6))
def test_the_words_to_look_up_hold_those_of_every_sentence(sentences):
    words = words_to_look_up(" \n ".join(sentences))
    assert all(content_words(each) <= words for each in sentences)


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31m2582150\x1b[0m",
        "\x1b[1;38;5;196m2582150\x1b[m",
        "\x9b31m2582150",
        "\x1b]0;a title\x072582150",
        "\x1b]8;;http://x\x1b\\2582150\x1b]8;;\x1b\\",
        "\x1bP1;2|secret\x1b\\2582150",
        "\x1b(B2582150\x1b7",
        "2582150" + "\x1b]" * 200_000,
    ],
)
def test_what_a_terminal_obeys_is_left_out(text):
    assert without_escapes(text) == "2582150"


@given(st.text(st.characters(exclude_categories=["Cc"])))
def test_other_text_stays_as_it_is(text):
    assert without_escapes(text) == text
