"""The terminal heatmap, line by line."""

import re
from dataclasses import replace

import pytest

from needlework.results.statistics.panels import summarise
from needlework.results.style import can_encode, display_width, fit, length_labels, percent, percent1, score_glyph
from needlework.results.tables.terminal import terminal_heatmaps

LINES = [
    "mock · niah · code",
    "depth    500     4k    16k",
    "    0     50▄     c      E",
    "  100    100█     !      .",
    "range         0–100",
    " mean     67▅     !      E",
    " high     99",
    "  low      1",
    "    n      3    0/2    0/1",
    "score 50.0–75.0 % (1 censored of 4: all missed to all hit)",
    "of the scored 66.7 % (95 % interval 1.3–98.7 from 2 samples), n = 3",
    "5 cells of 1–2 trials · 1 invalid · 1 error",
    "! invalid · E error · c censored · . not run",
]
WITHOUT_BLOCKS = [re.sub("[▁-█]", " ", line) for line in LINES]


def test_the_grid_plain_in_ascii_and_in_256_colours(small_panel):
    assert terminal_heatmaps([small_panel], color=False) == LINES

    signs = str.maketrans({"·": "|", "–": "-"})
    plain = terminal_heatmaps([small_panel], color=False, encoding="ascii")
    assert plain == [line.translate(signs) for line in WITHOUT_BLOCKS]

    colored = terminal_heatmaps([small_panel], color=True)
    assert colored[2] == "    0 \x1b[30;48;5;30m    50 \x1b[0m     c      E"
    other = terminal_heatmaps([small_panel], color=True, colors="field")
    assert other[3] == "  100 \x1b[30;48;5;43m   100 \x1b[0m     !      ."
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in colored] == WITHOUT_BLOCKS


@pytest.mark.parametrize("width", [12, 20, 40, 80])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "gbk", "no-such-encoding", None])
def test_no_line_is_wider_than_the_terminal(small_panel, width, encoding):
    wide = replace(small_panel, model="通义千问", needle="小明最喜欢的实习地点" * 5)
    lines = terminal_heatmaps([wide, wide], color=False, encoding=encoding, width=width)

    assert max(display_width(line) for line in lines) <= width
    assert "n = 3" in " ".join(lines)


def test_wide_grids_are_wrapped_and_lose_nothing(small_panel):
    lines = terminal_heatmaps([small_panel], color=False, width=21)
    heads = [line.split()[1:] for line in lines if line.startswith("depth")]

    assert heads == [["500", "4k"], ["16k"]]


def test_cells_that_leave_trials_out_are_marked(make_record):
    outcomes = ["found"] * 9 + ["wrong"] * 2 + ["error", "censored"]
    records = [make_record(depth=50.0, repeat=i, outcome=outcome) for i, outcome in enumerate(outcomes)]
    panels = summarise([*records, make_record(depth=0.0), make_record(depth=0.0, length=2000, outcome="invalid")])

    assert terminal_heatmaps(panels, color=False) == [
        "mock · niah · code",
        "depth     1k      2k",
        "    0    100█      !",
        "   50     82▆*     .",
        "range  77–85",
        " mean     83▆*     !",
        " high     98",
        "  low     48",
        "    n  12/14     0/1",
        "score 76.9–84.6 % (1 censored of 13: all missed to all hit)",
        "of the scored 83.3 % (95 % interval 48.2–97.7), n = 12 · 3 cells of 1–13 trials",
        "1 invalid · 1 error",
        "! invalid · * some trials without a score · . not run",
    ]
    ascii_lines = terminal_heatmaps(panels, color=False, encoding="ascii")
    assert ascii_lines[2:4] == ["    0    100       !", "   50     82 *     ."]
    color = terminal_heatmaps(panels, color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", color[3]) == "   50     82 *     ."


def test_names_cannot_write_escapes(small_panel):
    lines = terminal_heatmaps([replace(small_panel, model="a\x1b[2Jb\nc\x07")], color=False)

    assert lines[0] == "ab c · niah · code"


def test_glyphs_top_out_only_at_a_full_score():
    assert "".join(score_glyph(i / 7) for i in range(8)) == "▁▂▃▄▅▆▇█"
    assert score_glyph(0.999) == "▇"
    assert [score_glyph(score, ascii_only=True) for score in (0, 0.5, 0.999, 1)] == ["0", "4", "8", "9"]
    assert (can_encode("utf-8"), can_encode("latin-1"), can_encode(None), can_encode("bogus")) == (True, *[False] * 3)


def test_labels():
    assert length_labels([500, 1000, 4000, 1500, 1_000_000]) == ("500", "1k", "4k", "1.5k", "1M")
    assert length_labels([4096, 4100, 8192, 131_072]) == ("4096", "4.1k", "8192", "131072")
    assert [percent(score) for score in (0, 0.001, 0.5, 0.999, 1)] == ["0", "1", "50", "99", "100"]
    assert [percent1(score) for score in (0, 0.0001, 0.5, 0.9999, 1)] == ["0", "0.1", "50.0", "99.9", "100"]
    assert fit("小明abc", 5) == "小明~"
