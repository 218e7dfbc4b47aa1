"""The end of a run in short: never more lines than a screen has, never wider than it, whatever the run was."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.statistics.run_report import run_report
from needlework.results.style import display_width, encodable, folded, folded_table
from needlework.results.tables.summary import MOST, ending


def lines_of(records, width=80, last=0, *, quiet=False):
    found = ending(
        run_report(records), skipped=[], folder="results/runs/r", last=last, width=width, encoding="utf-8",
        color=False, quiet=quiet,
    )  # fmt: skip
    return [line for line, _ in found]


def grid(make_record, **fields):
    asked = product((500, 1000, 2000), (0.0, 50.0, 100.0), range(2))
    return [make_record(length=n, depth=d, repeat=r, **{"outcome": "found", **fields}) for n, d, r in asked]


def test_a_run_of_one_task_shows_its_grid_and_where_its_report_is(make_record):
    lines = lines_of(grid(make_record))

    assert lines[0].startswith("mock")
    assert [line.split()[0] for line in lines if line.strip()[:5] in ("depth", "mean ", "n    ")] == [
        "depth",
        "mean",
        "n",
    ]
    assert any(line.startswith("report: results/runs/r/report.html") for line in lines)
    assert len(lines) <= MOST


def test_a_run_of_many_tasks_shows_the_lowest_and_counts_the_others(make_record):
    tasks = [f"task_{number:02}" for number in range(40)]
    records = [each for task in tasks for each in grid(make_record, task=task)]
    records += grid(make_record, task="worst", outcome="wrong")
    lines = lines_of(records)

    assert len(lines) <= MOST
    assert any(line.startswith("worst ") for line in lines)
    assert any("more that score higher or the same, in the report" in line for line in lines)


def test_errors_come_by_their_reason_with_how_many_and_in_red(make_record):
    error = {"kind": "judge", "message": "the judge's replies cannot be read: no verdict"}
    records = [make_record(repeat=r, outcome="error", error=error) for r in range(19)]
    found = ending(run_report(records), skipped=[], folder="r", last=0, width=80, encoding="utf-8", color=False)

    assert ("19 of 19: the judge's replies cannot be read: no verdict", "red") in list(found)


def test_what_goes_on_in_the_report_ends_with_a_whole_word(make_record):
    for end in range(100, 140):
        words = " ".join(f"word{number} (" for number in range(end))[:-2]
        lines = lines_of([make_record(outcome="error", error={"kind": "judge", "message": words})])
        [cut] = [line.removesuffix(" ...") for line in lines if line.endswith(" ...")]
        assert cut.split()[-1] in words.split()
        assert not cut.endswith(("(", " "))


def test_quiet_is_the_sentence_and_the_report(make_record):
    lines = lines_of(grid(make_record), quiet=True)

    assert lines[-1] == "report: results/runs/r/report.html"
    assert len(lines) <= 4


@given(
    width=st.integers(40, 200), last=st.integers(0, 12), tasks=st.integers(1, 20), models=st.integers(1, 3),
    outcome=st.sampled_from(["found", "wrong", "error", "invalid", "censored", "skipped"]),
)  # fmt: skip
def test_no_more_lines_than_a_screen_and_none_wider(make_record, width, last, tasks, models, outcome):
    names = [f"mock:model-{number}" for number in range(models)]
    records = [
        make_record(task=f"task_{task}", model=model, length=length, outcome=outcome)
        for task, model, length in product(range(tasks), names, (500, 32_000))
    ]
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
