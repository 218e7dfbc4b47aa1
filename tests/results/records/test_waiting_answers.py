"""Answers that came before their cell's turn: kept at once, found again, gone after a clean end."""

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

SUITE = SimpleNamespace(language="en")


def exchange(key: str, text: str = "It is 42.", **changes) -> Exchange:
    given = {"response": Response(text, prompt_tokens=9, latency_s=0.5), "stored_prompt": PromptFacts(tokens=9)}
    return Exchange(Cell("niah", 400, 50.0, "code", 0), SUITE, "m", key, **(given | changes))


def write(answers: WaitingAnswers, told: Exchange) -> None:
    answers.append(unscored_record(told, worker="gw0", recipe=""))


def test_an_answer_is_found_by_its_key(tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, exchange("k"))
    (line,) = read_waiting(tmp_path)
    found = stored_answers([], [line])["k"]

    assert line.timing.worker == "gw0"
    assert recorded_response(found.record) == Response("It is 42.", prompt_tokens=9, latency_s=0.5)
    assert found.record.prompt == PromptFacts(tokens=9)
    assert not found.replayed


@pytest.mark.parametrize(
    "what",
    [
        {"response": Response(error=ModelError("timeout", "none"))},
        {"invalid": ("server_truncated",)},
        {"skipped": "too long"},
    ],
)
def test_what_will_be_asked_again_is_not_kept(what):
    assert unscored_record(exchange("k", **what), worker="main", recipe="") is None


def test_a_clean_end_leaves_no_file(tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, exchange("k"))
    drop_waiting(tmp_path)

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


def ruled(told: Exchange, verdict="wrong", value=0.0, **details) -> ScoringResult:
    score = Score(value, verdict, told.answer[:9], "judge: so", {RULED: "by whom", **details})
    return ScoringResult(score, "judge_evalscope", 1)


@pytest.mark.parametrize(
    ("told", "scored"),
    [
        (exchange("k"), ruled(exchange("k"), "found", 1.0, mark=10.0)),
        (exchange("k"), ruled(exchange("k"))),
        (exchange("k", response=Response("No.", "", "content_filter")), ruled(exchange("k"))),
    ],
    ids=["right", "wrong", "filtered"],
)
def test_a_ruling_is_found_as_its_record_would_have_had_it(told, scored, tmp_path):
    with closing(WaitingAnswers(tmp_path)) as answers:
        write(answers, told)
        answers.append(ruled_record(told, scored, worker="", recipe=""))
    record = make_record(told, scored, nodeid="", worker="", recipe="")
    found = stored_answers([], read_waiting(tmp_path), read_rulings(tmp_path))["k"]

    assert found.scored == record
    assert not found.replayed


@pytest.mark.parametrize(
    ("told", "scored"),
    [
        (exchange("k"), replace(ruled(exchange("k")), score=Score(0.0, "wrong"))),
        (exchange("k"), ScoringResult(None, "judge_evalscope", 1, "judge", "the judge gave no reply")),
        (exchange("k", response=Response("Well,", "", "length")), ruled(exchange("k"))),
        (exchange("k", invalid=("server_truncated",)), ruled(exchange("k"))),
    ],
    ids=["by a rule", "no reply", "cut off", "invalid"],
)
def test_what_no_record_would_keep_is_no_ruling(told, scored):
    assert ruled_record(told, scored, worker="", recipe="") is None


@pytest.mark.parametrize(
    "change",
    [{"score": 2}, {"outcome": "unclear"}, {"scorer": None}, {"details": []}, {"scorer_version": "1"}, {"why": 1}],
)
def test_a_ruling_that_was_edited_is_passed_over(change, tmp_path):
    record = ruled_record(exchange("k"), ruled(exchange("k")), worker="", recipe="")
    with closing(WaitingAnswers(tmp_path)) as answers:
        answers.append(record)
    (file,) = tmp_path.iterdir()
    with file.open("a") as lines:
        lines.write(f"{json.dumps(to_builtins(record) | {'key': 'other'} | change)}\n")

    assert set(read_rulings(tmp_path)) == {"k"}
    assert read_waiting(tmp_path) == []
