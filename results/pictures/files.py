"""Charts as files: names, formats, and the figure that each is drawn in.

SVG keeps text as text: it can be searched and read aloud, and every browser has a font for it, Chinese included. PNG
looks the same everywhere.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from needlework.core.files import write_whole
from needlework.results.pictures.draw import combined_size, draw_chart, draw_combined, figure_size
from needlework.results.report.section import Chart, Heatmap
from needlework.results.style import font_families, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Format = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = ("png", "svg", "pdf")
BOTH: tuple[Format, ...] = ("png", "svg")
_DPI = 200
_METADATA: dict[Format, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def parse_formats(text: str) -> tuple[Format, ...]:
    """Read `png,svg` as an argument. Raises `argparse.ArgumentTypeError`."""
    names = {word.strip().lower() for word in text.split(",") if word.strip()}
    if not names or not names <= set(FORMATS):
        raise argparse.ArgumentTypeError(f"{text!r} is not one of png, svg, pdf, or several with commas between")
    return tuple(name for name in FORMATS if name in names)


def file_stem(name: str) -> str:
    """A name that is short enough for every file system."""
    if len(name.encode()) <= 200:
        return name
    return f"{name.encode()[:180].decode(errors='ignore')}-{sha256(name.encode()).hexdigest()[:12]}"


def write_charts(charts: Sequence[Chart], folder: Path, formats: Sequence[Format] = BOTH) -> list[Path]:
    """Write each chart into `folder` under its name, and return the paths."""
    paths: list[Path] = []
    taken: set[str] = set()
    for chart in charts:
        stem, number = file_stem(chart.name), 2
        while stem.casefold() in taken:  # file systems may not tell `A` from `a`
            stem, number = f"{file_stem(chart.name)}-{number}", number + 1
        taken.add(stem.casefold())
        with _figure(figure_size(chart)) as figure:
            draw_chart(figure, chart)
            paths += _write(figure, folder / stem, formats)
    return paths


def write_combined(charts: Sequence[Heatmap], stem: Path, formats: Sequence[Format], heading: str = "") -> list[Path]:
    """Write one figure of several heatmaps side by side; returns `stem` with each format's ending."""
    with _figure(combined_size(charts)) as figure:
        draw_combined(figure, charts, one_line(heading))
        return _write(figure, stem, formats)


@contextmanager
def _figure(size: tuple[float, float]) -> Iterator[Figure]:
    """Return a figure of its own, and put matplotlib's settings back; pyplot is not involved."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Names of models may contain dollar signs, which are no mathematics.
    settings: dict[Any, Any] = {
        "font.family": font_families(),
        "svg.fonttype": "none",
        "svg.hashsalt": "needlework",
        "pdf.fonttype": 42,
        "text.parse_math": False,
        "hatch.linewidth": 0.7,
        "axes.unicode_minus": False,
    }
    with rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(figsize=size, dpi=_DPI, facecolor="white", layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
    if any("missing from font" in str(warning.message) for warning in caught):
        warnings.warn(
            "no font for some characters of a picture: boxes are drawn. `pip install 'needlework[demo]'` has one with"
            " Chinese characters",
            stacklevel=3,
        )


def _write(figure: Figure, stem: Path, formats: Sequence[Format]) -> list[Path]:
    """Write the figure in each format; no date and no version: the same scores give the same bytes."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once for all formats
    paths = []
    for format_ in formats:
        content = BytesIO()
        figure.savefig(content, format=format_, dpi=_DPI, metadata=_METADATA[format_])
        paths.append(stem.with_name(f"{stem.name}.{format_}"))
        write_whole(paths[-1], content.getvalue())
    return paths
