"""Where in a document a model reads less well: one test over all shapes, and a name for the shape that it finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needlework.results.statistics.depth.contrasts import Contrasts, largest_difference
from needlework.results.statistics.depth.permutations import Tested, tested
from needlework.results.statistics.depth.shapes import Place, Shape, Template, place_words
from needlework.results.statistics.depth.table import DepthTable, depth_table
from needlework.results.statistics.intervals.paired import holm
from needlework.results.statistics.panels import Trial

FLAT = 0.10  # score; `flat` is said where no fifth of the document may differ by more from the rest
_CEILING, _FLOOR = 0.98, 0.02
_FEWEST = 5  # samples, below which no shape is named
_SIGNIFICANT = 0.05
_NEARLY = 0.9  # of the best statistic: a shape that is as good, where the best one's contrasts do not hold


@dataclass(frozen=True, slots=True)
class Extremes:
    """The best place against the worst (percent), with the mean of all scores there.

    `p`: the chance of two places as far apart if all were alike, whichever they are. `p_adjusted`: for the number of
    panels (Holm).
    """

    best: Place
    worst: Place
    best_score: float
    worst_score: float
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True)
class DepthEffect:
    """What one panel says about depth.

    `shape`; `place`: where (percent) a hole is, or the best of an uneven curve. `samples`: those that the test used;
    `left_out`: (length, sample) that were asked at depths and have no part in it. `p`: the chance of a shape as clear
    if depth did not matter; `p_adjusted`: for the number of panels (Holm); `None` where nothing could be tested.
    `bound`: where no shape shows, the largest difference between a fifth of the document and the rest that is not ruled
    out, 0..1. `binned`: each sample was asked at one depth.
    """

    shape: Shape
    place: Place | None = None
    samples: int = 0
    left_out: int = 0
    p: float | None = None
    p_adjusted: float | None = None
    bound: float | None = None
    extremes: Extremes | None = None
    binned: bool = False

    @property
    def label(self) -> str:
        """`lost in the middle`, `hole at 10..30 %`, `uneven, best at 40..60 %`, `undetermined (one sample)`."""
        if self.shape == "undetermined" and self.samples == 1:
            return "undetermined (one sample)"
        if self.place is None:
            return self.shape
        where = place_words(self.place)
        return f"hole at {where}" if self.shape == "hole" else f"{self.shape}, best at {where}"


def depth_effects(panels: Sequence[Iterable[Trial]]) -> list[DepthEffect]:
    """Return the effect of each panel (the trials of one model, task and needle); 5 % err over all of them (Holm)."""
    tables = [depth_table(trials) for trials in panels]
    found = [tested(table) if table.samples > 1 else None for table in tables]
    adjusted = holm(
        [
            each.p if each is not None and table.samples >= _FEWEST else None
            for table, each in zip(tables, found, strict=True)
        ]
    )
    effects = [_effect(*each) for each in zip(tables, found, adjusted, strict=True)]
    ends = holm([effect.extremes.p if effect.extremes else None for effect in effects])
    return [
        replace(effect, extremes=replace(effect.extremes, p_adjusted=p))
        if effect.extremes is not None and p is not None
        else effect
        for effect, p in zip(effects, ends, strict=True)
    ]


def depth_effect(trials: Iterable[Trial]) -> DepthEffect:
    """Return the effect of one panel by itself."""
    return depth_effects([trials])[0]


def _effect(table: DepthTable, found: Tested | None, adjusted: float | None) -> DepthEffect:
    blank = DepthEffect(
        "undetermined",
        samples=table.samples,
        left_out=table.left_out,
        p=found.p if found is not None else None,
        p_adjusted=adjusted,
        extremes=_extremes(table, found) if found is not None else None,
        binned=not table.paired,
    )
    if table.samples < _FEWEST or len(table.columns) < 2 or table.mean is None:
        return blank
    if found is not None and adjusted is not None and adjusted <= _SIGNIFICANT:
        template = _chosen(table, found)
        if template is None:
            return replace(blank, shape="uneven")
        place = template.place if template.shape in ("hole", "uneven") else None
        return replace(blank, shape=template.shape, place=place)
    bound = largest_difference(table)
    if table.mean >= _CEILING or table.mean <= _FLOOR:
        return replace(blank, shape="ceiling" if table.mean >= _CEILING else "floor", bound=bound)
    flat = bound is not None and bound < FLAT
    return replace(blank, shape="flat" if flat else "undetermined", bound=bound)


def _chosen(table: DepthTable, found: Tested) -> Template | None:
    """The best template, or one nearly as good of another name whose contrasts hold; `None` where there is none."""
    contrasts = Contrasts(table, found)
    best = found.best[0][0]
    if contrasts.allow(best.shape):
        return best
    least = _NEARLY * found.scanned[0][1]
    others = (template for template, statistic in found.scanned if statistic >= least)
    return next((each for each in others if each.shape != best.shape and contrasts.allow(each.shape)), None)


def _extremes(table: DepthTable, found: Tested) -> Extremes:
    """The two places furthest apart by their plain means, as the table of depths has them.

    Permutations move scores within blocks alone: what a place has of easy and of hard lengths is the same in all.
    """
    counts = np.bincount(table.column_of, minlength=len(table.columns))
    there = counts > 0
    within, plain = found.sums[:, there] / counts[there], table.plain[there]
    columns = [column for column, any_value in zip(table.columns, there, strict=True) if any_value]
    best, worst = int(plain.argmax()), int(plain.argmin())
    p = found.share_beyond(np.ptp(within + (plain - within[0]), axis=1))
    return Extremes(
        (columns[best].low, columns[best].high),
        (columns[worst].low, columns[worst].high),
        float(plain[best]),
        float(plain[worst]),
        p,
        p,
    )
