"""The table for pages of CI runs."""

from needlework.results.statistics.run_report import run_report
from needlework.results.tables.summary import markdown_lines


def test_a_row_has_score_interval_n_what_has_no_score_and_how_far_it_reads(make_record):
    records = [make_record(length=length, repeat=i) for length in (1000, 4000) for i in range(40)]
    records += [make_record(repeat=40 + i, outcome=name) for i, name in enumerate(("error", "censored", "censored"))]
    records.append(make_record(model="a|b", outcome="invalid"))

    head, line, void, scored, *_ = markdown_lines(run_report(records))

    names = ["model", "task", "asked about", "score %", "95 %", "n", "censored", "invalid", "error"]
    assert head == f"| {' | '.join(names)} | effective length |"
    assert line == "|---|---|---|---|---|---|---|---|---|---|"
    assert void == r"| a\|b | niah | code | – | – | 0 | 0 | 1 | 0 | – |"
    # With both as misses 1k has 40 of 42, whose interval has the bar inside.
    reach = "undetermined at 1k (none to 4k or more)"
    assert scored == f"| mock | niah | code | 97.6–100 | scored 100 (91.2–100) | 80 | 2 | 0 | 1 | {reach} |"
