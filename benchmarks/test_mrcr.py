"""One of several similar pieces in a conversation: is the right one repeated word for word?"""

import pytest


@pytest.mark.cells("mrcr")
def test_piece(cell, generate, assert_scored):
    assert_scored(generate(cell))
