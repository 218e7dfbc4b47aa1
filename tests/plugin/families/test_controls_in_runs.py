"""Controls in a run: cells of their own, beside the score and not in it."""

import pytest

from needlework.results.prompt import rebuild, stored_run


@pytest.fixture
def controlled(project):
    def run(*args, **more):
        return project.run("--lengths=400", "--depths=0,100", "--controls=absent,focused", *args, **more)

    return run


def test_controls_have_cells_and_a_table_of_their_own(project, controlled):
    result = controlled()
    by_needle = {}
    for record in project.records():
        by_needle.setdefault(record["needle"], []).append(record)
    assert {needle: len(found) for needle, found in by_needle.items()} == {
        "code": 2, "code_absent": 1, "code_focused": 1
    }  # fmt: skip
    assert {record["outcome"] for record in project.records()} == {"found"}
    result.stdout.fnmatch_lines(["score 100 %*n = 2*", "  task*focused %*invents %*abstains %*", "  niah*100 (n 1)*"])
    (absent,), (focused,) = by_needle["code_absent"], by_needle["code_focused"]
    value = by_needle["code"][0]["expected"][0]
    run = stored_run(project.runs / "r")
    prompts = {
        name: rebuild(run, record["id"]).prompt.text
        for name, record in (("absent", absent), ("focused", focused), ("present", by_needle["code"][0]))
    }
    assert value not in prompts["absent"]
    assert value in prompts["focused"]
    assert value in prompts["present"]
    assert all("reply exactly: NOT FOUND" in prompt for prompt in prompts.values())
    assert len(prompts["focused"]) < 700 < len(prompts["absent"])
    assert absent["prompt"]["slack"] <= 2
