"""Heatmap files: they are written, say what they should, and show every label."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib import font_manager

from needlework.core.record import OutcomeName
from needlework.results import style
from needlework.results.pictures.heatmap import heatmap_name, write_figure, write_heatmaps
from needlework.results.pictures.layout import layout_of
from needlework.results.pictures.parts import Style
from needlework.results.statistics.panels import Panel, ScoredTrial, panels_of
from needlework.results.style import color_of, dark, mark_of

PNG = b"\x89PNG\r\n\x1a\n"
QUICK = Style(dpi=60)


@pytest.fixture(autouse=True)
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def grid(columns: int, rows: int, repeats: int = 1) -> Panel:
    return panels_of(
        ScoredTrial("mock", "niah", "code", 1000 * (column + 1), row, repeat, "partial", (column + row) % 11 / 10)
        for column in range(columns)
        for row in range(rows)
        for repeat in range(repeats)
    )[0]


def svg_texts(path: Path) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_png_and_svg_with_what_they_must_say(small_panel: Panel, tmp_path: Path) -> None:
    png, svg = write_heatmaps([small_panel], tmp_path, style=replace(QUICK, numbers=True))
    texts = svg_texts(svg)

    assert (png.name, svg.name) == ("heatmap-niah-code-mock.png", "heatmap-niah-code-mock.svg")
    assert png.read_bytes().startswith(PNG)
    assert png.stat().st_size > 5_000
    assert {"500", "4k", "16k", "0", "100", "mean", "depth (%)", "score (%)", "50", "n=2"} <= set(texts)
    assert "mock · niah · code" in texts
    assert any("95 % interval" in text and "n = 3" in text for text in texts)
    assert any("1 censored" in text for text in texts)
    legend = ["invalid: prompt not as built", "error: no score", "censored: cut off before an answer", "not run"]
    assert [text for text in texts if text in legend] == legend
    assert svg.read_text(encoding="utf-8").count("<pattern") == 3


def test_cells_without_a_score_are_never_coloured(small_panel: Panel) -> None:
    marks = {at: mark.outcome for at, cell in small_panel.cells.items() if (mark := mark_of(cell.n, cell.counts))}

    assert marks == {(4000, 0.0): "censored", (4000, 100.0): "invalid", (16000, 0.0): "error"}
    assert all(small_panel.cells[at].mean is None for at in marks)


def test_the_same_scores_give_the_same_bytes(small_panel: Panel, tmp_path: Path) -> None:
    first, second = (write_heatmaps([small_panel], tmp_path / name, style=QUICK) for name in "ab")

    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_chinese_labels_have_their_glyphs(small_panel: Panel, tmp_path: Path) -> None:
    """Warnings are errors here: matplotlib warns of every glyph that it cannot draw."""
    panel = replace(small_panel, model="通义千问", task="多针检索", needle="小明最喜欢的实习地点")
    assert style.cjk_font() is not None, "install mplfonts --no-deps"
    _, svg = write_heatmaps([panel], tmp_path, style=QUICK)

    assert style.fonts_for(panel.name).missing == frozenset()
    assert "通义千问 · 多针检索 · 小明最喜欢的实习地点" in svg_texts(svg)
    assert svg.name == "heatmap-多针检索-小明最喜欢的实习地点-通义千问.svg"


def test_a_bold_chinese_label_leaves_no_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    found = style.fonts_for("通义千问")
    bold = font_manager.FontProperties(family=found.families[1:], weight="bold", size=7.25)

    assert font_manager.findfont(bold) == str(style.cjk_font())
    assert not caplog.records


def test_without_a_font_boxes_are_drawn_and_one_warning_says_so(
    small_panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "cjk_font", lambda: None)
    with pytest.warns(UserWarning, match="no font for") as caught:
        _, svg = write_heatmaps([replace(small_panel, model="通义")], tmp_path, style=QUICK)

    assert len(caught) == 1
    assert "□□ · niah · code" in svg_texts(svg)


def test_every_mean_has_its_interval_and_n_and_cells_too_where_numbers_are_asked_for(tmp_path: Path) -> None:
    """Five trials at each of two cells; one of them an error."""
    outcomes: tuple[OutcomeName, ...] = ("found", "found", "found", "wrong", "error")
    scores = {"found": 1.0, "wrong": 0.0}
    (panel,) = panels_of(
        ScoredTrial("m", "t", "x", 1000, depth, i, outcome, scores.get(outcome))
        for depth in (0.0, 50.0)
        for i, outcome in enumerate(outcomes)
    )
    plain, numbered = (
        svg_texts(write_heatmaps([panel], tmp_path, style=replace(QUICK, numbers=numbers), formats=["svg"])[0])
        for numbers in (False, True)
    )

    assert {"75", "19–99", "n=8/10"} <= set(plain)  # the mean of the column: both depths agree in every sample
    assert "n=4/5" not in plain
    assert (numbered.count("n=4/5"), numbered.count("19–99")) == (2, 3)
    assert any("2 cells of 5 trials" in text for text in plain)
    assert "some trials without a score" in plain


def test_notes_that_have_no_room_are_left_out() -> None:
    wide, narrow = (layout_of(grid(columns, 3, repeats=20), "title", True) for columns in (4, 150))

    assert min(wide.cell_lines.notes) > 4
    assert set(narrow.mean_lines.notes) <= {0.0}


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (5, 1), (1, 11), (35, 35), (150, 40)])
@pytest.mark.parametrize("numbers", [False, True])
def test_every_shape_is_laid_out_inside_its_figure(columns: int, rows: int, numbers: bool) -> None:
    layout = layout_of(grid(columns, rows), "title", numbers)
    for left, bottom, width, height in (layout.grid, layout.means, layout.bar):
        assert left >= 0
        assert bottom >= 0
        assert left + width < layout.width
        assert bottom + height < layout.height
    assert layout.width < 14
    assert layout.height < 10.5
    assert layout.x.at[0] == layout.y.at[0] == 0
    assert layout.x.at[-1] == columns - 1
    assert layout.y.at[-1] == rows - 1


@pytest.mark.slow
def test_a_huge_grid_is_drawn_quickly_and_stays_small(tmp_path: Path) -> None:
    png, svg = write_heatmaps([grid(200, 101)], tmp_path, style=QUICK)

    assert png.stat().st_size < 3_000_000
    assert svg.stat().st_size < 3_000_000
    assert len([text for text in svg_texts(svg) if text.endswith("k")]) < 60


def test_names_are_not_mathematics_nor_markup(small_panel: Panel, tmp_path: Path) -> None:
    _, svg = write_heatmaps([replace(small_panel, model="$x_1^{$ <b>&\x00\x1b[1m")], tmp_path, style=QUICK)

    assert "$x_1^{$ &lt;b&gt;&amp; · niah · code" in svg_texts(svg)


def test_file_names_are_safe_short_and_distinct(small_panel: Panel, tmp_path: Path) -> None:
    assert heatmap_name(replace(small_panel, model="../a/b c:d")) == "heatmap-niah-code-.._a_b_c_d"
    long = [heatmap_name(replace(small_panel, model="模" * 300 + end)) for end in "ab"]
    assert long[0] != long[1]
    assert all(len(name.encode()) < 210 for name in long)
    twins = [replace(small_panel, model=model) for model in ("a b", "a/b", "A b")]
    paths = write_heatmaps(twins, tmp_path, style=QUICK, formats=["svg"])
    assert len({path.name.casefold() for path in paths}) == 3


def test_several_panels_in_one_figure(small_panel: Panel, tmp_path: Path) -> None:
    panels = [small_panel, grid(3, 3), small_panel, grid(2, 1)]
    titles = [f"run {i}" for i in range(4)]
    _, svg = write_figure(panels, titles, tmp_path / "both", style=QUICK, heading="All of them")

    assert {"All of them", *titles} <= set(svg_texts(svg))


def test_pyplot_and_settings_are_left_alone(small_panel: Panel, tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    write_heatmaps([small_panel], tmp_path, style=QUICK)

    assert dict(mpl.rcParams) == before


def test_colors_follow_the_map_and_letters_can_be_read() -> None:
    assert color_of(0, "field") == (0xF0, 0x49, 0x6E)
    assert color_of(0.5, "field") == (0xEB, 0xB8, 0x39)
    assert color_of(1, "field") == (0x0C, 0xD7, 0x9F)
    assert dark(color_of(0.0))
    assert not dark(color_of(1.0))
