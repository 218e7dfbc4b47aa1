"""A gate judges the trials of the cells that its command selects, whatever else the run's folder holds."""

import json

import pytest

from tests.results.html.pages import Page

MODEL = "mock:curve=400:1,600:0.2"  # all right at 400 tokens, one in five at 600
GATE = "--gate=score >= 0.7"
SAID = "judged on 16 of the run's 32 trials: the cells that its command selects"
CELLS = ("--depths=0,50", "--repeats=8")


@pytest.fixture
def folder(project):
    """The folder `r` has 16 trials of 400 tokens, all right."""
    project.run("--lengths=400", *CELLS, model=MODEL)
    return project


def told(project, name="r"):
    """The gate's verdicts in results.json and summary.json, which say the same."""
    results, summary = (json.loads(project.file(file, name)) for file in ("results.json", "summary.json"))
    assert results["gates"] == summary["gates"]
    return [(row["group"], row["verdict"], row["n"], row["selected"]) for row in results["gates"]]


@pytest.mark.parametrize(
    "more",
    [
        ("--lengths=600",),
        ("--lengths=600", "--top-up=5"),
        ("-k", "len600"),
        pytest.param(("--lengths=600", "-n2"), marks=pytest.mark.slow),
    ],
)
def test_cells_of_earlier_commands_are_not_judged(folder, monkeypatch, tmp_path, more):
    page = tmp_path / "summary.md"
    folder.run(*more, GATE, *CELLS, "--run-name=own", model=MODEL)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    result = folder.run(*more, GATE, *CELLS, model=MODEL)

    assert result.ret == 1
    assert len(folder.records()) == 32
    assert told(folder) == told(folder, "own") == [("all", "fail", 16, 16)]
    result.stdout.fnmatch_lines(["gate score >= 0.7", "  FAIL  all *", f"  {SAID}"])
    assert SAID in page.read_text()
    assert any(SAID in text for _, text in Page(folder.file("report.html")).contents)


def test_a_run_that_goes_on_and_asks_nothing_is_judged_on_what_it_replays(folder):
    folder.run("--lengths=600", *CELLS, model=MODEL)

    assert folder.run("--lengths=400", *CELLS, GATE, model=MODEL).ret == 0
    assert told(folder) == [("all", "pass", 16, 16)]
    assert folder.run("--lengths=400,600", *CELLS, "--gate=score >= 0.5", model=MODEL).ret != 0
    assert told(folder)[0][2:] == (32, 32)


def test_a_command_whose_own_cells_all_fail_is_void_though_earlier_ones_did_not(folder):
    folder.pytester.makepyfile(
        test_needles="""
        import pytest

        @pytest.mark.cells("niah")
        def test_niah(cell, generate, assert_scored):
            answer = generate(cell)
            assert cell.length == 400, "the tool is broken"
            assert_scored(answer)
        """
    )

    assert folder.run("--lengths=600", "--max-errors=50", model=MODEL).ret == 11
    assert folder.run("--lengths=400", "--max-errors=50", *CELLS, model=MODEL).ret == 0


def test_a_merged_run_is_judged_on_the_cells_of_its_shards(folder):
    from needlework.results.merge.command import main

    for shard in ("1/2", "2/2"):
        folder.run("--lengths=600", *CELLS, GATE, f"--shard={shard}", model=MODEL)

    assert main([str(folder.runs / "r")]) == 1
    assert len(folder.records()) == 32
    assert told(folder) == [("all", "fail", 16, 16)]
