"""What is told about a corpus and a server before the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from needlework.core.record import Record
from needlework.results.statistics.run_report import corpus_notes, server_notes


@pytest.fixture
def notes(make_record: Callable[..., Record]) -> Callable[..., str]:
    def told(rows: Sequence[dict[str, Any]]) -> str:
        records = []
        for number, row in enumerate(rows):
            response = {"prompt_tokens": row.get("counted", 980), "model": row.get("said", "m")}
            response |= {"finish_reason": row.get("finish", "stop")}
            fields = {
                "details": {"flags": list(row.get("flags", ())), "recipe": "r"},
                "response": response | ({"fingerprint": row["fingerprint"]} if "fingerprint" in row else {}),
                "timing": {"cached_tokens": row.get("cached", 3)},
                "prompt": {"tokens": 980, "filler_sha256": "same"},
            }
            records.append(make_record(repeat=number, outcome=row.get("outcome", "found"), **fields))
        return "\n".join(server_notes(records))

    return told


def test_nothing_is_said_of_a_server_that_does_what_it_should(notes: Callable[..., str]) -> None:
    assert notes([{}] * 8) == ""


def test_a_model_that_changed_is_told_with_its_answers(notes: Callable[..., str]) -> None:
    told = notes([{}] * 3 + [{"said": "small"}])  # between sessions or shards no flag says so
    assert "CHANGED ITS MODEL" in told
    assert "'m' (3), 'small' (1)" in told


def test_another_name_than_the_one_asked_for(notes: Callable[..., str]) -> None:
    assert "answers as 'x.gguf'" in notes([{"said": "x.gguf", "flags": ["other_model"]}] * 2)


def test_a_fingerprint_that_changed(notes: Callable[..., str]) -> None:
    assert "2 kinds" in notes([{"fingerprint": "a"}, {"fingerprint": "b"}, {"fingerprint": "a"}])


def test_a_wrong_template_is_named_as_the_likely_cause_of_empty_answers(notes: Callable[..., str]) -> None:
    row = {"flags": ["template_difference"], "counted": 957}
    told = notes([row | {"outcome": "empty"}] * 26 + [row] * 10)
    assert "(-23 tokens a prompt): with 26 of 36 answers empty, a WRONG CHAT TEMPLATE is the likely cause" in told
    assert "WRONG" not in notes([row] * 4)


def test_answers_that_are_reasoning_alone_or_calls_of_tools_are_told_as_such(notes: Callable[..., str]) -> None:
    row = {"finish": "unfinished", "outcome": "censored"}
    told = notes([row | {"flags": ["answer_in_reasoning"]}, row, {}])
    assert "2 of 3 answers are reasoning without an answer (in 1 the right value stands in it)" in told
    assert "reasoning" not in notes([{}])
    told = notes([{"finish": "tool_calls", "outcome": "empty"}] * 3)
    assert "3 of 3 answers are calls of tools and no words" in told
    assert "chat template" not in told


def test_no_counts_no_limit_no_cache(notes: Callable[..., str]) -> None:
    assert "counted no tokens for 2 of 2 answers" in notes([{"flags": ["no_usage"]}] * 2)
    assert "heeds no limit" in notes([{"flags": ["over_budget"]}])
    assert "prompt cache gave nothing" in notes([{"cached": 0}] * 5)
    assert notes([{"cached": 0}] * 4 + [{}]) == notes([{"cached": None}] * 5) == ""


def test_trials_without_an_answer_say_nothing_of_the_server(notes: Callable[..., str]) -> None:
    assert notes([{"outcome": "error", "flags": ["no_usage"]}, {"outcome": "skipped"}]) == ""


def test_repeated_text_is_told_with_where_it_is_repeated_most(make_record: Callable[..., Record]) -> None:
    passes = {500: 0.4, 2000: 1.6, 4000: 3.25}
    records = [make_record(length=length, prompt={"tokens": 1, "corpus_passes": n}) for length, n in passes.items()]
    [told] = corpus_notes(records)
    assert told.startswith("the corpus is shorter than 2 of 3 prompts")
    assert "up to 3.2 times over at 4k tokens" in told


def test_nothing_is_said_where_no_text_is_repeated(make_record: Callable[..., Record]) -> None:
    assert not list(corpus_notes([make_record(prompt={"corpus_passes": 1.0}), make_record(prompt={})]))
