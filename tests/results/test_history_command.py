"""`needlework history`: runs in order, with the changes told."""

import json

import pytest

from tests.results.run_folders import exit_code, run_of


@pytest.fixture
def write(make_record, tmp_path):
    """Write a run into `runs/NAME`."""
    return lambda name, right=12, **options: run_of(make_record, tmp_path / "runs" / name, right, **options)


def test_nights_stand_by_date_and_a_fall_is_told(write, tmp_path, capsys):
    for name, right, day in (("c", 12, 1), ("a", 12, 2), ("b", 0, 3)):
        write(name, right, day=day)
    out = tmp_path / "out"

    assert exit_code("history", tmp_path / "runs", "--out", out) == 0
    assert exit_code("history", tmp_path / "runs", "--out", out, "--fail-if", "worse") == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "mock · niah: 3 runs of 24 trials of 12 samples"
    assert [line.split()[2] for line in printed[2:5]] == ["c", "a", "b"]
    fall = "fell between 2026-01-02 00:00 and 2026-01-03 00:00, from 100 to 0 % (-100.0 points; p <0.001, Holm)"
    assert printed[5].strip() == fall
    (series,) = json.loads((out / "history.json").read_text(encoding="utf-8"))["series"]
    assert [run["run"] for run in series["runs"]] == ["c", "a", "b"]
    assert series["changes"][0]["words"] == fall
    assert fall.partition("; p")[0] in (out / "report.html").read_text(encoding="utf-8")
    assert (out / "history-niah.png").read_bytes().startswith(b"\x89PNG")


def test_a_night_with_errors_is_in_the_series_and_one_of_errors_alone_is_named(write, tmp_path, capsys):
    for day, failed in ((1, 0), (2, 4), (3, 24), (4, 0)):
        write(f"n{day}", day=day, failed=failed)

    assert exit_code("history", tmp_path / "runs") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "mock · niah: 3 runs of 24 trials of 12 samples"
    assert [line.split()[2:4] for line in printed[2:5]] == [["n1", "100"], ["n2", "(4"], ["n4", "100"]]
    assert printed[5].strip().startswith("no change is shown")
    assert printed[6] == "  4 errors: counted as misses"
    assert "mock · n3 is not ranked: all of its trials failed (24 errors)" in printed
    (series,) = json.loads((tmp_path / "runs" / "history" / "history.json").read_text(encoding="utf-8"))["series"]
    assert [run["score_with_misses"] for run in series["runs"]] == pytest.approx([1, 20 / 24, 1])


def test_where_a_date_repeats_all_runs_are_told_by_their_names(write, capsys):
    assert exit_code("history", write("a", day=3), write("b", day=3), write("c", 0, day=4)) == 0
    assert "fell between b and c, from 100 to 0 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("right", "sentence", "note"),
    [
        (0, "niah fell by 100.0 points between step 2000 and step 10000", "fell between step 2000 and step 10000, "),
        (12, "niah: no change is shown", "no change is shown"),
    ],
)
def test_checkpoints_of_other_names_are_one_series_by_step(write, tmp_path, right, sentence, note, capsys):
    runs = [write(f"step-{step}", score, model=f"out/step-{step}") for step, score in (("10k", right), ("2k", 12))]

    code = exit_code("history", *runs, "--order", "step", "--fail-if", "worse", "--out", tmp_path / "out")
    assert code == (right == 0)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed[2:4]] == [["step", "2000"], ["step", "10000"]]
    assert printed[4].strip().startswith(note)
    assert sentence in (tmp_path / "out" / "history-niah.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "has no manifest.json that says when it began; use step"),
        (["--order", "step"], "no number in"),
        (["--order", "name"], "invalid choice"),
        (["day"], "no two whole runs asked the same cells of one model"),
    ],
)
def test_runs_without_a_place_and_runs_that_asked_other_things_are_refused_in_one_line(write, options, message, capsys):
    fields = [{"day": day, "model": f"m{day}"} for day in (1, 2)] if options == ["day"] else [{}, {}]
    runs = [write(name, **each) for name, each in zip("ab", fields, strict=True)]

    assert exit_code("history", *runs, *(word for word in options if word != "day")) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
