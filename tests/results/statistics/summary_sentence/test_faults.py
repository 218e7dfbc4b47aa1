"""What went wrong, by reason: one that comes in many wordings is one."""

from needlework.results.statistics.run_followup import faults_of


def failed(make_record, messages):
    return [
        make_record(repeat=at, outcome="error", error={"kind": "server", "message": message})
        for at, message in enumerate(messages)
    ]


def test_reasons_that_differ_in_numbers_are_one(make_record):
    (fault,) = faults_of(failed(make_record, ["no answer in 3.1 s", "no answer in 3.1 s", "no answer in 4 s"]))

    assert fault.text == "3 of 3: no answer in 3.1 s"


def test_a_server_that_says_something_else_each_time_has_one_reason(make_record):
    garbage = [f"the answer is not JSON: '{each}'" for each in ("ab", "cd", "cd", "ef", "gh")]
    gone = [f"no answer: BadStatusLine: {each}" for each in "abcd"]
    broken = [f"HTTP {status}: {each}" for status, each in ((500, "a"), (500, "b"), (503, "c"), (503, "d"))]

    assert [fault.text for fault in faults_of(failed(make_record, [*garbage, *gone, *broken]))] == [
        "5 of 13: the answer is not JSON: 'cd' (of 4 that begin like it)",
        "4 of 13: no answer: BadStatusLine: a (of 4 that begin like it)",
        "1 of 13: HTTP 500: a",
        "1 of 13: HTTP 500: b",
        "1 of 13: HTTP 503: c",
        "1 of 13: HTTP 503: d",
    ]


def test_few_wordings_are_reasons_of_their_own(make_record):
    faults = faults_of(failed(make_record, ["HTTP 500: out of memory", "HTTP 500: out of memory", "HTTP 500: no lock"]))

    assert [fault.text for fault in faults] == ["2 of 3: HTTP 500: out of memory", "1 of 3: HTTP 500: no lock"]
