"""RULER's 13 tasks: retrieval, tracking, counting and question answering at one length after the other."""

import pytest


@pytest.mark.cells("ruler")
def test_ruler(cell, generate, assert_scored):
    assert_scored(generate(cell))
