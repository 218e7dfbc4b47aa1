"""`models-TASK-NEEDLE`: the score over length of every model of a run, in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from needlework.results.pictures.heatmap import file_stem, untaken
from needlework.results.pictures.score_lines import write_score_lines
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.style.text import one_line

_MOST = 6  # pictures of one task


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One model: all of its trials, and those of each length (tokens)."""

    name: str
    scores: Tally
    lengths: Mapping[int, Tally]


def write_model_lines(panels: Sequence[Panel], folder: Path) -> list[Path]:
    """Write a picture for each needle that several models were asked at several lengths, and return the paths.

    None of a run of several tasks: `tasks.png` has them all.
    """
    groups: dict[tuple[str, str], list[Panel]] = {}
    for panel in panels:
        groups.setdefault((panel.task, panel.needle), []).append(panel)
    wanted = {at: own for at, own in groups.items() if len(own) > 1 and not any(each.uneven for each in own)}
    wanted = {at: own for at, own in wanted.items() if len({length for each in own for length in each.lengths}) > 1}
    if len(wanted) > _MOST or len({panel.task for panel in panels}) > 1:
        return []
    paths: list[Path] = []
    taken: set[str] = set()
    for (task, needle), own in wanted.items():
        lines = [
            ModelLine(each.model, each.overall, dict(zip(each.lengths, each.columns, strict=True))) for each in own
        ]
        stem = folder / untaken(file_stem("models", task, needle), taken)
        asked = " · ".join(one_line(part) for part in (task, needle) if part)
        paths += write_score_lines(lines, stem, title=f"{len(own)} models on {asked}, by length of the context")
    return paths
