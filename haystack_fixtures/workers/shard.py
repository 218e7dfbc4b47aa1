"""A shard: the part of a run's cells that one of several machines asks. Whole haystacks, and about equal work.

Every process of every shard divides the same cells in the same way, and none has to know of the others.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import heapify, heapreplace
from typing import TypeVar

from needlework.haystack_fixtures.grid.cells import Cell

# Tokens at which attention costs as much as everything else: from there on a prompt's cost grows with its square.
_EVEN = 32_768

Item = TypeVar("Item", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` of `of`, counted from 1."""

    number: int
    of: int

    @property
    def name(self) -> str:
        """The name of its folder: `2-of-4`."""
        return f"{self.number}-of-{self.of}"

    def __str__(self) -> str:
        return f"{self.number} of {self.of}"


def shard_named(text: str) -> Shard:
    """The shard that `--shard` named, `2/4`."""
    number, of = text.split("/")
    return Shard(int(number), int(of))


def shared_out(cells: Iterable[Cell], of: int) -> dict[str, int]:
    """Return haystack (`Cell.haystack_id`, which names the model too) -> the number, from 1, of the shard that asks it.

    The costliest haystack goes to the shard that has least so far: longest processing time first (Graham 1969), at most
    4/3 of the best that there is. Whole numbers only, and ties by name, so that any machine comes to the same.
    """
    costs: dict[str, int] = {}
    for cell in set(cells):
        costs[cell.haystack_id] = costs.get(cell.haystack_id, 0) + cell.length * (_EVEN + cell.length)
    loads = [(0, number) for number in range(1, of + 1)]
    heapify(loads)
    given: dict[str, int] = {}
    for haystack in sorted(costs, key=lambda haystack: (-costs[haystack], haystack)):
        load, number = loads[0]
        given[haystack] = number
        heapreplace(loads, (load + costs[haystack], number))
    return given


@dataclass(frozen=True, slots=True)
class Division:
    """What a shard takes of the tests that were selected. `counts`: tests of each shard's cells, by its number - 1.

    `selection`: a hash of everything that was selected, which is the same in every shard of one run.
    """

    shard: Shard
    counts: tuple[int, ...]
    selection: str


def divided(shard: Shard, tests: Mapping[Item, Cell | None], names: Sequence[str]) -> tuple[frozenset[Item], Division]:
    """Return the tests that a shard runs, and what that is a part of.

    `tests`: every selected test with its cell; `names`: the node ids of those with a cell. Tests of one cell stay
    together, for they share its answer. A test that has none, and leaves no record, is run by the first shard.
    """
    given = shared_out((cell for cell in tests.values() if cell is not None), shard.of)
    number_of = {test: 1 if cell is None else given[cell.haystack_id] for test, cell in tests.items()}
    counts = [0] * shard.of
    for test, cell in tests.items():
        counts[number_of[test] - 1] += cell is not None
    # Without folders: the same tests may lie elsewhere on another machine.
    told = "\n".join(sorted(name.rpartition("/")[2] for name in names)).encode("utf-8", "surrogatepass")
    mine = frozenset(test for test, number in number_of.items() if number == shard.number)
    return mine, Division(shard, tuple(counts), sha256(told).hexdigest()[:16])
