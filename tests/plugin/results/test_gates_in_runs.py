"""Gates on the command line: exit codes, further trials, baselines, and where verdicts are told."""

import json
import xml.etree.ElementTree as ET

import pytest

from tests.results.html.pages import Page

SHARED = "--needle-set=codes"  # cells of a repeat share their needle: the repeats are the samples


def without_timing(records):
    return [{key: value for key, value in record.items() if key != "timing"} for record in records]


@pytest.mark.parametrize(
    ("model", "args", "status", "said"),
    [
        ("mock:perfect", ("--repeats=36",), 0, "  pass  all  1.000  95 % interval 0.90*..1.000  n 216 of 36 samples"),
        ("mock:middle", ("--repeats=8",), 1, "  FAIL  all  0.667  95 % interval 0.*..0.*  n 48 of 8 samples"),
        (
            "mock:perfect",
            (),
            10,
            "  inconclusive  all  1.000 * n 6 of 1 sample  one sample: *, at this score 42 samples *",
        ),
        ("mock:error=timeout", (), 11, "  FAIL  all  - * n 0  6 error counted against it, nothing scored"),
    ],
)
def test_four_runs_end_in_four_ways(project, model, args, status, said):
    result = project.run(*args, SHARED, "--gate=score >= 0.9", model=model)

    assert result.ret == status
    result.stdout.fnmatch_lines(["gate score >= 0.9", said])


def test_a_failed_gate_outranks_an_inconclusive_one_and_a_void_run_both(project):
    gates = ("--gate=score >= 0.9 [depth=0]", "--gate=score >= 0.9 [depth=50]", "--repeats=3")

    assert project.run(*gates, model="mock:middle").ret == 1
    assert project.run(*gates, "--run-name=b", model="mock:error=oom").ret == 11


def test_cells_with_a_needle_of_their_own_are_samples(project):
    """The preset quick: 6 cells, 6 needles."""
    project.run("--gate=score >= 0.9").stdout.fnmatch_lines(
        ["  inconclusive  all  1.000  95 % interval 0.541..* n 6  at this score 42 samples decide"]
    )
    result = project.run("--gate=score >= 0.9", "--top-up=36")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  pass  all  1.000 * n 42"])


def test_top_up_runs_in_one_process(project):
    result = project.run(SHARED, "--gate=score >= 0.8 per length", "--top-up=120", "-n2", process=True)

    assert len(project.records()) == 120
    result.stdout.fnmatch_lines(["needlework: one process, not -n 2: --top-up decides what is asked next"])


def test_top_up_ends_where_it_may_ask_no_more(project):
    result = project.run(SHARED, "--gate=score >= 0.9", "--top-up=5")

    assert result.ret == 10
    assert len(project.records()) == 11
    result.stdout.fnmatch_lines(["  inconclusive  all  1.000 *n 11 of 2 samples *", "*--top-up * would decide*"])


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


# -- against a baseline ------------------------------------------------------------------------------------------


def test_a_drop_against_a_baseline_decides_the_exit_code(project):
    project.run(SHARED, "--run-name=before", "--repeats=12")
    against = (SHARED, "--gate=drop <= 0.3", "--baseline=results/runs/before", "--repeats=12")

    assert project.run(*against, "--run-name=same").ret == 0
    assert project.run(*against, "--run-name=worse", model="mock:wrong").ret == 1
    result = project.run(SHARED, "--gate=drop <= 0.3", "--baseline=results/runs/before", "--run-name=few")
    assert result.ret == 10
    result.stdout.fnmatch_lines(
        ["  inconclusive  all  0.000 *n 6 of 1 sample *at this drop * samples decide*", "*more --repeats first*"]
    )


def refused(project, said, *args, **more):
    result = project.run(*args, "--run-name=now", **more)
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == 4
    assert said in text
    assert "Traceback" not in text
    assert "INTERNALERROR" not in text
    assert not (project.runs / "now" / "results.json").exists()


@pytest.mark.parametrize("workers", [(), pytest.param(("-n1",), marks=pytest.mark.slow)])
def test_a_baseline_that_cannot_be_used_is_one_line(project, workers):
    project.run("--run-name=before")
    drop = ("--gate=drop <= 0.1", *workers)

    refused(project, "--baseline: 'nowhere': has no results.json", "--baseline=nowhere", *drop)
    refused(project, "seed 0 / 5", "--baseline=results/runs/before", "--seed=5", *drop)
    refused(project, "is another one than this run's", "--baseline=results/runs/before", "--answer-budget=90", *drop)


def test_each_of_several_models_is_compared_with_one_baseline(project):
    project.run("--run-name=before", "--repeats=8")
    against = ("--gate=not worse", "--baseline=results/runs/before", "--repeats=8")
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
    remedy = "a baseline of one model serves each model of a run"
    refused(project, remedy, "--gate=not worse", "--baseline=results/runs/two", "--model=mock:half")


# -- where it is told --------------------------------------------------------------------------------------------


def test_junit_tells_the_verdict_and_an_inconclusive_gate_is_skipped(project):
    project.run(
        SHARED,
        "--repeats=2",
        "--junitxml=junit.xml",
        "--gate=score >= 0.9 [depth=0]",
        "--gate=score >= 0.1",
        "--gate=score < 0.1",
    )
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


def test_a_ci_page_gets_a_table(project, monkeypatch, tmp_path):
    page = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    project.run(SHARED, "--repeats=3", "--gate=score >= 0.9 per depth", model="mock:middle")

    rows = page.read_text()
    assert "| depth 50 | **fail** | 0.000 | 95 % interval 0.000..0.7" in rows
    assert "| `score >= 0.9 per depth` | depth 0 | **inconclusive** | 1.000 |" in rows


def test_the_power_of_a_plan_is_told_and_nothing_is_run(project):
    result = project.run(SHARED, "--plan", "--power=drop=0.1", "--repeats=40")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["power: a drop of 10 points from 0.9, found in 80 of 100 comparisons*",
         "  in all:     40 samples planned find a drop of * points; --repeats * finds this one",
         "  per cell:   40 samples planned *"]
    )  # fmt: skip
    assert not project.runs.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--top-up=5"], "--top-up: '5'"),
        (["--top-up=-1"], "--top-up: '-1': give a whole number"),
        (["--gate=drop <= 0.1"], "give --baseline RUN"),
        (["--baseline=x"], "--baseline: 'x'"),
        (["--gate=score >= 1"], "no number of trials shows"),
        (["--power=drop=0.1"], "--power: 'drop=0.1': is told before a run: give --plan too"),
        (["--plan", "--power=drop=7"], "--power: 'drop=7'"),
        (["--plan", "--power=fall=0.1"], "write drop=0.05"),
        (["--plan", "--power=score=0.5,base=0.2"], "write drop=0.05"),
    ],
)
def test_a_wrong_option_is_one_line(project, args, said):
    result = project.run(*args)

    assert result.ret == 4
    assert said in result.stderr.str()
    assert "Traceback" not in result.stderr.str()


def test_the_page_and_the_json_have_the_verdicts(project):
    project.run("--repeats=8", "--gate=score >= 0.99", "--gate=score >= 0.1 per length", model="mock:middle")
    gates = json.loads(project.file("results.json"))["gates"]
    page = Page(project.file("report.html"))

    told = [(row["gate"], row["group"], row["verdict"]) for row in gates]
    assert told[0] == ("score >= 0.99", "all", "fail")
    assert [verdict for _, _, verdict in told[1:]] == ["pass", "pass"]
    assert gates[0]["low"] < gates[0]["value"] < gates[0]["high"]
    assert "gate" in page.inside("a")
    assert {"fail", "pass", "0.667"} <= set(page.inside("td"))
