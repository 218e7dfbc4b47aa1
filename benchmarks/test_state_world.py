"""A small world told fact by fact: is its state kept track of?"""

import pytest


@pytest.mark.cells("state_where")
def test_where(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("state_closed")
def test_closed(cell, generate, assert_scored):
    assert_scored(generate(cell))
