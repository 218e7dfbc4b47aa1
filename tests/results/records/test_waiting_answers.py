"""Answers that came before their cell's turn: kept at once, found again, gone after a clean end."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import ModelError, Response
from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.results.records.stored_answers import stored_answers
from needlework.results.records.waiting_answers import WaitingAnswers, drop_waiting, read_waiting
from needlework.results.run.making_records.answer_facts import waiting_answer

SUITE = SimpleNamespace(language="en")


def exchange(key: str, text: str = "It is 42.", **changes) -> Exchange:
    given = {"response": Response(text, prompt_tokens=9, latency_s=0.5), "stored_prompt": {"tokens": 9}}
    return Exchange(Cell("niah", 400, 50.0, "code", 0), SUITE, "m", key, **(given | changes))


def write(answers: WaitingAnswers, told: Exchange) -> None:
    answers.append(waiting_answer(told, "gw0"))


def test_an_answer_is_found_by_its_key(tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, exchange("k"))
    (line,) = read_waiting(tmp_path)
    found = stored_answers([], [line])["k"]

    assert line["timing"]["worker"] == "gw0"
    assert found.response == Response("It is 42.", prompt_tokens=9, latency_s=0.5)
    assert found.prompt == {"tokens": 9}
    assert not found.scored


@pytest.mark.parametrize(
    "what",
    [
        {"response": Response(error=ModelError("timeout", "none"))},
        {"invalid": ("server_truncated",)},
        {"skipped": "too long"},
    ],
)
def test_what_will_be_asked_again_is_not_kept(what):
    assert waiting_answer(exchange("k", **what), "main") is None


@given(text=st.text(), cut=st.integers(1, 60), junk=st.binary(max_size=30))
def test_a_torn_line_costs_nothing_but_itself(tmp_path_factory, text, cut, junk):
    folder: Path = tmp_path_factory.mktemp("run")
    with closing(WaitingAnswers(folder)) as answers:
        write(answers, exchange("whole", text))
        (file,) = folder.glob("answers-*.jsonl")
        size = file.stat().st_size
        write(answers, exchange("torn", text))
    file.write_bytes(file.read_bytes()[: size + cut] + junk.replace(b"\n", b""))

    (line,) = read_waiting(folder)
    assert (line["key"], line["response"]["text"]) == ("whole", text)


def test_a_line_with_fields_of_other_types_is_passed_over(tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, exchange("k"))
    (file,) = tmp_path.glob("answers-*.jsonl")
    file.write_bytes(file.read_bytes().replace(b'"latency_s":0.5', b'"latency_s":"soon"'))

    assert read_waiting(tmp_path) == []


def test_a_clean_end_leaves_no_file(tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, exchange("k"))
    drop_waiting(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_what_comes_after_the_end_is_not_written(tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, exchange("k"))
    drop_waiting(tmp_path)
    write(answers, exchange("late"))

    assert list(tmp_path.iterdir()) == []


def test_of_earlier_sessions_only_what_is_answered_is_dropped(tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, exchange("a"))
        write(answers, exchange("b"))
    earlier = frozenset(tmp_path.iterdir())
    (tmp_path / "answers-1.jsonl").write_text("of this session")

    drop_waiting(tmp_path, earlier=earlier, answered={"a"})
    assert frozenset(tmp_path.iterdir()) == earlier
    drop_waiting(tmp_path, earlier=earlier, answered={"a", "b", "c"})
    assert list(tmp_path.iterdir()) == []
