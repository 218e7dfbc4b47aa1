"""NeedleBench: are scattered facts chained, and how long a chain without any haystack?"""

import pytest


@pytest.mark.cells("needlebench")
def test_chain(cell, generate, assert_scored):
    assert_scored(generate(cell))
