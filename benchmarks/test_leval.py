"""L-Eval's twenty tasks: questions on whole documents. Needs a copy of its data (`--leval-data DIR`)."""

import pytest


@pytest.mark.cells("leval")
def test_leval(cell, generate, assert_scored):
    assert_scored(generate(cell))
