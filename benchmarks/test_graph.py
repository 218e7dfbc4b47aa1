"""Walks in graphs: are all edges found that an answer rests on, and put together?"""

import pytest


@pytest.mark.cells("graph_bfs")
def test_bfs(cell, generate, assert_scored):
    assert_scored(generate(cell))


@pytest.mark.cells("graph_parents")
def test_parents(cell, generate, assert_scored):
    assert_scored(generate(cell))
