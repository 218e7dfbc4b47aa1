"""Trials for the tests of the statistics."""

import pytest

from needlework.results.statistics.panels import ScoredTrial


@pytest.fixture(scope="session")
def trials_of():
    """Make trials from rows of (length, depth, repeat, score); a score of `None` is an error."""

    def build(rows):
        return [
            ScoredTrial("mock", "niah", "code", length, depth, repeat, "error" if score is None else "partial", score)
            for length, depth, repeat, score in rows
        ]

    return build
