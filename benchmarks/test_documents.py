"""Questions on your documents: depth and length of the context, and answers that are not in it."""

import pytest


@pytest.mark.cells("documents")
def test_documents(cell, generate, assert_scored):
    assert_scored(generate(cell))
