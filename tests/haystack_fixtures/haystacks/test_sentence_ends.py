"""Sentence ends in many scripts."""

import numpy as np
import pytest
import regex
from hypothesis import given

from needlework.haystack_fixtures.haystacks.sentences import sentence_ends
from tests.strategies import texts


def split(text):
    """The sentences of text, white space between them taken off."""
    ends = sentence_ends(text).tolist()
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize(
    ("sentences", "joiner"),
    [
        (["It rained.", "Nobody went out!", "Would you?", "Well...", "No."], " "),
        (['She said "Yes."', "(He left.)", "“Why?!”", "Then ‘it’ ended.’"], " "),
        (["Mr. Hale and Dr. J. R. Roe met, e.g. on Fig. 3, at 3.5 p.m. sharp.", "They left the U.S. in May."], " "),
        (['"Really?" he said.', "I think... maybe not."], " "),
        (["他说：“你好。”", "然后走了！", "真的吗？！", "雨下了三天（没有停。）", "说来话长……", "“走。”’"], " "),
        (["他走了。", "“你去哪？”", "没有人回答……", "后来雨停了。"], ""),
        (["彼は言った。", "「本当？」", "『はい。』"], " "),
        (["यह एक वाक्य है।", "दूसरा वाक्य॥"], " "),
        (["هل وصل القطار؟", "نعم۔", "انتهى."], " "),
        (["Սա նախադասություն է։", "Այո։"], " "),
        (["ሰላም ነው።", "እንዴት ነህ፧"], " "),
        (["မင်္ဂလာပါ။", "နေကောင်းလား။"], " "),
        (["A heading", "The text under it.", "Another one"], "\n\n"),
        (["1. Open the box.", "2. Weigh 3.14 kg of rice."], "\n"),
    ],
    ids=lambda given: given[0][:12] if isinstance(given, list) else "",
)
def test_sentences_are_found(sentences, joiner):
    assert split(joiner.join(sentences)) == sentences


def test_text_without_terminators_is_cut_at_lines_then_at_spaces_then_anywhere():
    assert len(sentence_ends("\n".join(f"    value_{number} = compute({number})" for number in range(100)))) == 100
    assert len(sentence_ends("สวัสดี ครับ " * 300)) > 100
    assert sentence_ends("x" * 20_000).size > 2
    assert sentence_ends("short and unfinished").tolist() == [20]
    assert [sentence_ends(text).size for text in ("", " ", "\n\n\t ")] == [0, 0, 0]


@given(text=texts())
def test_ends_stand_between_graphemes_after_visible_characters(text):
    ends = sentence_ends(text)
    assert (np.diff(ends) > 0).all()
    assert ends.size > 0 or not text.strip()
    between = {match.end() for match in regex.finditer(r"\X", text)}
    for end in ends.tolist()[:-1]:
        assert end in between
        assert not text[end - 1].isspace()


def test_time_is_linear():
    """A quadratic pattern would need minutes for these."""
    for unit in (
        "A sentence of some words. ",
        "一句中文。",
        "no stops here ",
        "......",
        '."',
        "x",
        "\n",
        " ",
        "👩‍👩‍👧",
    ):
        sentence_ends(unit * (100_000 // len(unit)))
