"""Runs of the same cells: those that were asked and scored alike are together, whatever failed in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from needlework.core.record import Record
from needlework.results.statistics.leaderboard.entries import BoardEntry, comparable_groups, entries_of
from needlework.results.statistics.panels import asked_of

Make = Callable[..., Record]


def entry(make_record: Make, scorers: str, **fields: object) -> BoardEntry:
    """A run by the scorers of its trials, a letter each; `-` is a trial that failed."""
    records = [
        make_record(repeat=repeat, outcome="error", scorer="", scorer_version=0, **fields)
        if name == "-"
        else make_record(repeat=repeat, scorer=name, **fields)
        for repeat, name in enumerate(scorers)
    ]
    (found,) = entries_of(asked_of(records))
    return found


def groups(runs: Sequence[BoardEntry]) -> list[list[int]]:
    return comparable_groups(range(len(runs)), lambda at: [runs[at]])


def test_a_trial_that_failed_tells_no_runs_apart(make_record: Make) -> None:
    assert groups([entry(make_record, each) for each in ("aa-", "aaa", "---", "-aa")]) == [[0, 1, 2, 3]]


def test_two_scorers_of_a_trial_do(make_record: Make) -> None:
    assert groups([entry(make_record, each) for each in ("aab", "aaa", "aa-", "-aa")]) == [[0, 2], [1, 3]]


def test_one_who_could_be_in_both_is_in_the_larger_group(make_record: Make) -> None:
    assert groups([entry(make_record, each) for each in ("bb", "aa", "aa", "--")]) == [[0], [1, 2, 3]]


def test_other_questions_tell_them_apart_where_they_are_known(make_record: Make) -> None:
    died = entry(make_record, "a-", question="")  # a test that died leaves no question
    found = groups([entry(make_record, "aa"), entry(make_record, "aa", question="Another one?"), died])
    assert found == [[0, 2], [1]]


def test_what_a_scorer_compared_with_is_no_other_question(make_record: Make) -> None:
    compared = entry(make_record, "aa", expected=["The code is 4711."])
    assert groups([compared, entry(make_record, "--")]) == [[0, 1]]


@given(runs=st.lists(st.text("ab-", min_size=3, max_size=3), max_size=6))
def test_each_run_is_in_one_group_and_no_trial_of_a_group_has_two_scorers(make_record: Make, runs: list[str]) -> None:
    found = groups([entry(make_record, each) for each in runs])

    assert sorted(at for group in found for at in group) == list(range(len(runs)))
    for group in found:
        assert all(len({runs[at][trial] for at in group} - {"-"}) <= 1 for trial in range(3))
