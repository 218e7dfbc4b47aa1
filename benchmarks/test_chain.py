"""Names for names for a value: are scattered links followed?"""

import pytest


@pytest.mark.cells("chain")
def test_names(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("chain_last")
def test_last_value(cell, generate, assert_scored):
    assert_scored(generate(cell))
