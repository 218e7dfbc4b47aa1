"""A fact that was updated: is the value that held then told from the stale ones?"""

import pytest


@pytest.mark.cells("superseded")
def test_update(cell, generate, assert_scored):
    assert_scored(generate(cell))
