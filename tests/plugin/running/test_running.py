"""Running cells: selection, plan, what is printed, what is written."""

import csv
import io
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.plugin.conftest import GRID

CELLS = 6


def test_a_perfect_model_finds_everything_and_the_files_say_so(project):
    result = project.run("-v")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["*test_niah?niah-len400-depth0-code-r0? found 100%*"])
    for name in ("manifest.json", "journal.jsonl", "results.json", "results.csv"):
        assert (project.runs / "r" / name).stat().st_size > 100
    assert (project.runs / "r" / "heatmap-niah-code-mock_perfect.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in project.file("heatmap-niah-code-mock_perfect.svg")
    rows = list(csv.DictReader(io.StringIO(project.file("results.csv"))))
    assert len(rows) == CELLS


def test_records_prove_length_depth_and_needle(project):
    project.run("--answer-budget=40", "--verify-prompts")

    for record in project.records():
        prompt = record["prompt"]
        assert 0 <= record["length"] - 40 - prompt["tokens"] <= 2
        assert record["response"]["prompt_tokens"] == prompt["tokens"]
        (needle,) = prompt["needles"]
        assert needle["requested"] == record["depth"]
        if record["depth"] in (0, 100):
            assert needle["depth"] == record["depth"]
        assert record["expected"][0] in record["answer"]


def test_k_selects_cells(project):
    assert "2 scored" in project.run("-k", "depth50").stdout.str()
    assert "1 scored" in project.run("-k", "len400 and depth50", "--run-name=b").stdout.str()
    assert "6 scored" in project.run("-m", "niah", "--run-name=c").stdout.str()


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


def test_a_plan_of_many_series_has_a_line_for_each(project):
    project.asks("aggregate", "state_world")
    plan = ("--plan", "--preset=standard", "--lengths=2000")
    short, whole = (len(project.run(*plan, word).outlines) for word in ("-q", "-v"))

    assert whole > 5 * short


def test_presets_are_listed(project):
    result = project.run("--preset=list")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["quick *", "evalscope *10 lengths x 10 depths*"])


def test_several_models_in_one_run_and_their_outcomes(project):
    outcomes = {
        "perfect": {"found"}, "wrong": {"wrong"}, "refuse": {"refused"}, "empty": {"empty"}, "ramble": {"censored"},
        "middle": {"found", "wrong"},
    }  # fmt: skip
    models = [f"--model=mock:{name}" for name in outcomes]
    grid = ("--lengths=400", "--depths=0,50", "--corpus=pydoc", "--run-name=r")
    project.pytester.runpytest_inprocess("-p", "no:cacheprovider", *grid, *models)

    found = {}
    for record in project.records():
        found.setdefault(record["model"].removeprefix("mock:"), set()).add(record["outcome"])
    assert found == outcomes


def test_junit_carries_the_scores(project):
    project.run("--junitxml=junit.xml", "--gate=score >= 0.5")
    tree = ET.parse(project.pytester.path / "junit.xml")

    scores = [node.get("value") for node in tree.iter("property") if node.get("name") == "score"]
    assert scores == ["1.0000"] * CELLS
    assert any("score >= 0.5" in (case.get("name") or "") for case in tree.iter("testcase"))


EVERYWHERE = [
    (["--corpus=nowhere"], "'nowhere'"),
    (["--needle-set=nowhere"], "--needle-set: 'nowhere'"),
    (["--model=nowhere"], "--model: 'nowhere'"),
    (["--model=mock:dance"], "dance"),
    (["--model-arg=dtyp=1"], "dtyp"),
    (["--prompt=nowhere"], "--prompt: 'nowhere'"),
    (["--lengths=60,400"], "--lengths: '60': too short for niah: use at least"),
]
BEFORE_WORKERS = [
    (["--lengths=4x"], "--lengths: '4x': give whole tokens"),
    (["--preset=nope"], "--preset: 'nope'"),
    (["--gate=score"], "--gate: 'score': write"),
    (["--scorer=nowhere"], "--scorer: 'nowhere'"),
    (["--run-name=a/b"], "--run-name: 'a/b'"),
    (["--config=nowhere.toml"], "--config"),
    (["--results-dir=/dev/null/x"], "--results-dir"),
]


def refused(project, result, said):
    everything = result.stdout.str() + result.stderr.str()
    assert result.ret == 4
    assert said in everything
    assert result.stderr.str().count(said) <= 1, "once, and not for each file with cells"
    assert "ERROR collecting" not in everything
    assert "Traceback" not in everything
    assert "INTERNALERROR" not in everything
    assert not list(project.runs.glob("*/results.json"))


WITH_WORKERS = [([*args, "-n1"], said) for args, said in EVERYWHERE[:3]]


@pytest.mark.parametrize(("args", "said"), EVERYWHERE + BEFORE_WORKERS + WITH_WORKERS)
def test_a_wrong_value_is_one_line_and_nothing_is_written(project, args, said):
    refused(project, project.run(*args), said)


def test_distractors_of_several_needles_are_placed(project):
    project.asks("multi_needle")
    (project.pytester.path / "owls.toml").write_text(
        '[[needle]]\nneedle="Ada keeps owls."\nquestion="?"\nanswer="owls"\ndistractors=["Bob keeps hens."]\n'
        '[[needle]]\nneedle="Eve keeps newts."\nquestion="?"\nanswer="newts"\n'
        '[joint]\nquestion="What is kept?"\nanswer="owls and newts"\n'
    )
    project.run("--task=multi_needle", "--controls=none", "--needle-set=owls.toml")

    for record in project.records():
        assert record["outcome"] == "found"
        assert [needle["name"] for needle in record["prompt"]["needles"]] == ["owls1", "owls2", "distractor0"]


def test_an_option_that_nothing_looks_at_is_told_in_the_header(project):
    told = project.run("--data-limit=3", "-k", "depth50 and len400").stdout.str()

    assert "needlework: --data-limit is not used: no chosen task asks rows of a data set of yours" in told


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
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *GRID, "--model=mock:perfect")
    result = project.pytester.run(sys.executable, script, "test_needles.py", *options)
    result.stdout.fnmatch_lines(["the second session is gone"])
