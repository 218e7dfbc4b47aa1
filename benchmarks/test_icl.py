"""Classes learnt from examples in the prompt: do more shots help?"""

import pytest


@pytest.mark.cells("icl")
def test_icl(cell, generate, assert_scored):
    assert_scored(generate(cell))
