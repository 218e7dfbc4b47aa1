"""Latency by length: what is measured, what is left out, how it is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.report.section import section_lines
from needlework.results.report.suites import latency_sections
from needlework.results.statistics.run_facts import latency_rows


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
