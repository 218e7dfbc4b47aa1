"""A run from Python is the same run."""

import os
import re
from pathlib import Path

import pytest

import needlework
from needlework.core.errors import InputError
from needlework.pytest_plugin.run_command import _words
from needlework.results.files.read_run import Run

ROOT = Path(needlework.__path__[0]).parent


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("answer_budget", 32, ["--answer-budget=32"]), ("lengths", [400, "1k"], ["--lengths=400,1k"]),
        ("gate", ["score >= 0.5", "not worse"], ["--gate=score >= 0.5", "--gate=not worse"]),
        ("fresh", True, ["--fresh"]), ("fresh", False, []), ("seed", None, []),
    ],
)  # fmt: skip
def test_keywords_are_options(key, value, words):
    assert list(_words(key, value)) == words


def test_a_misspelt_keyword_names_the_near_one():
    with pytest.raises(InputError, match=r"^option: 'lenghts': did you mean lengths\?"):
        needlework.run(lenghts=[400])


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    return tmp_path


@pytest.mark.slow
def test_the_example_of_the_quickstart(elsewhere, capsys):
    page = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n# notebook.py\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(code[1], names)
    run = names["run"]

    assert run.folder.parent == elsewhere / "results" / "runs"
    assert len(run.records) == run.planned
    assert {panel.overall.mean for panel in run.panels} == {1.0}
    said = capsys.readouterr().out
    assert "needlework: preset quick, model mock:perfect" in said
    assert said.endswith("".join(f"{panel.name} 1.0 {panel.overall.n}\n" for panel in run.panels))


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
def test_what_pytest_refuses_is_raised():
    with pytest.raises(RuntimeError, match=r"^ERROR: --lengths: 'x'"):
        needlework.run(model="mock:perfect", lengths="x")


def test_a_plan_is_printed_and_is_no_run(monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    assert needlework.run(plan=True, model="mock:perfect", lengths=[500], depths=[50]) is None
    assert "nothing was run; leave out --plan to run it" in capfd.readouterr().out
    assert not list(tmp_path.rglob("journal.jsonl"))


def test_a_run_shows_itself_in_one_line(tmp_path):
    run = Run(tmp_path / "nightly", (), {}, planned=25)
    assert repr(run).startswith("<Run nightly: 0 of 25 trials, no model; ")
    assert "\n" not in repr(run)
