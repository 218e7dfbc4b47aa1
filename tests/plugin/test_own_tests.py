"""Tests of a user's own: their failures are shown as pytest shows any."""

import pytest

STRICT = """
import pytest

@pytest.mark.cells("niah")
def test_needle(cell, generate, assert_scored):
    assert assert_scored(generate(cell)) >= 0.5
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_failed_assert_on_a_score_is_a_failure_in_the_terminal(project, workers):
    project.pytester.makepyfile(test_needles=STRICT)
    result = project.run(workers, model="mock:middle")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*= FAILURES =*",
            "*test_needle?niah-len400-depth50-code-r0?*",
            "*score 0 (wrong) >= 0.5*",
            "*scorer: match v*",
            "FAILED test_needles.py::test_needle[[]niah-len*-depth50-code-r0]*",
            "*2 failed,*4 scored*",
        ]
    )
    assert [record["outcome"] for record in project.records()].count("wrong") == 2
    assert len(project.records()) == 6


def test_a_trial_without_a_score_passes_no_comparison(project):
    project.pytester.makepyfile(test_needles=STRICT)
    result = project.run("--depths=50", "--lengths=400", model="mock:ramble")

    result.stdout.fnmatch_lines(["FAILED test_needles.py*", "*1 failed*"])
    assert [record["outcome"] for record in project.records()] == ["censored"]


def test_a_failure_after_scoring_keeps_the_score(project):
    project.pytester.makepyfile(test_needles=STRICT.replace(" >= 0.5", "\n    raise RuntimeError('mine')"))
    result = project.run("--depths=50", "--lengths=400")

    result.stdout.fnmatch_lines(["*RuntimeError: mine*", "*1 failed*"])
    assert [record["outcome"] for record in project.records()] == ["found"]
