"""Models side by side: which rows a chart has, and whose bars stand in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from needlework.results import plot
from needlework.results.files.json_files import write_json
from needlework.results.pictures.models import bar_rows, models_of
from needlework.results.statistics.run_report import run_report


@pytest.fixture
def run(make_record, tmp_path):
    """A run's folder: `run("a", "model", niah=[scores])`."""

    def write(name, model, **tasks):
        records = [
            make_record(
                model=model,
                task=task,
                depth=None,
                repeat=at,
                score=score,
                needle=f"doc{at}_q0" if "leval" in task else "code",
                outcome="found" if score else "wrong",
            )
            for task, scores in tasks.items()
            for at, score in enumerate(scores)
        ]
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "results.json", run_report(records))
        (tmp_path / name / "manifest.json").write_text(json.dumps({}))
        return tmp_path / name

    return write


def drawn(*words):
    assert plot.main([str(word) for word in words]) == 0


def test_every_model_has_a_bar_in_every_row_and_what_was_not_asked_is_told(run, tmp_path):
    drawn(
        run("a", "one", niah=[1.0, 0.0]), run("b", "two", niah=[1.0], multi_needle=[1.0]), "--bars", "--out", tmp_path
    )

    text = (tmp_path / "bars.svg").read_text()
    assert (tmp_path / "bars.png").stat().st_size > 5_000
    for word in ("one", "two", "niah", "multi_needle", "not asked", "50  n 2"):
        assert f">{word}<" in re.sub(r"<text[^>]*>", ">", text), word


def test_averages_of_leval_come_first_and_say_how_many_tasks_they_have(make_record):
    records = [
        make_record(task=f"leval_{name}", needle="doc0_q0", depth=None, scorer="leval_letter")
        for name in ("tpo", "quality")
    ]
    rows = bar_rows([("", run_report(records))])

    assert [row.name for row in rows] == ["closed average, 2 of 6 tasks", "all tasks", "leval_quality", "leval_tpo"]
    assert [row.average for row in rows] == [True, True, False, False]


def test_a_model_of_several_runs_is_told_by_the_run(run, tmp_path):
    drawn(run("monday", "one", niah=[1.0]), run("friday", "one", niah=[1.0]), "--bars", "--out", tmp_path)
    assert "one · monday" in (tmp_path / "bars.svg").read_text()


def test_too_many_models_are_refused_in_one_line(run, tmp_path, capsys):
    runs = [run(f"r{at}", f"m{at}", niah=[1.0]) for at in range(9)]
    assert plot.main([*map(str, runs), "--bars"]) == 2
    assert "at most 8" in capsys.readouterr().err
    assert not Path(runs[0], "bars.png").exists()


def test_models_stand_in_the_order_of_their_runs(make_record):
    reports = [("", run_report([make_record(model=model)])) for model in ("z", "a")]
    assert models_of(reports) == ("z", "a")
