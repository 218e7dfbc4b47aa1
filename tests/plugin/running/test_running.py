"""Running cells: selection, plan, what is printed, what is written, what is let go of."""

import csv
import io
import sys

import pytest

CELLS = 6


def test_a_perfect_model_finds_everything_and_the_files_prove_length_depth_and_needle(project, pictures):
    result = project.run("-v", "--answer-budget=40", "--verify-prompts")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_niah?niah-len400-depth0-code-r0? found 100%*"])
    assert project.json("manifest.json")["planned"] == len(project.journal()) == CELLS
    assert (project.runs / "r" / "heatmap-niah-code-mock_perfect.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in project.file("heatmap-niah-code-mock_perfect.svg")
    assert len(list(csv.DictReader(io.StringIO(project.file("results.csv"))))) == CELLS
    for record in project.records():
        prompt = record["prompt"]
        assert 0 <= record["length"] - 40 - prompt["tokens"] <= 2
        assert record["response"]["prompt_tokens"] == prompt["tokens"]
        (needle,) = prompt["needles"]
        assert needle["requested"] == record["depth"]
        if record["depth"] in (0, 100):
            assert needle["depth"] == record["depth"]
        assert record["expected"][0] in record["answer"]


def test_what_asks_no_cell_writes_nothing(project):
    result = project.run("--collect-only", "-q")
    result.stdout.fnmatch_lines(["test_needles.py::test_niah[[]niah-len400-depth0-code-r0]", "6 tests collected*"])
    project.run("--fixtures")
    project.run("--model-arg=dtyp=1")
    project.pytester.makepyfile(test_other="def test_x(): pass")
    project.pytester.runpytest_inprocess("test_other.py", "-p", "no:cacheprovider").assert_outcomes(passed=1)

    assert not project.runs.exists()


def test_a_plan_tells_what_would_run_and_runs_nothing(project):
    result = project.run("--plan", "--repeats=2", "-n2")

    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*niah, needle code, mock:perfect: 12 trials in 6 cells",
         "*2 lengths (tokens): *400 600", "*3 depths (percent): 0 50 100",
         "*in all: 12 trials in 6 cells = 12 requests*"]
    )  # fmt: skip
    assert not project.runs.exists()


def test_a_plan_counts_the_second_request_after_a_summary(project):
    result = project.run("--plan", "--controls=compacted", "--lengths=400", "--depths=0", "--answer-budget=50")

    result.stdout.fnmatch_lines(["in all: 2 trials = 3 requests, 750 prompt tokens, at most 150 answer tokens"])


def test_a_plan_of_many_series_has_a_line_for_each_and_the_list_of_presets_too(project):
    project.asks("aggregate", "state_world")
    plan = ("--plan", "--preset=standard", "--lengths=2000")
    short, whole = (len(project.run(*plan, word).outlines) for word in ("-q", "-v"))

    assert whole > 5 * short
    project.run("--preset=list").stdout.fnmatch_lines(["quick *", "evalscope *10 lengths x 10 depths*"])


SEVERAL_RUNS = """
import gc, sys, weakref, pytest

class Watch:
    def pytest_sessionstart(self, session):
        sessions.append(weakref.ref(session))

sessions = []
for name in ("first", "second", "third"):
    pytest.main([*sys.argv[1:], f"--run-name={name}"], plugins=[Watch()])
print("the second session is", "there" if sessions[1]() else "gone")
"""


def test_a_process_of_several_runs_lets_go_of_earlier_ones(project):
    script = project.pytester.makepyfile(script=SEVERAL_RUNS)
    one_cell = ("--lengths=400", "--depths=50", "--corpus=pydoc", "--model=mock:perfect")
    plain = ("-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:syrupy")
    result = project.pytester.run(sys.executable, script, "test_needles.py", *plain, *one_cell)
    result.stdout.fnmatch_lines(["the second session is gone"])


COUNTING = """
import gc

from needlework.core.prompts import Prompt

ALIVE = []


def pytest_runtest_logfinish():
    ALIVE.append(sum(isinstance(each, Prompt) for each in gc.get_objects()))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"alive {max(ALIVE)} of {len(ALIVE)}")
"""


@pytest.mark.slow
def test_a_run_of_long_prompts_does_not_keep_them(project):
    """Where there is room for no more, requests in flight keep four prompts each."""
    project.has_hooks(f"{COUNTING}\nimport needlework.pipeline.queue as queue\n\nqueue._MOST_UNREAD_TOKENS = 0\n")
    done = project.run("--depths=0:100:12", "--concurrency=2", model="mock:sleep=0.001", process=True)

    done.stdout.fnmatch_lines(["alive [0-9] of 24"])
