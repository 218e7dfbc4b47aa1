"""Absent twins: rates by hand, what is no rate's business, and coverage."""

import json

import numpy as np
import pytest

from needlework.results.files.json_files import results_bytes
from needlework.results.report.section import section_lines
from needlework.results.report.tasks import twins_sections
from needlework.results.statistics.absent import twins_of
from needlework.results.statistics.run_report import run_report
from tests.results.clopper_pearson import clopper_pearson


def records_of(make_record, *pairs):
    """Records of both arms: (outcome with the answer in the text, outcome without it) for each repeat."""
    absent = {"needle": "code_absent", "reference": {"absent": True, "twin": "code"}}
    return [
        make_record(repeat=repeat, outcome=outcome, **({"reference": {"twin": "code"}}, absent)[arm])
        for repeat, pair in enumerate(pairs)
        for arm, outcome in enumerate(pair)
        if outcome is not None
    ]


def rates(twins):
    return [(rate.value, rate.n) for rate in (twins.hallucination, twins.needless, twins.balanced, twins.discriminates)]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (
            [
                ("found", "refused"),  # right in both
                ("found", "wrong"),  # hallucinates
                ("refused", "refused"),  # abstains needlessly
                ("wrong", "distractor"),  # hallucinates
                ("found", "empty"),  # says nothing: neither
            ],
            [(2 / 5, 5), (1 / 5, 5), (0.5, 10), (1 / 5, 5)],
        ),
        # A scorer of the absent arm may call an abstention found.
        ([("found", "found"), ("found", "wrong")], [(0.5, 2), (0, 2), (0.75, 4), (0.5, 2)]),
        # A model that always abstains is at chance.
        ([("refused", "refused")] * 20, [(0, 20), (1, 20), (0.5, 40), (0, 20)]),
        # An arm without scores has no rate.
        ([(None, "refused"), (None, "wrong")], [(0.5, 2), (None, 0), (None, 0), (None, 0)]),
    ],
)
def test_rates_by_hand(make_record, pairs, expected):
    (twins,) = run_report(records_of(make_record, *pairs)).twins

    assert (twins.model, twins.task) == ("mock", "niah")
    assert rates(twins) == expected
    for rate in (twins.hallucination, twins.discriminates):
        if rate.n:
            assert (rate.low, rate.high) == pytest.approx(clopper_pearson(rate.value or 0.0, rate.n))
    terms = [finding.term.strip() for finding in twins_sections([twins])[0].findings]
    shown = (["needless abstention", "balanced accuracy", "right in both twins"], [])[expected[1][1] == 0]
    assert terms == ["hallucination rate", *shown, "without a score"]


def test_trials_without_a_score_are_counted_beside_the_rates(make_record):
    other = make_record(task="qa")  # has no absent arm
    pairs = [("found", "refused"), ("error", "censored"), (None, "invalid")]
    records = [other, *records_of(make_record, *pairs)]
    (twins,) = run_report(records).twins

    assert [n for _, n in rates(twins)] == [1, 1, 2, 1]
    assert (twins.present.unscored, twins.absent.unscored) == ({"error": 1}, {"censored": 1, "invalid": 1})
    assert section_lines(twins_sections([twins])) == [
        "mock · niah · answers that are not there",
        "  hallucination rate: 0 % (one sample: no interval), n = 1",
        "  needless abstention: 0 % (one sample: no interval), n = 1",
        "  balanced accuracy: 100 % (one sample: no interval), n = 2",
        "  right in both twins: 100 % (one sample: no interval), n = 1",
        "    without a score: 1 error (present), 1 censored (absent), 1 invalid (absent)",
    ]
    written, reversed_order = (
        json.loads(results_bytes(run_report(each)))["absent_twins"] for each in (records, records[::-1])
    )
    assert written[0]["hallucination"] == {"value": 0.0, "low": None, "high": None, "n": 1}
    assert written == reversed_order


@pytest.mark.parametrize(("samples", "together"), [(40, 0.0), (40, 0.5), (25, -0.5)])
def test_balanced_accuracy_is_covered(make_record, samples, together):
    """Arms right with chances 0.8 and 0.6, alike (or opposed) within a sample."""
    rng = np.random.default_rng(samples)
    cover = np.array([[1.0, together], [together, 1.0]])
    count, times = 0, 400
    for _ in range(times):
        normal = rng.multivariate_normal([0.0, 0.0], cover, size=samples)
        right = normal < [0.841621, 0.253347]  # normal quantiles of 0.8 and 0.6
        pairs = [("found" if a else "wrong", "refused" if b else "wrong") for a, b in right]
        rate = twins_of("mock", "niah", records_of(make_record, *pairs)).balanced
        count += rate.low <= 0.7 <= rate.high

    assert 0.93 <= count / times <= 0.98
