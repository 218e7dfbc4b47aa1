"""Names of nodes: hexadecimal digits without a meaning, with a mark in them that tells them from invented ones."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from random import Random

_DIGITS = "0123456789abcdef"
_DRAWN, _MARK = 8, 2
_APART = 6  # no two names begin with the same


def mark(key: str, drawn: str) -> str:
    """The last digits of a name: one that is made up has them once in 256 times. `node_set` computes the same."""
    return sha256(f"{key} {drawn}".encode()).hexdigest()[:_MARK]


class Names:
    """Draws names of ten digits, all different in their first six; none could be read as a number."""

    def __init__(self, rng: Random, key: str) -> None:
        self._rng = rng
        self._key = key
        self._begun: set[str] = set()

    def avoid(self, names: Iterable[str]) -> None:
        """Draw none that begins like one of these."""
        self._begun.update(name[:_APART] for name in names)

    def draw(self) -> str:
        """A further name."""
        while True:
            drawn = "".join(_DIGITS[int(self._rng.random() * len(_DIGITS))] for _ in range(_DRAWN))
            name = drawn + mark(self._key, drawn)
            if drawn[:_APART] not in self._begun and sum(each.isalpha() for each in name) > 1:
                self._begun.add(drawn[:_APART])
                return name
