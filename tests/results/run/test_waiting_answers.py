"""Answers that came before their cell's turn: kept at once, found again, gone after a clean end."""

from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.grid.cells import Cell
from needlework.haystack_fixtures.models.model import ModelError, Response
from needlework.haystack_fixtures.trials.exchange import Exchange
from needlework.results.run.early_answers import Answers, drop_answers, read_answers


def exchange(key: str, text: str = "It is 42.", **changes) -> Exchange:
    given = {"response": Response(text, prompt_tokens=9, latency_s=0.5), "prompt_facts": {"tokens": 9}}
    return Exchange(Cell("niah", 400, 50.0, "code", 0), None, "m", key, **(given | changes))


def test_an_answer_is_found_by_its_key(tmp_path):
    with closing(Answers(tmp_path, "gw0")) as answers:
        answers.keep(exchange("k"))
    found = read_answers(tmp_path)["k"]

    assert found["outcome"] == "waiting"
    assert found["response"]["text"] == "It is 42."
    assert found["timing"]["worker"] == "gw0"


def test_what_will_be_asked_again_is_not_kept(tmp_path):
    with closing(Answers(tmp_path, "main")) as answers:
        answers.keep(exchange("error", response=Response(error=ModelError("timeout", "none"))))
        answers.keep(exchange("invalid", invalid=("server_truncated",)))
        answers.keep(exchange("skipped", skipped="too long"))

    assert read_answers(tmp_path) == {}


@given(text=st.text(), cut=st.integers(1, 60), junk=st.binary(max_size=30))
def test_a_torn_line_costs_nothing_but_itself(tmp_path_factory, text, cut, junk):
    folder: Path = tmp_path_factory.mktemp("run")
    with closing(Answers(folder, "main")) as answers:
        answers.keep(exchange("whole", text))
        (file,) = folder.glob("answers-*.jsonl")
        size = file.stat().st_size
        answers.keep(exchange("torn", text))
    file.write_bytes(file.read_bytes()[: size + cut] + junk.replace(b"\n", b""))

    assert read_answers(folder)["whole"]["response"]["text"] == text
    assert "torn" not in read_answers(folder)


def test_a_clean_end_leaves_no_file(tmp_path):
    with closing(Answers(tmp_path, "main")) as answers:
        answers.keep(exchange("k"))
    drop_answers(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_what_comes_after_the_end_is_not_written(tmp_path):
    with closing(Answers(tmp_path, "main")) as answers:
        answers.keep(exchange("k"))
    drop_answers(tmp_path)
    answers.keep(exchange("late"))

    assert list(tmp_path.iterdir()) == []
