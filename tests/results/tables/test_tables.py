"""What a run shows at its end: heatmap, ranges, Markdown, lines about what has no score; at any width."""

import re
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from needlework.results.statistics.run_report import run_report
from needlework.results.style import (
    can_encode,
    display_width,
    encodable,
    fit,
    folded,
    folded_table,
    length_labels,
    percent,
    percent1,
    score_glyph,
)
from needlework.results.tables.terminal import MOST, Screen, ending, terminal_heatmaps, unscored_lines
from tests.results.builders import grid_of, new_record


def test_the_grid_in_ascii_and_in_256_colours(small_panel):
    """Its numbers and names are in tests/results/snapshots."""
    lines = terminal_heatmaps([small_panel], Screen())
    without_blocks = [re.sub("[▁-█]", " ", line) for line in lines]
    assert lines[2] == "    0     50▄     c      E"

    signs = str.maketrans({"·": "|", "–": "-"})
    assert [encodable(line, "ascii") for line in lines] == [line.translate(signs) for line in without_blocks]

    colored = terminal_heatmaps([small_panel], Screen(color=True))
    assert colored[2] == "    0 \x1b[30;48;5;30m    50 \x1b[0m     c      E"
    other = terminal_heatmaps([small_panel], Screen(color=True, colors="red-yellow-green"))
    assert other[3] == "  100 \x1b[30;48;5;43m   100 \x1b[0m     !      ."
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in colored] == without_blocks


@pytest.mark.parametrize("width", [12, 20, 40, 80])
def test_no_line_is_wider_than_the_terminal(small_panel, width):
    wide = replace(small_panel, model="通义千问", needle="小明最喜欢的实习地点" * 5)
    lines = terminal_heatmaps([wide, wide], Screen(width))

    assert max(display_width(line) for line in lines) <= width
    assert "n = 3" in " ".join(lines)


def test_names_cannot_write_escapes(small_panel):
    lines = terminal_heatmaps([replace(small_panel, model="a\x1b[2Jb\nc\x07")], Screen())

    assert lines[0] == "ab c · niah · code"


def test_glyphs_top_out_only_at_a_full_score():
    assert "".join(score_glyph(i / 7) for i in range(8)) == "▁▂▃▄▅▆▇█"
    assert score_glyph(0.999) == "▇"
    assert (can_encode("utf-8"), can_encode("latin-1"), can_encode(None), can_encode("bogus")) == (True, *[False] * 3)


def test_labels():
    assert length_labels([500, 1000, 4000, 1500, 1_000_000]) == ("500", "1k", "4k", "1.5k", "1M")
    assert length_labels([4096, 4100, 8192, 131_072]) == ("4096", "4.1k", "8192", "131072")
    assert [percent(score) for score in (0, 0.001, 0.5, 0.999, 1)] == ["0", "1", "50", "99", "100"]
    assert [percent1(score) for score in (0, 0.0001, 0.5, 0.9999, 1)] == ["0", "0.1", "50.0", "99.9", "100"]
    assert fit("小明abc", 5) == "小明~"


def lines_of(records, width=80, last=0, **how):
    report = run_report(records)
    return [line for line, _ in ending(report, Screen(width), skipped=[], folder="results/runs/r", last=last, **how)]


def test_what_goes_on_in_the_report_ends_with_a_whole_word():
    for end in range(100, 140):
        words = " ".join(f"word{number} (" for number in range(end))[:-2]
        lines = lines_of([new_record(outcome="error", error={"kind": "judge", "message": words})])
        [cut] = [line.removesuffix(" ...") for line in lines if line.endswith(" ...")]
        assert cut.split()[-1] in words.split()


def test_quiet_is_the_sentence_and_the_report():
    lines = lines_of(grid_of((500, 1000, 2000), (0.0, 50.0, 100.0), 2, outcome="wrong"), quiet=True)

    assert lines[-1] == "report: results/runs/r/report.html"
    assert len(lines) <= 4


@example(width=40, last=0, tasks=2, models=1, outcome="censored")
@example(width=40, last=5, tasks=11, models=1, outcome="error")
@given(
    width=st.integers(40, 200), last=st.integers(0, 12), tasks=st.integers(1, 20), models=st.integers(1, 3),
    outcome=st.sampled_from(["found", "wrong", "error", "invalid", "censored", "skipped"]),
)  # fmt: skip
def test_no_more_lines_than_a_screen_and_none_wider(width, last, tasks, models, outcome):
    names = [f"mock:model-{number}" for number in range(models)]
    at = [{"task": f"task_{task}", "model": model} for task, model in product(range(tasks), names)]
    records = [record for fields in at for record in grid_of((500, 32_000), outcome=outcome, **fields)]
    lines = lines_of(records, width, last)

    # At few columns the sentence alone may need the room; the grid then gives way to it.
    assert len(lines) + last <= max(MOST, len(lines_of(records, width, MOST)) + last)
    assert all(display_width(line) <= width or " " not in line.strip() for line in lines)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8", "no-such-encoding"])
def test_every_line_can_be_written_in_the_terminals_encoding(encoding):
    shown = encodable("模型 · 85.6 % ≥ 4k – 8k …", encoding)
    known = "ascii" if encoding.startswith("no") else encoding
    assert shown.encode(known).decode(known) == shown
    assert "85.6 %" in shown


@given(text=st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=200), width=st.integers(10, 80))
def test_folding_loses_no_word(text, width):
    lines = folded(text, width)
    assert " ".join(lines).split() == text.split()
    assert all(display_width(line) <= width or len(line.split(" ")) <= 3 for line in lines)


def test_a_wide_table_goes_on_below_with_its_names_again():
    rows = [("task", "a" * 20, "b" * 20), ("niah", "1", "2")]
    assert list(folded_table(rows, 1, 30)) == [
        "task  aaaaaaaaaaaaaaaaaaaa", "niah                     1", "task  bbbbbbbbbbbbbbbbbbbb",
        "niah                     2",
    ]  # fmt: skip
    assert len(list(folded_table(rows, 1, 80))) == 2


def record(outcome, why="", *invalid):
    return new_record(model="m", outcome=outcome, why=why, details={"invalid": list(invalid)} if invalid else {})


def test_one_line_for_each_reason():
    records = [
        record("found"),
        record("skipped", "length 900 is over the window"),
        record("invalid", "token_mismatch: counted 8", "token_mismatch"),
        record("invalid", "server_truncated: counted 4", "server_truncated"),
        record("invalid", "server_truncated: counted 5", "server_truncated"),
        record("error", "boom"),
    ]
    assert unscored_lines(records) == [
        "invalid: 2 trials: server_truncated: counted 4",
        "invalid: 1 trial: token_mismatch: counted 8",
        "skipped: 1 trial: length 900 is over the window",
    ]


def test_a_servers_words_are_data_and_scored_trials_have_no_line():
    scored = [record("found"), record("censored", "cut off")]
    (line,) = unscored_lines([*scored, record("invalid", "x: \x1b[31mred\x1b[0m\nline " + "a" * 1000, "x")])
    assert "\x1b" not in line
    assert len(line) < 330
