"""Which pictures a run draws: none that says nothing, and several models in one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from needlework.core.record import Record
from needlework.results.pictures.documents import write_asked_charts
from needlework.results.pictures.models import write_model_lines, write_task_charts
from needlework.results.pictures.parts import heatmap_title, telling
from needlework.results.run.finish import write_files
from needlework.results.statistics.panels import summarise
from needlework.results.statistics.run_report import run_report
from tests.results.document_records import asked
from tests.results.pictures.test_asked_chart import statements

MakeRecord = Callable[..., Record]


def words(path: Path) -> str:
    nodes = (node for node in ElementTree.parse(path).iter() if node.tag.endswith("}text"))
    return " | ".join("".join(node.itertext()).strip() for node in nodes)


def test_one_box_and_one_row_of_equal_values_are_not_drawn(make_record: MakeRecord) -> None:
    def drawn(records: list[Record]) -> int:
        return len(telling(summarise(records)))

    assert drawn([make_record(repeat=i) for i in range(3)]) == 0
    assert drawn([make_record(length=length) for length in (1000, 2000)]) == 0
    assert drawn([make_record(), make_record(length=2000, outcome="wrong")]) == 1
    assert drawn([make_record(), make_record(length=2000, outcome="error")]) == 1
    assert drawn([make_record(length=n, depth=d) for n in (1000, 2000) for d in (0.0, 100.0)]) == 1
    assert drawn([asked(0, depth=d) for d in (0.0, 50.0)] + [asked(0, "wrong", task="doc_size", length=2000)]) == 0


def test_titles_of_heatmaps_say_the_score(make_record: MakeRecord) -> None:
    def title(*outcomes: str, **fields: str) -> str:
        records = [make_record(repeat=i, outcome=outcome, **fields) for i, outcome in enumerate(outcomes)]
        return heatmap_title(summarise(records)[0])

    assert title("found", "wrong") == "mock scores 50.0 % on niah · code"
    assert title("found", "censored") == "mock scores 50.0–100 % on niah · code"
    assert title("error") == "mock has no score on niah · code"
    assert title("found", model="folder/" * 9 + "step1000").startswith("…")
    assert "step1000 scores 100 %" in title("found", model="folder/" * 9 + "step1000")


def test_a_run_of_one_box_writes_no_picture_and_removes_an_old_one(make_record: MakeRecord, tmp_path: Path) -> None:
    (tmp_path / "heatmap-niah-code-mock.png").write_text("old")
    write_files(tmp_path, run_report([make_record()]))

    assert not [*tmp_path.glob("*.png"), *tmp_path.glob("*.svg")]
    assert (tmp_path / "report.html").is_file()


def test_several_models_are_in_one_picture(make_record: MakeRecord, tmp_path: Path) -> None:
    records = [
        make_record(model=model, task=task, length=length, repeat=i)
        for model in ("good", "bad")
        for task in ("niah", "chain")
        for length in (1000, 2000)
        for i in range(3)
    ]
    report = run_report(records)
    assert [path.name for path in write_task_charts(report.tasks, report.macros, tmp_path)] == [
        "tasks.png",
        "tasks.svg",
    ]
    assert "2 models beside each other, task by task" in words(tmp_path / "tasks.svg")
    assert write_model_lines(report.panels, tmp_path) == []

    one = summarise(record for record in records if record.task == "niah")
    paths = write_model_lines(one, tmp_path)
    assert [path.name for path in paths] == ["models-niah-code.png", "models-niah-code.svg"]
    assert "2 models on niah · code, by length of the context" in words(paths[1])
    assert {"good", "bad"} <= set(words(paths[1]).split(" | "))


def test_tasks_of_one_model_have_their_mean_for_a_title(make_record: MakeRecord, tmp_path: Path) -> None:
    records = [
        make_record(task=task, repeat=i, outcome="found" if i or task == "niah" else "wrong")
        for task in ("niah", "chain")
        for i in range(4)
    ]
    report = run_report(records)
    said = words(write_task_charts(report.tasks, report.macros, tmp_path)[1])
    assert "mock scores 87.5 % " in said
    assert "75.0 % on chain, 100 % on niah" in said


def test_lengths_that_were_not_asked_take_no_room(tmp_path: Path) -> None:
    said = words(write_asked_charts(statements(0), tmp_path)[1])
    assert "mock does not hold RULER's 85.6 % even at 4k tokens (95 % sure)" in said.replace(" | ", " ")
    assert "not asked: 8k to 32k" in said
    assert "| 16k |" not in said
