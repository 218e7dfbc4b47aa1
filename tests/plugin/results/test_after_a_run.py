"""What a run leaves to be looked at, and where it says to look."""

from __future__ import annotations

import csv
import json

from needlework.results.compare.command import main as compare
from tests.results.html.pages import Page


def test_the_last_line_says_what_to_open(project):
    result = project.run("--repeats=2", model="mock:middle")
    folder = "results/runs/r"

    prompt = f"needlework prompt {folder} niah-len400-depth50-code-r0 prints what the model saw"
    hint = f"next: open {folder}/report.html (a click on a cell shows its answers); {prompt}"
    result.stdout.fnmatch_lines([f"{folder}/report.html", f"{folder}/cells.csv", hint])


def test_scores_have_interval_and_n_wherever_they_stand(project):
    result = project.run("--needle-set=codes", "--repeats=4", "-vv", "--heatmap-colors=field", model="mock:middle")

    result.stdout.fnmatch_lines(
        [
            "* mean * 67* 67*", "* high *", "*  low *", "*    n   12   12",
            "score 66.7 % (95 % interval * from 4 samples), n = 24*6 cells of 4 trials*",
            "  effective length (score >= 85.6 %): none in the 4 samples tested; *needs at least 24 samples*",
            "  depth effect: undetermined (4 samples), p *",
            "    best and worst depth: 0 % (100) and 50 % (0), p (Holm) *",
        ]
    )  # fmt: skip
    rows = list(csv.DictReader(project.file("cells.csv").splitlines()))
    assert [(row["score"], row["n"], row["trials"]) for row in rows[:3]] == [
        ("1.0", "4", "4"),
        ("0.0", "4", "4"),
        ("1.0", "4", "4"),
    ]
    page = Page(project.file("report.html"))
    assert any("in this run it held RULER's 85.6" in text for text in page.inside("bdi"))
    assert "depth effect" in page.inside("dt")
    assert ".c100{background-color:#0cd79f" in page.inside("style")[0]


def test_the_page_has_the_text_around_the_needle(project):
    project.run("-k", "len400-depth50-")
    [record] = project.records()
    [needle] = record["prompt"]["needles"]
    [trial] = Page(project.file("report.html")).trials()

    assert needle["text"] == record["reference"]["statement"]
    assert needle["before"].strip()
    assert needle["after"].strip()
    assert trial["placed"] == [needle["text"]]
    assert trial["around"][0][0].endswith(needle["before"][-20:])


def test_two_runs_are_compared_in_a_page_of_their_own(project, capsys):
    for name, model in (("a", "mock:perfect"), ("b", "mock:middle")):
        project.run("--repeats=12", model=model, name=name)

    assert compare([str(project.runs / "a"), str(project.runs / "b")]) == 0
    page = Page(project.file("compared-with-a/report.html", run="b"))
    assert "B is worse" in page.inside("span")
    assert "models: mock:perfect / mock:middle" in page.inside("bdi")
    assert len(page.pairs()) == 72
    assert all(a["around"] for a, _ in page.pairs())
    assert json.loads(project.file("manifest.json", run="b"))["models"]
