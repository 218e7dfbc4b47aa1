"""Needle sets, ours and the user's; needles that are said with the run; notes on what does not go together."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.messages import notes, unused
from needlework.haystack_fixtures.configuration.presets import built_in_presets
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.needles.needle_sets import draw_codes, load_needle_set, needle_names


@given(seed=st.integers(0, 10**9), repeat=st.integers(0, 1000), language=st.sampled_from(["en", "zh"]))
def test_a_drawn_needle_holds_its_key_and_its_value_once(seed, repeat, language):
    (needle,) = draw_codes(language, seed=seed, repeat=repeat)
    assert needle.text.count(needle.answer) == 1
    assert needle.text.count(needle.key) == 1
    assert needle.key in needle.question
    assert needle.answer not in needle.question
    assert draw_codes(language, seed=seed, repeat=repeat) == (needle,)


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
        ("a.jsonl", "[1]\n", "Expected `object`"),
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
    with pytest.raises(InputError, match="is no JSON of needles"):
        load_needle_set('{"needles": 3}', "en")


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
    # Without an answer the needle is compared with.
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


def test_a_presets_needle_and_a_set_of_the_command_line(tmp_path):
    mine = preset(tmp_path, f"needle = {json.dumps(NEEDLE)}\nretrieval_question = '{QUESTION}'\nkeyword = 'Peppes'")
    (suite,) = suites(tmp_path, preset=mine)
    assert load_needle_set(suite.needle_set, "en").needles[0].answer == "Peppes"
    assert (suite.keyword, suite.scorer) == ("Peppes", None)
    with pytest.raises(InputError, match="--question"):
        suites(tmp_path, preset=preset(tmp_path, "task = 'niah'\nquestion = 'x?'"))
    (other,) = suites(tmp_path, preset=mine, needle_set="codes")
    assert other.needle_set == "codes"


def told(folder, **said):
    return [line for line in notes(resolve_settings(said, {}, folder)) if "is not in its needle" in line]


def test_an_answer_that_its_needle_does_not_say(tmp_path):
    answers = {"The code is 57.": "7", "Three owls live there.": "three", "密码是五。": "五"}
    lines = [len(told(tmp_path, needle=text, question="Which?", answer=answer)) for text, answer in answers.items()]
    assert lines == [1, 0, 0]
    # A file has one line, however many needles are so.
    rows = ['{"needle": "It is 5.", "question": "What?", "answer": "7"}'] * 3
    file = tmp_path / "owls.jsonl"
    file.write_text("\n".join(rows))
    (line,) = told(tmp_path, needle_set=str(file))
    assert "the answer '7' is not in its needle (3 of 3)" in line
    assert not told(tmp_path, needle_set=str(file), scorer="judge_llmtest", judge="mock:judge")
    file.write_text("")
    assert not told(tmp_path, needle_set=str(file))  # the run refuses it, where it asks
    # Several needles answer together, and published ones are as published.
    together = '["Ada has 3 owls.", "Ben has 4 owls."]'
    assert not told(tmp_path, needles=together, question="How many?", answer="7", task="multi_needle")
    for name in built_in_presets():
        assert not told(tmp_path, preset=name)


def unused_lines(**given):
    return list(unused(given, resolve_settings(given, {}, Path())))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("documents", "x"), ("questions", "x"), ("leval_data", "x"), ("retriever", "bm25"), ("chunk_size", "9"),
        ("embedder", "st:x"), ("top_up", "9"), ("judge_base_url", "http://127.0.0.1:9/v1"),
    ],
)  # fmt: skip
def test_with_needles_they_do_nothing(option, value):
    [line] = unused_lines(preset="quick", **{option: value})
    assert line.startswith(f"--{option.replace('_', '-')} is not used: ")


def test_where_they_are_used_nothing_is_said():
    (line,) = unused_lines(preset="own-documents", documents="x", retriever="bm25", embedder="st:x")
    assert "give --retriever dense" in line
    assert unused_lines(preset="own-documents", documents="x", questions="x", chunk_size="9", retriever="bm25") == []
    assert unused_lines(preset="leval-closed", leval_data="x", retriever="dense", embedder="st:x") == []
    assert unused_lines(task="ruler_qa_1", questions="x") == []
    assert unused_lines(lengths="400", seed="3", gate="score >= 0.5", top_up="5") == []
