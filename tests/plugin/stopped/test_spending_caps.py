"""`--max-cost` and `--max-tokens` end a run as an interrupt does; with more, the same command goes on."""

import pytest

from needlework.results.files.read_run import read_run


@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_a_run_ends_at_its_cap_and_goes_on_with_more(project, workers):
    project.asks("niah")
    ended = project.run("--max-cost=1", "--price=1000,1", *workers)

    assert ended.ret == pytest.ExitCode.INTERRUPTED
    ended.stdout.fnmatch_lines(
        ["*ends at 1 dollars, all sessions*", "*--max-cost 1 is reached (1.* dollars): with more*"]
    )
    before = len(read_run(project.runs / "r").records)
    assert before < 6
    refused = project.run("--max-cost=1", "--price=1000,1")
    refused.stderr.fnmatch_lines(["*--max-cost: '1': this run has spent 1.* dollars already: give more*"])
    whole = project.run("--max-tokens=2900", "--price=1000,1")  # 2,760 of all; those of stored answers count once

    assert whole.ret == 0
    whole.stdout.fnmatch_lines(["*mock:perfect: * dollars for * prompt tokens*"])
    assert sum(record.timing.replayed for record in read_run(project.runs / "r").records) == before
