"""How a run was made, its latency by length, and its stability."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.files.json_files import results_bytes
from needlework.results.report.section import section_lines
from needlework.results.report.suites import latency_sections
from needlework.results.statistics.run_facts import Flips, command_words, latency_rows, run_facts
from needlework.results.statistics.run_report import run_report

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(("started", "commit", "command", "pace", "models", "versions"))
MANIFEST = {
    "started": "2026-11-22T22:08:52+00:00",
    "commit": "6c8c3e2",
    "command": ["__main__.py", "benchmarks", "--repeats", "2", "--fresh", "-k", "len500 and en", "--run-name=x"],
    "pace": {"trials": 25, "seconds": 50},
    "models": {"m": {"spec": "m", "window": 8192, "rope_scaling": {"factor": 2}, "dtype": "float32", "kernels": None}},
    "versions": {"torch": "2.13.0"},
}


def test_facts_that_a_reader_asks_for_come_first_and_in_one_line():
    facts = run_facts(MANIFEST, "step1000")
    assert facts.seconds == 2.0
    assert facts.models[0].short == "window 8,192 tokens · float32 · rope_scaling {'factor': 2}"
    assert [name for name, _ in facts.models[0].facts] == ["window", "dtype", "rope_scaling", "spec"]


def test_the_next_command_goes_on_under_the_runs_name():
    facts = run_facts(MANIFEST, "step1000")
    assert command_words(facts, 5) == "pytest benchmarks -k 'len500 and en' --repeats 5 --run-name step1000"
    assert command_words(run_facts({**MANIFEST, "command": ["ipykernel"]}, "x"), 5) == ""


@given(manifest=st.dictionaries(NAMES, VALUES))
def test_any_manifest_can_be_read(manifest):
    assert run_facts(manifest, "x").name == "x"


def times(**fields):
    return {"latency_s": 1.0, "ttft_s": 0.25, "tokens_per_s": 40.0, "cached_tokens": 0} | fields


def test_a_row_for_each_model_and_length_with_numpys_quantiles(make_record):
    records = [make_record(length=length, timing=times(latency_s=length / 1000)) for length in (4000, 1000)]
    records += [make_record(model="b", repeat=i, timing=times(latency_s=float(i + 1))) for i in range(21)]
    rows = latency_rows(records)

    assert [(row.model, row.length, row.n, row.latency_s.median, row.latency_s.p95) for row in rows] == [
        ("b", 1000, 21, 11.0, 20.0), ("mock", 1000, 1, 1.0, 1.0), ("mock", 4000, 1, 4.0, 4.0),
    ]  # fmt: skip
    assert (rows[0].tokens_per_s, rows[0].token_s.median) == pytest.approx((40, 0.025))


def test_failures_and_what_nobody_measured_are_in_no_row(make_record):
    timings = ({"latency_s": None}, {"latency_s": 0.0})
    records = [make_record(outcome="error", timing=times(latency_s=60.0)), make_record(outcome="skipped", timing={})]

    assert latency_rows([*records, *(make_record(timing=timing) for timing in timings)]) == ()
    assert latency_sections(()) == []


def test_earlier_answers_and_cached_tokens_are_told(make_record):
    cached = make_record(repeat=1, timing=times(cached_tokens=490), prompt={"tokens": 980})
    (row,) = latency_rows([make_record(timing=times(replayed=True)), cached])

    assert (row.n, row.earlier, row.cached) == (2, 1, 0.25)
    notes = latency_sections([row], ["one at a time"])[0].notes
    assert notes[:2] == ("one at a time", "1 of 2 answers were measured in an earlier session")


def test_columns_that_nothing_fills_are_left_out(make_record):
    sections = latency_sections(latency_rows([make_record(timing={"latency_s": 0.0501})]))
    lines = section_lines(sections, ascii_only=True)

    assert [line.split() for line in lines[2:4]] == [
        ["length", "n", "latency", "s", "p95"],
        ["1k", "1", *["0.0501"] * 2],
    ]
    assert "\n".join(lines).isascii()


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=30))
def test_p95_is_never_below_the_median(make_record, seconds):
    (row,) = latency_rows([make_record(repeat=i, timing=times(latency_s=each)) for i, each in enumerate(seconds)])

    assert min(seconds) <= row.latency_s.median <= row.latency_s.p95 <= max(seconds)


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
def test_a_flip_is_another_text_and_another_outcome_or_score(make_record, text, outcome, score, flips):
    again = {"how": "warm", "text": text, "outcome": outcome, "score": score}
    record = make_record(outcome="wrong", score=0.0, response={"text": "9"}, details={"stability": [again]})
    report = run_report([record])

    assert report.stability.flips == report.stability.by_how["warm"] == flips
    assert report.stability.flipped == ((record.id,) if flips.texts else ())
    assert json.loads(results_bytes(report))["stability"]["flips"]["asked"] == flips.asked
    assert report.notes[0].startswith(
        f"stability: 1 cells asked again {flips.asked} times (warm {flips.asked}): the text"
    )
    assert run_report([make_record()]).stability is None
