"""`needlework leaderboard`: from runs on disk to the tables and files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import needlework
from needlework.core.record import Record
from needlework.results.compare.collect import collect
from needlework.results.files.json_files import write_json
from needlework.results.statistics.run_report import run_report

Make = Callable[..., Record]


@pytest.fixture
def runs(make_record: Make, tmp_path: Path) -> Callable[..., Path]:
    """Write a run into `runs/NAME`; `right`: the share of its 12 repeats at 1000 and 4000 tokens that are right;
    `failed`: so many of its trials are errors."""

    def write(
        name: str, right: float, *, failed: int = 0, planned: int | None = None, manifest: Any = None, **fields: Any
    ) -> Path:
        folder = tmp_path / "runs" / name
        error = {"outcome": "error", "scorer": "", "scorer_version": 0}
        records = [
            make_record(
                **{"length": length, "repeat": repeat, "outcome": outcome} | (error if at < failed else {}), **fields
            )
            for at, (length, repeat) in enumerate((length, repeat) for length in (1000, 4000) for repeat in range(12))
            for outcome in ["found" if repeat < 12 * right else "wrong"]
        ]
        write_json(folder / "results.json", run_report(records, planned=planned))
        if manifest is not None:
            (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        return folder

    return write


def rows(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "leaderboard.csv").read_text(encoding="utf-8").splitlines()))


def test_a_folder_of_runs_is_ranked_printed_and_written(
    runs: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs("a", 1.0, model="good")
    runs("matrix/b", 0.0, model="poor")
    runs("c", 1.0, model="early", planned=99)
    (tmp_path / "runs" / "a" / "rescored-x").mkdir()
    (tmp_path / "runs" / "a" / "rescored-x" / "results.json").write_text("no run of its own")
    (tmp_path / "runs" / "damaged").mkdir()
    (tmp_path / "runs" / "damaged" / "results.json").write_text("{")
    folder = tmp_path / "runs" / "leaderboard"

    assert needlework.main(["leaderboard", str(tmp_path / "runs")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "niah: 24 trials of 12 samples, 1k to 4k tokens, scored by match@1"
    assert [line.split()[:2] for line in printed[2:4]] == [["1", "good"], ["2", "poor"]]
    assert "early is not ranked: interrupted after 24 of 99 trials" in printed
    assert any(line.startswith("damaged cannot be read: ") for line in printed)
    names = ["report.html", "leaderboard.csv", "leaderboard.md", "scores-niah.png", "scores-niah.svg"]
    assert printed[-5:] == [str(folder / name) for name in names]
    found = rows(folder)
    assert [(row["model"], row["run"], row["rank_best"], row["rank_worst"]) for row in found] == [
        ("good", "a", "1", "1"),
        ("poor", "matrix/b", "2", "2"),
    ]
    assert [row["score_4000"] for row in found] == ["1.0", "0.0"]
    assert "| 1 | good | 100 (" in (folder / "leaderboard.md").read_text(encoding="utf-8")
    assert "<bdi>good</bdi>" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_page_has_one_box_of_notes_however_many_runs_are_left_out(runs: Callable[..., Path], tmp_path: Path) -> None:
    runs("a", 1.0, model="good")
    for number in range(5):
        runs(f"cut{number}", 1.0, model=f"early{number}", planned=99)
    assert needlework.main(["leaderboard", str(tmp_path / "runs")]) == 0
    page = (tmp_path / "runs" / "leaderboard" / "report.html").read_text(encoding="utf-8")
    assert page.count('class="notice') == 1
    assert page.count("is not ranked: interrupted after") == 5
    assert "<summary>2 more</summary>" in page


def test_runs_with_errors_stand_in_the_table_and_one_of_errors_alone_is_named(
    runs: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs("a", 1.0, model="good")
    runs("b", 1.0, model="flaky", failed=6)
    runs("c", 1.0, model="dead", failed=24)
    days = [{"started": f"2026-01-0{day}T00:00:00+00:00"} for day in (1, 2)]
    runs("d", 0.5, model="twice", manifest=days[0])
    runs("e", 0.5, model="twice", manifest=days[1], failed=24)

    assert needlework.main(["leaderboard", str(tmp_path / "runs")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "niah: 24 trials of 12 samples, 1k to 4k tokens, scored by match@1"
    assert [line.split("  ")[1].strip() for line in printed[2:5]] == ["good", "flaky (6 errors)", "twice"]
    assert "dead is not ranked: all of its trials failed (24 errors)" in printed
    found = rows(tmp_path / "runs" / "leaderboard")
    told = ("model", "run", "scored", "errors", "invalid", "score_with_misses")
    assert [tuple(row[name] for name in told) for row in found] == [
        ("good", "a", "24", "0", "0", "1.0"),
        ("flaky", "b", "18", "6", "0", "0.75"),
        ("twice", "d", "24", "0", "0", "0.5"),
    ]


@pytest.mark.slow
def test_many_runs_are_read_by_several_processes(runs: Callable[..., Path], tmp_path: Path) -> None:
    for number in range(6):
        runs(f"r{number}", 1.0, model=f"m{number}")
    found = collect([tmp_path / "runs"])

    assert [run.name for run in found.runs] == [f"r{number}" for number in range(6)]


def test_the_newest_run_of_a_model_stands_for_it_unless_all_are_wanted(
    runs: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    days = [{"started": f"2026-01-0{day}T00:00:00+00:00"} for day in (1, 2, 3)]
    first, last = runs("z", 0.5, manifest=days[0]), runs("b", 1.0, manifest=days[2])
    runs("c", 0.0, manifest={**days[1], "models": {"mock": {"dtype": "bfloat16"}}})
    out = ["--out", str(tmp_path / "out")]

    assert needlework.main(["leaderboard", str(tmp_path / "runs"), *out]) == 0
    assert [row["model"] for row in rows(tmp_path / "out")] == ["mock · b", "mock · c"]
    assert "1 older runs of the same models" in capsys.readouterr().out
    assert needlework.main(["leaderboard", str(tmp_path / "runs"), "--every-run", *out]) == 0
    assert len(rows(tmp_path / "out")) == 3
    assert needlework.main(["leaderboard", str(first), str(last), *out]) == 0
    assert [row["run"] for row in rows(tmp_path / "out")] == ["b", "z"]


@pytest.mark.parametrize(
    ("words", "message"),
    [(["nowhere"], "'nowhere': does not exist"), (["."], "no run there"), ([], "the following arguments are required")],
)
def test_bad_input_is_one_line_and_exit_code_2(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        code = needlework.main(["leaderboard", *words])
    except SystemExit as ended:
        code = int(str(ended.code))
    error = capsys.readouterr().err
    assert (code, error.count("\n")) == (2, 1)
    assert message in error
