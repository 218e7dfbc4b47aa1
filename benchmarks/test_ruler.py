"""RULER's 13 tasks: retrieval, tracking, counting and question answering by length."""

import pytest


@pytest.mark.cells("ruler")
def test_ruler(cell, generate, assert_scored):
    assert_scored(generate(cell))
