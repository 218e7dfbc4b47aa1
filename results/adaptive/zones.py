"""`--adaptive-depth`: in which part of the document a model is weakest, at the length that decided.

Some new samples are each asked at one depth of every zone, so that zones are compared on the same questions. A zone
stays unless some other is worse by the exact one-sided sign test (Q. McNemar, Psychometrika 1947; Bonferroni over the
others): the one that is worst in truth stays in 95 of 100 runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, fsum

SAMPLES = 40
_EDGES = (15.0, 35.0, 65.0, 85.0, 100.0)
_ERROR = 0.05


@dataclass(frozen=True, slots=True)
class Zone:
    """A part of the document by its depths, percent. `n`: samples that have a score there, `mean` of them (0..1).

    `worst`: whether it may be the worst.
    """

    depths: tuple[float, ...]
    n: int
    mean: float | None
    worst: bool


def depths_by_zone(depths: Sequence[float | None]) -> list[tuple[float, ...]]:
    """The depths of each zone that has some: about 0-10, 20-30, 40-60, 70-80, 90-100 %."""
    found: dict[int, list[float]] = {}
    for depth in depths:
        if depth is not None:
            found.setdefault(next(i for i, edge in enumerate(_EDGES) if depth <= edge), []).append(depth)
    return [tuple(sorted(found[zone])) for zone in sorted(found)]


def zones_found(zones: Sequence[tuple[float, ...]], samples: Sequence[Mapping[int, float]]) -> tuple[Zone, ...]:
    """Judge the zones. `samples`: of each the scores by number of zone; only samples that have both compare two."""
    found = []
    for at, depths in enumerate(zones):
        scores = [sample[at] for sample in samples if at in sample]
        worse = any(_shown_worse(other, at, samples, len(zones) - 1) for other in range(len(zones)) if other != at)
        mean = fsum(scores) / len(scores) if scores else None
        found.append(Zone(depths, len(scores), mean, bool(scores) and not worse))
    return tuple(found)


def _shown_worse(one: int, than: int, samples: Sequence[Mapping[int, float]], others: int) -> bool:
    pairs = [(sample[one], sample[than]) for sample in samples if one in sample and than in sample]
    losses, gains = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
    unequal = losses + gains
    tail = sum(comb(unequal, count) for count in range(losses, unequal + 1)) / (1 << unequal)
    return tail <= _ERROR / others
