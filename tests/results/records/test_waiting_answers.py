"""Answers that came before their cell's turn: written at once, found again, gone after a clean end."""

import json
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import pytest
from msgspec import to_builtins

from needlework.core.grid import Cell
from needlework.core.record import PromptFacts
from needlework.models.model import ModelError, Response
from needlework.pipeline.exchange import Exchange, recorded_response
from needlework.results.records.journal import WaitingAnswers, drop_waiting, read_rulings, read_waiting, stored_answers
from needlework.results.run.record_builder import make_record, ruled_record, unscored_record
from needlework.scoring.recording import RULED, ScoringResult
from needlework.scoring.scores import Score

NAMES = {"worker": "gw0", "recipe": ""}


def exchange(key="k", text="It is 42.", **changes):
    fields = {"response": Response(text, prompt_tokens=9, latency_s=0.5), "stored_prompt": PromptFacts(tokens=9)}
    suite = SimpleNamespace(language="en")
    return Exchange(Cell("niah", 400, 50.0, "code", 0), suite, "m", key, **(fields | changes))


def write(folder, *records):
    with closing(WaitingAnswers(folder)) as answers:
        for record in records:
            answers.append(record)


def test_an_answer_is_found_by_its_key(tmp_path):
    write(tmp_path, unscored_record(exchange(), **NAMES))
    (line,) = read_waiting(tmp_path)
    stored = stored_answers([], [line])["k"]

    assert line.timing.worker == "gw0"
    assert recorded_response(stored.record) == Response("It is 42.", prompt_tokens=9, latency_s=0.5)
    assert (stored.record.prompt, stored.replayed) == (PromptFacts(tokens=9), False)


@pytest.mark.parametrize("tail", ["", "{", '{"key": "half'])
def test_half_a_line_of_a_killed_process_takes_no_further_answer_with_it(tmp_path, tail):
    """A process of the same number may have been killed while it wrote."""
    write(tmp_path, unscored_record(exchange("a"), **NAMES))
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text() + tail)
    write(tmp_path, unscored_record(exchange("b"), **NAMES))

    assert [record.key for record in read_waiting(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    "fields",
    [{"response": Response(error=ModelError("timeout", "none"))}, {"invalid": ("server_truncated",)},
     {"skipped": "too long"}],
)  # fmt: skip
def test_a_failure_is_not_written(fields):
    assert unscored_record(exchange(**fields), **NAMES) is None


def test_a_clean_end_drops_answers_and_of_earlier_sessions_only_those_in_the_journal(tmp_path):
    write(tmp_path, *(unscored_record(exchange(key), **NAMES) for key in "ab"))
    earlier = frozenset(tmp_path.iterdir())
    (tmp_path / "answers-1.jsonl").write_text("of this session")

    drop_waiting(tmp_path, earlier=earlier, answered={"a"})
    assert frozenset(tmp_path.iterdir()) == earlier
    drop_waiting(tmp_path, earlier=earlier, answered={"a", "b", "c"})
    assert list(tmp_path.iterdir()) == []


def ruled(verdict="wrong", value=0.0, **details):
    score = Score(value, verdict, "It is 42.", "judge: so", {RULED: "by whom", **details})
    return ScoringResult(score, "judge_evalscope", 1)


@pytest.mark.parametrize(
    ("fields", "scored"),
    [
        ({}, ruled("found", 1.0, mark=10.0)),
        ({}, ruled()),
        ({"response": Response("No.", "", "content_filter")}, ruled()),
    ],
    ids=["right", "wrong", "filtered"],
)
def test_a_ruling_is_stored_as_its_record(fields, scored, tmp_path):
    told = exchange(**fields)
    write(tmp_path, unscored_record(told, **NAMES), ruled_record(told, scored, **NAMES))
    stored = stored_answers([], read_waiting(tmp_path), read_rulings(tmp_path))["k"]

    assert stored.scored == make_record(told, scored, nodeid="", **NAMES)
    assert not stored.replayed


@pytest.mark.parametrize(
    ("fields", "scored"),
    [
        ({}, replace(ruled(), score=Score(0.0, "wrong"))),
        ({}, ScoringResult(None, "judge_evalscope", 1, "judge", "the judge gave no reply")),
        ({"response": Response("Well,", "", "length")}, ruled()),
        ({"invalid": ("server_truncated",)}, ruled()),
    ],
    ids=["by a rule", "no reply", "cut off", "invalid"],
)
def test_a_record_without_a_judges_score_is_no_ruling(fields, scored):
    assert ruled_record(exchange(**fields), scored, **NAMES) is None


@pytest.mark.parametrize("change", [{"score": 2}, {"outcome": "unclear"}, {"details": []}, {"scorer_version": "1"}])
def test_a_ruling_that_was_edited_is_passed_over(change, tmp_path):
    record = ruled_record(exchange(), ruled(), **NAMES)
    write(tmp_path, record)
    (file,) = tmp_path.iterdir()
    with file.open("a") as lines:
        lines.write(f"{json.dumps(to_builtins(record) | {'key': 'other'} | change)}\n")

    assert set(read_rulings(tmp_path)) == {"k"}
    assert read_waiting(tmp_path) == []
