"""Chat sessions over months: is what was said, changed and liked remembered?"""

import pytest


@pytest.mark.cells("memory")
def test_memory(cell, generate, assert_scored):
    assert_scored(generate(cell))
