"""Every scorer of L-Eval on arbitrary answers and references; F1 and ROUGE, in English as published and in Chinese."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.scoring.leval import overlap
from needlework.scoring.leval.exact import asked_for, compat_letters, stated_letters
from needlework.scoring.leval.overlap import (
    F1,
    ROUGE,
    MissingPackageError,
    by_line,
    of_itself,
    rouge,
)
from needlework.scoring.registry import SCORERS
from needlework.scoring.scores import Reference

_NAMES = sorted(name for name in SCORERS if name.startswith("leval_"))
_PIECES = st.sampled_from(
    ["A", "B, C", "(D)", "The answer is ", "[fact: ", "]", "True", "false", "$1,234.50", "-3/4", "[1 2", "`", "\n\n"]
)
_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=80), st.lists(_PIECES, max_size=8).map(" ".join)
)


@pytest.mark.parametrize("name", _NAMES)
@given(answer=_TEXT, gold=_TEXT)
def test_scores_are_0_to_1_and_nothing_raises(name, answer, gold):
    # Only a topic that has a letter or digit can be looked for.
    reference = Reference((f"topic {gold}" if name == "leval_topic" else gold,))
    score = SCORERS[name].judge(answer, reference)
    assert 0 <= score.value <= 1
    assert (score.verdict == "found") == (score.value == 1)


@pytest.mark.parametrize("name", [name for name in _NAMES if not name.endswith("_compat")])
def test_no_answer_is_never_right_for_a_strict_rule(name):
    for gold in ("B", "12", "[1 2]", "-. .-.", "True [fact: False]", "The role of art", "some words"):
        assert [SCORERS[name].judge(answer, Reference((gold,))).value for answer in ("", " \n\t", "\ud800")] == [0] * 3


def test_the_reference_itself_is_right():
    golds = {
        "letter": "(B) the text",
        "letters": "ACD",
        "math": "1234",
        "code": "[[1 2] [3 4]]",
        "f1": "a short answer",
    }
    golds |= {"topic": "The role of art", "sci_fi": "True [fact: False]", "rouge": "a short summary"}
    for rule, gold in (*golds.items(), ("code", "-. .-.. .--.")):
        for name in (f"leval_{rule}", f"leval_{rule}_compat"):
            assert SCORERS[name].judge(gold, Reference((gold,))).value == pytest.approx(1), name
    assert {f"leval_{rule}{ending}" for rule in golds for ending in ("", "_compat")} == set(_NAMES)


@given(st.sets(st.sampled_from("ABCD"), min_size=1), st.sampled_from([", ", " and ", "/", " & "]))
def test_letters_are_read_however_they_are_listed(letters, between):
    listed = sorted(letters)
    for answer in (between.join(listed), f"The answer is {between.join(listed)}.", "".join(listed)):
        assert stated_letters(answer) == "".join(listed), answer


@given(_TEXT.filter(str.strip))
def test_compat_always_takes_a_letter(answer):
    for several in (False, True):
        assert set(compat_letters(answer, several=several)) <= set("ABCD")


def test_the_question_says_which_topic_is_asked_for():
    assert asked_for("What is the second topic we discussed?") == "second"
    assert asked_for("What are the first topic and the third topic?") is None


_WORDS = st.text(st.sampled_from("abc ABC.,\n'é1"), max_size=60)


def test_rouge_lsum_takes_sentences_one_by_one():
    if by_line("") is None:
        pytest.skip("no Punkt model: pip install --no-deps llama-index-core==0.14.25")
    assert by_line("Mr. Smith went. He came back.") == "Mr. Smith went.\nHe came back."
    scores = rouge("He came back. She went.", "She went. He came back.")
    assert scores["rougeLsum"] == pytest.approx(1)
    assert scores["rougeL"] < 1


@given(_WORDS)
def test_a_text_beside_itself(text):
    told = rouge(text, text)
    own = of_itself(text)
    assert {name: pytest.approx(own[name]) for name in told} == told


@pytest.mark.parametrize(("scorer", "package"), [(ROUGE, "rouge_score"), (F1, "jieba")])
def test_a_missing_package_is_named_with_its_remedy(scorer, package, monkeypatch):
    caches = (overlap.rouge, overlap._scorer, overlap._segmenter)
    for each in caches:
        each.cache_clear()
    for name in [package, *(name for name in sys.modules if name.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    try:
        with pytest.raises(MissingPackageError, match=r"pip install 'needlework\[leval\]'"):
            scorer.judge("上海 says so", Reference(("上海",)))
    finally:
        monkeypatch.undo()
        for each in caches:
            each.cache_clear()
