"""Needle and question share no word: is the fact known that brings them together, and the needle found by it?"""

import pytest


@pytest.mark.cells("association")
def test_person(cell, generate, assert_scored):
    assert_scored(generate(cell))
