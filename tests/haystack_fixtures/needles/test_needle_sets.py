"""Needle sets: ours, and the user's."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.needles.needle_sets import draw_codes, load_needle_set, needle_names


@given(seed=st.integers(0, 10**9), repeat=st.integers(0, 1000), language=st.sampled_from(["en", "zh"]))
def test_a_drawn_needle_holds_its_key_and_its_value_once(seed, repeat, language):
    (needle,) = draw_codes(language, seed=seed, repeat=repeat)
    assert needle.text.count(needle.answer) == 1
    assert needle.text.count(needle.key) == 1
    assert needle.key in needle.question
    assert needle.answer not in needle.question
    assert draw_codes(language, seed=seed, repeat=repeat) == (needle,)


@pytest.mark.parametrize(
    ("name", "language", "needles", "diff", "keyword"),
    [
        ("san_francisco", "en", 1, None, None),
        ("san_francisco", "zh", 1, None, None),
        ("cdme", "zh", 1, None, None),
        ("pizza", "en", 3, None, ""),
        ("italy", "zh", 3, 25, "Jack"),
    ],
)
def test_built_in_sets(name, language, needles, diff, keyword):
    found = load_needle_set(name, language)
    assert len(found.needles) == needles
    assert (found.joint and found.joint.diff, found.joint and found.joint.keyword) == (diff, keyword)
    for needle in found.needles:
        assert needle.answer.casefold() in needle.text.casefold()


def test_a_users_toml_file(tmp_path):
    file = tmp_path / "My needles.toml"
    file.write_text(
        '[[needle]]\nneedle = "Ada keeps owls."\nquestion = "Who keeps owls?"\nanswer = "Ada"\nkeyword = "Ada"\n'
        'distractors = ["Bob keeps hens."]\ndistractor_answers = ["Bob"]\n'
    )
    (needle,) = load_needle_set(str(file), "en").needles
    assert (needle.name, needle.answer, needle.distractors) == ("my_needles", "Ada", ("Bob keeps hens.",))


def test_a_users_jsonl_file_also_with_opencompass_field_names(tmp_path):
    file = tmp_path / "needles.jsonl"
    rows = [
        {"needle": "A is 1.", "question": "What is A?", "answer": "1"},
        {"needle": "B is 2.", "retrieval_question": "What is B?", "arg1": "B", "arg2": "2", "language": "English"},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n")
    assert needle_names(str(file), "en") == ("needles1", "needles2")
    assert load_needle_set(str(file), "en").needles[1].question == "What is B?"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "", "has no needles; add [[needle]] tables with"),
        ("a.toml", "x = [", "not valid TOML"),
        ("a.toml", "[[needle]]\nneedle='x'\nquestion='y'\n", "required field `answer`"),
        ("a.toml", "[[needle]]\nneedle='x'\nquestion='y'\nanswer='z'\nhaystack='?'\n", "unknown field `haystack`"),
        ("a.toml", "[[needle]]\nneedle='x'\nquestion='y'\nanswer='z'\ndistractors='one'\n", "Expected `array`"),
        ("a.toml", "needle = [1]\n", "Expected `object`"),
        ("a.toml", "[joint]\nquestion='q'\n[[needle]]\nneedle='x'\nquestion='y'\nanswer='z'\n", "[joint] needs"),
        ("a.jsonl", "{bad\n", ":1': is not JSON"),
        ("a.jsonl", "[1]\n", "one object"),
        ("a.jsonl", "", "has no needles; add lines with"),
    ],
)
def test_a_wrong_file_is_one_line_that_names_it(tmp_path, name, text, said):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InputError, match=rf"{name}.*{re.escape(said)}"):
        load_needle_set(str(file), "en")


def test_unknown_names_and_languages():
    with pytest.raises(InputError, match="use codes, codes_each, cdme"):
        load_needle_set("nowhere", "en")
    with pytest.raises(InputError, match="it has zh"):
        load_needle_set("italy", "en")
    with pytest.raises(InputError, match="cannot be read"):
        load_needle_set("missing.toml", "en")
