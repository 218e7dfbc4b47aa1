"""One needle in a haystack: is a single fact found, at every depth and length?"""

import pytest


@pytest.mark.cells("niah")
def test_needle(cell, generate, assert_scored):
    assert_scored(generate(cell))
