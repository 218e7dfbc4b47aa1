"""The union of parts: one record for each trial, an answer before any failure."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needlework.core.errors import InputError
from needlework.core.record import FINAL
from needlework.results.merge.command import union

OUTCOMES = st.sampled_from(["found", "wrong", "censored", "skipped", "invalid", "error"])


def of(make_record, outcome="found", text="4711", repeat=0, key="k"):
    cell = f"niah-len1000-depth50-code-r{repeat}"
    fields = {"id": cell, "nodeid": f"t.py::test[{cell}]", "repeat": repeat, "key": key and f"{key}{repeat}"}
    return make_record(outcome=outcome, response={"text": text}, **fields)


@given(outcomes=st.lists(OUTCOMES, min_size=1, max_size=4))
def test_the_kind_of_outcome_does_not_depend_on_the_order(make_record, outcomes):
    kinds = set()
    for order in permutations(outcomes):
        (record,), _ = union({str(at): [of(make_record, outcome)] for at, outcome in enumerate(order)})
        kinds.add("answer" if record.outcome in FINAL else record.outcome)

    assert len(kinds) == 1
    assert ("answer" in kinds) == bool(FINAL & set(outcomes))


@given(outcome=OUTCOMES)
def test_parts_that_agree_are_no_conflict(make_record, outcome):
    (record,), conflicts = union({part: [of(make_record, outcome)] for part in "ab"})

    assert (record.timing.part, conflicts) == ("a", [])


def test_two_answers_are_a_conflict_and_one_is_chosen(make_record):
    parts = {"a": [of(make_record, text="one")], "b": [of(make_record, text="two")]}
    _, (conflict,) = union(parts)

    assert conflict.parts == ("a", "b")
    assert [union(parts, keep)[0][0].response.text for keep in ("first", "last")] == ["one", "two"]


def test_two_prompts_under_one_name_are_refused_but_not_a_cell_whose_process_died(make_record):
    with pytest.raises(InputError, match=r"^RUN: 'b': asked another prompt for niah.* than a: text, needles"):
        union({"a": [of(make_record)], "b": [of(make_record, key="of another text")]})
    (record,), _ = union({"a": [of(make_record, "error", key="")], "b": [of(make_record)]})

    assert record.outcome == "found"


def test_a_part_counts_with_its_last_answer_and_all_trials_are_there(make_record):
    again = [of(make_record, outcome) for outcome in ("error", "found", "error")]
    records, _ = union({"a": again, **{str(at): [of(make_record, repeat=at)] for at in (1, 2)}, "": again})

    assert [(record.repeat, record.outcome) for record in records] == [(at, "found") for at in range(3)]
    assert not union({"": again})[0][0].timing.part, "the run's own stay as they are"
