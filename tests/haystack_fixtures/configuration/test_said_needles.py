"""Needles that are said with the run, in place of a set's name."""

import json

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.needles.needle_sets import load_needle_set

NEEDLE, QUESTION = "\nThe best pizza in Oslo is at Peppes.\n", "Where is the best pizza in Oslo?"


def suites(tmp_path, **command_line):
    return resolve_settings(command_line, {}, tmp_path).suites


def preset(tmp_path, text):
    (tmp_path / "mine.toml").write_text(f"[mine]\n[[mine.suite]]\nlengths = 1000\ndepths = 50\n{text}", "utf-8")
    return str(tmp_path / "mine.toml")


def test_a_needle_of_the_command_line_stands_in_the_place_of_a_set(tmp_path):
    (suite,) = suites(tmp_path, needle=NEEDLE, question=QUESTION, answer="Peppes")
    (needle,) = load_needle_set(suite.needle_set, "en").needles
    assert (needle.text, needle.question, needle.answer) == (NEEDLE, QUESTION, "Peppes")
    assert (suite.task, suite.scorer) == ("niah", None)


def test_without_an_answer_the_needle_is_compared_with(tmp_path):
    (suite,) = suites(tmp_path, needle=NEEDLE, question=QUESTION)
    assert suite.scorer == "needle_words"
    assert load_needle_set(suite.needle_set, "en").needles[0].answer == NEEDLE.strip()


@pytest.mark.parametrize(
    ("said", "scorer"),
    [
        ({"preset": "cdme-8k"}, "cdme"),  # compares with the needle
        ({"preset": "evalscope"}, "needle_words"),  # has match, which wants an answer
        ({"preset": "evalscope", "scorer": "match"}, "match"),
        ({"preset": "cdme-multi-8k"}, "needle_words"),  # its keyword is about its own needles
    ],
)
def test_a_presets_scorer_gives_way_where_it_wants_an_answer(tmp_path, said, scorer):
    for suite in suites(tmp_path, needle=NEEDLE, question=QUESTION, **said):
        assert (suite.scorer, suite.keyword) == (scorer, None)


@pytest.mark.parametrize("said", [["A is 1.", "B is 2."], json.dumps(["A is 1.", "B is 2."])])
def test_several_needles_have_one_question_over_all(tmp_path, said):
    found = suites(tmp_path, preset="evalscope", needles=said, question="A and B?")
    assert {suite.task for suite in found} == {"multi_needle"}
    assert [needle.text for needle in load_needle_set(found[0].needle_set, "en").needles] == ["A is 1.", "B is 2."]


def test_several_needles_where_a_preset_has_both_tasks(tmp_path):
    several = {"preset": "standard", "needles": ["A is 1.", "B is 2."], "question": "A and B?"}
    with pytest.raises(InputError, match="niah asks about one needle: give --task multi_needle"):
        suites(tmp_path, **several)
    assert {suite.task for suite in suites(tmp_path, **several, task="multi_needle")} == {"multi_needle"}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"needle": NEEDLE}, "--needle: .* give --question too"),
        ({"question": QUESTION}, "--question: .*: is about --needle TEXT: give that too"),
        ({"needle": NEEDLE, "needle_set": "codes", "question": QUESTION}, "two ways to say the needles"),
        ({"needle": NEEDLE, "needles": ["x"], "question": QUESTION}, "--needle, --needles: .*two ways"),
        ({"needle": " ", "question": QUESTION}, "not empty"),
        ({"needles": ["x", "x "], "question": QUESTION}, "same text"),
    ],
)
def test_what_cannot_be_meant_is_one_line(tmp_path, said, message):
    with pytest.raises(InputError, match=message):
        suites(tmp_path, **said)


def test_a_spec_that_is_no_json_of_needles_is_one_line():
    with pytest.raises(InputError, match="is no JSON of needles"):
        load_needle_set('{"needles": 3}', "en")


def test_a_presets_needle_and_a_set_of_the_command_line(tmp_path):
    mine = preset(tmp_path, f"needle = {json.dumps(NEEDLE)}\nretrieval_question = '{QUESTION}'\nkeyword = 'Peppes'")
    (suite,) = suites(tmp_path, preset=mine)
    assert load_needle_set(suite.needle_set, "en").needles[0].answer == "Peppes"
    assert (suite.keyword, suite.scorer) == ("Peppes", None)
    with pytest.raises(InputError, match="--question"):
        suites(tmp_path, preset=preset(tmp_path, "task = 'niah'\nquestion = 'x?'"))
    (other,) = suites(tmp_path, preset=mine, needle_set="codes")
    assert other.needle_set == "codes"
