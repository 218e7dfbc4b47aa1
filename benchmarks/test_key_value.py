"""One value out of many equal ones: is a key found among keys that look alike?"""

import pytest


@pytest.mark.cells("key_value")
def test_value(cell, generate, assert_scored):
    assert_scored(generate(cell))
