"""Seeded draws that are the same on every machine and Python version: only `random()` is drawn from."""

import random
from collections.abc import Callable, Hashable, Sequence
from hashlib import sha256
from typing import TypeVar
from uuid import UUID

Item = TypeVar("Item")
Drawn = TypeVar("Drawn", bound=Hashable)


def draws(*parts: object) -> random.Random:
    """The random generator of these parts alone: task, parameters, seed, repeat."""
    digest = sha256("|".join(map(str, parts)).encode()).digest()
    return random.Random(int.from_bytes(digest, "big"))


def below(rng: random.Random, count: int) -> int:
    """A whole number from 0 to count - 1."""
    return int(rng.random() * count)


def pick(rng: random.Random, items: Sequence[Item]) -> Item:
    """One of the items."""
    return items[below(rng, len(items))]


def shuffled(rng: random.Random, items: Sequence[Item]) -> list[Item]:
    """The items in a drawn order (Fisher-Yates)."""
    order, random = list(items), rng.random
    for last in range(len(order) - 1, 0, -1):
        other = int(random() * (last + 1))  # `below`, without a call for each of perhaps 100,000
        order[last], order[other] = order[other], order[last]
    return order


def sample(rng: random.Random, items: Sequence[Item], count: int) -> list[Item]:
    """`count` different items in a drawn order. Raises `ValueError` where there are fewer."""
    if count > len(items):
        raise ValueError(f"{count} of {len(items)} items")
    if count * 4 > len(items):
        return shuffled(rng, items)[:count]
    return [items[number] for number in different(count, lambda: below(rng, len(items)))]


def different(count: int, draw: Callable[[], Drawn]) -> list[Drawn]:
    """`count` different things, in the order in which they are first drawn."""
    drawn: dict[Drawn, None] = {}
    while len(drawn) < count:
        drawn[draw()] = None
    return list(drawn)


def digits(rng: random.Random, count: int = 7) -> str:
    """A number of so many digits, the first not 0, and no palindrome."""
    while True:
        text = str(10 ** (count - 1) + below(rng, 9 * 10 ** (count - 1)))
        if text != text[::-1]:
            return text


def uuid4(rng: random.Random) -> str:
    """A version 4 UUID in lower case."""
    return str(UUID(int=sum(below(rng, 1 << 32) << shift for shift in (0, 32, 64, 96)), version=4))
