"""A needle at every depth: how many of them are found in one answer?"""

import pytest


@pytest.mark.cells("parallel")
def test_needle_at_each_depth(cell, generate, assert_scored):
    assert_scored(generate(cell))
