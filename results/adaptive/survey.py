"""One series of cells under `--adaptive`: its bars, each with a walk of its own, over the same answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.grid.spread import spread_depths
from needlework.results.adaptive.base import Base, measured, relative
from needlework.results.adaptive.design import MOST_LOOK, Mode, absolute, unit_of
from needlework.results.adaptive.trials import replacements_from, seen
from needlework.results.adaptive.walk import See, Seen, Walk, asked_next, walk

Place = tuple[int, float | None, int]
"""Where a trial stands: length (tokens), depth (percent), repeat."""
Outcomes = Mapping[Place, float | None]
"""What came of a series' trials: a score (0..1), or none."""
_LEAST_BASE = 0.05


@dataclass(frozen=True, slots=True)
class Rules:
    """How a run is adaptive. `bars`: scores (0..1), `None` for 85 % of the base; `base`: its score, where it is given.

    `max_errors`: percent of a look's trials that may have no score.
    """

    mode: Mode
    bars: tuple[float | None, ...]
    seed: int
    max_errors: float
    base: float | None = None
    base_length: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One bar of a series: its walk, `None` while the base is not known, or for good where that scores nothing."""

    bar: float | None
    base: Base | None
    walk: Walk | None
    hopeless: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be asked for this bar."""
        return self.hopeless if self.walk is None else self.walk.ended


class Survey:
    """A series' places, and what is known of them. `lengths` (tokens) ascend; `depths` are those of the whole grid."""

    def __init__(
        self, rules: Rules, lengths: tuple[int, ...], depths: tuple[float | None, ...], outcomes: Outcomes
    ) -> None:
        self.rules = rules
        self.lengths = lengths
        self.depths = depths
        self.unit = unit_of(len(depths))
        self._by_repeat: dict[int, dict[int, float | None]] = {length: {} for length in lengths}
        for place, score in outcomes.items():
            if place[0] in self._by_repeat and place == self.place(place[0], place[2]):
                self._by_repeat[place[0]][place[2]] = score
        self.found = [self._at_score(bar) if bar is not None else self._at_share() for bar in rules.bars]

    @property
    def ended(self) -> bool:
        """Whether every bar has come to its end."""
        return all(found.ended for found in self.found)

    def ahead(self, width: int) -> list[Place]:
        """The trials to send next: what every open bar needs, and up to `width` in all that may be needed."""
        asked: dict[Place, None] = {}
        for found in self.found:
            if found.walk is not None:
                lengths = found.walk.design.lengths
                sent = asked_next(found.walk, self._see(lengths), width)
                asked |= dict.fromkeys(self.place(lengths[at], repeat) for at, repeat in sent)
            elif not found.hopeless:
                asked |= dict.fromkeys(self.place(self._base_length, repeat) for repeat in self._base_seen().missing)
        return list(asked)

    def place(self, length: int, repeat: int) -> Place:
        """Where a sample is asked at a length: at one of the depths, all of them equally often. A sample that replaces
        another takes over its depth."""
        trial = repeat % replacements_from(self.unit)
        (depth,) = spread_depths(self.depths, self.rules.seed, length, trial)
        return length, depth, repeat

    def _at_score(self, bar: float) -> Found:
        design = absolute(self.rules.mode, self.lengths, len(self.depths), bar)
        return Found(bar, None, walk(design, self._see(design.lengths)))

    def _at_share(self) -> Found:
        base, given = None, self.rules.base
        if given is not None:
            base = Base(0, 0, given, given, given)
        elif not self._base_seen().missing and not self._base_seen().hopeless:
            base = measured(self._base_length, self._base_seen().scores)
        if base is None or base.score < _LEAST_BASE:
            return Found(None, base, None, base is not None or self._base_seen().hopeless)
        design = relative(self.rules.mode, self.lengths, len(self.depths), base)
        return Found(None, base, walk(design, self._see(design.lengths)))

    @property
    def _base_length(self) -> int:
        return self.rules.base_length or self.lengths[0]

    def _base_seen(self) -> Seen:
        return self._seen(self._base_length, MOST_LOOK * self.unit)

    def _see(self, lengths: Sequence[int]) -> See:
        return lambda at, n: self._seen(lengths[at], n)

    def _seen(self, length: int, n: int) -> Seen:
        return seen(self._by_repeat[length], n, self.unit, self.rules.max_errors)
