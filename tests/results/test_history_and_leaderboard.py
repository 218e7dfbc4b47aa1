"""`needlework history` and `needlework leaderboard`: from runs on disk to tables and files."""

import csv
import json
from functools import partial

import pytest

from needlework.results.compare.collect import collect_models
from tests.results.builders import exit_code, output, refusal, run_of


@pytest.fixture
def write(tmp_path):
    """Write a run into `runs/NAME`."""
    return lambda name, right=12, **options: run_of(tmp_path / "runs" / name, right, **options)


def test_nights_stand_by_date_and_a_fall_is_told(write, tmp_path, capsys):
    for name, right, day in (("c", 12, 1), ("a", 12, 2), ("b", 0, 3)):
        write(name, right, day=day)
    out = tmp_path / "out"

    assert exit_code("history", tmp_path / "runs", "--out", out) == 0
    printed = output(capsys, "history", tmp_path / "runs", "--out", out, "--fail-if", "worse", code=1).splitlines()
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

    printed = output(capsys, "history", tmp_path / "runs").splitlines()
    assert printed[0] == "mock · niah: 3 runs of 24 trials of 12 samples"
    assert [line.split()[2:4] for line in printed[2:5]] == [["n1", "100"], ["n2", "(4"], ["n4", "100"]]
    assert printed[5].strip().startswith("no change is shown")
    assert printed[6] == "  4 errors: counted as misses"
    assert "mock · n3 is not ranked: all of its trials failed (24 errors)" in printed
    (series,) = json.loads((tmp_path / "runs" / "history" / "history.json").read_text(encoding="utf-8"))["series"]
    assert [run["score_with_misses"] for run in series["runs"]] == pytest.approx([1, 20 / 24, 1])


@pytest.mark.parametrize(
    ("right", "sentence", "note"),
    [
        (0, "niah: fell between step 2000 and step 10000", "fell between step 2000 and step 10000, "),
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

    assert message in refusal(capsys, "history", *runs, *(word for word in options if word != "day"))


def rows(folder):
    return list(csv.DictReader((folder / "leaderboard.csv").read_text(encoding="utf-8").splitlines()))


def test_a_folder_of_runs_is_ranked_printed_and_written(write, tmp_path, capsys):
    write("a", model="good")
    write("matrix/b", 0, model="poor")
    for number in range(5):
        write(f"cut{number}", model=f"early{number}", planned=99)
    for name, text in (("a/rescored-x", "no run of its own"), ("damaged", "{")):
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / "results.json").write_text(text)
    folder = tmp_path / "runs" / "leaderboard"

    printed = output(capsys, "leaderboard", tmp_path / "runs").splitlines()
    assert printed[0] == "niah: 24 trials of 12 samples, 1k to 4k tokens, scored by match@1"
    assert [line.split()[:2] for line in printed[2:4]] == [["1", "good"], ["2", "poor"]]
    assert "early0 is not ranked: interrupted after 24 of 99 trials" in printed
    assert any(line.startswith("damaged cannot be read: ") for line in printed)
    names = ["report.html", "leaderboard.csv", "leaderboard.md", "scores-niah.png", "scores-niah.svg"]
    assert printed[-5:] == [str(folder / name) for name in names]
    columns = ("model", "run", "rank_best", "rank_worst", "score_4000")
    assert [tuple(row[name] for name in columns) for row in rows(folder)] == [
        ("good", "a", "1", "1", "1.0"),
        ("poor", "matrix/b", "2", "2", "0.0"),
    ]
    assert "| 1 | good | 100 (" in (folder / "leaderboard.md").read_text(encoding="utf-8")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<bdi>good</bdi>" in page
    assert (page.count('class="notice notes'), page.count("is not ranked: interrupted after")) == (1, 5)
    assert "<summary>3 more</summary>" in page  # one box, however many notes


def test_runs_with_errors_stand_in_the_table_and_one_of_errors_alone_is_named(write, tmp_path, capsys):
    write("a", model="good")
    write("b", model="flaky", failed=6)
    write("c", model="dead", failed=24)
    write("d", 6, model="twice", day=1)
    write("e", 6, model="twice", day=2, failed=24)

    printed = output(capsys, "leaderboard", tmp_path / "runs").splitlines()
    assert [line.strip().split("  ")[1].strip() for line in printed[2:5]] == ["good", "flaky (6 errors)", "twice"]
    assert "dead is not ranked: all of its trials failed (24 errors)" in printed
    columns = ("model", "run", "scored", "errors", "invalid", "score_with_misses")
    assert [tuple(row[name] for name in columns) for row in rows(tmp_path / "runs" / "leaderboard")] == [
        ("good", "a", "24", "0", "0", "1.0"),
        ("flaky", "b", "18", "6", "0", "0.75"),
        ("twice", "d", "24", "0", "0", "0.5"),
    ]


@pytest.mark.slow
def test_many_runs_are_read_by_several_processes(write, tmp_path):
    for number in range(6):
        write(f"r{number}", model=f"m{number}")

    assert [run.run for run in collect_models([tmp_path / "runs"], tmp_path, every_run=True)[0]] == [
        f"r{number}" for number in range(6)
    ]


def test_the_newest_run_of_a_model_stands_for_it_unless_all_are_wanted(write, tmp_path, capsys):
    first, last = write("z", 6, day=1), write("b", day=3)
    manifest = {"started": "2026-01-02T00:00:00+00:00", "models": {"mock": {"dtype": "bfloat16"}}}
    write("c", 0, manifest=manifest)
    command = partial(exit_code, "leaderboard", "--out", tmp_path / "out")

    assert command(tmp_path / "runs") == 0
    assert [row["model"] for row in rows(tmp_path / "out")] == ["mock · b", "mock · c"]
    assert "1 older runs of the same models" in capsys.readouterr().out
    assert command(tmp_path / "runs", "--every-run") == 0
    assert len(rows(tmp_path / "out")) == 3
    assert command(first, last) == 0
    assert [row["run"] for row in rows(tmp_path / "out")] == ["b", "z"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "'nowhere': does not exist"),
        (["."], "no run there"),
        (["empty"], "holds no trials"),
        ([], "the following arguments are required"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if words == ["empty"]:
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / "results.json").write_text('{"schema": 1, "records": []}')

    assert message in refusal(capsys, "leaderboard", *words)
