"""Needles that are said with the run, in place of a set's name; notes on what does not go together."""

import json
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.messages import notes, unused
from needlework.haystack_fixtures.configuration.presets import built_in_presets
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


def told(folder, **said):
    return [line for line in notes(resolve_settings(said, {}, folder)) if "is not in its needle" in line]


@pytest.mark.parametrize(
    ("needle", "answer", "lines"),
    [
        ("The code is 57.", "7", 1),
        ("Three owls live there.", "three", 0),
        ("密码是五。", "五", 0),
    ],
)
def test_an_answer_that_its_needle_does_not_say(tmp_path, needle, answer, lines):
    printed = told(tmp_path, needle=needle, question="Which?", answer=answer)
    assert len(printed) == lines
    assert not any("more" in line for line in printed)


def test_a_file_of_needles_has_one_line_however_many(tmp_path):
    rows = ['{"needle": "It is 5.", "question": "What?", "answer": "7"}'] * 3
    file = tmp_path / "owls.jsonl"
    file.write_text("\n".join(rows))
    (line,) = told(tmp_path, needle_set=str(file))
    assert "the answer '7' is not in its needle (3 of 3)" in line
    assert not told(tmp_path, needle_set=str(file), scorer="judge_llmtest", judge="mock:judge")
    file.write_text("")
    assert not told(tmp_path, needle_set=str(file))  # the run refuses it, where it asks


def test_several_needles_answer_together_and_published_ones_are_as_published(tmp_path):
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
