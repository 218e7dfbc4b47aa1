"""The repeats that a report proposes for the next run."""

import pytest

from needlework.results.statistics.run_followup import NextRun
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.summary_sentence import headline_of

PROOF = "to prove a length, as far as every answer is right"
HALF = "for an interval half as wide"


@pytest.mark.parametrize(
    ("right", "of", "expected"),
    [
        ({1000: 5, 4000: 2}, 5, NextRun(PROOF, 24)),
        ({1000: 3, 4000: 2}, 5, NextRun("to decide the length", 13)),  # what is wrong is no proof, however often
        ({1000: 1}, 1, NextRun("for an interval: one sample has none", 2)),
        ({1000: 9}, 9, NextRun(HALF, 36)),
        ({1000: 40, 4000: 40}, 40, None),
    ],
)
def test_more_repeats_are_the_fewest_that_are_enough(make_record, right, of, expected):
    records = [make_record(length=length, repeat=i, outcome="found" if i < count else "wrong")
               for length, count in right.items() for i in range(of)]  # fmt: skip
    assert headline_of(run_report(records)).next_run == expected


def test_repeats_of_several_samples_are_no_multiple_of_those_so_far(make_record):
    records = [
        make_record(length=length, repeat=sample % 2, reference={"sample": sample})
        for length in (1000, 4000)
        for sample in range(10)
    ]
    assert headline_of(run_report(records)).next_run == NextRun(PROOF, 5)


def test_lengths_of_an_older_session_do_not_count(make_record):
    repeats = {500: 4, 1000: 2, 2000: 4}
    records = [make_record(length=length, repeat=at) for length, count in repeats.items() for at in range(count)]
    assert headline_of(run_report(records)).next_run == NextRun(PROOF, 24)
    assert headline_of(run_report(records[:4])).next_run == NextRun(HALF, 16)
