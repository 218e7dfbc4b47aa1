"""A run's report: means by hand, panels, how it was made, what it cost, and notes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.settings import prices_of
from needlework.results.files.json_files import results_bytes
from needlework.results.report.panels import headline
from needlework.results.statistics.panels import summarise
from needlework.results.statistics.run_facts import (
    Flips,
    SpendingCap,
    check_cap,
    cost_rows,
    run_facts,
    spent,
)
from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.wording import score_and_interval
from needlework.results.tables.terminal import Screen, markdown_lines, next_line, run_lines
from tests.results.builders import new_record


def test_the_order_of_records_changes_nothing_and_a_note_is_told_wherever_the_run_is():
    records = [new_record(length=length, repeat=i) for length in (4000, 500) for i in range(3)]
    note = "every answer is from the journal"
    report = run_report(records, notes=[note])

    assert report == run_report(records[::-1], notes=[note])
    assert [record.length for record in report.records] == [500] * 3 + [4000] * 3
    assert note in run_lines(report, Screen(80))
    assert f"- {note}" in markdown_lines(report)
    assert json.loads(results_bytes(report))["notes"] == [note]


@pytest.mark.parametrize("outcome", ["found", "error", "skipped"])
def test_the_next_step_names_a_trial_that_was_missed_and_none_that_no_model_answered(outcome):
    first, missed = new_record(id="a", outcome=outcome), new_record(id="b", repeat=1, outcome="wrong")

    assert next_line(run_report([first]), "runs/x").endswith(
        "open runs/x/report.html (a click on a cell shows its answers)"
    )
    told = next_line(run_report([first, missed]), "runs/x")
    assert told.endswith("needlework prompt runs/x b prints what the model saw")


def test_trials_that_failed_are_the_first_next_step():
    facts = run_facts({"run": "r"}, "r")
    kinds = ("server", "timeout", "client")
    errors = [new_record(repeat=1 + at, outcome="error", error={"kind": kind}) for at, kind in enumerate(kinds)]
    reasons = ("uncalibrated", "token_mismatch")
    invalid = [new_record(repeat=4, outcome="invalid", needle=each, details={"invalid": [each]}) for each in reasons]
    report = run_report([new_record(), *errors, *invalid], facts=facts)
    again = "the same command with --run-name r asks the 3 failed trials again"

    assert next_line(report, "runs/r").startswith(f"next: {again}; open runs/r/report.html")
    assert headline_of(report).next_run == NextRun(again)
    lasting = run_report([new_record(), errors[2]], facts=facts)
    assert next_line(lasting, "runs/r").startswith("next: open runs/r/report.html")
    assert headline_of(lasting).next_run != NextRun(again)


@pytest.mark.parametrize(
    ("names", "n", "mean", "limits", "words"),
    [
        ("found censored censored invalid skipped error", 1, 1.0, (1 / 3, 1.0), "2 censored of 3"),
        ("found censored unclear error", 1, 1.0, (1 / 3, 1.0), ("score 33.3–100 % (1 censored, 1 unclear of"
         " 3: all missed to all hit) · of the scored 100 % (one sample: says nothing of"
         " others), n = 1 · 1 cell of 4 trials · 1 error")),
        ("censored censored censored", 0, None, (0.0, 1.0),
         "score 0–100 % (3 censored of 3: all missed to all hit) · none scored"),
        ("found invalid", 1, 1.0, None, "score 100 % (one sample: says nothing of others), n = 1"),
        ("found skipped", 1, 1.0, None, "score 100 % (one sample: says nothing of others), n = 1"),
        ("found error", 1, 1.0, None, "score 100 % (one sample: says nothing of others), n = 1"),
        ("found refused empty", 3, 1 / 3, None, "score 33.3 % ("),
        ("found empty empty empty refused", 5, 0.2, None,
         "n = 5 · 1 cell of 5 trials · every trial scored · 1 refused, 3 empty"),
    ],
)  # fmt: skip
def test_what_has_no_score_never_enters_a_mean_and_only_undecided_answers_make_a_range(names, n, mean, limits, words):
    records = [new_record(repeat=i, outcome=name) for i, name in enumerate(names.split())]
    for record in records:
        if record.outcome == "censored":
            record.score = 1.0  # a score beside an outcome that has none is not a score
    (panel,) = summarise(records)

    assert (panel.overall.n, panel.overall.mean) == (n, pytest.approx(mean))
    assert panel.overall.range == (limits and pytest.approx(limits))
    assert words in headline(panel)
    assert (score_and_interval(panel.overall) == ("0–100", "–")) == (n == 0)


@pytest.mark.parametrize("score", [None, float("nan"), 1.5])
def test_a_scored_outcome_needs_a_score(score):
    record = new_record()
    record.score = score
    with pytest.raises(ValueError, match=r"score is in 0\.\.1"):
        summarise([record])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(("started", "commit", "command", "pace", "models", "versions"))


@given(manifest=st.dictionaries(NAMES, VALUES))
def test_any_manifest_can_be_read(manifest):
    assert run_facts(manifest, "x").name == "x"


@pytest.mark.parametrize(
    ("text", "outcome", "score", "flips"),
    [
        ("9", "wrong", 0.0, Flips(asked=1)),
        ("8", "wrong", 0.0, Flips(asked=1, texts=1)),
        ("No.", "refused", 0.0, Flips(asked=1, texts=1, scores=1)),  # another outcome of the same score
        ("", "censored", None, Flips(asked=1, texts=1, scores=1)),
        ("4711", "found", 1.0, Flips(asked=1, texts=1, scores=1)),
        ("", "error", None, Flips(unanswered=1)),
    ],
)
def test_a_flip_is_another_text_and_another_outcome_or_score(text, outcome, score, flips):
    again = {"how": "warm", "text": text, "outcome": outcome, "score": score}
    record = new_record(outcome="wrong", score=0.0, response={"text": "9"}, details={"stability": [again]})
    report = run_report([record])

    assert report.stability.flips == report.stability.by_how["warm"] == flips
    assert report.stability.flipped == ((record.id,) if flips.texts else ())
    assert json.loads(results_bytes(report))["stability"]["flips"]["asked"] == flips.asked
    assert report.notes[0].startswith(
        f"stability: 1 cells asked again {flips.asked} times (warm {flips.asked}): the text"
    )
    assert run_report([new_record()]).stability is None


def notes(rows):
    """The notes on a run of one trial for each row."""
    records = []
    for number, row in enumerate(rows):
        response = {name: row[name] for name in ("model", "fingerprint", "finish_reason") if name in row}
        fields = {
            "details": {"flags": list(row.get("flags", ())), "recipe": "r"},
            "response": {"model": "m", "prompt_tokens": 980, "finish_reason": "stop"} | response,
            "timing": {"cached_tokens": row.get("cached", 3)},
            "prompt": {"tokens": 980, "filler_sha256": "same"},
        }
        records.append(new_record(repeat=number, outcome=row.get("outcome", "found"), **fields))
    return "\n".join(run_report(records).notes)


TEMPLATE = {"flags": ["template_difference"]}
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
            "tokenizer's: with 26 of 36 answers empty, a WRONG CHAT TEMPLATE is the likely cause",
        ),
        ([TEMPLATE] * 4, "template is not the tokenizer's"),
        (
            [UNFINISHED, UNFINISHED, {}],
            "2 of 3 answers are reasoning without an answer",
        ),
        ([{"outcome": "empty"}] * 3, "3 of 3 answers are empty: look at chat template"),
        ([{"flags": ["no_usage"]}] * 2, "2 of 2 answers have no count of tokens"),
        ([{"flags": ["over_budget"]}], "heeds no limit"),
        ([{"flags": ["server_changed"]}, {}], "1 of 2 answers were asked again: another server"),
        ([{"flags": ["cumulative_stream"]}], "1 of 1 answers came in events that repeat the text so far"),
        ([{"flags": ["canary_end_missing", "canary_start_missing"]}, {}], "1 of 2 answers lack the mark"),
        ([{"cached": 0}] * 5, "prompt cache gave nothing"),
        ([{}] * 8, ""),
        ([{"cached": 0}] * 4 + [{}], ""),
        ([{"cached": None}] * 5, ""),
        ([{"outcome": "error", "flags": ["no_usage"]}, {"outcome": "skipped"}], ""),  # no answers
    ],
)
def test_a_server_that_is_odd_is_told_and_of_no_other_anything_is_said(rows, note):
    printed = notes(rows)

    assert note in printed if note else printed == ""
    assert ("WRONG" in printed) == ("WRONG" in note)


PRICE = ("1,2", "b=10,20,1")


def answered(model="a", prompt=1_000, answer=100, cached=0, **fields):
    tokens = {"response": {"prompt_tokens": prompt, "completion_tokens": answer}, "timing": {"cached_tokens": cached}}
    return new_record(model=model, **tokens, **fields)


def test_cached_tokens_have_their_own_price_and_each_model_too():
    records = [answered(repeat=at) for at in range(2)]
    records += [answered("b", cached=600), new_record(outcome="error"), new_record(outcome="skipped")]
    first, second = cost_rows(records, PRICE)

    assert (first.model, first.answers, first.prompt_tokens, first.answer_tokens) == ("a", 2, 2_000, 200)
    assert first.dollars == pytest.approx((2_000 * 1 + 200 * 2) / 1e6)
    assert second.dollars == pytest.approx((400 * 10 + 600 * 1 + 100 * 20) / 1e6)
    assert spent(records, PRICE) == (pytest.approx(first.dollars + second.dollars), 3_300)
    assert [row.dollars for row in cost_rows(records)] == [None, None]
    second_question = {"prompt_tokens": 1_000, "follow_up_tokens": 300, "completion_tokens": 50}
    assert spent([new_record(response=second_question)], ()) == (0.0, 1_350)


def test_a_cap_says_what_has_reached_it_and_one_in_dollars_needs_prices():
    cap = SpendingCap(5.0, 1_000_000)

    assert cap.words == "ends at 5 dollars or 1,000,000 tokens, all sessions of the run together"
    assert cap.reached(4.99, 10) is None
    assert cap.reached(5.02, 10) == ("--max-cost", "5", "5.02 dollars")
    assert cap.reached(0, 2_000_000) == ("--max-tokens", "1000000", "2,000,000 tokens")
    with pytest.raises(InputError, match="what does openai:x cost"):
        check_cap(cap, ["b=1,2"], ["b", "openai:x"])


def test_a_model_without_a_price_of_its_own_has_that_of_all():
    assert prices_of(["0.5, 1.5".replace(" ", "")], "any").dollars(1e6, 1e6, 1e6) == 2.0
    assert prices_of(["b=1,2"], "a") is None
