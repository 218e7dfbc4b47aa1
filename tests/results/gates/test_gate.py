"""Gates: which expressions there are, which records they judge, and verdicts in words."""

from itertools import product
from pathlib import Path

import pytest

from needlework.core.errors import InputError
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.pytest_plugin.reports import gate_case
from needlework.results.gates.decide import gate_rows, judge_gate
from needlework.results.gates.gate import Verdict, check_scopes, groups_of, parse_gate
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
    "text",
    ["", "score", "score = 0.9", "accuracy >= 0.9", "score >= 90", "score >= -1", "score >= 1.2.3",
     "score >= 0.9 per planet", "score >= 0.9 [size<=3]", "score >= 0.9 [task<=niah]", "score >= 0.9 [length<=many]",
     "score >= 0.9 [depth=a..b]", "score >= 0.9 [length<=1k..2k]", "score >= 0.9 per length per depth",
     "lower_bound <= 0.9", "drop >= 0.02", "not worse than", "not worse than much", "not worse <= 0.1", "worse"],
)  # fmt: skip
def test_a_wrong_gate_is_one_line_that_names_the_option(text):
    with pytest.raises(InputError, match=r"^--gate[^\n]+$"):
        parse_gate(text)


@pytest.mark.parametrize("text", ["score >= 1", "score > 100%", "lower_bound >= 1.0", "score <= 0", "score < 0%"])
def test_a_limit_that_no_run_can_show_is_refused_with_one_that_it_can(text):
    with pytest.raises(InputError, match=r"no number of trials shows a score of exactly [01]; write score [<>]= 0\."):
        parse_gate(text)


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


def test_a_scope_may_name_one_of_several_tests_of_a_task():
    records = [record(test=f"test_{name}", depth=depth) for name, depth in (("a", 0.0), ("b", 50.0))]

    assert groups("[task=niah@test_b]", records) == {"all of test_b": [(1000, 50.0)]}
    assert len(groups("[task=niah]", records)) == 2


def test_a_grain_makes_groups_shortest_first():
    records = [record(length=2000, depth=0.0), record(length=1000), record(length=2000)]

    assert list(groups("per length", records)) == ["length 1000", "length 2000"]
    assert list(groups("[length=2k] per depth", records)) == ["depth 0", "depth 50"]
    assert len(groups("per cell", records)) == 3


def check(scope, selected=None, **options):
    settings = resolve_settings(
        {"lengths": "400,16k", "depths": "0,50", "model": ["mock:perfect"], **options}, {}, Path()
    )
    check_scopes([parse_gate(f"score >= 0.9 {scope}")], grid(settings), selected)


@pytest.mark.parametrize(
    ("scope", "values", "selected"),
    [
        ("[length<=100]", "the run has length 400, 16k", None),
        ("[depth=60..100]", "the run has depth 0, 50", None),
        ("[task=niah, length=64k]", "the run has task niah; length 400, 16k", None),
        ("[retriever=bm25]", "the run has retriever none", None),
        ("[model=gpt]", "the run has model mock:perfect", None),
        ("[language=zh]", "the run has language en", None),
        ("[needle=code_absent]", "the run has needle code", None),
        # Cells that -k leaves out.
        ("[length=16k]", "the run has length 400", {"niah-len400-depth0-code-r0"}),
    ],
)
def test_a_scope_that_fits_no_cell_is_refused_with_the_values_of_the_run(scope, values, selected):
    with pytest.raises(InputError, match=f"no cell of this run is in its scope; {values}$"):
        check(scope, selected)


@pytest.mark.parametrize(
    ("scope", "selected", "options"),
    [
        ("", None, {}), ("[task=niah, depth=40..60]", None, {}), ("[model=mock:perfect, language=en]", None, {}),
        ("[task=niah@test_own]", None, {}), ("[length=400]", {"niah-len400-depth0-code-r0"}, {}),
        ("[needle=code_absent]", None, {"controls": "absent", "needle_set": "codes"}),
    ],
)  # fmt: skip
def test_a_scope_that_fits_is_taken(scope, selected, options):
    check(scope, selected, **options)


def test_a_gate_is_a_heading_and_a_line_for_each_group():
    lost = [record(outcome="skipped", length=32_000, repeat=i) for i in range(2)]
    records = [*trials(40, length=400), *trials(3, 7, length=16_000), record(None, length=16_000, repeat=20), *lost]

    *rows, last = lines(*judge_gate(parse_gate("score >= 0.9 per length"), records))

    assert rows == [
        "gate score >= 0.9 per length",
        "  pass  length 400    1.000  95 % interval 0.912..1.000  n 40",
        "  FAIL  length 16000  0.273  95 % interval 0.060..0.610  n 10  1 error counted against it",
    ]
    assert last.startswith("  FAIL  length 32000  this run cannot answer 2 of 2 trials: all 2 at 32k (2 skipped); ")


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


@pytest.mark.parametrize(("hits", "outcome"), [(5, "skipped"), (60, "passed")])
def test_a_case_has_its_facts_as_properties_and_no_brackets_in_its_name(hits, outcome):
    call, end = gate_case(judged("score >= 0.9 [length<=1k]", trials(hits)))
    facts = dict(end.user_properties)

    assert call.nodeid == end.nodeid == "gate::score >= 0.9 (length<=1k) (all)"
    assert (call.outcome, facts["n"], facts["samples"]) == (outcome, hits, hits)
    assert facts.get("more_samples") == facts.get("more_trials") == (37 if hits == 5 else None)
