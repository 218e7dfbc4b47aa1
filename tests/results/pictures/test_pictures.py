"""Charts as data, and picture files: names, formats, and what is written in them."""

import re
import warnings

import matplotlib as mpl
import pytest
from msgspec.structs import replace

from needlework.core.record import OutcomeName
from needlework.results import plot
from needlework.results.files.json_files import write_json
from needlework.results.pictures import files
from needlework.results.pictures.draw import figure_size
from needlework.results.pictures.files import FORMATS, write_charts
from needlework.results.report.charts import document_charts, drawn_panels, model_charts, panel_heatmap
from needlework.results.report.section import ChartLine, ChartPoint, LineChart
from needlework.results.run.finish import write_files
from needlework.results.statistics.documents import document_statistics
from needlework.results.statistics.panels import ScoredTrial, panels_of, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.style import COLORS, DIFFERENCES, between, dark
from tests.results.builders import asked, changed, grid_of, new_record


def test_heatmaps_of_one_box_and_lines_of_documents_are_left_out():
    def drawn(records):
        return len(drawn_panels(summarise(records)))

    assert drawn([new_record(repeat=i) for i in range(3)]) == 0
    assert drawn([new_record(length=length) for length in (1000, 2000)]) == 1
    assert drawn([asked(0, depth=d) for d in (0.0, 50.0)] + [asked(0, "wrong", task="doc_size", length=2000)]) == 0


def test_models_have_a_chart_of_each_needle_that_several_were_asked_at_several_lengths():
    def charts(models="ab", lengths=(1000, 2000), needles=("code",), task="niah", **changes):
        grids = [grid_of(lengths, model=model, needle=needle, task=task) for model in models for needle in needles]
        panels = summarise(record for records in grids for record in records)
        return [chart.name for chart in model_charts([replace(panel, **changes) for panel in panels])]

    assert charts() == ["models-niah-code"]
    assert charts(needles="uvwxyz") == [f"models-niah-{needle}" for needle in "uvwxyz"]
    assert charts(needles="tuvwxyz") == [], "no more than six"
    assert charts(models="a") == charts(lengths=(1000,)) == charts(uneven=True) == []


@pytest.mark.parametrize(
    ("xs", "shares"),
    [((1, 2, 4, 8), (0, 1 / 3, 2 / 3, 1)), ((1, 4, 16), (0, 1 / 2, 1)), ((5,), (0.5,)), ((1, 9), (0, 1))],
)
def test_lengths_are_spread_evenly_over_the_axis(xs, shares):
    line = ChartLine("a", tuple(ChartPoint(x, str(x), 50.0, None, None, 1) for x in xs))
    chart = LineChart("c", "t", "x", (line,))

    assert chart.shares(xs) == pytest.approx(shares)
    assert chart.ticks(80)[-1] == (pytest.approx(shares[-1]), str(xs[-1]))
    assert len(chart.ticks(1)) == 1


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What tests before this one left open is closed by a garbage collection in this one.
        warnings.simplefilter("default", ResourceWarning)
        warnings.simplefilter("default", pytest.PytestUnraisableExceptionWarning)
        yield


def grid(columns, rows, repeats=1):
    return panels_of(
        ScoredTrial("mock", "niah", "code", 1000 * (column + 1), row, repeat, "partial", (column + row) % 11 / 10)
        for column in range(columns)
        for row in range(rows)
        for repeat in range(repeats)
    )[0]


def svg_texts(path):
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_depth_0_is_at_the_top_and_short_lengths_at_the_left(tmp_path):
    scores = {(1000, 0.0): 0.10, (2000, 0.0): 0.25, (1000, 100.0): 0.30, (2000, 100.0): 0.95}
    trials = [ScoredTrial("mock", "niah", "code", *cell, 0, "partial", score) for cell, score in scores.items()]
    svg, *_ = write_charts([panel_heatmap(panels_of(trials)[0], numbers=True)], tmp_path, ("svg",))

    text = svg.read_text(encoding="utf-8")
    at = {
        score: (float(x), float(y)) for x, y, score in re.findall(r'x="([\d.]+)" y="([\d.]+)"[^>]*>(\d\d)</text>', text)
    }
    assert at["10"][0] == at["30"][0] < at["25"][0] == at["95"][0]
    assert at["10"][1] == at["25"][1] < at["30"][1] == at["95"][1]


def test_a_heatmap_in_every_format_with_what_it_must_say_and_the_same_bytes_again(small_panel, tmp_path):
    before, chart = dict(mpl.rcParams), panel_heatmap(small_panel, numbers=True)
    written, again = (write_charts([chart], tmp_path / name, FORMATS) for name in "ab")
    png, svg, pdf = written
    texts = svg_texts(svg)

    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]
    assert dict(mpl.rcParams) == before, "settings are put back"
    assert [path.name for path in (png, svg, pdf)] == [f"heatmap-niah-code-mock.{each}" for each in FORMATS]
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert {"500", "4k", "16k", "0", "100", "mean", "depth (%)", "score (%)", "50", "n=2"} <= set(texts)
    assert "mock · niah · code" in texts
    assert any("95 % interval" in text and "n = 3" in text for text in texts)
    assert any("1 censored" in text for text in texts)
    legend = ["censored: cut off before an answer", "error: no score", "invalid: prompt not as built", "not run"]
    assert [text for text in texts if text in legend] == legend
    assert svg.read_text(encoding="utf-8").count("<pattern") == 3


def test_intervals_and_n_are_in_cells_where_numbers_are_asked_for(tmp_path):
    outcomes: tuple[OutcomeName, ...] = ("found", "found", "found", "wrong", "error")
    scores = {"found": 1.0, "wrong": 0.0}
    (panel,) = panels_of(
        ScoredTrial("m", "t", "x", 1000, depth, i, outcome, scores.get(outcome))
        for depth in (0.0, 50.0)
        for i, outcome in enumerate(outcomes)
    )
    plain, numbered = (
        svg_texts(write_charts([panel_heatmap(panel, numbers=numbers)], tmp_path, ["svg"])[0])
        for numbers in (False, True)
    )

    assert {"75", "19–99", "n=8/10"} <= set(plain)  # the mean of the column: both depths agree in every sample
    assert "n=4/5" not in plain
    assert (numbered.count("n=4/5"), numbered.count("19–99")) == (2, 3)
    assert "some trials without a score" in plain


@pytest.mark.parametrize(("columns", "rows"), [(5, 1), (1, 11), (150, 40)])
def test_every_shape_fits_a_page_and_has_its_last_length(columns, rows, tmp_path):
    chart = panel_heatmap(grid(columns, rows), numbers=True)
    width, height = figure_size(chart)
    texts = svg_texts(write_charts([chart], tmp_path, ["svg"])[0])

    assert width < 14
    assert height < 10.5
    assert f"{columns}k" in texts
    assert len([text for text in texts if text.endswith("k")]) < 60


def test_names_are_not_mathematics_nor_markup_and_long_ones_go_on_in_a_second_line(small_panel, tmp_path):
    records = [changed(asked(q, depth=d), model="$x^2$ ../é") for q in range(3) for d in (0.0, 100.0)]
    long = "some-organisation/a-model-with-a-long-name-that-tells-checkpoints-apart-128k-instruct-step1000"
    models = ("$x_1^{$ <b>&\x00\x1b[1m", long)
    charts = [panel_heatmap(replace(small_panel, model=model)) for model in models]
    first, second, documents = map(
        svg_texts, write_charts([*charts, *document_charts(document_statistics(records)[0])], tmp_path, ["svg"])
    )

    assert "$x_1^{$ &lt;b&gt;&amp; · niah · code" in first
    assert "step1000 · niah · code" in " ".join(second)
    assert "$x^2$ ../é on your documents, 8k tokens" in documents


def test_characters_without_a_font_are_one_warning(small_panel, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "font_families", lambda: ["DejaVu Sans"])
    with pytest.warns(UserWarning, match="no font for") as caught:
        svg, _ = write_charts([panel_heatmap(replace(small_panel, model="通义"))], tmp_path, ["svg", "png"])

    assert len(caught) == 1
    assert "通义 · niah · code" in svg_texts(svg)  # a browser has a font for it


def test_file_names_are_safe_short_and_distinct(small_panel, tmp_path):
    models = ["../a/b c:d", *("模" * 300 + end for end in "ab"), "a/b", "A b"]
    charts = [panel_heatmap(replace(small_panel, model=model), title="t") for model in models]
    paths = write_charts(charts, tmp_path, ["svg"])

    assert paths[0].name == "heatmap-niah-code-.._a_b_c_d.svg"
    assert all(path.parent == tmp_path and len(path.name.encode()) < 210 for path in paths)
    assert len({path.name.casefold() for path in paths}) == len(models)


def test_a_run_of_one_box_writes_no_picture_and_removes_an_old_one(tmp_path):
    (tmp_path / "heatmap-niah-code-mock.png").write_text("old")
    write_files(tmp_path, run_report([new_record()]))

    assert not [*tmp_path.glob("*.png"), *tmp_path.glob("*.svg")]
    assert (tmp_path / "report.html").is_file()


def test_bars_have_every_model_in_every_row(tmp_path, capsys):
    def run(name, model, *tasks):
        records = [new_record(model=model, task=task, depth=None) for task in tasks]
        records.append(new_record(model=model, task="niah", depth=None, repeat=1, outcome="wrong"))
        write_json(tmp_path / name / "results.json", run_report(records))
        return str(tmp_path / name)

    folders = [run("monday", "one", "niah"), run("friday", "one", "niah"), run("b", "two", "niah", "multi_needle")]
    assert plot.main([*folders, "--bars", "--out", str(tmp_path)]) == 0
    texts = set(svg_texts(tmp_path / "bars.svg"))
    # A model of several runs is named with its run.
    assert {"one · monday", "one · friday", "two", "niah", "multi_needle", "not asked", "50 %  n 2"} <= texts

    assert plot.main([*(run(f"r{at}", f"m{at}", "niah") for at in range(9)), "--bars"]) == 2
    assert "at most 8" in capsys.readouterr().err
    assert not (tmp_path / "r0" / "bars.png").exists()


def test_plot_draws_charts_of_documents_again(tmp_path, capsys):
    write_json(tmp_path / "results.json", run_report([asked(q, depth=d) for q in range(3) for d in (0.0, 100.0)]))

    assert plot.main([str(tmp_path), "--format", "svg"]) == 0
    assert str(tmp_path / "documents-position-mock.svg") in capsys.readouterr().out.splitlines()


def _luminance(color):
    red, green, blue = (c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colors", ["viridis", "red-yellow-green"])
def test_numbers_in_cells_can_be_read_on_every_colour(colors):
    """4.5 to 1 at least (WCAG 2.2, 1.4.3)."""
    for color in (between(scale, value / 200) for scale in (COLORS[colors], DIFFERENCES) for value in range(201)):
        light, deep = sorted((_luminance(color), 1.0 if dark(color) else 0.0), reverse=True)
        assert (light + 0.05) / (deep + 0.05) >= 4.5
