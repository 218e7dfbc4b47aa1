"""Tests and extensions of a user's own: failures as pytest shows them, and the examples of docs/extend.md."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import needlework
from needlework.core.errors import InputError
from needlework.core.settings import Places
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import TASKS, tasks_marked, with_tasks
from needlework.results.prompt import StoredRun, StoredTrials

PAGE = Path(__file__).parents[3] / "docs" / "extend.md"


@pytest.fixture
def page(project):
    """Writes the files that the code blocks of one section begin with: `page("A task of your own")`."""

    def write(section):
        text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
        for name, code in re.findall(r"```python\n# (\S+)\n(.*?)```", text, re.DOTALL):
            (project.pytester.path / name).write_text(code, encoding="utf-8")

    return write


def test_a_task_of_ones_own_is_asked_scored_and_written(project, page):
    page("A task of your own")
    assert project.run("test_berths.py", "-v").parseoutcomes() == {"scored": 6}
    rows = {(record["task"], record["score"], record["outcome"]) for record in project.records()}
    assert rows == {("berths", 1.0, "found")}


@pytest.fixture
def installed(project):
    """Pretends that a package is installed: `installed("tasks", "berths = harbour:BERTHS")`."""

    def install(group, point):
        folder = project.pytester.mkdir("harbour-1.dist-info")
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: harbour\nVersion: 1\n")
        (folder / "entry_points.txt").write_text(f"[needlework.{group}]\n{point}\n")
        conftest = project.pytester.path / "conftest.py"
        if group == "tasks":  # the package has the page's example, the project nothing of it
            code = conftest.read_text(encoding="utf-8").split("def pytest_needlework_tasks")[0]
            (project.pytester.path / "harbour.py").write_text(code, encoding="utf-8")
            project.pytester.makeconftest('pytest_plugins = ("needlework.plugin",)')
        project.pytester.syspathinsert()

    return install


PRESET = """
[harbour]
[[harbour.suite]]
task = "berths"
lengths = "500"
depths = "50"
"""


def test_a_package_brings_a_task_by_entry_point_and_a_preset_names_it(project, page, installed):
    page("A task of your own")
    installed("tasks", "berths = harbour:BERTHS")
    (project.pytester.path / "harbour.toml").write_text(PRESET, encoding="utf-8")
    options = ("--preset=harbour.toml", "--model=mock:perfect", "--corpus=pydoc", "--run-name=r")
    assert project.pytester.runpytest("-p", "no:cacheprovider", *options).parseoutcomes() == {"scored": 1}
    given = {"task": "berths", "lengths": "500", "depths": "50", "corpus": "pydoc", "model": ["mock:perfect"]}
    settings = resolve_settings(given, {}, project.runs, user_suites=[{"task": "berths"}])
    trial = StoredTrials(StoredRun(settings, Places(project.runs))).build("berths-len500-depth50-berth-r0")
    assert "lies at berth" in trial.prompt.text


def test_what_is_no_good_task_is_one_line(project):
    niah = TASKS["niah"]
    for task, problem in (
        (niah, "is the name of another task already"),
        (replace(niah, name="Two words"), "small letters"),
    ):
        with pytest.raises(InputError, match=problem):
            with_tasks([task])
    project.has_hooks(
        """
        from dataclasses import replace
        from needlework.haystack_fixtures.tasks.catalogue import TASKS

        def pytest_needlework_tasks(config):
            return [replace(TASKS["niah"], name="x", suite={"lenths": "1k"})]
        """
    )
    project.run().stderr.fnmatch_lines(["ERROR: *lenths*did you mean lengths?*"])


def test_an_entry_point_that_does_not_load_is_one_line(project, page, installed):
    page("A task of your own")
    installed("tasks", "berths = harbour:DOCKS")
    line = "ERROR: task: 'berths': the entry point harbour:DOCKS cannot be loaded (AttributeError: *"
    project.run("test_berths.py").stderr.fnmatch_lines([line])


def test_a_misspelt_mark_is_an_error_that_names_the_near_name(project):
    project.asks("nihh")
    result = project.run()
    result.stderr.fnmatch_lines(["ERROR: @pytest.mark.cells: 'nihh': did you mean niah?"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    with pytest.raises(InputError, match="use one of niah,"):
        tasks_marked("x", TASKS)


def test_a_scorer_of_ones_own_judges_a_run_that_is_over_and_one_that_goes_on(project, page):
    page("A scorer of your own")
    project.run("test_needles.py")
    assert needlework.main(["rescore", str(project.runs / "r"), "--scorer", "strict:only_the_value"]) == 0
    (again,) = (project.runs / "r").glob("rescored-*/results.json")
    assert {record["score"] for record in json.loads(again.read_text(encoding="utf-8"))["records"]} == {0.0}
    assert project.run("test_needles.py", "--scorer=strict:only_the_value").parseoutcomes() == {"scored": 6}
    verdicts = {(record["scorer"], record["score"], record["why"][:8]) for record in project.records()}
    assert verdicts == {("strict:only_the_value", 0.0, "expected")}  # the mock answers in a sentence


def test_a_model_of_ones_own_is_asked(project, page, installed):
    page("A model of your own")
    installed("models", "parrot = parrot")
    assert project.run("test_needles.py", model="parrot:grey").parseoutcomes() == {"scored": 6}
    assert {record["model"] for record in project.records()} == {"parrot:grey"}
    assert not [flag for record in project.records() for flag in record["details"]["flags"]]


def test_a_report_and_every_record_of_ones_own_and_a_run_read_without_heavy_libraries(project, page, monkeypatch):
    page("A report of your own")
    project.run("test_needles.py", model="mock:middle")
    rows = project.file("scores.tsv").splitlines()
    assert rows == ["model\ttask\tscore\tn", "mock:middle\tniah\t0.667\t6"]

    missed = (project.pytester.path / "missed.log").read_text(encoding="utf-8").splitlines()
    wrong = [record for record in project.journal() if record["outcome"] != "found"]
    assert missed == [f"{record['id']}: {record['why']}" for record in wrong]
    assert len(missed) == 2

    monkeypatch.setenv("PYTHONPATH", str(PAGE.parents[1]))
    code = (project.pytester.path / "read.py").read_text(encoding="utf-8")
    code += "\nimport sys\nassert not {'matplotlib', 'torch', 'transformers', 'pytest'} & set(sys.modules)\n"
    result = project.pytester.runpython(project.pytester.makepyfile(read_lightly=code))
    assert result.outlines == ["mock:middle · niah · code 0.6666666666666666 6", "2 of 6"]


# What the page's example calls of a tracker, noted in a file; whether the tracker has it is not tested here.
TRACKER = """
from contextlib import nullcontext

start_run = lambda run_name: nullcontext()

def note(*values, step=None):
    with open("noted.log", "a") as file:
        file.write(f"{values}\\n")

set_experiment = log_params = log_metric = log_artifact = note
"""


def test_a_trackers_hook_is_handed_every_score(project, page):
    page("Results where you keep them")
    project.pytester.makepyfile(mlflow=TRACKER)
    project.pytester.syspathinsert()
    result = project.run(model="mock:middle")
    assert "failed" not in result.stdout.str()
    noted = (project.pytester.path / "noted.log").read_text(encoding="utf-8")
    assert "niah/score" in noted
    assert noted.count("niah/code") == 2  # lengths
    assert "report.html" in noted


FAULTY_RECORD_HOOK = """
def pytest_needlework_record(config, record):
    record.why = "mine"
    record.details.flags.append("mine")
    raise ValueError("a fault of the hook")
"""


@pytest.mark.parametrize(
    ("hook", "line"),
    [
        ("def pytest_needlework_report():\n    raise SystemExit(0)", "report failed (SystemExit: 0); our own files*"),
        (FAULTY_RECORD_HOOK, "record failed (ValueError: a fault of the hook); our own files are whole"),
    ],
)
def test_a_hook_that_fails_is_one_line_and_keeps_out_and_changes_no_record(project, hook, line):
    project.has_hooks(hook)
    result = project.run("test_needles.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["score 100 %*", f"pytest_needlework_{line}"])
    assert len(project.journal()) == len(project.records()) == 6
    assert "mine" not in {
        each for r in (*project.journal(), *project.records()) for each in (r["why"], *r["details"]["flags"])
    }


def test_a_failed_assert_on_a_score_is_a_failure_in_the_terminal(project):
    project.test_does("assert assert_scored(generate(cell)) >= 0.5")
    result = project.run(model="mock:middle")

    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "*= FAILURES =*",
            "*test_niah?niah-len400-depth50-code-r0?*",
            "*score 0 (wrong) >= 0.5*",
            "*scorer: match v*",
            "*why: *",
            "FAILED test_needles.py::test_niah[[]niah-len*-depth50-code-r0]*",
            "*2 failed,*4 scored*",
        ]
    )
    assert [record["outcome"] for record in project.records()].count("wrong") == 2
    assert len(project.records()) == 6


def test_a_failure_after_scoring_keeps_the_score_and_half_a_surrogate_in_it_ends_no_worker(project):
    project.test_does("assert_scored(generate(cell))", "raise RuntimeError('\\ud800 mine')")
    result = project.run("--depths=50", "--lengths=400", "-n1")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*RuntimeError: * mine*", "*1 failed*"])
    assert [record["outcome"] for record in project.records()] == ["found"]


def test_of_several_scores_the_last_counts_and_a_trial_without_one_is_an_error(project):
    project.test_does(
        "exchange = generate(cell)",
        "if cell.depth == 50:",
        "    assert_scored(exchange, scorer='no_such')",
        "    assert_scored(exchange)",
    )
    project.run("--lengths=400")
    first, scored, last = sorted(project.records(), key=lambda record: record["depth"])
    assert (scored["outcome"], scored["scorer"]) == ("found", "match")
    line = "the test asked the model and scored nothing: call assert_scored(exchange)"
    assert first["error"] == last["error"] == {"kind": "harness", "message": line}


TWO = """
import pytest

@pytest.mark.cells("niah")
def test_a(cell, generate, assert_scored):
    assert_scored(generate(cell))

@pytest.mark.cells("niah")
def test_b(cell, generate, assert_scored):
    assert_scored(generate(cell), scorer="exact_match")
"""
TWO_CELLS = ("--lengths=400", "--depths=0,50")


def test_two_tests_over_the_same_cells_are_two_panels_and_a_gate_judges_each_by_itself(project):
    project.pytester.makepyfile(test_needles=TWO)
    result = project.run("--lengths=400", "--depths=50", "--repeats=8", "--gate=score >= 0.5 [task=niah]")

    result.stdout.fnmatch_lines(["*pass *all of test_a *1.000*", "*FAIL *all of test_b *0.000*", "*16 scored*"])
    assert result.ret == 1
    assert scores(project) == {("niah@test_a", "match"): [1.0] * 8, ("niah@test_b", "exact_match"): [0.0] * 8}
    panels = project.json("results.json")["summary"]
    assert [(panel["task"], panel["overall"]["n"], panel["overall"]["mean"]) for panel in panels] == [
        ("niah@test_a", 8, 1.0),
        ("niah@test_b", 8, 0.0),
    ]
    assert project.file("results.csv").count("niah@test_b-len400") == 8


def test_the_second_test_scores_the_first_ones_answer_and_neither_drops_the_other(project):
    project.pytester.makepyfile(test_needles=TWO)
    project.run(*TWO_CELLS, "-k", "test_a", model="mock:unsteady")
    assert set(scores(project)) == {("niah", "match")}, "one test alone needs no name"
    project.run(*TWO_CELLS, "-k", "test_b", model="mock:unsteady")  # asked again it would answer otherwise
    assert set(scores(project)) == {("niah@test_a", "match"), ("niah@test_b", "exact_match")}
    answers = {}
    for record in project.records():
        answers.setdefault(record["key"], set()).add(record["response"]["text"])
    assert [len(texts) for texts in answers.values()] == [1, 1]
    project.run(*TWO_CELLS, model="mock:unsteady")
    assert len(project.journal()) == len(project.records()) == 4, "nothing is asked, or written, twice"


def test_tests_of_one_name_over_the_same_cells_are_refused(project):
    source = project.pytester.path.joinpath("test_needles.py").read_text()
    for folder in ("one", "two"):
        path = project.pytester.mkdir(folder) / "test_same.py"
        path.write_text(source)
    result = project.run("one", "two")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*one/test_same.py::test_* and two/test_same.py::test_*rename one*"])


def scores(project):
    by_test = {}
    for record in project.records():
        task = f"{record['task']}@{record['test']}" if record["test"] else record["task"]
        by_test.setdefault((task, record["scorer"]), []).append(record["score"])
    return by_test


PLAIN = """
import pytest
from needlework.haystack_fixtures import Cell

def test_the_model_answers(model, generate):
    assert model.window is None
    exchange = generate(Cell("niah", 500, 30.0, "code"))
    assert exchange.answer
    assert exchange.trial.prompt.tokens <= 500

@pytest.mark.cells("niah")
def test_a_haystack_is_a_cells_prompt_with_or_without_the_cell(haystack):
    assert haystack.tokens < 600
    assert haystack.placed

def test_a_cell_of_ones_own_is_scored(generate, assert_scored):
    assert assert_scored(generate(Cell("niah", 500, 30.0, "code"))) == 1

def test_without_a_cell_there_is_no_haystack(haystack): pass
def test_without_a_cell_there_is_none(cell): pass
def test_of_another_needle(generate): generate(Cell("niah", 500, 30.0, "city"))
"""


def test_plain_tests_have_the_runs_model_and_ask_any_cell_of_its_tasks(project):
    project.pytester.makepyfile(test_needles=PLAIN)
    result = project.run(*TWO_CELLS)

    result.stdout.fnmatch_lines(["*1 failed, 3 passed, 2 errors, 1 scored*"])
    assert [record["id"] for record in project.records()] == ["niah-len500-depth30-code-r0"]
    result.stdout.fnmatch_lines_random(
        [
            'haystack: needs a cell: mark the test with @pytest.mark.cells("niah")*',
            'cell: needs a cell: mark the test with @pytest.mark.cells("niah")*',
            "generate: niah-len500-depth30-city-r0 is of no task and needle of this run: it has niah code",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
