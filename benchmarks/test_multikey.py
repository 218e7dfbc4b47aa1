"""One key among many of the same form: is it told from the others?"""

import pytest


@pytest.mark.cells("multikey")
def test_key(cell, generate, assert_scored):
    assert_scored(generate(cell))
