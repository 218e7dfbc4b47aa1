"""Runs on rows of published data sets, ours in their layouts: panels, tables, notes, manifest."""

import json

import pytest

from tests.published_rows import graph_row, longbench_row, written


@pytest.fixture
def run(project):
    project.asks("openai_mrcr", "graphwalks", "longbench_v2")

    def start(preset, name, rows, *args, **options):
        data = written(project.pytester.path / name, rows)
        return project.run(f"--preset={preset}", f"--data={data}", *args, **options)

    return start


def test_a_table_of_groups_with_every_rule_beside_ours(run, project):
    result = run(
        "longbench-v2", "l.json", [longbench_row(number, 10 + 100 * number) for number in range(6)], "--lengths=300"
    )
    result.stdout.fnmatch_lines(
        [
            "mock:perfect · longbench_v2 · 6 answers",
            "*group*score %*authors %*evalscope %*no letter*",
            "*overall*100*",
            "*easy*",
            "*hard*",
            "*short*",
            "*text cut*",
            "*whole text*",
            "mock:perfect · longbench_v2_closed_book · 6 answers",
        ]
    )
    content = json.loads((project.runs / "r" / "results.json").read_text(encoding="utf-8"))
    table = content["field"][0]
    assert table["groups"][0]["others"] == {"authors": 1.0, "evalscope": 1.0}
    assert table["groups"][0]["corrected"]["value"] == 1
    assert "text cut" in (project.runs / "r" / "report.html").read_text(encoding="utf-8")
    panels = [name for name in (each.name for each in (project.runs / "r").iterdir()) if name.endswith(".png")]
    assert not any("longbench_v2-questions" in name for name in panels)  # one length, all right: it would say nothing


def test_rows_that_do_not_fit_are_skipped_and_told(run, project):
    rows = [graph_row(1), graph_row(2, edges=900)]
    result = run("graphwalks", "g.jsonl", rows, "--lengths=8192,65536", "--answer-budget=64", "--model-arg=window=4096")
    result.stdout.fnmatch_lines(["*skipped, in no mean: 1 of 2 rows"])
    assert [record["outcome"] for record in project.records()] == ["found", "skipped"]


def test_rows_beyond_the_lengths_are_counted_and_none_at_all_is_one_line(run, project):
    rows = [graph_row(1), graph_row(2, edges=900)]
    run("graphwalks", "g.jsonl", rows, "--lengths=8192").stdout.fnmatch_lines(["*not asked: 1"])
    assert [record["length"] for record in project.records()] == [8192]
    manifest = json.loads((project.runs / "r" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["data_sets"]["GraphWalks"]["chosen"], manifest["data_sets"]["GraphWalks"]["over_lengths"]) == (
        2,
        1,
    )
    result = run("graphwalks", "g.jsonl", rows, "--lengths=64")
    result.stderr.fnmatch_lines(["*--lengths: '64': all 2 rows of GraphWalks are longer: the shortest has about*"])
