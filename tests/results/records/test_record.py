"""Fields of a record, and which records belong together."""

import json

import pytest

from needlework.core.grid import parse_id
from needlework.core.record import Record, decode_record, encode_record, read_record, record_of
from needlework.results.records.samples import began, by_test, latest_of_each, name_of_test, step_of
from tests.results.new_record import new_record

CELL = {"model": "m", "task": "niah", "needle": "code", "length": 400, "depth": 50, "repeat": 0}
RIGHT = CELL | {"outcome": "found", "score": 1}


def test_defaults_are_left_out_and_the_rest_is_always_there():
    written = json.loads(encode_record(record_of(RIGHT)))

    assert list(written) == list(Record.__struct_fields__)
    assert (written["prompt"], written["details"]) == ({"flags": [], "needles": []}, {"flags": []})
    assert written["response"] == {"text": "", "reasoning": ""} | dict.fromkeys(
        ("finish_reason", "prompt_tokens", "completion_tokens", "reasoning_tokens")
    )
    assert (written["timing"]["replayed"], written["timing"]["latency_s"]) == (False, None)
    assert json.loads(encode_record(record_of(RIGHT | {"prompt": {"tokens": 9, "slack": 0}})))["prompt"]["slack"] == 0


@pytest.mark.parametrize("text", ["中文", "a\ud800b", "\u2028\x00\n", "\ufeff"], ids=ascii)
def test_any_text_comes_back(text):
    record = record_of(RIGHT | {"answer": text, "reference": {text: [text]}})
    line = encode_record(record)

    assert b"\n" not in line
    assert decode_record(line) == read_record(line) == read_record(b"\xef\xbb\xbf" + line) == record


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "hit"}, {"score": None}, {"score": 1.5}, {"outcome": "error"}, {"length": 0}, {"length": "400"},
        {"length": True}, {"length": 10**15}, {"depth": 101}, {"depth": float("nan")}, {"repeat": -1}, {"key": None},
        {"expected": "4711"}, {"reference": {"answers": [1]}}, {"prompt": {"needles": [{"name": "code"}]}},
        {"details": []}, {"error": {"kind": 1}}, {"timing": {"latency_s": "soon"}}, {"response": {"text": 1}},
        {"reference": {"deep": float("inf")}},
    ],
)  # fmt: skip
def test_a_wrong_field_is_refused(change):
    with pytest.raises(ValueError, match=r"\w"):
        read_record(json.dumps(RIGHT | change).encode())


def test_numbers_of_other_libraries_and_of_no_json_are_written():
    numpy = pytest.importorskip("numpy")
    record = record_of(RIGHT)
    record.reference = {"a": [numpy.float64(0.5), numpy.int64(3), float("nan"), (1, 2), ValueError("x")]}

    assert json.loads(encode_record(record))["reference"] == {"a": [0.5, 3, None, [1, 2], "x"]}


@pytest.mark.parametrize(
    ("task", "needle", "repeat", "panel", "item", "arm", "sample"),
    [
        ("leval_tpo", "doc3_q7", 0, "questions", "doc3_q7", "", 3),
        ("leval_tpo", "doc3_q8", 1, "questions", "doc3_q8", "", 3),
        ("leval_tpo", "doc3_q8_bm25", 0, "questions_bm25", "doc3_q8", "bm25", 3),
        ("leval_gsm100", "doc0_q7", 0, "questions", "doc0_q7", "", 7),  # worked examples make no questions alike
        ("openai_mrcr", "n8_q0123", 0, "n8", "q0123", "", 123),
        ("niah", "doc3_q7", 2, "doc3_q7", "", "", 2),
        ("niah", "code_zh", 1, "code_zh", "", "", 1),
        ("doc_position", "q12_bm25", 7, "questions_bm25", "q12", "bm25", 12),
        ("doc_size", "q0_focused", 7, "questions_focused", "q0", "focused", 0),
        ("doc_position", "q3_zh_dense", 7, "questions_zh_dense", "q3", "dense", 3),
        ("doc_absent", "q3_near", 7, "questions_near", "q3", "near", 3),
    ],
)
def test_a_record_knows_its_panel_and_sample(task, needle, repeat, panel, item, arm, sample):
    record = new_record(task=task, needle=needle, repeat=repeat)

    assert (record.panel, record.sample_number, record.arm) == (panel, sample, arm)
    assert item in ("", record.item)


def test_a_question_with_a_name_is_a_sample_and_a_reference_may_number_it():
    named = [new_record(task="doc_size", needle=needle, repeat=at) for at, needle in enumerate(("q_who", "q_who_bm25"))]

    assert (named[0].item, named[0].sample_number) == (named[1].item, named[1].sample_number)
    assert new_record(reference={"answers": ["4711"], "sample": 99}).sample == 99


CELL_ID = "niah-len1000-depth50-code-r0"


@pytest.mark.parametrize(
    ("nodeid", "name"),
    [
        (f"tests/test_own.py::test_needle[{CELL_ID}]", "test_own.py::test_needle"),
        (f"test_own.py::TestIt::test_needle[{CELL_ID}]", "test_own.py::TestIt::test_needle"),
        (f"test_own.py::test_needle[{CELL_ID}-strict]", "test_own.py::test_needle[strict]"),
        (f"test_own.py::test_needle[strict-{CELL_ID}]", "test_own.py::test_needle[strict]"),
        ("", "::"),
    ],
)
def test_a_test_has_one_name_wherever_pytest_runs(nodeid, name):
    assert name_of_test(nodeid, CELL_ID) == name


def of(test="test_own.py::test_a", outcome="error", key="k", flags=(), replayed=False):
    return new_record(
        id=CELL_ID, nodeid=f"{test}[{CELL_ID}]", depth=50.0, outcome=outcome, key=key, details={"flags": [*flags]},
        timing={"replayed": replayed},
    )  # fmt: skip


@pytest.mark.parametrize("outcome", ["error", "invalid", "skipped"])
@pytest.mark.parametrize("key", ["k", ""])
def test_a_failure_that_comes_later_hides_no_answer(outcome, key):
    answer = of(outcome="wrong")

    assert latest_of_each([answer, of(outcome=outcome, key=key)]) == [answer]


@pytest.mark.parametrize(
    "fields", [{"key": "another prompt's"}, {"flags": ["server_changed"]}, {"replayed": True}, {"outcome": "found"}]
)
def test_a_later_record_of_something_else_counts(fields):
    record = of(**fields)

    assert latest_of_each([of(outcome="wrong"), record]) == [record]


@pytest.mark.parametrize(
    ("tests", "labels"),
    [
        (("test_own.py::test_a", "test_own.py::test_b"), ("test_a", "test_b")),
        (("test_a.py::test_it", "test_b.py::test_it"), ("test_a.test_it", "test_b.test_it")),
    ],
    ids=["two names", "one name in two files"],
)
def test_tests_of_one_cell_are_told_apart(tests, labels):
    found = latest_of_each([of(test, "found") for test in tests])

    assert [(record.task_label, record.id) for record in found] == [
        (f"niah@{label}", f"niah@{label}{CELL_ID[4:]}") for label in labels
    ]
    assert {parse_id(record.id) for record in found} == {parse_id(CELL_ID)}


def test_each_test_has_all_of_its_records_under_plain_names():
    records = [new_record(task=task) for task in ("niah@test_a", "niah@test_b", "ruler_vt")]
    tasks = {label: [record.task for record in members] for label, members in by_test(records).items()}

    assert tasks == {"test_a": ["niah", "ruler_vt"], "test_b": ["niah", "ruler_vt"]}
    assert by_test(records[2:]) == {"": records[2:]}


@pytest.mark.parametrize(
    ("names", "step"),
    [
        (["nightly", "hf:out/checkpoint-500"], 500),
        (["llama3-step_2k"], 2000),
        (["7b-tokens=1.5B"], 1.5e9),
        (["tokens-3m"], 3e6),
        (["llama3 epoch 2, step 40"], 40),
        (["run-3-of-7"], 7),
        (["main", "smollm2"], 2),
        (["main", "other"], None),
    ],
)
def test_the_step_of_a_name(names, step):
    assert step_of(names) == step


def test_when_a_run_began():
    assert began({"started": "2026-01-02T03:04:05"}) == began({"started": "2026-01-02T04:04:05+01:00"})
    assert began({"started": "soon"}) is began({}) is None
