"""Heatmaps as PNG and SVG: length across, depth down, colour = score, and hatching where there is no score.

SVG keeps text as text (`svg.fonttype: none`): it can be searched, selected and read aloud, files stay small, and every
browser has a font for it, Chinese included. The PNG is what looks the same everywhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from needlework.core.files import write_whole
from needlework.core.grid import slug
from needlework.results.pictures.layout import MARGIN, TITLE_SIZE, PanelLayout, layout_of
from needlework.results.pictures.parts import DEFAULT, Canvas, Style, draw, grid_of, write
from needlework.results.statistics.panels import Panel
from needlework.results.style import Fonts, fonts_for, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Format = Literal["png", "svg"]
FORMATS: tuple[Format, ...] = ("png", "svg")
Paint = Callable[[Canvas, int, Fonts], None]
"""Draws the picture with this number into its part of the figure."""

_ACROSS = 3  # panels side by side before a combined figure starts a new row


def heatmap_name(panel: Panel, source: str = "") -> str:
    """`heatmap-{task}-{needle}-{model}`, safe and short enough for every file system, with the source behind it."""
    return file_stem("heatmap", panel.task, panel.needle, panel.model, *filter(None, [source]))


def file_stem(kind: str, *parts: str) -> str:
    """Join `kind` and the parts with `-`, at most 200 bytes."""
    name = "-".join([kind, *(slug(part) for part in parts)])
    if len(name.encode()) <= 200:
        return name
    return f"{name.encode()[:180].decode(errors='ignore')}-{sha256(name.encode()).hexdigest()[:12]}"


def parse_formats(text: str) -> tuple[Format, ...]:
    """Read `png,svg` as an argument. Raises `argparse.ArgumentTypeError`."""
    asked = {word.strip().lower() for word in text.split(",") if word.strip()}
    if not asked or not asked <= set(FORMATS):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of png, svg, or both with a comma between")
    return tuple(name for name in FORMATS if name in asked)


def write_heatmaps(
    panels: Sequence[Panel],
    folder: Path,
    *,
    style: Style = DEFAULT,
    formats: Sequence[Format] = FORMATS,
    titles: Sequence[str] | None = None,
    sources: Sequence[str] | None = None,
) -> list[Path]:
    """Write each panel's heatmap into `folder` and return the paths. Titles default to `model · task · needle`.

    `sources`: what tells panels of one name apart, such as their runs; empty for the others.
    """
    paths: list[Path] = []
    taken: set[str] = set()
    titles, sources = titles or [panel.name for panel in panels], sources or [""] * len(panels)
    for panel, title, source in zip(panels, titles, sources, strict=True):
        stem = untaken(heatmap_name(panel, source), taken)
        paths += write_figure([panel], [title], folder / stem, style=style, formats=formats)
    return paths


def write_figure(
    panels: Sequence[Panel],
    titles: Sequence[str],
    stem: Path,
    *,
    style: Style = DEFAULT,
    formats: Sequence[Format] = FORMATS,
    heading: str = "",
) -> list[Path]:
    """Write one figure of one or several panels side by side; returns `stem` with each format's ending."""
    layouts = [layout_of(panel, title, style.numbers) for panel, title in zip(panels, titles, strict=True)]

    def paint(canvas: Canvas, number: int, fonts: Fonts) -> None:
        draw(canvas, grid_of(panels[number], layouts[number], style.colors), layouts[number], fonts)

    return write_painted(layouts, paint, stem, dpi=style.dpi, formats=formats, heading=heading)


def write_painted(
    layouts: Sequence[PanelLayout],
    paint: Paint,
    stem: Path,
    *,
    dpi: int = DEFAULT.dpi,
    formats: Sequence[Format] = FORMATS,
    heading: str = "",
) -> list[Path]:
    """Write one figure of whatever `paint` draws; returns `stem` with each format's ending."""
    paths = []
    with _painted(layouts, paint, heading) as figure:
        for format_ in formats:
            path = stem.with_name(f"{stem.name}.{format_}")
            write_whole(path, image_of(figure, format_, dpi))
            paths.append(path)
    return paths


def image_of(figure: Figure, format_: Format, dpi: int = DEFAULT.dpi) -> bytes:
    """The file of a figure; no date and no version are in it: the same scores give the same bytes."""
    content = BytesIO()
    metadata = {"Date": None, "Creator": None} if format_ == "svg" else {"Software": None}
    figure.savefig(content, format=format_, dpi=dpi, metadata=metadata)
    return content.getvalue()


def look_of(fonts: Fonts) -> dict[Any, Any]:
    """What matplotlib is set to while it draws one of our pictures."""
    return {
        "font.family": list(fonts.families),
        "svg.fonttype": "none",
        "svg.hashsalt": "needlework",
        "hatch.linewidth": 0.7,
        "axes.unicode_minus": False,
    }


@contextmanager
def _painted(layouts: Sequence[PanelLayout], paint: Paint, heading: str) -> Iterator[Figure]:
    """A figure that nobody else has: nothing of pyplot, and settings put back. Clearing it would make its axes anew."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heading = one_line(heading)
    fonts = fonts_for("".join(chain([heading], *(layout.title + layout.subtitle for layout in layouts))))
    rows = [layouts[i : i + _ACROSS] for i in range(0, len(layouts), _ACROSS)]
    top = 0.45 if heading else 0.0
    width = max(sum(layout.width for layout in row) for row in rows)
    height = sum(max(layout.height for layout in row) for row in rows) + top
    with rc_context(look_of(fonts)):
        figure = Figure(figsize=(width, height), facecolor="white")
        FigureCanvasAgg(figure)
        if heading:
            write(figure, fonts, heading, MARGIN, height - MARGIN, TITLE_SIZE + 2, weight="bold")
        number, y = 0, height - top
        for row in rows:
            x = 0.0
            for layout in row:
                paint(Canvas(figure, x, y - layout.height), number, fonts)
                number, x = number + 1, x + layout.width
            y -= max(layout.height for layout in row)
        yield figure


def untaken(name: str, taken: set[str]) -> str:
    """Number a name that another panel has (file systems may not tell `A` from `a`), and note it as taken."""
    free, number = name, 2
    while free.casefold() in taken:
        free, number = f"{name}-{number}", number + 1
    taken.add(free.casefold())
    return free
