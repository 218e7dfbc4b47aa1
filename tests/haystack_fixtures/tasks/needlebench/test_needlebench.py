"""NeedleBench's chains: lengths of traces, and answers in the form that is asked for."""

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import Cell
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import ask, grid, task_named
from needlework.scoring.recording import as_reference
from needlework.scoring.registry import scorer_named

REASONING, ATC = "needlebench_reasoning", "needlebench_atc"
PRESET = """
[chains]
[[chains.suite]]
task = "needlebench_reasoning"
language = "en,zh"
prompt = "task"
lengths = "700,1k,2k"
depths = "0,50,80,100"
corpus = "noise"
answer_budget = 64
controls = "absent,focused"
repeats = 6
[[chains.suite]]
task = "needlebench_atc"
language = "en,zh"
prompt = "task"
lengths = "1k,2k,32k"
depths = "0"
answer_budget = 64
repeats = 8
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    file = tmp_path_factory.mktemp("preset") / "chains.toml"
    file.write_text(PRESET, encoding="utf-8")
    return resolve_settings({"preset": str(file), "model": ["mock:perfect"], "verify_prompts": "true"}, {}, file.parent)


def test_traces_are_asked_at_the_first_length_that_holds_them(run):
    windows = {
        series.cells[0].needle: {cell.length for cell in series.cells}
        for series in grid(run)
        if series.suite.task == ATC
    }
    assert windows["n2"] == {1000}
    assert windows["n32"] == {2000}
    assert windows["n512"] == windows["n512_zh"] == {32_000}
    assert len(windows) == 18


def test_lengths_say_where_traces_stop(tmp_path):
    def labels(lengths):
        given = {"preset": "needlebench-v2-atc", "lengths": lengths, "language": "en"}
        return [series.cells[0].needle for series in grid(resolve_settings(given, {}, tmp_path))]

    assert labels("5k") == ["n2", "n4", "n8", "n16"]
    with pytest.raises(InputError, match=r"too short for needlebench_atc at 2000 \(from --lengths 4460\): use"):
        labels("2k")


@pytest.mark.parametrize(("task", "label", "depth"), [(REASONING, "4needle", 0.0), (ATC, "n4", None)])
def test_answers_are_right_in_the_form_that_is_asked_for(run, task, label, depth):
    scorer = scorer_named(task_named(task).scorer)
    for suite in (suite for suite in run.suites if suite.task == task):
        label_here = label if suite.language == "en" else f"{label}_{suite.language}"
        for repeat in range(4):
            asked = ask(task_named(task), suite, Cell(task, 1000, depth, label_here, repeat), 0)
            answers = (asked.answer, asked.reference["answers"][0], asked.question)
            scores = [scorer.judge(answer, as_reference(asked.reference)).value for answer in answers]
            assert scores == [1, 0, 0]
