"""Which answers of earlier sessions are in a run."""

import pytest

from needlework.results.records.samples import has_earlier_answers, whole_run


def asked(make_record, repeat=0, outcome="found", recipe="r", replayed=False):
    cell = f"niah-len1000-depth50-code-r{repeat}"
    nodeid = f"t.py::test[{cell}]"
    timing = {"replayed": replayed}
    return make_record(
        id=cell, nodeid=nodeid, repeat=repeat, outcome=outcome, details={"recipe": recipe}, timing=timing
    )


@pytest.mark.parametrize(
    ("earlier", "now", "has"),
    [
        ([], [{}], False),
        ([{}], [], True),
        ([{}], [{"repeat": 1}], True),
        ([{}], [{"replayed": True}], True),
        ([{"recipe": "other"}], [{"replayed": True}], True),  # the same prompt, taken over from other options
        ([{}], [{}], False),  # asked anew: another prompt
        ([{"outcome": "error"}], [], False),
        ([{"recipe": "other"}], [{"repeat": 1}], False),
    ],
)
def test_a_run_goes_on_where_it_has_an_answer_that_was_not_asked_now(make_record, earlier, now, has):
    earlier, now = ([asked(make_record, **fields) for fields in records] for records in (earlier, now))

    assert has_earlier_answers(earlier, now, "r") == has
    if has:
        assert len(whole_run(earlier, now, "r")) >= len(now)
