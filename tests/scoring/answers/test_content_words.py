"""Content words: what an answer shares with its reference beside the words that every text has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.content_words import content_words, words_to_look_up


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
