"""Tasks beside each other: controls, chance, the mean over families."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.gates.gate import groups_of, parse_gate
from needlework.results.report.section import section_lines
from needlework.results.report.tasks import task_sections
from needlework.results.statistics.panels import asked_of, summarise
from needlework.results.statistics.tasks import macros, task_scores


@pytest.fixture
def trials(make_record):
    """Records of one task with these outcomes, one for each repeat, as a task or as one of its controls."""

    def build(task, outcomes, *, control="", **reference):
        told = {"answers": ["1"], **reference}
        told |= {"control": control, "twin": "code", "absent": control == "absent"} if control else {}
        needle = f"code_{control}" if control else "code"
        return [
            make_record(task=task, needle=needle, outcome=outcome, repeat=at, reference=dict(told))
            for at, outcome in enumerate(outcomes)
        ]

    return build


def test_controls_are_no_part_of_a_score_and_a_gate_sees_them_only_by_name(trials):
    records = trials("niah", ["found", "wrong"]) + trials("niah", ["found"] * 8, control="focused")
    records += trials("niah", ["found"] * 8, control="absent")
    (row,) = task_scores(asked_of(records))

    assert (row.overall.mean, row.overall.n) == (0.5, 2)
    assert (row.focused.mean, row.focused.n, row.relative.value) == (1.0, 8, 0.5)
    assert row.twins.hallucination.value == 0.0
    assert [(panel.needle, panel.overall.n) for panel in summarise(records)] == [("code", 2)]
    for gate, needle in (("score >= 0.9", "code"), ("score >= 0.9 [needle=code_absent]", "code_absent")):
        assert {record.needle for record in groups_of(parse_gate(gate), records)["all"]} == {needle}


@pytest.mark.parametrize(("outcomes", "corrected"), [(["found"] * 3 + ["wrong"], 0.5), (["wrong", "wrong"], -1)])
def test_chance_is_taken_off(trials, outcomes, corrected):
    (row,) = task_scores(asked_of(trials("niah", outcomes, chance=0.5, floor=0.6)))

    assert (row.chance, row.floor) == (0.5, 0.6)
    assert row.corrected.value == pytest.approx(corrected)
    assert row.corrected.low == pytest.approx((row.overall.interval.low - 0.5) / 0.5)


def test_a_macro_score_is_the_mean_over_families_not_over_tasks(trials):
    records = trials("niah", ["found"] * 4) + trials("ruler_vt", ["wrong"] * 4)
    (macro,) = macros(task_scores(asked_of(records + trials("ruler_cwe", ["found", "wrong"] * 2))))

    assert (macro.families, macro.tasks) == (2, 3)
    assert macro.score.value == pytest.approx((1 + (0 + 0.5) / 2) / 2)
    assert macro.score.low < macro.score.value < macro.score.high
    assert macros(task_scores(asked_of(records[4:]))) == (), "one family"


def test_two_tests_of_one_task_are_one_family(trials):
    names = ("niah@test_a", "niah@test_b", "ruler_vt")
    rows = task_scores(asked_of([record for task in names for record in trials(task, ["found", "wrong"])]))
    (macro,) = macros(rows)

    assert [(row.family, row.task) for row in rows] == list(zip(("needle", "needle", "ruler"), names, strict=True))
    assert (macro.families, macro.tasks) == (2, 3)


def test_no_macro_score_where_a_task_has_none_and_the_table_says_so(trials):
    rows = task_scores(asked_of(trials("niah", ["found"]) + trials("ruler_vt", ["error"])))
    (macro,) = macros(rows)

    assert macro.score.value is None
    assert "no macro score of mock: nothing scored for ruler_vt" in task_sections(rows, (macro,))[0].notes


def test_the_table_has_columns_for_what_there_is(trials):
    records = trials("niah", ["found", "censored"]) + trials("ruler_vt", ["found"])
    rows = task_scores(asked_of(records + trials("ruler_vt", ["found"], control="focused")))
    lines = section_lines(task_sections(rows, macros(rows)), ascii_only=True)[1:]

    assert lines[0].split()[0] == "task"
    assert "focused %" in lines[0]
    assert "invents %" not in lines[0]
    assert "1 censored" in lines[1]
    assert "".join(lines).isascii()
    assert task_sections(task_scores(asked_of(trials("niah", ["found"]))), ()) == [], "one task without controls"


@given(st.lists(st.sampled_from(["found", "wrong", "partial"]), min_size=12, max_size=30))
def test_relative_scores_lie_in_their_interval(make_record, outcomes):
    focused = {"needle": "code_focused", "reference": {"control": "focused"}}
    records = [make_record(repeat=repeat, outcome=outcome) for repeat, outcome in enumerate(outcomes)]
    (row,) = task_scores(asked_of(records + [make_record(repeat=at, **focused) for at in range(len(outcomes))]))

    assert row.relative.value == pytest.approx(row.overall.mean)
    assert row.relative.low <= row.relative.value <= row.relative.high
