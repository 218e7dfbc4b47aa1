"""Notes on needles and answers that do not go together, and on options without effect."""

from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.messages import notes, unused
from needlework.haystack_fixtures.configuration.presets import built_in_presets
from needlework.haystack_fixtures.configuration.resolve import resolve_settings


def told(folder, **said):
    return [line for line in notes(resolve_settings(said, {}, folder)) if "is not in its needle" in line]


@pytest.mark.parametrize(
    ("needle", "answer", "lines"),
    [
        ("The code is 5.", "7", 1),
        ("The code is 57.", "7", 1),
        ("The code is 5.", "5", 0),
        ("Three owls live there.", "three", 0),
        ("密码是五。", "五", 0),
    ],
)
def test_an_answer_that_its_needle_does_not_say(tmp_path, needle, answer, lines):
    assert len(told(tmp_path, needle=needle, question="Which?", answer=answer)) == lines


def test_a_file_of_needles_has_one_line_however_many(tmp_path):
    rows = ['{"needle": "It is 5.", "question": "What?", "answer": "7"}'] * 3
    file = tmp_path / "owls.jsonl"
    file.write_text("\n".join(rows))
    (line,) = told(tmp_path, needle_set=str(file))
    assert "the answer '7' is not in its needle 'It is 5.', and so with 2 more" in line
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
        ("embedder", "st:x"), ("price", "1,2"), ("top_up", "9"), ("judge_base_url", "http://127.0.0.1:9/v1"),
    ],
)  # fmt: skip
def test_with_needles_they_do_nothing(option, value):
    [line] = unused_lines(preset="quick", **{option: value})
    assert line.startswith(f"--{option.replace('_', '-')} is not used: ")


def test_where_they_are_used_nothing_is_said():
    assert unused_lines(preset="own-documents", documents="x", questions="x", chunk_size="9", retriever="bm25") == []
    assert unused_lines(preset="leval-closed", leval_data="x", retriever="dense", embedder="st:x") == []
    assert unused_lines(task="ruler_qa_1", questions="x") == []
    assert unused_lines(lengths="400", seed="3", gate="score >= 0.5", top_up="5") == []


def test_an_embedder_without_vectors_is_told():
    [line] = unused_lines(preset="own-documents", documents="x", retriever="bm25", embedder="st:x")
    assert "give --retriever dense" in line
