"""Batches: everything asked once, what comes next asked together, nothing kept longer than its batch."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from needlework.pipeline.window import Batches


class Squares:
    """Squares numbers and remembers how it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        return [number * number for number in numbers]


def batches(work: Squares, size: int, wanted=lambda _number: True) -> Batches[int, int]:
    return Batches(work, lambda _number: size, wanted)


def test_what_comes_next_is_asked_together():
    work = Squares()
    ahead = batches(work, 3)
    ahead.extend(range(5))

    assert [ahead.take(number) for number in range(5)] == [0, 1, 4, 9, 16]
    assert work.batches == [[0, 1, 2], [3, 4]]


def test_what_is_answered_already_is_left_out():
    work = Squares()
    ahead = batches(work, 2, wanted=lambda number: number not in (1, 2))
    ahead.extend(range(5))
    ahead.take(0)

    assert work.batches == [[0, 3]]


def test_a_key_that_nobody_announced_is_asked_at_once():
    work = Squares()
    ahead = batches(work, 2)
    ahead.extend([1, 2, 3])

    assert ahead.take(9) == 81
    assert ahead.take(1) == 1
    assert work.batches[0][0] == 9


@given(
    st.lists(st.integers(0, 50), unique=True, max_size=30),
    st.integers(1, 7),
    st.data(),
)
def test_each_key_is_asked_once_whatever_is_left_out(keys, size, data):
    work = Squares()
    ahead = batches(work, size)
    ahead.extend(keys)
    taken = [key for key in keys if data.draw(st.booleans())]

    assert [ahead.take(key) for key in taken] == [key * key for key in taken]
    asked = [key for batch in work.batches for key in batch]
    assert len(asked) == len(set(asked))
    assert all(len(batch) <= size for batch in work.batches)
