"""A text given back word for word: what gets lost, and where?"""

import pytest


@pytest.mark.cells("copy")
def test_copy(cell, generate, assert_scored):
    assert_scored(generate(cell))
