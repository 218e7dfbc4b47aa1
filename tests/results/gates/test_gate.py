"""Gates: expressions, scopes, verdicts in words, baselines, `--top-up` rounds, and the samples that `--power` names."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.grid import Cell, parse_id
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.results.compare.command import main
from needlework.results.gates.decide import gate_rows, judge_gate
from needlework.results.gates.gate import Verdict, check_scopes, groups_of, parse_gate
from needlework.results.gates.gatekeeper import Gatekeeper, Goal, Want, next_round, parse_power, power_lines
from needlework.results.statistics.intervals import Counts, detectable_drop, exact_ends, samples_needed, samples_to_show
from tests.results.builders import write_run
from tests.results.gates.gate_records import judged, lines, record, trials


def groups(scope, records):
    found = groups_of(parse_gate(f"score >= 0.9 {scope}"), records)
    return {group: [(each.length, each.depth) for each in members] for group, members in found.items()}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (" lower_bound >= 85 % [task=niah, length<=32k] per depth ", ("lower_bound", ">=", 0.85, 2, "depth")),
        ("drop<=0.02", ("drop", "<=", 0.02, 0, None)),
        ("score > 90%", ("score", ">", 0.9, 0, None)),
        ("not worse", ("not worse", "<=", 0.0, 0, None)),
        (" not   worse ", ("not worse", "<=", 0.0, 0, None)),
        ("not_worse than 0 %", ("not worse", "<=", 0.0, 0, None)),
        ("not worse than 2% [length<=4k, task=niah] per length", ("not worse", "<=", 0.02, 2, "length")),
    ],
)
def test_a_gate_has_a_metric_a_limit_a_scope_and_a_grain(text, parts):
    gate = parse_gate(text)

    assert (gate.metric, gate.compare, gate.limit, len(gate.scope), gate.grain) == parts


@pytest.mark.parametrize(
    ("parse", "option", "texts"),
    [
        (parse_gate, "--gate", ["", "score", "score = 0.9", "accuracy >= 0.9", "score >= 90", "score >= -1",
         "score >= 1.2.3", "score >= 0.9 per planet", "score >= 0.9 [size<=3]", "score >= 0.9 [task<=niah]",
         "score >= 0.9 [length<=many]", "score >= 0.9 [depth=a..b]", "score >= 0.9 [length<=1k..2k]",
         "score >= 0.9 per length per depth", "lower_bound <= 0.9", "drop >= 0.02", "not worse than",
         "not worse than much", "not worse <= 0.1", "worse"]),
        (parse_gate, "--gate.*: no number of trials shows a score of exactly [01]; write score [<>]= 0.",
         ["score >= 1", "score > 100%", "lower_bound >= 1.0", "score <= 0", "score < 0%"]),
        (parse_power, "--power", ["", "drop", "drop=0", "drop=5", "drop=0.95", "drop=0.1,base=0", "score=1", "score=0",
         "score=0.9,base=0.5", "rise=0.1", "drop=0.05 base=0.9"]),
    ],
)  # fmt: skip
def test_a_wrong_gate_or_goal_is_one_line_that_names_the_option(parse, option, texts):
    for text in texts:
        with pytest.raises(InputError, match=rf"^{option}[^\n]+$"):
            parse(text)


LENGTHS, DEPTHS = (999, 1000, 2000, 2001), (39.999, 40.0, 50.0, 60.0, 60.001, None)


@pytest.mark.parametrize(
    ("scope", "lengths", "depths"),
    [
        ("depth=40..60", LENGTHS, (40, 50, 60)), ("depth>=40", LENGTHS, (40, 50, 60, 60.001)),
        ("depth>40", LENGTHS, (50, 60, 60.001)), ("depth<=60", LENGTHS, (39.999, 40, 50, 60)),
        ("depth<60", LENGTHS, (39.999, 40, 50)), ("depth=60", LENGTHS, (60,)), ("depth=50..50", LENGTHS, (50,)),
        ("depth=50, task=niah, needle=code, language=en, model=m", LENGTHS, (50,)), ("task=copy", (), ()),
        ("length=1k..2k", (1000, 2000), DEPTHS), ("length<=1k", (999, 1000), DEPTHS), ("length>2k", (2001,), DEPTHS),
    ],
)  # fmt: skip
def test_a_scope_chooses_records_with_both_ends_of_a_range(scope, lengths, depths):
    records = [record(length=length, depth=depth) for length, depth in product(LENGTHS, DEPTHS)]

    assert groups(f"[{scope}]", records).get("all", []) == list(product(lengths, depths))


def test_a_grain_makes_groups_shortest_first_and_a_task_one_of_each_test():
    records = [record(length=2000, depth=0.0), record(length=1000), record(length=2000)]

    assert list(groups("per length", records)) == ["length 1000", "length 2000"]
    assert list(groups("[length=2k] per depth", records)) == ["depth 0", "depth 50"]
    assert len(groups("per cell", records)) == 3
    of_tests = [record(test=f"test_{name}", depth=depth) for name, depth in (("a", 0.0), ("b", 50.0))]
    assert groups("[task=niah@test_b]", of_tests) == {"all of test_b": [(1000, 50.0)]}
    assert len(groups("[task=niah]", of_tests)) == 2


def problem_of(scope, selected=None, **options):
    """What is said of the values of a run that a scope does not fit; empty where it fits."""
    given = {"lengths": "400,16k", "depths": "0,50", "model": ["mock:perfect"]} | options
    try:
        check_scopes([parse_gate(f"score >= 0.9 {scope}")], grid(resolve_settings(given, {}, Path())), selected)
    except InputError as error:
        return str(error).rpartition("no cell of this run is in its scope; ")[2]
    return ""


SHORT = {"niah-len400-depth0-code-r0"}  # the cells that -k leaves


@pytest.mark.parametrize(
    ("scope", "selected", "problem"),
    [
        ("", None, ""), ("[task=niah, depth=40..60]", None, ""), ("[model=mock:perfect, language=en]", None, ""),
        ("[task=niah@test_own]", None, ""), ("[length=400]", SHORT, ""),
        ("[length=16k]", SHORT, "the run has length 400"), ("[length<=100]", None, "the run has length 400, 16k"),
        ("[depth=60..100]", None, "the run has depth 0, 50"), ("[language=zh]", None, "the run has language en"),
        ("[task=niah, length=64k]", None, "the run has task niah; length 400, 16k"),
        ("[retriever=bm25]", None, "the run has retriever none"),
        ("[model=gpt]", None, "the run has model mock:perfect"),
        ("[needle=code_absent]", None, "the run has needle code"),
    ],
)  # fmt: skip
def test_a_scope_that_fits_no_cell_is_refused_with_the_values_of_the_run(scope, selected, problem):
    assert problem_of(scope, selected) == problem


def test_a_scope_may_name_a_control():
    assert problem_of("[needle=code_absent]", controls="absent", needle_set="codes") == ""


def test_an_open_verdict_names_the_trials_and_the_time_that_would_decide_it():
    records = [*trials(5, length=400), *trials(9, 1, length=600)]
    verdicts = judge_gate(parse_gate("score >= 0.9 per length"), records)

    assert lines(*verdicts, further=4)[1:] == [
        "  inconclusive  length 400  1.000  95 % interval 0.478..1.000  n 5  at this score 42 samples decide",
        "  inconclusive  length 600  0.900  95 % interval 0.555..0.997  n 10  at the limit: no number decides",
        "--top-up asked 4 further trials",
        "2 of 2 verdicts inconclusive; --top-up 41 would decide if scores stay as they are",
    ]
    assert lines(*verdicts, trial_s=4.0)[-1].endswith("as they are (2 min more at this pace)")


def test_of_many_groups_those_that_did_not_pass_have_a_line():
    verdicts = [Verdict("score >= 0.5", f"cell {i}", "fail" if i == 99 else "pass", 1.0, n=9) for i in range(100)]
    head, failed, rest = lines(*verdicts)

    assert (head, failed[:15]) == ("gate score >= 0.5", "  FAIL  cell 99")
    assert rest == "  ... and 99 further groups pass"


def test_an_open_drop_names_pairs_and_the_baseline():
    line, remedy = lines(
        Verdict("drop <= 0.02", "all", "inconclusive", 0.0, -0.1, 0.1, n=25, samples=5, more=40, paired=True,
                several_depths=True)
    )[1:]  # fmt: skip

    assert line.endswith("n 25 of 5 samples  at this drop 45 samples decide")
    for part in ("--top-up 200 would decide", "--depths spread asks each sample", "run that with more --repeats first"):
        assert part in remedy


def test_the_report_gets_a_row_with_what_counts_as_a_miss():
    empty = judged("score >= 0.5", [*trials(40), *(record(outcome="empty", repeat=50 + i) for i in range(9))])
    (row,) = gate_rows([empty], 49)

    assert (row.gate, row.group, row.verdict, row.n) == ("score >= 0.5", "all", "pass", 49)
    assert row.remark == "9 empty of the n"


A, B, C = (Cell("niah", length, depth, "code", 1) for length, depth in ((400, 0.0), (400, 50.0), (600, 0.0)))
ORDER = {replace(cell, repeat=0): number for number, cell in enumerate((A, B, C))}
GRID = {"lengths": "400,600", "depths": "0,50", "model": ["mock:perfect"]}
MODEL = "mock:perfect"


def of(text):
    """`a1 b2`: cells A, B, C at these repeats."""
    return [replace({"a": A, "b": B, "c": C}[name], repeat=int(repeat)) for name, repeat in text.split()]


@pytest.mark.parametrize(
    ("wants", "added", "budget", "cells"),
    [
        ([Want([A, B], 3)], [], 100, "a1 b1 a2 b2"),
        ([Want([A, B], 4), Want([C], 3)], [], 5, "a1 b1 c1 a2 b2"),
        ([Want([A], 2)], [A, replace(A, repeat=2)], 9, "a3 a4"),
        ([Want([A], 1), Want([A, C], 2)], [], 9, "a1 c1"),
        ([Want([A, B], 50, lambda cell: cell.depth == 0, 4)], [], 99, "a1 a2 a3"),
    ],
    ids=["whole repeats", "one repeat of every group first", "none twice", "shared cells once", "as the baseline has"],
)
def test_a_round_has_the_trials_of_every_group(wants, added, budget, cells):
    assert next_round(wants, set(added), ORDER, budget) == of(cells)


class Run:
    """A run of two lengths and two depths, one repeat, whose cells are answered by `score`."""

    def __init__(self, score, *gates, folder=Path("nowhere"), **options):
        self.settings = resolve_settings(GRID | {"gate": list(gates)} | options, {}, Path())
        self.keeper = Gatekeeper(self.settings, grid(self.settings), [parse_gate(gate) for gate in gates], folder)
        self.score, self.records, self.rounds = score, [], []

    def answer(self, cells):
        for cell in cells:
            fields = {"length": cell.length, "depth": cell.depth, "repeat": cell.repeat, "model": MODEL}
            self.records.append(record(self.score(cell), **fields))

    def go(self):
        self.answer(Cell("niah", length, depth, "code") for length in (400, 600) for depth in (0.0, 50.0))
        while cells := self.keeper.next_cells(self.records, {}):
            self.rounds.append(len(cells))
            self.answer(cells)
        return [(verdict.group, verdict.state, verdict.n) for verdict in self.keeper.verdicts(self.records, "", {})]


@pytest.mark.parametrize(
    ("score", "gate", "top_up", "verdicts", "rounds"),
    [
        # At a second look 42 needles decide, each in four cells.
        (lambda cell: 1.0, "score >= 0.9", "500", [("all", "pass", 168)], [164]),
        (lambda cell: float(cell.repeat % 2 or cell.repeat == 0), "score >= 0.9", "500", [("all", "fail", 168)], [164]),
        (lambda cell: float(cell.length < 600), "score >= 0.9 per length", "500",
         [("length 400", "pass", 84), ("length 600", "fail", 6)], None),
        (lambda cell: 1.0, "score >= 0.9 per length", "7",
         [("length 400", "inconclusive", 6), ("length 600", "inconclusive", 5)], [7]),
        (lambda cell: 1.0, "score >= 0.9", "0", [("all", "inconclusive", 4)], []),
        (lambda cell: 1.0, "score >= 0.9 [length=9k]", "50", [("no cell in scope", "fail", 0)], []),
    ],
    ids=["decided", "turns out worse", "by group", "the budget", "no top-up", "no cells"],
)  # fmt: skip
def test_undecided_gates_are_topped_up_until_they_are_decided(score, gate, top_up, verdicts, rounds):
    run = Run(score, gate, top_up=top_up)

    assert run.go() == verdicts
    assert rounds is None or run.rounds == rounds


def test_the_same_trials_are_looked_at_once():
    run = Run(lambda cell: 1.0, "score >= 0.9", top_up="500")
    run.answer([Cell("niah", 400, 0.0, "code")])

    assert [len(run.keeper.next_cells(run.records, {})) > 0 for _ in range(2)] == [True, True]
    (verdict,) = run.keeper.verdicts(run.records, "", {})
    assert verdict.level == 95.0


# -- baselines ---------------------------------------------------------------------------------------------------


def baseline_of(folder, *records, **facts):
    return str(write_run(folder, records, manifest={"models": {MODEL: facts}}))


def test_drops_are_topped_up_as_far_as_the_baseline_goes(tmp_path):
    before = Run(lambda cell: 1.0, "score >= 0.9", top_up="20")
    before.go()
    run = Run(lambda cell: 1.0, "drop <= 0.02", top_up="500", baseline=baseline_of(tmp_path, *before.records))

    assert run.go() == [("all", "inconclusive", 24)]
    assert {parse_id(each.id) for each in run.records} == {parse_id(each.id) for each in before.records}


def test_a_baseline_that_cannot_be_used_is_refused_before_the_run(tmp_path):
    def refused(match, path, **options):
        with pytest.raises(InputError, match=rf"^--baseline[^\n]*{match}[^\n]*$"):
            Run(lambda cell: 1.0, "drop <= 0.02", baseline=path, **options)

    path = baseline_of(tmp_path, record(length=9000))
    refused("length 9000 / 400, 600", path)
    refused("this very run", path, folder=tmp_path)
    refused("has no results.json", str(tmp_path / "nowhere"))
    (tmp_path / "results.json").write_text("[]")
    refused("results.json': has no list of records", path)
    with pytest.raises(InputError, match=r"^--baseline: 'a, b': is given 2 times; give one$"):
        resolve_settings({"baseline": ["a", "b"]}, {}, Path())


def test_a_baseline_of_several_models_is_one_for_each(tmp_path):
    fields = {"length": 400, "depth": 0.0}
    before = [record(score, model=model, **fields) for model, score in ((MODEL, 1.0), ("mock:wrong", 0.0))]
    path = baseline_of(tmp_path, *before)
    keeper = Run(lambda cell: 1.0, "drop <= 0.02", baseline=path, model=[MODEL, "mock:wrong"]).keeper
    now = [record(0.5, model=model, **fields) for model in (MODEL, "mock:wrong")]

    (verdict,) = keeper.verdicts(now, "", {})
    assert (verdict.n, verdict.value) == (2, 0.0), "one fell by as much as the other rose"


def test_a_baseline_differs_by_the_rules_and_in_the_words_of_compare(tmp_path, capsys):
    one = record(length=400, depth=0.0, model=MODEL)
    before = baseline_of(tmp_path / "before", one, dtype="float32", server="http://a")
    now = baseline_of(tmp_path / "now", one, dtype="bfloat16", server="http://b")
    facts = {"models": {MODEL: {"dtype": "bfloat16", "server": "http://b"}}}
    words = f"one model in two kinds of numbers ({MODEL}: float32 / bfloat16); --allow-different-dtypes compares them"
    keeper, tolerant = (
        Run(lambda cell: 1.0, "not worse", baseline=before, **more).keeper
        for more in ({}, {"allow_different_dtypes": "true"})
    )

    keeper.check(one, {})  # nothing is known of the model yet
    with pytest.raises(InputError) as caught:
        keeper.check(one, facts)
    assert str(caught.value) == f"--baseline: '{before}': {words}"
    assert main([before, now, "--format", "svg"]) == 2
    assert words in capsys.readouterr().err

    tolerant.check(one, facts)
    part = f"  models {MODEL}: dtype float32 / bfloat16, server http://a / http://b"
    assert tolerant.differences(facts) == ["differs between the baseline and this run (A / B):", part]
    assert main([before, now, "--format", "svg", "--allow-different-dtypes"]) == 0
    assert part in capsys.readouterr().out.splitlines()
    assert keeper.differences({"models": {MODEL: {"dtype": "float32", "server": "http://a"}}}) == []


# -- power -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "goal"),
    [("drop=0.05", Goal("drop", 0.05, 0.9)), (" drop = 5 % , base = 0.98 ", Goal("drop", 0.05, 0.98)),
     ("score=90%", Goal("score", 0.9))],
)  # fmt: skip
def test_a_goal_is_a_drop_or_a_score(text, goal):
    assert parse_power(text) == goal


@pytest.mark.parametrize("parse", [parse_gate, parse_power])
@given(text=st.text())
def test_no_text_makes_it_stumble(parse, text):
    try:
        parse(text)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is right, a traceback is not


def test_the_repeats_hold_the_samples_that_are_needed():
    """Two needles, each in six cells: two samples in all and of each length, one in each repeat."""
    cells = [Cell("niah", length, d, "code", r) for length in (400, 600) for d in (0.0, 50.0, 100.0) for r in (0, 1)]
    needed, text = samples_needed(0.2), "\n".join(power_lines(Goal("drop", 0.2), cells))

    assert f"takes {needed} samples at one depth each" in text
    assert f"in all:     2 samples planned find no drop; --repeats {needed} finds this one" in text
    assert f"per cell:   2 samples planned find no drop; --repeats {needed} finds this one" in text
    assert "--depths spread asks each at one depth" in text
    assert list(power_lines(Goal("score", 0.9), cells))[1:-2] == [
        "power: score >= 0.9 passes in 80 of 100 runs of a model with the true score",
        "  1      with 36 samples at one depth each; --repeats: 36 in all, 36 per length, 36 per cell",
        "  0.975  with 85 samples at one depth each; --repeats: 85 in all, 85 per length, 85 per cell",
        "  0.95   with 231 samples at one depth each; --repeats: 231 in all, 231 per length, 231 per cell",
    ]


def test_tasks_have_needles_of_their_own():
    cells = [Cell(task, 400, 50.0, "code", repeat) for task in ("niah", "chain", "copy") for repeat in range(20)]
    lines = list(power_lines(Goal("drop", 0.2), cells))

    drop = f"find a drop of {100 * detectable_drop(60):.3g} points"
    assert f"  in all:     60 samples planned {drop}; --repeats {-(-samples_needed(0.2) // 3)} finds this one" in lines
    assert not any("--depths spread" in line for line in lines)


@pytest.mark.parametrize(("limit", "true"), [(0.9, 0.97), (0.5, 0.7)])
def test_the_planned_samples_pass_in_80_of_100_runs(limit, true):
    n = samples_to_show(limit, true)
    hits = np.random.default_rng(1).binomial(n, true, size=2000)
    passed = np.mean([exact_ends(Counts((1.0,) * k + (0.0,) * (n - k), (1,) * n))[0] >= limit for k in hits])

    assert 0.77 < passed < 0.87
