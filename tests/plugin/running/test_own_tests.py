"""Tests of a user's own: their failures are shown as pytest shows any, and none hides another."""


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
"""

NEEDS_A_CELL = """
from needlework.haystack_fixtures import Cell

def test_a(haystack): pass
def test_b(cell): pass
def test_c(generate): generate(Cell("niah", 500, 30.0, "city"))
"""


def test_plain_tests_have_the_runs_model_and_ask_any_cell(project):
    project.pytester.makepyfile(test_needles=PLAIN)
    result = project.run(*TWO_CELLS)

    result.stdout.fnmatch_lines(["*3 passed,*1 scored*"])
    assert [record["id"] for record in project.records()] == ["niah-len500-depth30-code-r0"]


def test_what_needs_a_cell_says_so_in_a_line(project):
    project.pytester.makepyfile(test_needles=NEEDS_A_CELL)
    result = project.run()

    result.stdout.fnmatch_lines_random(
        [
            'haystack: needs a cell: mark the test with @pytest.mark.cells("niah")*',
            'cell: needs a cell: mark the test with @pytest.mark.cells("niah")*',
            "generate: niah-len500-depth30-city-r0 is of no task and needle of this run: it has niah code",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
