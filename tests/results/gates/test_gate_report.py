"""What is said about gates."""

from __future__ import annotations

from needlework.pytest_plugin.reports import gate_case
from needlework.results.gates.decide import gate_lines, judge_gate, markdown_rows
from needlework.results.gates.gate import Verdict, parse_gate
from tests.results.gates.gate_records import record, trials


def lines(*verdicts, further=0):
    return [line for line, _ in gate_lines(verdicts, further)]


def test_a_gate_is_a_heading_and_a_line_for_each_group():
    records = [*trials(40, length=400), *trials(3, 7, length=16_000), record(None, length=16_000, repeat=20)]
    found = judge_gate(parse_gate("score >= 0.9 per length"), records)

    assert lines(*found) == [
        "gate score >= 0.9 per length",
        "  pass  length 400    1.000  95 % interval 0.912..1.000  n 40",
        "  FAIL  length 16000  0.273  95 % interval 0.060..0.610  n 10  1 error counted against it",
    ]


def test_what_is_open_is_told_with_what_would_decide_it():
    found = judge_gate(parse_gate("score >= 0.9 per length"), [*trials(5, length=400), *trials(9, 1, length=600)])

    assert lines(*found, further=4)[1:] == [
        "  inconclusive  length 400  1.000  95 % interval 0.478..1.000  n 5   at this score 42 samples decide",
        "  inconclusive  length 600  0.900  95 % interval 0.555..0.997  n 10  at the limit: no number decides",
        "--top-up asked 4 further trials",
        "2 of 2 verdicts inconclusive; --top-up 41 would decide if scores stay as they are",
    ]


def test_the_time_that_would_decide_is_told_once_the_pace_is_known():
    found = judge_gate(parse_gate("score >= 0.9"), [*trials(5, length=400)])
    told = [line for line, _ in gate_lines(found, 0, trial_s=4.0)]
    assert told[-1].endswith("--top-up 37 would decide if scores stay as they are (2 min more at this pace)")


def test_of_many_groups_those_that_did_not_pass_are_told():
    gate = "score >= 0.5 per cell"
    found = [Verdict(gate, f"cell {i}", "fail" if i == 99 else "pass", 1.0, n=9) for i in range(100)]

    assert len(lines(*found)) == 1 + 40 + 1
    assert lines(*found)[-2].startswith("  FAIL  cell 99")
    assert lines(*found)[-1] == "  ... and 60 further groups: 60 pass"
    assert list(markdown_rows(found))[-1] == "\n... and 60 further groups: 60 pass"


def test_a_drop_speaks_of_pairs_and_of_the_baseline():
    open_one = Verdict(
        "drop <= 0.02",
        "all",
        "inconclusive",
        0.0,
        -0.1,
        0.1,
        n=25,
        samples=5,
        more=40,
        paired=True,
        several_depths=True,
    )

    assert lines(open_one)[1].endswith("n 25 of 5 samples  at this drop 45 samples decide")
    assert "--top-up 200 would decide" in lines(open_one)[-1]
    assert "--depths spread asks each sample at one depth" in lines(open_one)[-1]
    assert "run that with more --repeats first" in lines(open_one)[-1]


def test_two_gates_that_say_the_same_are_two_headings():
    found = [Verdict(gate, "all", "pass", 1.0, n=9) for gate in ("score >= 0.5", "score >= 0.2")]

    assert [line for line in lines(*found) if line.startswith("gate ")] == ["gate score >= 0.5", "gate score >= 0.2"]


def test_a_page_gets_a_table_whose_cells_hold_what_they_are_given():
    rows = list(markdown_rows([Verdict("score >= 0.5 [needle=a|b]", "all", "fail", note="nothing scored")]))

    assert rows[-1] == r"| `score >= 0.5 [needle=a\|b]` | all | **fail** | - |  | 0 | nothing scored |"
    assert list(markdown_rows([])) == []


def test_a_case_has_its_facts_as_properties_and_no_brackets_in_its_name():
    (verdict,) = judge_gate(parse_gate("score >= 0.9 [length<=1k]"), trials(5))
    call, end = gate_case(verdict)

    assert call.nodeid == end.nodeid == "gate::score >= 0.9 (length<=1k) (all)"
    assert call.outcome == "skipped"
    facts = dict(end.user_properties)
    assert (facts["samples"], facts["more_samples"], facts["more_trials"]) == (5, 37, 37)
    assert list(facts) == ["verdict", "value", "low", "high", "level", "n", "samples", "more_samples", "more_trials"]
