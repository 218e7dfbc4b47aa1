"""Tasks beside each other: controls and absent twins, chance, the mean over families."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.results.files.json_files import results_bytes
from needlework.results.gates.gate import groups_of, parse_gate
from needlework.results.report.section import section_lines
from needlework.results.report.tasks import task_sections, twins_sections
from needlework.results.statistics.absent import twins_of
from needlework.results.statistics.panels import asked_of, summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.tasks import macros, task_scores
from tests.results.builders import clopper_pearson, new_record


def trials(task, outcomes, *, control="", **reference):
    """Records of one task with these outcomes, one for each repeat, as a task or as one of its controls."""
    told = {"answers": ["1"], **reference}
    told |= {"control": control, "twin": "code", "absent": control == "absent"} if control else {}
    needle = f"code_{control}" if control else "code"
    return [
        new_record(task=task, needle=needle, outcome=outcome, repeat=at, reference=dict(told))
        for at, outcome in enumerate(outcomes)
    ]


def test_controls_are_no_part_of_a_score_and_a_gate_sees_them_only_by_name():
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
def test_chance_is_taken_off(outcomes, corrected):
    (row,) = task_scores(asked_of(trials("niah", outcomes, chance=0.5, floor=0.6)))

    assert (row.chance, row.floor) == (0.5, 0.6)
    assert row.corrected.value == pytest.approx(corrected)
    assert row.corrected.low == pytest.approx((row.overall.interval.low - 0.5) / 0.5)


def test_a_macro_score_is_the_mean_over_families_not_over_tasks():
    records = trials("niah", ["found"] * 4) + trials("ruler_vt", ["wrong"] * 4)
    (macro,) = macros(task_scores(asked_of(records + trials("ruler_cwe", ["found", "wrong"] * 2))))

    assert (macro.families, macro.tasks) == (2, 3)
    assert macro.score.value == pytest.approx((1 + (0 + 0.5) / 2) / 2)
    assert macro.score.low < macro.score.value < macro.score.high
    assert macros(task_scores(asked_of(records[4:]))) == (), "one family"


def test_two_tests_of_one_task_are_one_family():
    names = ("niah@test_a", "niah@test_b", "ruler_vt")
    rows = task_scores(asked_of([record for task in names for record in trials(task, ["found", "wrong"])]))
    (macro,) = macros(rows)

    assert [(row.family, row.task) for row in rows] == list(zip(("needle", "needle", "ruler"), names, strict=True))
    assert (macro.families, macro.tasks) == (2, 3)


def test_no_macro_score_where_a_task_has_none_and_the_table_says_so():
    rows = task_scores(asked_of(trials("niah", ["found"]) + trials("ruler_vt", ["error"])))
    (macro,) = macros(rows)

    assert macro.score.value is None
    assert "no macro score of mock: nothing scored for ruler_vt" in task_sections(rows, (macro,))[0].notes


@given(st.lists(st.sampled_from(["found", "wrong", "partial"]), min_size=12, max_size=30))
def test_relative_scores_lie_in_their_interval(outcomes):
    focused = {"needle": "code_focused", "reference": {"control": "focused"}}
    records = [new_record(repeat=repeat, outcome=outcome) for repeat, outcome in enumerate(outcomes)]
    (row,) = task_scores(asked_of(records + [new_record(repeat=at, **focused) for at in range(len(outcomes))]))

    assert row.relative.value == pytest.approx(row.overall.mean)
    assert row.relative.low <= row.relative.value <= row.relative.high


def records_of(*pairs):
    """Records of both arms: (outcome with the answer in the text, outcome without it) for each repeat."""
    absent = {"needle": "code_absent", "reference": {"absent": True, "twin": "code"}}
    return [
        new_record(repeat=repeat, outcome=outcome, **({"reference": {"twin": "code"}}, absent)[arm])
        for repeat, pair in enumerate(pairs)
        for arm, outcome in enumerate(pair)
        if outcome is not None
    ]


def rates(twins):
    return [(rate.value, rate.n) for rate in (twins.hallucination, twins.needless, twins.balanced, twins.discriminates)]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (
            [
                ("found", "refused"),  # right in both
                ("found", "wrong"),  # hallucinates
                ("refused", "refused"),  # abstains needlessly
                ("wrong", "distractor"),  # hallucinates
                ("found", "empty"),  # says nothing: neither
            ],
            [(2 / 5, 5), (1 / 5, 5), (0.5, 10), (1 / 5, 5)],
        ),
        # A scorer of the absent arm may call an abstention found.
        ([("found", "found"), ("found", "wrong")], [(0.5, 2), (0, 2), (0.75, 4), (0.5, 2)]),
        # A model that always abstains is at chance.
        ([("refused", "refused")] * 20, [(0, 20), (1, 20), (0.5, 40), (0, 20)]),
        # An arm without scores has no rate.
        ([(None, "refused"), (None, "wrong")], [(0.5, 2), (None, 0), (None, 0), (None, 0)]),
    ],
)
def test_rates_by_hand(pairs, expected):
    (twins,) = run_report(records_of(*pairs)).twins

    assert (twins.model, twins.task) == ("mock", "niah")
    assert rates(twins) == expected
    for rate in (twins.hallucination, twins.discriminates):
        if rate.n:
            assert (rate.low, rate.high) == pytest.approx(clopper_pearson(rate.value or 0.0, rate.n))
    terms = [finding.term.strip() for finding in twins_sections([twins])[0].findings]
    shown = (["needless abstention", "balanced accuracy", "right in both twins"], [])[expected[1][1] == 0]
    assert terms == ["hallucination rate", *shown, "without a score"]


def test_trials_without_a_score_are_counted_beside_the_rates():
    other = new_record(task="qa")  # has no absent arm
    pairs = [("found", "refused"), ("error", "censored"), (None, "invalid")]
    records = [other, *records_of(*pairs)]
    (twins,) = run_report(records).twins

    assert [n for _, n in rates(twins)] == [1, 1, 2, 1]
    assert (twins.present.unscored, twins.absent.unscored) == ({"error": 1}, {"censored": 1, "invalid": 1})
    assert section_lines(twins_sections([twins])) == [
        "mock · niah · answers that are not there",
        "  hallucination rate: 0 % (one sample: no interval), n = 1",
        "  needless abstention: 0 % (one sample: no interval), n = 1",
        "  balanced accuracy: 100 % (one sample: no interval), n = 2",
        "  right in both twins: 100 % (one sample: no interval), n = 1",
        "    without a score: 1 error (present), 1 censored (absent), 1 invalid (absent)",
    ]
    written, reversed_order = (
        json.loads(results_bytes(run_report(each)))["absent_twins"] for each in (records, records[::-1])
    )
    assert written[0]["hallucination"] == {"value": 0.0, "low": None, "high": None, "n": 1}
    assert written == reversed_order


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "together"), [(40, 0.0), (40, 0.5), (25, -0.5)])
def test_balanced_accuracy_is_covered(samples, together):
    """Arms right with chances 0.8 and 0.6, alike (or opposed) within a sample."""
    rng = np.random.default_rng(samples)
    cover = np.array([[1.0, together], [together, 1.0]])
    count, times = 0, 400
    for _ in range(times):
        normal = rng.multivariate_normal([0.0, 0.0], cover, size=samples)
        right = normal < [0.841621, 0.253347]  # normal quantiles of 0.8 and 0.6
        pairs = [("found" if a else "wrong", "refused" if b else "wrong") for a, b in right]
        rate = twins_of("mock", "niah", records_of(*pairs)).balanced
        count += rate.low <= 0.7 <= rate.high

    assert 0.93 <= count / times <= 0.98
