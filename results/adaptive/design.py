"""What a walk is to decide: lengths, bar, looks, and the chances that it may err with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["quick", "normal", "careful"]
Decision = Literal["", "pass", "fail", "not measurable"]

ALPHA = 0.025
"""A pass may be wrong with this chance, all fails together with as much: the statement holds in 95 % of runs."""
RHO = 0.7
_FEWEST = 10  # trials of a look
_LOOKS = (1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 25, 30, 35, 40)
_CAPS: dict[Mode, int] = {"quick": 10, "normal": 20, "careful": 40}
MOST_LOOK = _LOOKS[-1]


@dataclass(frozen=True, slots=True)
class Design:
    """One bar of one series of cells. `lengths`: those that are judged, in tokens, ascending; `unit`: trials of a look.

    `pass_bar`, `fail_bar`: a length passes above the one and fails below the other; they differ where the bar itself
    was measured. `alpha`: the chance of a wrong pass, and of wrong fails at all lengths together. Only the first length
    that fails can make the lower end too high, so that passes need no correction for their number; fails do.
    """

    mode: Mode
    lengths: tuple[int, ...]
    unit: int
    pass_bar: float
    fail_bar: float
    alpha: float = ALPHA

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of trials at which a length is looked at; the last one is the cap."""
        return looks_of(self.mode, self.unit)

    @property
    def cap(self) -> int:
        """The most trials at a length."""
        return self.looks[-1]

    @property
    def passing(self) -> float:
        """The chance that a length at the bar may pass with."""
        return self.alpha

    @property
    def failing(self) -> float:
        """The chance that a length at the bar may fail with."""
        return self.alpha / len(self.lengths)


def absolute(mode: Mode, lengths: tuple[int, ...], depths: int, bar: float) -> Design:
    """The design for a bar that is a score, 0..1."""
    return Design(mode, lengths, unit_of(depths), bar, bar)


def unit_of(depths: int) -> int:
    """The trials of a look: as many whole rounds of the depths as make ten or more."""
    return depths * -(-_FEWEST // depths)


def looks_of(mode: Mode, unit: int) -> tuple[int, ...]:
    """The looks of a mode."""
    return tuple(unit * look for look in _LOOKS if look <= _CAPS[mode])
