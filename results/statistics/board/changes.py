"""Where a series of runs changed: stretches of runs that each hold a change, all of them together 95 % sure.

Moving sums with several widths (H. Cho and C. Kirch, "Bootstrap confidence intervals for multiple change points based
on moving sum procedures", Comput. Stat. Data Anal. 175 (2022) 107552): at each border between two runs, the 1, 2, 4, ..
runs after it are compared with as many before it. Each is a paired sign-flip test over samples, which is exact where
these runs are alike, whatever happened elsewhere. Holm's correction over all of them keeps the chance of any false
change at 5 %, and as in narrowest significance pursuit (P. Fryzlewicz, J. Am. Stat. Assoc. 119 (2024) 1462-1475) the
narrowest stretches are reported, none of which overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

from needlework.results.statistics.board.flips import tail
from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.intervals.paired import FEWEST_FOR_P, holm

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Change:
    """A change between the runs `first` and `last` (numbers from 0), most likely just before the run `at`.

    `before`, `after`: the mean scores, 0..1, of the runs up to it since the last change, and from it on to the next.
    `p`: adjusted by Holm.
    """

    first: int
    last: int
    at: int
    before: float
    after: float
    p: float

    @property
    def is_fall(self) -> bool:
        """Whether scores are lower since."""
        return self.after < self.before


def changes(sums: Floats, trials: int) -> tuple[Change, ...]:
    """Return the changes of a series. `sums`: (runs, samples), of each sample the sum of its scores; `trials`: of each
    run, which a score is the mean of. Fewer than `FEWEST_FOR_P` samples show nothing.
    """
    runs, samples = sums.shape
    if runs < 2 or samples < FEWEST_FOR_P:
        return ()
    windows = windows_of(runs)
    differences = [sums[at : at + width].sum(axis=0) - sums[at - width : at].sum(axis=0) for at, width in windows]
    # Both ends: a test each way, at half the level.
    values = [min(1.0, 2 * tail(each * (1.0 if each.sum() >= 0 else -1.0))) for each in differences]
    adjusted = [1.0 if p is None else p for p in holm(values)]
    sizes = [abs(float(each.sum())) / width for each, (_, width) in zip(differences, windows, strict=True)]
    shown = sorted(
        (width, p, -size, at) for (at, width), p, size in zip(windows, adjusted, sizes, strict=True) if p <= LEVEL
    )
    kept: list[tuple[int, int, float]] = []
    for width, p, _, at in shown:
        # Neighbours share a run and no border: both may hold a change of their own.
        if all(at + width - 1 <= other - wide or other + wide - 1 <= at - width for other, wide, _ in kept):
            kept.append((at, width, p))
    kept.sort()
    return _told(sums.sum(axis=1) / max(1, trials), kept)


def windows_of(runs: int) -> list[tuple[int, int]]:
    """What is compared: (the first run after a border, runs on each side)."""
    widths = [2**power for power in range(runs.bit_length()) if 2 ** (power + 1) <= runs]
    return [(at, width) for width in widths for at in range(width, runs - width + 1)]


def needed_samples(runs: int) -> int:
    """The fewest samples that can show a change in so many runs: a p of n samples is 2 / 2^n at least."""
    tests = len(windows_of(runs))
    return next(n for n in range(FEWEST_FOR_P, 64) if tests * 2.0 ** (1 - n) <= LEVEL)


def _told(means: Floats, kept: list[tuple[int, int, float]]) -> tuple[Change, ...]:
    borders = [0, *(at for at, _, _ in kept), len(means)]
    return tuple(
        Change(
            first=at - width,
            last=at + width - 1,
            at=at,
            before=float(means[borders[number] : at].mean()),
            after=float(means[at : borders[number + 2]].mean()),
            p=p,
        )
        for number, (at, width, p) in enumerate(kept)
    )
