"""A log of tool calls, whole and after compaction: what was set last, what failed first?"""

import pytest


@pytest.mark.cells("agent_log")
def test_entry(cell, generate, assert_scored):
    assert_scored(generate(cell))
