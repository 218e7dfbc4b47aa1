"""Latency by length: what is measured, what is left out, how it is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.report.section import section_lines
from needlework.results.report.suites import latency_sections
from needlework.results.statistics.run_facts import latency_rows


def times(**told):
    return {"latency_s": 1.0, "ttft_s": 0.25, "tokens_per_s": 40.0, "cached_tokens": 0} | told


def test_a_row_for_each_model_and_length(make_record):
    records = [make_record(length=length, timing=times(latency_s=length / 1000)) for length in (4000, 1000)]
    found = latency_rows([*records, make_record(model="b", timing=times())])

    assert [(row.model, row.length, row.latency_s.median) for row in found] == [
        ("b", 1000, 1.0), ("mock", 1000, 1.0), ("mock", 4000, 4.0),
    ]  # fmt: skip
    assert found[0].tokens_per_s == pytest.approx(40)
    assert found[0].token_s.median == pytest.approx(0.025)


def test_median_and_p95_are_numpys(make_record):
    (row,) = latency_rows([make_record(repeat=i, timing=times(latency_s=float(i + 1))) for i in range(21)])

    assert (row.latency_s.n, row.latency_s.median, row.latency_s.p95) == (21, 11.0, 20.0)


def test_failures_and_what_nobody_measured_are_in_no_row(make_record):
    records = [
        make_record(outcome="error", timing=times(latency_s=60.0)),
        make_record(outcome="skipped", timing={}),
        make_record(timing={"latency_s": None}),
        make_record(timing={"latency_s": 0.0}),
    ]

    assert latency_rows(records) == ()
    assert latency_sections(()) == []


def test_earlier_answers_and_cached_tokens_are_told(make_record):
    records = [
        make_record(timing=times(replayed=True)),
        make_record(repeat=1, timing=times(cached_tokens=490), prompt={"tokens": 980}),
    ]
    (row,) = latency_rows(records)

    assert (row.n, row.earlier, row.cached) == (2, 1, 0.25)
    assert latency_sections([row], ["one at a time"])[0].notes[:2] == (
        "one at a time",
        "1 of 2 answers were measured in an earlier session",
    )


def test_columns_that_nothing_fills_are_left_out(make_record):
    plain = latency_rows([make_record(timing={"latency_s": 0.0501})])
    (section,) = latency_sections(plain)
    assert section.tables[0].head == ("length", "n", "latency s", "p95")
    assert section.tables[0].rows == (("1k", "1", "0.0501", "0.0501"),)
    assert "\n".join(section_lines([section], ascii_only=True)).isascii()


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=30))
def test_p95_is_never_below_the_median(make_record, seconds):
    (row,) = latency_rows([make_record(repeat=i, timing=times(latency_s=each)) for i, each in enumerate(seconds)])

    assert min(seconds) <= row.latency_s.median <= row.latency_s.p95 <= max(seconds)
