"""Gates on the command line: exit codes, further trials, baselines, where verdicts are told, and whose trials count."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET

import pytest

from needlework.results.merge.command import main
from tests.docs.conftest import ROOT, copy_checkout
from tests.plugin.conftest import CACHE, without_timing
from tests.results.html.pages import Page

SHARED = "--needle-set=codes"  # cells of a repeat share their needle: the repeats are the samples


@pytest.mark.parametrize(
    ("model", "args", "status", "line"),
    [
        ("mock:perfect", ("--top-up=5",), 10, "  inconclusive  all  1.000 *n 11 of 2 samples *"),
        # A void run outranks a failed gate.
        ("mock:error=timeout", (), 11, "  FAIL  all  - * n 0  6 error counted against it, nothing scored"),
    ],
)
def test_runs_end_by_their_gate(project, model, args, status, line):
    result = project.run(*args, SHARED, "--gate=score >= 0.9", model=model)

    assert result.ret == status
    result.stdout.fnmatch_lines(["gate score >= 0.9*", line])


def test_top_up_runs_in_one_process(project):
    result = project.run(SHARED, "--gate=score >= 0.8 per length", "--top-up=9", "-n2")

    assert len(project.records()) == 6 + 9
    result.stdout.fnmatch_lines(["needlework: one process, not -n 2: --top-up decides what is asked next"])


def test_a_run_killed_while_it_topped_up_ends_like_one_that_was_not(project):
    gate = ("--gate=score >= 0.5 per depth", "--top-up=60")
    whole = project.run(*gate, "--run-name=whole", model="mock:rate=0.6")
    project.killed("whole", lines=17)
    again = project.run(*gate, model="mock:rate=0.6")

    assert again.ret == whole.ret
    assert len(project.journal()) == len(project.journal("whole")) > 20, "no trial is asked twice"
    assert without_timing(project.records()) == without_timing(project.records("whole"))


def test_fixtures_with_a_wider_scope_serve_further_trials_too(project):
    project.pytester.makepyfile(
        test_needles="""
        import pytest

        @pytest.fixture(scope="session")
        def opened():
            return []

        class TestNeedles:
            @pytest.mark.cells("niah")
            def test_needle(self, cell, opened, generate, assert_scored):
                opened.append(cell)
                assert_scored(generate(cell))
        """
    )

    assert project.run("--gate=score >= 0.8", "--top-up=100").ret == 0
    assert {"::TestNeedles::test_needle[" in record["nodeid"] for record in project.records()} == {True}


def test_a_failure_ends_further_trials_where_it_ends_others(project):
    project.test_does("assert_scored(generate(cell))", "assert cell.repeat == 0, 'of a further trial'")
    project.run("-x", "--gate=score >= 0.8", "--top-up=100")

    assert len(project.records()) == 6 + 1


# -- against a baseline ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)])
def test_a_baseline_that_cannot_be_used_is_one_line(project, workers):
    one_cell = ("--lengths=400", "--depths=50")
    project.run("--run-name=before", *one_cell)
    against = ("--gate=drop <= 0.1", "--baseline=results/runs/before", "--run-name=now", *one_cell, *workers)
    for option, line in (("--seed=5", "seed 0 / 5"), ("--answer-budget=90", "is another one than this run's")):
        result = project.run(*against, option)
        assert result.ret == 4
        assert line in result.stdout.str() + result.stderr.str()
        assert not (project.runs / "now" / "results.json").exists()


def test_each_of_several_models_is_compared_with_one_baseline(project):
    project.run("--run-name=before", "--lengths=400", "--repeats=8")
    against = ("--gate=not worse", "--baseline=results/runs/before", "--lengths=400", "--repeats=8")
    result = project.run(*against, "--model=mock:middle", "--run-name=one")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "gate not worse",
            "  pass  model mock:perfect * samples show a drop of *or more*",
            "  FAIL  model mock:middle * 0.333 *",
        ]
    )
    result.stdout.fnmatch_lines(["differs between the baseline and this run (A / B):", "  models*"])
    project.run(*against, "--model=mock:middle", "--run-name=two")
    result = project.run("--gate=not worse", "--baseline=results/runs/two", "--model=mock:half", "--run-name=now")
    result.stderr.fnmatch_lines(["ERROR: --baseline: *a baseline of one model serves each model of a run*"])


# -- where it is told --------------------------------------------------------------------------------------------


def test_verdicts_are_told_in_junit_on_the_ci_page_in_the_report_and_in_json(project, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    gates = ("--gate=score >= 0.9 [depth=0]", "--gate=score >= 0.1", "--gate=score < 0.1")
    result = project.run(SHARED, "--repeats=2", "--junitxml=junit.xml", *gates)

    assert result.ret == 1, "a failed gate outranks one that cannot be decided"
    cases = {case.get("name"): case for case in ET.parse(project.pytester.path / "junit.xml").iter("testcase")}
    open_one = cases["score >= 0.9 (depth=0) (all)"]
    facts = {node.get("name"): node.get("value") for node in open_one.iter("property")}
    assert facts == {
        "verdict": "inconclusive", "value": "1.0", "low": facts["low"], "high": "1.0", "level": "95", "n": "4",
        "samples": "2", "more_samples": "40", "more_trials": "80",
    }  # fmt: skip
    assert "INCONCLUSIVE" in (open_one.find("skipped").get("message") or "").upper()
    assert cases["score >= 0.1 (all)"].find("failure") is None
    assert cases["score < 0.1 (all)"].find("failure") is not None
    properties = [node for case in cases.values() for node in case.iter("property")]
    assert [node.get("value") for node in properties if node.get("name") == "score"] == ["1.0000"] * 12

    table = (tmp_path / "summary.md").read_text()
    assert "| score >= 0.9 [depth=0] | all | inconclusive | 1.000 |" in table
    assert "| score < 0.1 | all | fail | 1.000 |" in table
    rows = project.json("results.json")["gates"]
    assert [(row["gate"], row["group"], row["verdict"]) for row in rows] == [
        ("score >= 0.9 [depth=0]", "all", "inconclusive"),
        ("score >= 0.1", "all", "pass"),
        ("score < 0.1", "all", "fail"),
    ]
    assert rows[0]["low"] < rows[0]["value"] == rows[0]["high"] == 1
    page = Page(project.file("report.html"))
    assert "gate" in page.inside("a")
    assert {"fail", "pass", "1.000"} <= set(page.inside("td"))


def test_the_power_of_a_plan_is_told_and_nothing_is_run(project):
    result = project.run(SHARED, "--plan", "--power=drop=0.1", "--repeats=40")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["power: a drop of 10 points from 0.9, found in 80 of 100 comparisons*",
         "  in all:     40 samples planned find a drop of * points; --repeats * finds this one",
         "  per cell:   40 samples planned *"]
    )  # fmt: skip
    assert not project.runs.exists()


# -- in a folder that holds more than the command selects --------------------------------------------------------

MODEL = "mock:curve=400:1,600:0.2"  # all right at 400 tokens, one in five at 600
GATE = "--gate=score >= 0.7"
SAID = "judged on 12 of the run's 24 trials: the cells that its command selects"
CELLS = ("--depths=50", "--repeats=12")


@pytest.fixture
def folder(project):
    """The folder `r` has 12 trials of 400 tokens, all right."""
    project.run("--lengths=400", *CELLS, model=MODEL)
    return project


def verdicts(project, name="r"):
    """The gate's verdicts in results.json and summary.json, which say the same."""
    results, summary = (json.loads(project.file(file, name)) for file in ("results.json", "summary.json"))
    assert results["gates"] == summary["gates"]
    return [(row["group"], row["verdict"], row["n"], row["selected"]) for row in results["gates"]]


@pytest.mark.parametrize(
    "more", [("-k", "len600", "--top-up=5"), pytest.param(("--lengths=600", "-n2"), marks=pytest.mark.slow)]
)
def test_cells_of_earlier_commands_are_not_judged(folder, monkeypatch, tmp_path, more):
    folder.run(*more, GATE, *CELLS, "--run-name=own", model=MODEL)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    result = folder.run(*more, GATE, *CELLS, model=MODEL)

    assert result.ret == 1
    assert len(folder.records()) == 24
    assert verdicts(folder) == verdicts(folder, "own") == [("all", "fail", 12, 12)]
    result.stdout.fnmatch_lines(["gate score >= 0.7", "  FAIL  all *", f"  {SAID}"])
    assert SAID in (tmp_path / "summary.md").read_text()
    assert any(SAID in text for _, text in Page(folder.file("report.html")).contents)


def test_a_run_that_goes_on_and_asks_nothing_is_judged_on_what_it_replays(folder):
    folder.run("--lengths=600", *CELLS, model=MODEL)

    assert folder.run("--lengths=400", *CELLS, GATE, model=MODEL).ret == 0
    assert verdicts(folder) == [("all", "pass", 12, 12)]
    assert folder.run("--lengths=400,600", *CELLS, "--gate=score >= 0.5", model=MODEL).ret != 0
    assert verdicts(folder)[0][2:] == (24, 24)


def test_a_command_whose_own_cells_all_fail_is_void_though_earlier_ones_did_not(folder):
    folder.test_does("answer = generate(cell)", "assert cell.length == 400, 'a fault'", "assert_scored(answer)")

    assert folder.run("--lengths=600", "--max-errors=50", model=MODEL).ret == 11
    assert folder.run("--lengths=400", "--max-errors=50", *CELLS, model=MODEL).ret == 0


def test_a_merged_run_is_judged_on_the_cells_of_its_shards(folder):
    for shard in ("1/2", "2/2"):
        folder.run("--lengths=600", *CELLS, GATE, f"--shard={shard}", model=MODEL)

    assert main([str(folder.runs / "r")]) == 1
    assert len(folder.records()) == 24
    assert verdicts(folder) == [("all", "fail", 12, 12)]


# -- docs/github-actions.yml: its commands, as they stand there ---------------------------------------------------

FILE = ROOT / "docs" / "github-actions.yml"


def commands(step):
    """The shell commands of one step."""
    (text,) = re.findall(rf"- name: {step}\n(.*?)(?=\n      - |\Z)", FILE.read_text(encoding="utf-8"), re.DOTALL)
    block, line = re.search(r"run: \|\n(.*)", text, re.DOTALL), re.search(r"run: (.*)", text)
    return textwrap.dedent(block[1]) if block else line[1]


@pytest.fixture
def job(tmp_path):
    """Runs the job in a checkout, where the model is the only thing that is added: exit code, and what was said."""
    copy_checkout(tmp_path)
    shim = tmp_path / ".venv" / "bin" / "pytest"
    shim.parent.mkdir(parents=True)
    quiet = "-p no:cacheprovider -p no:hypothesispytest -p no:randomly"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pytest {quiet} --model "$MODEL" "$@"\n')
    shim.chmod(0o755)
    usual = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "GITHUB"))}
    usual |= {"PYTHONPATH": str(tmp_path), "NEEDLEWORK_CACHE": str(CACHE)}

    def step(name, event, model):
        # As GitHub runs a step.
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", commands(name)], cwd=tmp_path, timeout=200, check=False,
            env=usual | {"GITHUB_EVENT_NAME": event, "MODEL": model}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip

    def run(event, model):
        done = step("Run", event, model)
        if done.returncode == 0 and event == "schedule":
            assert step("Keep as the baseline", event, model).returncode == 0
        shutil.rmtree(tmp_path / "results" / "runs" / "ci")  # the next job begins without it
        return done.returncode, done.stdout

    return run


@pytest.mark.slow
def test_a_checkpoint_that_lost_37_points_is_stopped_and_an_equal_one_is_not(job):
    for event, model, code, line in (
        ("schedule", "mock:rate=0.92", 0, ""),
        ("pull_request", "mock:rate=0.55", 1, "  FAIL  all"),
        ("pull_request", "mock:rate=0.92", 0, "samples show a drop of"),
        ("schedule", "mock:rate=0.55", 1, ""),  # a worse run is no new baseline
        ("pull_request", "mock:rate=0.92", 0, ""),
    ):
        status, output = job(event, model)
        assert status == code, output
        assert line in output.split("gate not worse")[-1]
