"""Several needles: are scattered facts brought together?"""

import pytest


@pytest.mark.cells("multi_needle")
def test_needles(cell, generate, assert_scored):
    assert_scored(generate(cell))
