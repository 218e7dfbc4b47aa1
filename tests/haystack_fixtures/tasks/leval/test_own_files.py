"""Files of one's own in L-Eval's form: a task each, named after the file, scored as its rows say."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.haystack_fixtures.tasks.published.leval import find_own_tasks, own_rule

MILL = "The mill was built in 1791. "


@pytest.fixture
def file(tmp_path):
    def write(name, *answers, evaluation="f1"):
        row = {"input": MILL, "instructions": ["?"] * len(answers), "outputs": answers, "evaluation": evaluation}
        (tmp_path / name).write_text(json.dumps(row), encoding="utf-8")
        return str(tmp_path / name)

    return write


def asked(**given):
    return [suite.task for suite in resolve_settings(given | {"model": ["mock:perfect"]}, {}, Path()).suites]


@pytest.mark.parametrize(
    ("evaluation", "answers", "rule"),
    [
        ("f1", ["A"], "leval_f1"),
        ("rouge", ["A"], "leval_rouge"),
        ("exam", ["A", "(B) the ship", "C. the sea"], "leval_letter"),
        ("exam", ["A", "ABD"], "leval_letters"),
        ("exam", ["18", "-3.5", "$1,200", "40 %"], "leval_math"),
        ("exam", ["A", "the mill"], "leval_topic"),
        ("exam", ["A ship"], "leval_topic"),
        ("exam", [], "leval_topic"),
    ],
)
def test_rows_say_what_scores_them(evaluation, answers, rule):
    assert own_rule(evaluation, answers) == rule


@given(st.lists(st.sampled_from(["A", "BC", "12", "a word"])), st.randoms())
def test_the_rule_does_not_depend_on_the_order_of_the_rows(answers, chance):
    assert own_rule("exam", answers) == own_rule("exam", chance.sample(answers, len(answers)))


def test_a_folder_or_a_pattern_has_every_file_of_the_form(file, tmp_path):
    file("one.jsonl", "1791")
    file("two.jsonl", "B", evaluation="exam")
    (tmp_path / "log.jsonl").write_text('{"a": 1}\n')
    assert asked(leval_data=str(tmp_path)) == ["leval_one", "leval_two"]
    assert asked(leval_data=f"{tmp_path}/o*.jsonl") == ["leval_one"]
    assert asked(leval_data=str(tmp_path), task="leval_two") == ["leval_two"]
    (source,) = find_own_tasks(file("Harbour Notes.cleaned.jsonl", "1791"))
    assert (source.task, source.scorer, source.group) == ("leval_harbour_notes_cleaned", "leval_f1", "open")
    assert family_of(source.task) == "leval"


def test_data_alone_asks_what_it_has_and_published_names_stay_what_they_are(file, tmp_path):
    file("tpo.jsonl", "B", evaluation="exam")
    file("mine.jsonl", "1791")
    assert asked(leval_data=str(tmp_path)) == ["leval_tpo", "leval_mine"]
    assert asked(leval_data=str(tmp_path), preset="leval", task="tpo") == ["leval_tpo"]
    assert asked(leval_data=str(tmp_path), task="leval_mc") == ["leval_coursera", "leval_quality", "leval_tpo"]
    assert "niah" in asked(leval_data=str(tmp_path), preset="quick")


def test_a_broken_file_in_a_folder_stops_only_those_who_ask_it(file, tmp_path):
    file("tpo.jsonl", "B", evaluation="exam")
    path = Path(file("mine.jsonl", "1791"))
    path.write_text(path.read_text() + "\n{")
    assert asked(leval_data=str(tmp_path), task="leval_tpo") == ["leval_tpo"]
    with pytest.raises(InputError, match=r"mine\.jsonl:2"):
        find_own_tasks(str(path))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TPO.jsonl", "its task would be leval_tpo"),
        ("nowhere*.jsonl", "no file is called so"),
        ("", "has no jsonl file"),
    ],
)
def test_what_cannot_be_a_task_is_told(file, tmp_path, name, said):
    if name.startswith("TPO"):
        file(name, "B", evaluation="exam")
    with pytest.raises(InputError, match=said):
        asked(leval_data=str(tmp_path / name))
