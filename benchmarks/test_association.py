"""Needles that share no word with their question: is the fact known that connects them?"""

import pytest


@pytest.mark.cells("association")
def test_person(cell, generate, assert_scored):
    assert_scored(generate(cell))
