"""Which heatmaps a run draws, and their titles."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.records.samples import OWN_DOCUMENTS
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.panels import Panel
from needlework.results.style.text import fit, one_line, percent1
from needlework.results.tables.headline import range_words

_MODEL = 34  # columns of a model's name; its end tells checkpoints apart


def telling(panels: Sequence[Panel]) -> list[Panel]:
    """The panels whose heatmap shows something: more than one box, and no single row or column of equal values.

    Questions on documents have charts of their own; their heatmaps are drawn where two lengths have several depths.
    """
    return [panel for panel in panels if _tells(panel)]


def _tells(panel: Panel) -> bool:
    line = len(panel.lengths) == 1 or len(panel.depths) == 1
    if line and task_of(panel.task) in OWN_DOCUMENTS:
        return False
    values = {(cell.mean, cell.n > 0, tuple(cell.unscored)) for cell in panel.cells.values()}
    return len(panel.cells) > 1 and not (line and len(values) == 1)


def heatmap_title(panel: Panel) -> str:
    """`smollm2 scores 84.0 % on niah · code`."""
    model = one_line(panel.model)
    if len(model) > _MODEL:
        model = f"…{fit(model[::-1], _MODEL - 1, '')[::-1]}"
    overall = panel.overall
    if panel.uneven:
        said = "was asked"
    elif overall.range is not None and overall.n:
        said = f"scores {range_words(overall.range)} % on"
    else:
        said = "has no score on" if overall.mean is None else f"scores {percent1(overall.mean)} % on"
    return " · ".join(part for part in (f"{model} {said} {one_line(panel.task)}", one_line(panel.needle)) if part)
