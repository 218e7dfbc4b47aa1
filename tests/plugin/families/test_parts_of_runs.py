"""What canaries, NeedleBench's presets and rows of published data sets add to a run."""

import pytest

from needlework.results.rescore import main as rescore
from tests.published_rows import graph_row, longbench_row, written


def test_a_model_that_saw_everything_gives_both_canaries_and_runs_with_and_without_do_not_mix(project):
    project.run("--canary", "--save-prompts")
    records = project.records()
    assert {record["outcome"] for record in records} == {"found"}
    for record in records:
        assert "canaries_found" in record["details"]["flags"]
        names = [needle["name"] for needle in record["prompt"]["needles"]]
        assert (names[0], names[-1]) == ("canary_start", "canary_end")
        text = project.file(f"prompts/{record['key']}.txt")
        assert text.index("first mark of this text") < text.index("code for") < text.rindex("last mark of this text")

    project.run()
    assert not any("canaries_found" in record["details"]["flags"] for record in project.records())
    assert len(project.journal()) == 12


def test_needlebenchs_rows_are_told_everywhere(project, capsys):
    project.asks("niah", "parallel", "needlebench")
    preset = ("--preset=needlebench-v2-4k", "--language=en", "--lengths=1k", "--depths=0,100", "--repeats=1")
    project.run(*preset).stdout.fnmatch_lines(
        ["mock:perfect · needlebench-v2-4k (not as published: lengths, depths, corpus, repeats)", "    S-RT-EN: 100 %*"]
    )
    (table,) = project.json("results.json")["needlebench"]
    rows = {row["name"]: row for row in table["rows"]}
    assert (rows["M-RS-EN"]["value"], rows["M-RS-EN"]["n"]) == (1, 8)
    assert (rows["Overall"]["value"], rows["Overall"]["missing"][0]) == (None, "S-RT-ZH")
    assert rescore([str(project.runs / "r"), "--scorer", "match"]) == 0
    assert "    3-Needle-EN: " in capsys.readouterr().out


@pytest.fixture
def run(project):
    project.asks("openai_mrcr", "graphwalks", "longbench_v2")

    def start(preset, rows, *args):
        data = written(project.pytester.path / "rows.jsonl", rows)
        return project.run(f"--preset={preset}", f"--data={data}", *args)

    return start


def test_a_table_of_groups_with_every_rule_beside_ours(run, project):
    result = run("longbench-v2", [longbench_row(number, 10 + 100 * number) for number in range(6)], "--lengths=300")
    result.stdout.fnmatch_lines(["mock:perfect · longbench_v2 · 6 answers", "*overall*100*", "*text cut*"])
    overall = project.json("results.json")["field"][0]["groups"][0]
    assert overall["others"] == {"authors": 1.0, "evalscope": 1.0}
    assert overall["corrected"]["value"] == 1


GRAPHS = [graph_row(1), graph_row(2, edges=900)]


def test_rows_that_do_not_fit_are_skipped_and_told(run, project):
    result = run("graphwalks", GRAPHS, "--lengths=8192,65536", "--answer-budget=64", "--model-arg=window=4096")
    result.stdout.fnmatch_lines(["*skipped, in no mean: 1 of 2 rows"])
    assert [record["outcome"] for record in project.records()] == ["found", "skipped"]


def test_rows_beyond_the_lengths_are_counted_and_none_at_all_is_one_line(run, project):
    run("graphwalks", GRAPHS, "--lengths=8192").stdout.fnmatch_lines(["*not asked: 1"])
    assert [record["length"] for record in project.records()] == [8192]
    facts = project.json("manifest.json")["data_sets"]["GraphWalks"]
    assert (facts["chosen"], facts["over_lengths"]) == (2, 1)
    run("graphwalks", GRAPHS, "--lengths=64").stderr.fnmatch_lines(
        ["*--lengths: '64': all 2 rows of GraphWalks are longer: the shortest has about*"]
    )
