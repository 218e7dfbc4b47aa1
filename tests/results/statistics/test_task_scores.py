"""Scores of tasks: controls, chance, macro means; RULER's and NeedleBench's tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.gates.gate import groups_of, parse_gate
from needlework.results.report.section import section_lines
from needlework.results.report.suites import needlebench_sections
from needlework.results.report.tasks import twins_sections
from needlework.results.statistics.absent import twins_of
from needlework.results.statistics.panels import summarise
from needlework.results.statistics.run_report import run_report
from needlework.results.statistics.suites.published import TASKS, design_of, needlebench, ruler_tables, weighted
from needlework.results.statistics.tasks import macros, task_scores
from tests.parity.cases import cases
from tests.results.builders import changed, clopper_pearson, new_record
from tests.results.snapshots.runs import needlebench_trials


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
    (row,) = task_scores(records)

    assert (row.overall.mean, row.overall.n) == (0.5, 2)
    assert (row.focused.mean, row.focused.n, row.relative.value) == (1.0, 8, 0.5)
    assert row.twins.hallucination.value == 0.0
    assert [(panel.needle, panel.overall.n) for panel in summarise(records)] == [("code", 2)]
    for gate, needle in (("score >= 0.9", "code"), ("score >= 0.9 [needle=code_absent]", "code_absent")):
        assert {record.needle for record in groups_of(parse_gate(gate), records)["all"]} == {needle}


@pytest.mark.parametrize(("outcomes", "corrected"), [(["found"] * 3 + ["wrong"], 0.5), (["wrong", "wrong"], -1)])
def test_chance_is_taken_off(outcomes, corrected):
    (row,) = task_scores(trials("niah", outcomes, chance=0.5, floor=0.6))

    assert (row.chance, row.floor) == (0.5, 0.6)
    assert row.corrected.value == pytest.approx(corrected)
    assert row.corrected.low == pytest.approx((row.overall.interval.low - 0.5) / 0.5)


def test_a_macro_score_is_the_mean_over_families_not_over_tasks():
    records = trials("niah", ["found"] * 4) + trials("ruler_vt", ["wrong"] * 4)
    (macro,) = macros(task_scores(records + trials("ruler_cwe", ["found", "wrong"] * 2)))

    assert (macro.families, macro.tasks) == (2, 3)
    assert macro.score.value == pytest.approx((1 + (0 + 0.5) / 2) / 2)
    assert macro.score.low < macro.score.value < macro.score.high
    assert macros(task_scores(records[4:])) == (), "one family"


@given(st.lists(st.sampled_from(["found", "wrong", "partial"]), min_size=12, max_size=30))
def test_relative_scores_lie_in_their_interval(outcomes):
    focused = {"needle": "code_focused", "reference": {"control": "focused"}}
    records = [new_record(repeat=repeat, outcome=outcome) for repeat, outcome in enumerate(outcomes)]
    (row,) = task_scores(records + [new_record(repeat=at, **focused) for at in range(len(outcomes))])

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
    finding = twins_sections([twins])[0].findings[-1]
    assert finding.text == "1 error (present), 1 censored (absent), 1 invalid (absent)"


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


def records(scores, *, length=4096, repeats=1, **fields):
    """A record for each task (all, or those of a mapping), with the task's score; a score of None is an error."""
    scores = dict.fromkeys(TASKS, scores) if not isinstance(scores, dict) else scores
    return [
        new_record(
            **{"model": "m", "task": task, "needle": "words", "length": length, "depth": None, "repeat": repeat}
            | {"outcome": "error" if score is None else "found" if score == 1 else "partial" if score else "wrong"}
            | {"score": score, "scorer": "ruler_part" if "qa" in task else "ruler_all", "reference": {}}
            | {"details": {"score": {"strict": (score or 0) / 2}}}
            | fields
        )
        for task, score in scores.items()
        for repeat in range(repeats)
    ]


def length_of(rows):
    (table,) = ruler_tables(rows)
    (row,) = table.lengths
    return row


def test_the_mean_weighs_every_task_the_same():
    right = records(1.0, repeats=2) + records(1.0, repeats=5)[2:5]
    row = length_of([each for each in right if each.task != "ruler_vt"] + records({"ruler_vt": 0.0}, repeats=2))

    assert (row.mean, row.strict) == pytest.approx((12 / 13, 6 / 13))
    assert row.low < row.mean < row.high


def test_answers_cut_off_before_anything_right_count_as_0_and_unclear_strict_scores_do_not():
    rows = records(1.0, repeats=2)
    rows[0] = changed(rows[0], details={"score": {"strict": None}})
    assert length_of(rows).strict == pytest.approx(0.5)

    rows[0] = changed(rows[0], outcome="censored", score=None)
    row = length_of(rows)
    assert row.mean == pytest.approx((12 + 0.5) / 13)
    assert (row.n, row.cut, row.unscored) == (26, 1, 0)


def test_weighted_means_of_the_published_table():
    """wAvg(inc) and wAvg(dec) of every published row that has them."""
    checked = 0
    for row in cases("ruler/leaderboard_table"):
        scores = list(row["scores"].values())
        if None in scores or len(scores) < 6:
            continue
        for name, increasing in (("wavg_inc", True), ("wavg_dec", False)):
            if row[name].split()[0] != "TBD":
                published = float(row[name].split()[0])
                assert weighted(scores, increasing=increasing) == pytest.approx(published, abs=0.1), row["model"]
                checked += 1
    assert checked > 40


def rows_of(records, design):
    (summary,) = needlebench(records, design)
    return {row.name: row for row in summary.rows}


@pytest.mark.parametrize(("preset", "overall"), [("needlebench-v1-4k", 0.55), ("needlebench-v2-4k", 0.5)])
def test_weights_and_the_published_order_of_rows(preset, overall):
    """Published code says 15 and 16.7 here: its S-RT row is made of the M-RT data."""
    scores = {"niah": 1.0, "parallel": 0.0, "needlebench_reasoning": 0.5}
    records, design = needlebench_trials(lambda task, _: scores[task], preset=preset)
    rows = rows_of(records, design)
    kinds = [f"{kind}{end}" for kind in ("S-RT", "M-RT", "M-RS") for end in ("", "-EN", "-ZH")]

    assert list(rows) == [
        "Overall",
        *kinds,
        *(f"{n}-Needle-{language}" for language in ("EN", "ZH") for n in (2, 3, 4, 5)),
    ]
    assert rows["Overall"].value == pytest.approx(overall)
    assert [rows[name].value for name in kinds] == [1] * 3 + [0] * 3 + [0.5] * 3
    assert rows["Overall"].n == len(records)


def test_a_part_that_was_not_asked_is_missing_from_what_it_belongs_to():
    records, design = needlebench_trials(language="en", task="niah,needlebench_reasoning")
    rows = rows_of(records, design)

    assert rows["S-RT-EN"].value == rows["M-RS-EN"].value == 1
    assert (rows["S-RT"].value, rows["S-RT"].missing) == (None, ("S-RT-ZH",))
    assert rows["M-RT"].missing == ("M-RT-EN", "M-RT-ZH")
    assert rows["Overall"].value is None
    assert {"S-RT-ZH", "M-RT-EN", "M-RT-ZH", "5-Needle-ZH"} <= set(rows["Overall"].missing)
    assert "missing: S-RT-ZH" in "\n".join(section_lines(needlebench_sections(needlebench(records, design))))


def test_trials_that_did_not_run_or_have_no_score_are_named():
    records, design = needlebench_trials()
    stopped = rows_of([r for r in records if (r.needle, r.repeat) != ("code", 1)], design)
    assert stopped["S-RT-EN"].missing == ("S-RT-EN: 4 of 8 trials not run",)
    assert (stopped["S-RT-ZH"].value, stopped["Overall"].value) == (1, None)

    def censored(*repeats):
        lost = [r for r in records if (r.needle, r.length, r.depth) == ("code", 2000, 50.0) and r.repeat in repeats]
        return rows_of([changed(r, outcome="censored", score=None) if r in lost else r for r in records], design)

    some, blank = censored(0), censored(0, 1)
    assert (some["S-RT-EN"].value, some["S-RT-EN"].n, some["S-RT-EN"].unscored) == (1, 7, {"censored": 1})
    assert some["Overall"].unscored == {"censored": 1}
    assert blank["S-RT-EN"].missing == ("S-RT-EN: 1 of 4 cells without a score (at lengths 2000)",)
    assert blank["Overall"].value is None


def test_what_is_not_as_published_is_told(tmp_path):
    records, design = needlebench_trials(scorer="match")
    title = needlebench_sections(needlebench(records, design))[0].title
    assert "(not as published: lengths, depths, repeats, scorer)" in title

    published = design_of(resolve_settings({"preset": "needlebench-v2-4k"}, {}, tmp_path))
    assert published.changed == ()
    assert sum(len(part.trials) for part in published.parts) == 4 * 11 * 100 + 4 * 50


CHAINS = (2, 4, 8, 16, 32, 64, 128, 256, 512)


def traced(scores, without=()):
    options = {"preset": "needlebench-v2-atc", "lengths": "32k", "repeats": "4", "language": "en"}
    records, design = needlebench_trials(lambda _, needle: scores[int(needle.removeprefix("n"))], **options)
    (summary,) = needlebench([r for r in records if r.needle not in {f"n{count}" for count in without}], design)
    return summary


@pytest.mark.parametrize(
    ("scores", "needles", "dropped"),
    [
        (dict.fromkeys(CHAINS, 1.0), 512, None),
        (dict.fromkeys(CHAINS, 0.0), 0, 2),
        (dict.fromkeys(CHAINS, 0.6), 512, None),
        # Published code: 512, for the recovery at 64 forgets the drop at 32.
        ({count: 0.25 if count == 32 else 0.75 for count in CHAINS}, 16, 32),
    ],
)
def test_the_longest_chain_ends_at_the_first_drop(scores, needles, dropped):
    english = next(reach for reach in traced(scores).max_needles if "EN" in reach.name)

    assert (english.needles, english.dropped) == (needles, dropped)


def test_a_chain_is_undetermined_only_where_what_is_missing_matters():
    scores = {count: float(count <= 16) for count in CHAINS}

    assert traced(scores, without=(64,)).max_needles[0].needles == 16
    before = traced(scores, without=(8,)).max_needles[0]
    assert (before.needles, before.missing) == (None, ("ATC-8-EN: 4 of 4 trials not run",))
