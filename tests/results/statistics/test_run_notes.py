"""What is told about a corpus and a server before the scores."""

import pytest

from needlework.results.statistics.run_report import run_report


def notes(make_record, rows):
    """The notes on a run of one trial for each row."""
    records = []
    for number, row in enumerate(rows):
        response = {name: row[name] for name in ("model", "fingerprint", "finish_reason") if name in row}
        fields = {
            "details": {"flags": list(row.get("flags", ())), "recipe": "r"},
            "response": {"model": "m", "prompt_tokens": row.get("counted", 980), "finish_reason": "stop"} | response,
            "timing": {"cached_tokens": row.get("cached", 3)},
            "prompt": {"tokens": 980, "filler_sha256": "same"},
        }
        records.append(make_record(repeat=number, outcome=row.get("outcome", "found"), **fields))
    return "\n".join(run_report(records).notes)


TEMPLATE = {"flags": ["template_difference"], "counted": 957}
UNFINISHED = {"finish_reason": "unfinished", "outcome": "censored"}


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        # Between sessions or shards no flag says so.
        ([{}] * 3 + [{"model": "small"}], "CHANGED ITS MODEL during the run: answers came from 'm' (3), 'small' (1)"),
        ([{"model": "x.gguf", "flags": ["other_model"]}] * 2, "answers as 'x.gguf'"),
        ([{"fingerprint": "a"}, {"fingerprint": "b"}, {"fingerprint": "a"}], "2 kinds"),
        (
            [TEMPLATE | {"outcome": "empty"}] * 26 + [TEMPLATE] * 10,
            "(-23 tokens a prompt): with 26 of 36 answers empty, a WRONG CHAT TEMPLATE is the likely cause",
        ),
        (
            [UNFINISHED | {"flags": ["answer_in_reasoning"]}, UNFINISHED, {}],
            "2 of 3 answers are reasoning without an answer (in 1 the right value stands in it)",
        ),
        (
            [{"finish_reason": "tool_calls", "outcome": "empty"}] * 3,
            "mock: 3 of 3 answers are calls of tools and no words: the server offers tools that no request asked for",
        ),
        ([{"outcome": "empty"}] * 3, "3 of 3 answers are empty: look at the chat template"),
        ([{"flags": ["no_usage"]}] * 2, "counted no tokens for 2 of 2 answers"),
        ([{"flags": ["over_budget"]}], "heeds no limit"),
        ([{"flags": ["server_changed"]}, {}], "1 of 2 answers were asked again: another server"),
        ([{"flags": ["cumulative_stream"]}], "1 of 1 answers came in events that repeat the text so far"),
        ([{"flags": ["canary_end_missing", "canary_start_missing"]}, {}], "1 of 2 answers lack a mark"),
        ([{"cached": 0}] * 5, "prompt cache gave nothing"),
    ],
)
def test_a_server_that_is_odd_is_told(make_record, rows, note):
    assert note in notes(make_record, rows)


@pytest.mark.parametrize(
    "rows",
    [
        [{}] * 8,
        [{"cached": 0}] * 4 + [{}],
        [{"cached": None}] * 5,
        [{"outcome": "error", "flags": ["no_usage"]}, {"outcome": "skipped"}],  # no answers
    ],
)
def test_nothing_is_said_of_a_server_that_does_what_it_should(make_record, rows):
    assert notes(make_record, rows) == ""


def test_a_template_that_differs_is_no_wrong_one_where_answers_come(make_record):
    note = notes(make_record, [TEMPLATE] * 4)
    assert "template is not the tokenizer's (-23 tokens a prompt)" in note
    assert "WRONG" not in note


def test_repeated_text_is_told_with_where_it_is_repeated_most(make_record):
    passes = {500: 0.4, 1000: 1.0, 2000: 1.6, 4000: 3.25}
    records = [make_record(length=length, prompt={"tokens": 1, "corpus_passes": n}) for length, n in passes.items()]

    (note,) = run_report(records).notes
    assert note.startswith("the corpus is shorter than 2 of 4 prompts")
    assert "up to 3.2 times over at 4k tokens" in note
    assert run_report(records[:2]).notes == ()
