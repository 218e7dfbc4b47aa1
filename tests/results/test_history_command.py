"""`needlework history`: runs in order, with the changes told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import needlework
from needlework.core.record import Record
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report

Make = Callable[..., Record]


@pytest.fixture
def write(make_record: Make, tmp_path: Path) -> Callable[..., Path]:
    """Write a run of 12 samples at two lengths; `right` of them are right, the first `failed` are errors."""

    def run(name: str, right: int, *, failed: int = 0, day: int | None = None, model: str = "mock") -> Path:
        folder = tmp_path / "runs" / name
        error = {"outcome": "error", "scorer": "", "scorer_version": 0}
        records = [
            make_record(
                **{
                    "length": length,
                    "repeat": repeat,
                    "model": model,
                    "outcome": "found" if repeat < right else "wrong",
                }
                | (error if repeat < failed else {})
            )
            for length in (1000, 4000)
            for repeat in range(12)
        ]
        write_json(folder / "results.json", run_report(records))
        if day:
            (folder / "manifest.json").write_text(json.dumps({"started": f"2026-01-{day:02}T00:00:00+00:00"}))
        return folder

    return run


def test_nights_stand_by_date_and_a_fall_is_told(
    write: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, right, day in (("c", 12, 1), ("a", 12, 2), ("b", 0, 3)):
        write(name, right, day=day)
    out = tmp_path / "out"
    argv = ["history", str(tmp_path / "runs"), "--out", str(out)]

    assert needlework.main(argv) == 0
    assert needlework.main([*argv, "--fail-if", "worse"]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "mock · niah: 3 runs of 24 trials of 12 samples"
    assert [line.split()[2] for line in printed[2:5]] == ["c", "a", "b"]
    told = "fell between 2026-01-02 00:00 and 2026-01-03 00:00, from 100 to 0 % (-100.0 points; p <0.001, Holm)"
    assert printed[5] == told
    content = json.loads((out / "history.json").read_text(encoding="utf-8"))
    (series,) = content["series"]
    assert [run["run"] for run in series["runs"]] == ["c", "a", "b"]
    assert series["changes"][0]["words"] == told
    assert told.partition("; p")[0] in (out / "report.html").read_text(encoding="utf-8")
    assert (out / "history-niah.png").read_bytes().startswith(b"\x89PNG")


def test_a_night_with_errors_is_in_the_series_and_one_of_errors_alone_is_named(
    write: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day, failed in ((1, 0), (2, 2), (3, 12), (4, 0)):
        write(f"n{day}", 12, day=day, failed=failed)

    assert needlework.main(["history", str(tmp_path / "runs")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "mock · niah: 3 runs of 24 trials of 12 samples"
    assert [line.split()[2:5] for line in printed[2:5]] == [
        ["n1", "100", "(73.5–100)"],
        ["n2", "(4", "errors)"],
        ["n4", "100", "(73.5–100)"],
    ]
    assert printed[5].startswith("no change is shown")
    assert printed[6] == "4 errors: counted as misses"
    assert "mock · n3 is not ranked: all of its trials failed (24 errors)" in printed
    (series,) = json.loads((tmp_path / "runs" / "history" / "history.json").read_text(encoding="utf-8"))["series"]
    assert [run["score_with_misses"] for run in series["runs"]] == pytest.approx([1, 20 / 24, 1])


def test_where_a_date_repeats_all_runs_are_told_by_their_names(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(write(name, right, day=day)) for name, right, day in (("a", 12, 3), ("b", 12, 3), ("c", 0, 4))]

    assert needlework.main(["history", *runs]) == 0
    assert "fell between b and c, from 100 to 0 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rights", "sentence"),
    [
        ((12, 0), "niah fell by 100.0 points between step 1 and step 2"),
        ((12, 12), "niah: no change is shown"),
    ],
)
def test_the_picture_of_a_series_has_a_sentence_as_its_title(
    write: Callable[..., Path], tmp_path: Path, rights: tuple[int, ...], sentence: str
) -> None:
    runs = [str(write(f"step-{step}", right)) for step, right in enumerate(rights, 1)]
    needlework.main(["history", *runs, "--order", "step", "--out", str(tmp_path / "out")])
    assert sentence in (tmp_path / "out" / "history-niah.svg").read_text(encoding="utf-8")


def test_checkpoints_of_other_names_are_one_series_by_step(
    write: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(write(f"step-{step}", 12, model=f"out/step-{step}")) for step in ("10k", "2k")]

    assert needlework.main(["history", *runs, "--order", "step", "--fail-if", "worse"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed[2:4]] == [["step", "2000"], ["step", "10000"]]
    assert printed[4] == "no change is shown"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "has no manifest.json that says when it began; use step"),
        (["--order", "step"], "no number in"),
        (["--order", "name"], "invalid choice"),
    ],
)
def test_runs_without_a_place_are_refused_in_one_line(
    write: Callable[..., Path], options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = needlework.main(["history", str(write("a", 12)), str(write("b", 12)), *options])
    except SystemExit as ended:
        code = int(str(ended.code))
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1)
    assert message in error


def test_runs_that_asked_other_things_are_no_series(
    write: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(write(name, 12, day=day, model=name)) for day, name in enumerate(("a", "b"), start=1)]

    assert needlework.main(["history", *runs]) == 2
    assert "no two whole runs asked the same cells of one model" in capsys.readouterr().err
