"""Your documents, your questions: where the answer stands, how much stands around it, and what if it is not there?"""

import pytest


@pytest.mark.cells("documents")
def test_documents(cell, generate, assert_scored):
    assert_scored(generate(cell))
