"""Several values at once: are all of them given, and nothing else?"""

import pytest


@pytest.mark.cells("multivalue")
def test_values(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("multiquery")
def test_queries(cell, generate, assert_scored):
    assert_scored(generate(cell))
