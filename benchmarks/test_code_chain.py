"""Calls followed from function to function: does every step find the next?"""

import pytest


@pytest.mark.cells("code_chain")
def test_code_chain(cell, generate, assert_scored):
    assert_scored(generate(cell))
