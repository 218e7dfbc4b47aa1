"""The union of parts: one record for each trial, an answer before any failure, differences told."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.record import FINAL
from needlework.results.merge.union import union
from tests.results.changed import changed

CELL = "niah-len1000-depth50-code-r0"
OUTCOMES = st.sampled_from(["found", "wrong", "censored", "skipped", "invalid", "error"])


def of(make_record, outcome, text="4711", repeat=0, key="k"):
    cell = CELL.replace("r0", f"r{repeat}")
    nodeid = f"t.py::test[{cell}]"
    return make_record(
        id=cell, nodeid=nodeid, repeat=repeat, outcome=outcome, key=f"{key}{repeat}", response={"text": text}
    )


@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=4))
def test_which_kind_of_outcome_is_kept_does_not_depend_on_the_order(make_record, outcomes):
    kept = set()
    for order in permutations(outcomes):
        (record,), _ = union({str(at): [of(make_record, outcome)] for at, outcome in enumerate(order)})
        kept.add("answer" if record.outcome in FINAL else record.outcome)

    assert len(kept) == 1
    assert ("answer" in kept) == bool(FINAL & set(outcomes))


@given(outcome=OUTCOMES)
def test_parts_that_agree_are_no_conflict(make_record, outcome):
    (record,), conflicts = union({"a": [of(make_record, outcome)], "b": [of(make_record, outcome)]})

    assert (record.timing.part, conflicts) == ("a", [])


def test_two_answers_are_a_conflict_and_are_kept_as_asked(make_record):
    parts = {"a": [of(make_record, "found", "one")], "b": [of(make_record, "found", "two")]}
    _, (conflict,) = union(parts)

    assert conflict.parts == ("a", "b")
    assert [union(parts, keep)[0][0].response.text for keep in ("first", "last")] == ["one", "two"]


def test_two_prompts_under_one_name_are_refused(make_record):
    with pytest.raises(InputError, match=r"^RUN: 'b': asked another prompt for niah.* than a: text, needles"):
        union({"a": [of(make_record, "found")], "b": [of(make_record, "found", key="of another text")]})


def test_a_cell_whose_process_died_is_of_any_prompt(make_record):
    lost = changed(of(make_record, "error"), key="")
    (record,), _ = union({"a": [lost], "b": [of(make_record, "found")]})

    assert record.outcome == "found"


def test_what_a_part_asked_again_counts_with_its_last_answer(make_record):
    (record,), _ = union({"a": [of(make_record, outcome) for outcome in ("error", "found", "error")]})

    assert record.outcome == "found"


def test_trials_of_several_parts_are_all_there(make_record):
    parts = {str(at): [of(make_record, "found", repeat=at)] for at in range(3)}

    assert [record.repeat for record in union(parts)[0]] == [0, 1, 2]
    assert not union({"": [of(make_record, "found")]})[0][0].timing.part, "the run's own stay as they are"
