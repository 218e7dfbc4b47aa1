"""Everything that is written from the records of a run, and what the terminal says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from haystack_fixtures.settings import Settings
from results.csv_report import write_csv
from results.headline import headline
from results.heatmap import write_heatmaps
from results.heatmap_panel import Style
from results.html_report import write_html
from results.json_report import write_json
from results.palette import ColorsName
from results.records import Record
from results.statistics.summary_rows import run_statistics, statistics_lines, statistics_object
from results.summary import Panel, summarise
from results.terminal import terminal_heatmaps


@dataclass(frozen=True)
class Written:
    """The files of a run, and its panels."""

    paths: tuple[Path, ...]
    panels: tuple[Panel, ...]
    statistics: tuple[str, ...]
    colors: ColorsName

    def terminal_lines(self, *, color: bool, encoding: str | None, width: int) -> list[str]:
        """Every panel as a heatmap of text."""
        return terminal_heatmaps(self.panels, color=color, encoding=encoding, width=width, colors=self.colors)

    def markdown_lines(self) -> list[str]:
        """One bullet a panel."""
        return [f"- **{panel.name}**: {headline(panel)}" for panel in self.panels]


def write_files(folder: Path, records: Sequence[Record], settings: Settings) -> Written:
    """Write results.json, results.csv, report.html and the heatmaps.

    Raises `OSError` when the folder cannot take them.
    """
    panels = summarise(records)
    statistics = run_statistics(records)
    lines = statistics_lines(statistics)
    paths = [folder / "results.json", folder / "results.csv", folder / "report.html"]
    write_json(paths[0], records, statistics_object(statistics))
    write_csv(paths[1], records)
    write_html(paths[2], records, title=f"Needlework: {', '.join(settings.model)}", statistics=lines)
    style = Style(colors=settings.heatmap_colors, numbers=settings.heatmap_numbers)
    heatmaps = write_heatmaps(panels, folder, style=style)
    for old in set(folder.glob("heatmap-*")) - set(heatmaps):
        old.unlink()  # of an earlier run with other options
    paths += heatmaps
    return Written(tuple(paths), panels, tuple(lines), settings.heatmap_colors)
