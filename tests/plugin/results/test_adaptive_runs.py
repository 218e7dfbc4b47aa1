"""`--adaptive` in a session: what is asked, what is said, and that it goes on where it was stopped."""

import shutil

import pytest

CURVE = "mock:curve=400:1,500:1,600:0.1,700:0"
GRID = ("--adaptive", "--lengths=400,600,800", "--depths=0,50,100")
# A length near the bar, so that the walk takes some turns.
SLOPE = ("--adaptive", "--lengths=300,600,1200", "--depths=0,50,100")
SLOPED = "mock:curve=300:0.99,600:0.9,1200:0.6"


def statement(project, name="r"):
    (facts,) = project.json("results.json", name)["adaptive"]
    return facts


def essence(facts):
    """A statement without what interrupted sessions may have asked beyond it."""
    of_lengths = [(each["length"], each["n"], each["total"], each["decision"]) for each in facts["lengths"]]
    return facts["low"], facts["high"], facts["or_more"], facts["turns"], of_lengths


def test_a_run_brackets_the_length_and_asks_nothing_beyond_it(project):
    result = project.run(*GRID, model=CURVE)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "adaptive: 12 trials: 12 at 400",
            f"{CURVE} · niah · code: * tokens, * trials in * turns (full grid of ten samples: 54k)",
            "  effective length (score >= 85.6 %): 400, 95 % sure",
            "    400 pass 36/36   600 fails */12   800 not asked",
        ]
    )
    facts = statement(project)
    assert (facts["low"], facts["high"], facts["or_more"], facts["stopped"]) == (400, 400, False, "")
    assert {record["length"] for record in project.records()} == {400, 600}
    # Each sample at one depth, all depths equally often.
    at_400 = [(record["repeat"], record["depth"]) for record in project.records() if record["length"] == 400]
    assert sorted(repeat for repeat, _ in at_400) == list(range(36))
    assert {depth: sum(each == depth for _, each in at_400) for depth in (0, 50, 100)} == {0: 12, 50: 12, 100: 12}
    assert "85.6 % up to 400 tokens (95 % sure)" in project.file("report.html")


@pytest.mark.slow
def test_a_budget_stops_a_run_which_then_goes_on_to_the_same_statement(project):
    project.run(*SLOPE, "--run-name=whole", model=SLOPED)
    result = project.run(*SLOPE, "--adaptive-tokens=20k", "--run-name=parts", model=SLOPED)
    result.stdout.fnmatch_lines(["*--adaptive-tokens is spent: with more, the same command goes on"])
    assert statement(project, "parts")["stopped"] == "budget"
    assert statement(project, "parts")["tokens"] <= 20_000
    project.run(*SLOPE, "--adaptive-tokens=60k", "--run-name=parts", model=SLOPED)
    again = project.run(*SLOPE, "--run-name=parts", model=SLOPED)
    assert essence(statement(project, "parts")) == essence(statement(project, "whole"))
    again.stdout.fnmatch_lines(["* of * answers are from this run's journal*"])


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_statement_of_one_that_was_not(project):
    project.run(*SLOPE, "--run-name=whole", model=SLOPED)
    for lines in (5, 90):
        project.killed("whole", lines)
        project.run(*SLOPE, model=SLOPED)

        assert statement(project) == statement(project, "whole")
        ids = [record["id"] for record in project.journal()]
        assert len(ids) == len(set(ids)) == statement(project)["trials"], "no trial is asked twice"
        shutil.rmtree(project.runs / "r")


@pytest.mark.slow
def test_several_models_and_tasks_each_have_a_statement(project):
    project.asks("niah", "key_value")
    tasks = ("--preset=families", "--task=niah,key_value", "--answer-budget=32")
    result = project.run(*GRID, *tasks, "--lengths=600", "--model=mock:wrong", model="mock:perfect")
    assert result.ret == 0
    facts = project.json("results.json")["adaptive"]
    ends = {(each["model"], each["task"]): (each["low"], each["high"]) for each in facts}
    assert ends == {
        (model, task): end
        for model, end in (("mock:perfect", (600, 600)), ("mock:wrong", (None, None)))
        for task in ("niah", "key_value")
    }


def test_a_server_that_is_down_is_no_miss(project):
    result = project.run(*GRID, model="mock:error=timeout")
    result.stdout.fnmatch_lines(
        ["  effective length (score >= 85.6 %): unknown", "    400 not measurable (12 asked)   600 to 800 not asked"]
    )
    assert result.ret == 11  # void, as any run with so many errors


def test_cut_off_answers_have_no_score_unless_they_are_to_be_misses(project):
    project.run(*GRID, model="mock:ramble")
    assert statement(project)["lengths"][0]["decision"] == "not measurable"
    project.run(*GRID, "--censored-is-wrong", "--run-name=wrong", model="mock:ramble")
    assert (statement(project, "wrong")["low"], statement(project, "wrong")["high"]) == (None, None)


def test_another_bar_in_the_same_folder_is_refused(project):
    project.run(*GRID, model="mock:wrong")
    result = project.run(*GRID, "--adaptive-bar=90", model="mock:wrong")
    result.stderr.fnmatch_lines(["ERROR: --adaptive: 'normal': this run was begun with another mode, bar*"])


def test_the_plan_tells_the_range(project):
    result = project.run(*GRID, "--plan", "-q", "--price=1,2")
    result.stdout.fnmatch_lines(
        [
            "  wrong everywhere                     12 trials,   4.8k tokens, at most 0.0* dollars",
            "  right everywhere                    108 trials,  64.8k tokens, at most 0.07 dollars",
            "  never more than                     504 trials,   278k tokens, at most 0.* dollars, for a model near*",
        ]
    )
