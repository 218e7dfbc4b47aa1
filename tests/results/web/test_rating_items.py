"""What is rated: the answers of all models to one question are one item."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from needlework.core.errors import InputError
from needlework.results.files.json_files import write_json
from needlework.results.records.journal import line_of
from needlework.results.statistics.run_report import run_report
from needlework.results.web.command import find_sources
from needlework.results.web.rating_items import Items, items_of, sampled
from needlework.results.web.rating_marks import read_sources
from tests.results.web.rating_site import predictions, write_rows


def read(*paths: Path) -> Items:
    return items_of(read_sources(find_sources(paths, None)))


def shown(items: Items) -> list[tuple[str, dict[str, str]]]:
    return [(item.question, {answer.model: answer.text for answer in item.answers}) for item in items.items]


def test_files_of_several_models_are_joined_by_question_and_reference(tmp_path: Path) -> None:
    predictions(tmp_path, {"one": ["a", "b"], "two": ["c", "d", "e"]})

    assert shown(read(tmp_path)) == [
        ("question 0?", {"one_pred": "a", "two_pred": "c"}),
        ("question 1?", {"one_pred": "b", "two_pred": "d"}),
        ("question 2?", {"two_pred": "e"}),
    ]


def test_rows_for_people_are_taken_alone_where_a_file_has_such(tmp_path: Path) -> None:
    rows = [{"query": kind, "gt": "g", "m_pred": "x", "evaluation": kind} for kind in ("f1", "human", "LLM")]
    path = write_rows(tmp_path / "all.pred.jsonl", rows)
    assert [item.question for item in read(path).items] == ["human"]
    write_rows(path, rows[::2])
    assert [item.question for item in read(path).items] == ["f1", "LLM"]


def test_levals_file_of_references_has_two_models_more_and_the_documents(tmp_path: Path) -> None:
    about = {"instructions": ["question 0?", "question 1?"], "outputs": ["reference 0", "reference 1"]}
    answers = {"gpt4_outputs": ["g0", "g1"], "claude_outputs": ["c0", "c1"]}
    row = {**about, **answers, "input": "The document.", "source": "x", "evaluation": "human"}
    other = write_rows(tmp_path / "claude.gpt4.ref.jsonl", [row, {"input": "other", "instructions": [], "outputs": []}])
    predictions(tmp_path / "p", {"one": ["a", "b"]})
    items = read(tmp_path / "p", other)

    assert shown(items)[1] == ("question 1?", {"one_pred": "b", "gpt4_outputs": "g1", "claude_outputs": "c1"})
    assert [items.documents[item.document or 0] for item in items.items] == ["The document."] * 2
    assert items.grouped


def test_a_question_that_comes_twice_is_two_items(tmp_path: Path) -> None:
    for name in ("one", "two"):
        rows = [{"query": "q", "gt": "g", f"{name}_pred": f"{name} {at}"} for at in range(2)]
        write_rows(tmp_path / f"{name}.pred.jsonl", rows)

    items = read(tmp_path)
    assert shown(items) == [("q", {"one_pred": f"one {at}", "two_pred": f"two {at}"}) for at in range(2)]
    assert len({item.id for item in items.items}) == 2


def test_two_files_of_one_model_are_two_models_where_they_answer_the_same(tmp_path: Path) -> None:
    predictions(tmp_path / "before", {"m": ["a"]})
    predictions(tmp_path / "after", {"m": ["b"]})
    assert read(tmp_path).models == ("m_pred (after/m.pred.jsonl)", "m_pred (before/m.pred.jsonl)")


def test_two_files_of_one_model_on_different_questions_are_one(tmp_path: Path) -> None:
    for at in range(2):
        write_rows(tmp_path / f"{at}.pred.jsonl", [{"query": f"q{at}", "gt": "g", "m_pred": "x"}])
    assert read(tmp_path).models == ("m_pred",)


def test_broken_rows_are_told(tmp_path: Path) -> None:
    (path,) = predictions(tmp_path, {"one": ["a"]})
    path.write_text(path.read_text() + "{half\n[]\n")
    items = read(path)
    assert len(items.items) == 1
    assert [line.partition(":")[0] for line in items.broken] == ["one.pred.jsonl, line 2", "one.pred.jsonl, line 3"]


def test_trials_of_runs_are_joined_by_their_id(tmp_path: Path, make_record: Callable[..., Any]) -> None:
    texts = {"a": "The code is 4711.", "b": "No idea."}
    for model, text in texts.items():
        records = [
            make_record(model=model, response={"text": text}, depth=0.0),
            make_record(model=model, response={"text": ""}, depth=100.0, outcome="empty", answer=""),
            make_record(model=model, outcome="error", depth=50.0, response={"text": ""}),
        ]
        write_json(tmp_path / model / "results.json", run_report(records))
    items = read(tmp_path)

    assert shown(items) == [("What is the code?", texts), ("What is the code?", {"a": "", "b": ""})]
    assert items.items[0].references == ("4711",)
    assert items.items[0].group == items.items[1].group  # one needle and haystack


def test_one_model_under_two_scorers_is_one(tmp_path: Path, make_record: Callable[..., Any]) -> None:
    for scorer in ("match", "judge"):
        records = [make_record(model="m", scorer=scorer, response={"text": "4711"})]
        write_json(tmp_path / scorer / "results.json", run_report(records))
    assert shown(read(tmp_path)) == [("What is the code?", {"m": "4711"})]


def test_a_file_of_references_in_the_folder_is_joined_by_itself(tmp_path: Path) -> None:
    predictions(tmp_path, {"one": ["a"]})
    about = {"instructions": ["question 0?"], "outputs": ["reference 0"], "input": "The document."}
    write_rows(tmp_path / "claude.gpt4.ref.jsonl", [{**about, "gpt4_outputs": ["g0"]}])
    sources = find_sources([tmp_path], None)

    assert shown(items_of(read_sources(sources))) == [("question 0?", {"one_pred": "a", "gpt4_outputs": "g0"})]
    assert read(tmp_path).documents == ("The document.",)
    assert sources.annotated == ()  # nobody asked to edit it


def test_a_question_of_runs_is_rated_in_one_of_its_contexts(tmp_path: Path, make_record: Callable[..., Any]) -> None:
    absent = {"control": "absent", "absent": True}
    for model, depths in {"a": (0.0, 25.0, 50.0, 75.0), "b": (0.0, 50.0)}.items():
        records = [make_record(model=model, depth=depth, response={"text": f"{model} {depth}"}) for depth in depths]
        gone = {"reference": absent, "needle": "code_absent", "expected": ["NOT FOUND"]}
        records.append(make_record(model=model, depth=100.0, response={"text": "no"}, **gone))
        write_json(tmp_path / model / "results.json", run_report(records))
    items = read(tmp_path).items

    (once,) = sampled(items, None, 1)
    assert once.plain
    assert len(once.answers) == 2, "both models answered in it"
    assert {len(each.answers) for each in sampled(items, None, 2)} == {2}
    assert [each.id for each in sampled(items, None, 9)] == [each.id for each in items]


def test_a_sample_of_questions_is_the_same_for_everyone(tmp_path: Path) -> None:
    predictions(tmp_path, {"one": [f"text {at}" for at in range(9)]})
    items = read(tmp_path).items
    drawn = sampled(items, 4, 1)
    assert len(drawn) == 4
    assert drawn == sampled(items[::-1], 4, 1)[::-1]
    assert sampled(items, 99, 1) == items


def test_a_run_that_is_not_finished_is_read_from_its_journal(tmp_path: Path, make_record: Callable[..., Any]) -> None:
    (tmp_path / "journal.jsonl").write_text(f"{line_of(make_record(answer='4711', response={}))}\n")
    assert shown(read(tmp_path)) == [("What is the code?", {"mock": "4711"})]


def test_questions_of_a_document_belong_together_in_a_complete_file_of_leval(tmp_path: Path) -> None:
    rows = [{"query": f"q{at}", "gt": "g", "m_pred": "x"} for at in range(60)]
    items = read(write_rows(tmp_path / "paper_assistant.pred.jsonl", rows))
    assert len({item.group for item in items.items}) == 20
    items = read(write_rows(tmp_path / "paper_assistant.pred.jsonl", rows[:59]))
    assert not items.grouped


def test_ratings_are_of_a_text(tmp_path: Path) -> None:
    """Another answer under the same name is another answer."""
    (path,) = predictions(tmp_path, {"one": ["a", "b"]})
    before = [item.answers[0].id for item in read(path).items]
    predictions(tmp_path, {"one": ["a", "changed"]})
    after = [item.answers[0].id for item in read(path).items]
    assert before[0] == after[0]
    assert before[1] != after[1]


def test_a_file_that_cannot_be_read_is_told_in_one_line(tmp_path: Path) -> None:
    (path,) = predictions(tmp_path, {"one": ["a"]})
    sources = find_sources([path], None)
    path.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        read_sources(sources)
