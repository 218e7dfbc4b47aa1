"""Verdicts in words: lines, a Markdown table, JUnit cases."""

import pytest

from needlework.pytest_plugin.reports import gate_case
from needlework.results.gates.decide import judge_gate, markdown_rows
from needlework.results.gates.gate import Verdict, parse_gate
from tests.results.gates.gate_records import judged, lines, record, trials


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
        "  inconclusive  length 400  1.000  95 % interval 0.478..1.000  n 5   at this score 42 samples decide",
        "  inconclusive  length 600  0.900  95 % interval 0.555..0.997  n 10  at the limit: no number decides",
        "--top-up asked 4 further trials",
        "2 of 2 verdicts inconclusive; --top-up 41 would decide if scores stay as they are",
    ]
    assert lines(*verdicts, trial_s=4.0)[-1].endswith("as they are (2 min more at this pace)")


def test_of_many_groups_those_that_did_not_pass_have_a_line():
    verdicts = [Verdict("score >= 0.5", f"cell {i}", "fail" if i == 99 else "pass", 1.0, n=9) for i in range(100)]
    (head, *shown, failed, rest) = lines(*verdicts)

    assert (head, len(shown), failed[:15]) == ("gate score >= 0.5", 39, "  FAIL  cell 99")
    assert rest == "  ... and 60 further groups: 60 pass"
    assert list(markdown_rows(verdicts))[-1] == "\n... and 60 further groups: 60 pass"


def test_an_open_drop_names_pairs_and_the_baseline():
    line, remedy = lines(
        Verdict("drop <= 0.02", "all", "inconclusive", 0.0, -0.1, 0.1, n=25, samples=5, more=40, paired=True,
                several_depths=True)
    )[1:]  # fmt: skip

    assert line.endswith("n 25 of 5 samples  at this drop 45 samples decide")
    for part in ("--top-up 200 would decide", "--depths spread asks each sample", "run that with more --repeats first"):
        assert part in remedy


def test_a_page_gets_a_table_whose_cells_are_escaped():
    row = list(markdown_rows([Verdict("score >= 0.5 [needle=a|b]", "all", "fail", note="nothing scored")]))[-1]
    empty = judged("score >= 0.5", [*trials(40), *(record(outcome="empty", repeat=50 + i) for i in range(9))])

    assert row == r"| `score >= 0.5 [needle=a\|b]` | all | **fail** | - |  | 0 | nothing scored |"
    assert " | 49 (9 empty) | " in list(markdown_rows([empty]))[-1]
    assert list(markdown_rows([])) == []


@pytest.mark.parametrize(("hits", "outcome"), [(5, "skipped"), (60, "passed")])
def test_a_case_has_its_facts_as_properties_and_no_brackets_in_its_name(hits, outcome):
    call, end = gate_case(judged("score >= 0.9 [length<=1k]", trials(hits)))
    facts = dict(end.user_properties)

    assert call.nodeid == end.nodeid == "gate::score >= 0.9 (length<=1k) (all)"
    assert (call.outcome, facts["n"], facts["samples"]) == (outcome, hits, hits)
    assert facts.get("more_samples") == facts.get("more_trials") == (37 if hits == 5 else None)
