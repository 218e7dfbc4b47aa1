"""One of several pieces of the same kind in a conversation: is the right one given again, word for word?"""

import pytest


@pytest.mark.cells("mrcr")
def test_piece(cell, generate, assert_scored):
    assert_scored(generate(cell))
