"""Names for names for a value: are scattered links followed?"""

import pytest


@pytest.mark.cells("chain")  # the family: chain, and chain_last, which asks for the last value alone
def test_names(cell, generate, assert_scored):
    assert_scored(generate(cell))
