"""Trials and panels for the tests of statistics and reports."""

import pytest

from needlework.results.statistics.panels import ScoredTrial, panels_of


@pytest.fixture(scope="session")
def small_panel():
    """3 lengths x 2 depths: scores, one censored-only, one invalid, one error and one cell that never ran."""
    rows = [
        (500, 0.0, 0, "found", 1.0),
        (500, 0.0, 1, "wrong", 0.0),
        (500, 100.0, 0, "found", 1.0),
        (4000, 0.0, 0, "censored", None),
        (4000, 100.0, 0, "invalid", None),
        (16000, 0.0, 0, "error", None),
    ]
    return panels_of(ScoredTrial("mock", "niah", "code", *row) for row in rows)[0]


@pytest.fixture(scope="session")
def trials_of():
    """Make trials from rows of (length, depth, repeat, score); a score of `None` is an error."""

    def build(rows):
        return [
            ScoredTrial("mock", "niah", "code", length, depth, repeat, "error" if score is None else "partial", score)
            for length, depth, repeat, score in rows
        ]

    return build
