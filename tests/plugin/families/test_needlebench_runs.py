"""A run of a NeedleBench preset tells its published rows, on the terminal, in results.json and in the report."""

import json

import pytest

from needlework.results.rescore import main as rescore

PRESET = ("--preset=needlebench-v2-4k", "--language=en", "--lengths=1k", "--depths=0,100", "--repeats=1")


@pytest.fixture
def run(project):
    project.asks("niah", "parallel", "needlebench")
    return lambda *args, **options: project.run(*PRESET, *args, **options)


def test_rows_are_told_everywhere(run, project, capsys):
    result = run()
    result.stdout.fnmatch_lines(
        [
            "mock:perfect · needlebench-v2-4k (not as published: lengths, depths, corpus, repeats)",
            "  Overall: no score, missing: S-RT-ZH; M-RT-ZH; 2-Needle-ZH and 3 more",
            "    S-RT-EN: 100 % (no interval), n = 2",
            "    M-RT-EN: 100 % (no interval), n = 1",
            "    3-Needle-EN: 100 % (no interval), n = 2",
        ]
    )
    (found,) = json.loads(project.file("results.json"))["needlebench"]
    rows = {row["name"]: row for row in found["rows"]}
    assert (rows["M-RS-EN"]["value"], rows["M-RS-EN"]["n"]) == (1, 8)
    assert (rows["Overall"]["value"], rows["Overall"]["missing"][0]) == (None, "S-RT-ZH")
    assert "no score, missing: S-RT-ZH" in project.file("report.html")
    assert rescore([str(project.runs / "r"), "--scorer", "match"]) == 0
    assert "    3-Needle-EN: " in capsys.readouterr().out
