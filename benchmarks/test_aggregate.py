"""Questions about the whole text: no part of it alone has the answer."""

import pytest


@pytest.mark.cells("aggregate")
def test_aggregate(cell, generate, assert_scored):
    assert_scored(generate(cell))
