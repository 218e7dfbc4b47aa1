"""The examples of docs/extend.md do what the page says."""

import json
import re
from pathlib import Path

import pytest

import needlework
from needlework.core.settings import Places
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.prompt import StoredRun, rebuild

PAGE = Path(__file__).parents[3] / "docs" / "extend.md"


@pytest.fixture
def page(project):
    """Writes the files that the code blocks of one section begin with: `page("A task of your own")`."""

    def write(section):
        text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
        for name, code in re.findall(r"```python\n# (\S+)\n(.*?)```", text, re.DOTALL):
            (project.pytester.path / name).write_text(code, encoding="utf-8")

    return write


PRESET = """
[harbour]
[[harbour.suite]]
task = "berths"
lengths = "500"
depths = "50"
"""


def test_a_task_of_ones_own_is_asked_scored_and_written_and_a_preset_names_it(project, page):
    page("A task of your own")
    assert project.run("test_berths.py", "-v").parseoutcomes() == {"scored": 6}
    rows = {(record["task"], record["score"], record["outcome"]) for record in project.records()}
    assert rows == {("berths", 1.0, "found")}

    (project.pytester.path / "harbour.toml").write_text(PRESET, encoding="utf-8")
    options = ("--preset=harbour.toml", "--model=mock:perfect", "--corpus=pydoc", "--run-name=h")
    assert project.pytester.runpytest("-p", "no:cacheprovider", *options).parseoutcomes() == {"scored": 1}


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


def test_a_package_brings_a_task_by_entry_point(project, page, installed):
    page("A task of your own")
    installed("tasks", "berths = harbour:BERTHS")
    assert project.run("test_berths.py").parseoutcomes() == {"scored": 6}
    given = {"task": "berths", "lengths": "500", "depths": "50", "corpus": "pydoc", "model": ["mock:perfect"]}
    settings = resolve_settings(given, {}, project.runs, user_suites=[{"task": "berths"}])
    trial = rebuild(StoredRun(settings, Places(project.runs)), "berths-len500-depth50-berth-r0")
    assert "lies at berth" in trial.prompt.text


def test_an_entry_point_that_does_not_load_is_one_line(project, page, installed):
    page("A task of your own")
    installed("tasks", "berths = harbour:DOCKS")
    line = "ERROR: task: 'berths': the entry point harbour:DOCKS cannot be loaded (AttributeError: *"
    project.run("test_berths.py").stderr.fnmatch_lines([line])


@pytest.mark.parametrize(
    ("name", "line"),
    [("nihh", "did you mean niah?"), ("needlebnch", "did you mean needlebench"), ("x", "use one of niah,")],
)
def test_a_misspelt_mark_is_an_error_that_names_the_near_name(project, name, line):
    project.asks(name)
    result = project.run()
    result.stderr.fnmatch_lines([f"ERROR: @pytest.mark.cells: '{name}': {line}*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ('replace(TASKS["niah"])', "'niah': is the name of another task already*"),
        ('replace(TASKS["niah"], name="Two words")', "'Two words': *small letters*"),
        ('replace(TASKS["niah"], name="x", suite={"lenths": "1k"})', "*lenths*did you mean lengths?*"),
        ('"niah"', "'niah': is no Task*"),
    ],
)
def test_what_is_no_good_task_is_one_line(project, given, line):
    project.has_hooks(
        f"""
        from dataclasses import replace
        from needlework.haystack_fixtures.tasks.catalogue import TASKS

        def pytest_needlework_tasks(config):
            return [{given}]
        """
    )
    project.run().stderr.fnmatch_lines([f"ERROR: *{line}"])


def test_a_scorer_of_ones_own_judges_a_run_and_one_that_is_over(project, page):
    page("A scorer of your own")
    assert project.run("test_needles.py", "--scorer=strict:only_the_value").parseoutcomes() == {"scored": 6}
    verdicts = {(record["scorer"], record["score"], record["why"][:8]) for record in project.records()}
    assert verdicts == {("strict:only_the_value", 0.0, "expected")}  # the mock answers in a sentence
    project.run("test_needles.py", name="s")
    assert needlework.main(["rescore", str(project.runs / "s"), "--scorer", "strict:only_the_value"]) == 0
    (again,) = (project.runs / "s").glob("rescored-*/results.json")
    assert {record["score"] for record in json.loads(again.read_text(encoding="utf-8"))["records"]} == {0.0}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("strict:nothing", "cannot be imported (AttributeError: *"),
        ("nowhere:at_all", "cannot be imported (ModuleNotFoundError: *"),
        ("strict:__doc__", "is a NoneType; give a Scorer or a function*"),
        ("mach", "use one of match*"),
    ],
)
def test_a_scorer_that_is_none_is_one_line_before_the_first_cell(project, page, name, line):
    page("A scorer of your own")
    result = project.run("test_needles.py", f"--scorer={name}")
    result.stderr.fnmatch_lines([f"ERROR: --scorer: '{name}': {line}"])
    assert not (project.runs / "r" / "results.json").exists()


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


@pytest.mark.parametrize("raised", ["RuntimeError('no disk')", "SystemExit(0)"])
def test_a_report_of_ones_own_that_fails_is_one_line_and_keeps_the_exit_code(project, raised):
    project.has_hooks(f"def pytest_needlework_report(config, report, folder):\n    raise {raised}\n")
    result = project.run("test_needles.py")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["score 100 %*", "*pytest_needlework_report failed (*; our own files are whole"])
    assert len(project.records()) == 6
