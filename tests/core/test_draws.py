"""Draws are the same everywhere, even, and never repeat what may come once."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.draws import digits, draws, sample, shuffled, uuid4

SEEDS = st.integers(0, 10**9)


def test_the_same_parts_draw_the_same_on_every_machine():
    one, same = draws("task", 1, 0, 3), draws("task", 1, 0, 3)
    assert [one.random() for _ in range(4)] == [same.random() for _ in range(4)]
    # Pinned: another Python or machine that draws otherwise would make other prompts of the same seed.
    assert uuid4(draws("pinned", 0)) == "fb263795-01da-46b1-9853-2e4cf7a619cb"
    assert digits(draws("pinned", 1)) == "4153790"
    assert shuffled(draws("pinned", 2), range(8)) == [5, 7, 1, 4, 0, 3, 6, 2]


def test_any_other_part_draws_something_else():
    keys = [("a", 1), ("a", 2), ("b", 1), ("a1",), ("a", 1, 0), (1, "a")]
    assert len({draws(*key).random() for key in keys}) == len(keys)


@given(SEEDS, st.integers(0, 60), st.integers(0, 60))
def test_a_sample_has_different_places(seed, size, count):
    if count > size:
        with pytest.raises(ValueError, match=f"{count} of {size}"):
            sample(draws(seed), range(size), count)
        return
    chosen = sample(draws(seed), range(size), count)
    assert len(set(chosen)) == len(chosen) == count
    assert set(chosen) <= set(range(size))


@given(SEEDS, st.integers(2, 12))
def test_digits_are_a_number_that_reads_otherwise_backwards(seed, count):
    text = digits(draws(seed), count)
    assert re.fullmatch(rf"[1-9]\d{{{count - 1}}}", text)
    assert text != text[::-1]


@given(SEEDS)
def test_uuids_are_of_version_4(seed):
    text = uuid4(draws(seed))
    read = uuid.UUID(text)
    assert (str(read), read.version, read.variant) == (text, 4, uuid.RFC_4122)
