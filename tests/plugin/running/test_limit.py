"""`--limit`: a part of the grid, said as one, and gone on with."""

import json


def test_a_limited_run_says_so_and_goes_on_without(project):
    result = project.run("--limit=2")

    assert [record["length"] for record in project.records()] == [400, 400]
    told = "--limit 2: the first 2 trials of each task and language, the shortest first: a part of the grid"
    assert str(result.stdout).count(told) == 2  # in the header and at the end
    assert told in project.file("report.html")
    manifest = json.loads(project.file("manifest.json"))
    assert (manifest["options"]["limit"], manifest["planned"]) == (2.0, 2)

    project.run()
    assert len(project.records()) == 6
    assert told not in project.file("report.html")


def test_a_limit_counts_questions_and_no_controls_of_them(project):
    project.run("--limit=2", "--controls=absent,focused")

    needles = [record["needle"] for record in project.records()]
    assert sorted(needles) == ["code", "code", "code_absent", "code_focused"]


def test_a_limit_is_of_what_was_selected_and_divided_into_shards(project):
    result = project.run("--limit=1", "-k", "depth100-", "--shard=1/2", name="s")
    assert "of 1 trials" in str(result.stdout)
