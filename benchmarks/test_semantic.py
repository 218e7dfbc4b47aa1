"""Sentences that differ from the needle in one attribute: which attribute is mistaken?"""

import pytest


@pytest.mark.cells("semantic")
def test_saying(cell, generate, assert_scored):
    assert_scored(generate(cell))
