"""Running cells: selection, lengths, plan, what is printed, what is written, what is let go of."""

import csv
import io

import pytest

from tests.loopback import loopback

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


def test_a_limited_run_says_so_and_goes_on_without(project):
    result = project.run("--limit=2", "--controls=absent,focused")

    lengths = [record["length"] for record in project.records() if record["needle"] == "code"]
    assert lengths == [400, 400]
    controls = [record["needle"] for record in project.records() if record["needle"] != "code"]
    assert sorted(controls) == ["code_absent", "code_focused"], "questions are counted, and not their controls"
    line = "--limit 2: the first 2 trials of each task and language, the shortest first: a part of the grid"
    assert str(result.stdout).count(line) == 2  # in the header and at the end
    assert line in project.file("report.html")
    manifest = project.json("manifest.json")
    assert (manifest["options"]["limit"], manifest["planned"]) == (2.0, 4)

    project.run("--controls=absent,focused")
    assert [record["needle"] for record in project.records()].count("code") == 6
    assert line not in project.file("report.html")
    divided = project.run("--limit=1", "-k", "depth100-", "--shard=1/2", name="s")
    assert "of 1 trials" in str(divided.stdout), "a limit is of what was selected"


# Of these tasks, icl needs some hundred tokens for its shortest list; niah fits.
SHORT = ("--task=niah,icl", "--preset=families", "--lengths=150,600", "--language=en", "--depths=50")


@pytest.mark.parametrize("workers", ["-n0", pytest.param("-n2", marks=pytest.mark.slow)])
def test_what_fits_is_run_and_the_rest_is_named_in_terminal_and_files(project, workers):
    project.asks("niah", "icl")
    result = project.run(*SHORT, workers)

    assert result.ret == 0
    cells = {(record["task"], record["length"]) for record in project.records()}
    assert cells == {("niah", 150), ("niah", 600), ("icl", 600)}
    line = "left out, too short: icl at 150"
    assert any(f"{line} (from " in each for each in result.outlines)
    assert any(line in note for note in project.json("results.json")["notes"])
    assert line in project.file("report.html")


def test_a_window_stands_beside_other_lengths_in_plan_records_and_output(project):
    given = ("--lengths=400,window", "--depths=50", "--model-arg=window=900")
    line = "--lengths window: 900 tokens, the window of mock:perfect"
    project.run(*given, "--plan").stdout.fnmatch_lines([line, "*2 lengths (tokens):  400 900"])
    project.run(*given).stdout.fnmatch_lines([line])
    assert {record["length"] for record in project.records()} == {400, 900}
    (suite,) = project.json("manifest.json")["suites"]
    assert (suite["window"], suite["lengths"]) == (True, [400, 900])
    # The same trials as with the number itself: nothing is asked again.
    once = len(project.journal())
    project.run("--lengths=400,900", "--depths=50", "--model-arg=window=900")
    assert len(project.journal()) == once


def test_a_server_is_asked_for_its_windows_and_the_smallest_holds_for_all_models(project):
    with loopback() as server:
        server.told["/v1/models"] = {"data": [{"id": "m", "max_model_len": 700}, {"id": "large", "max_model_len": 900}]}
        given = ("--lengths=window", "--depths=50", f"--base-url={server.url}", "--tokenizer=tiktoken:cl100k_base")
        project.run(*given, "--model=openai:large", model="openai:m")
    lengths = {(record["model"], record["length"]) for record in project.records()}
    assert lengths == {("openai:m", 700), ("openai:large", 700)}
