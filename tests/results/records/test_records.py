"""Records: their fields, the samples and tests that they belong to, and the files beside them."""

import json

import pytest

from needlework.core.errors import InputError
from needlework.core.grid import parse_id
from needlework.core.record import Record, decode_record, encode_record, label_parts, read_record, record_of
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import PUBLISHED_TASKS
from needlework.results.records.manifest import with_known
from needlework.results.records.run_folder import check_run_file, run_folder
from needlework.results.records.samples import (
    began,
    by_test,
    common_window,
    latest_of_each,
    name_of_test,
    refused_below_window,
    step_of,
    windows_of,
)
from tests.results.builders import new_record

CELL = {"model": "m", "task": "niah", "needle": "code", "length": 400, "depth": 50, "repeat": 0}
RIGHT = CELL | {"outcome": "found", "score": 1}


def test_defaults_are_left_out_and_the_rest_is_always_there(snapshot):
    written = json.loads(encode_record(record_of(RIGHT)))

    assert list(written) == list(Record.__struct_fields__)
    assert written == snapshot(name="written")
    assert repr(record_of(RIGHT)) == snapshot(name="fields")
    assert json.loads(encode_record(record_of(RIGHT | {"prompt": {"tokens": 9, "slack": 0}})))["prompt"]["slack"] == 0
    prompt = {"needles": [{"depth": 50}], "retrieval": {"hits": [{}]}}
    wrong = RIGHT | {"outcome": "error", "score": None, "error": {}}
    nested = record_of(wrong | {"prompt": prompt, "details": {"stability": [{}]}})
    written = json.loads(encode_record(nested))
    assert [written[name] for name in ("prompt", "error", "details")] == snapshot(name="nested")
    assert repr((nested.prompt, nested.error, nested.details)) == snapshot(name="fields of nested")


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
        (["nightly", "hf:out/checkpoint-500"], 500), (["llama3-step_2k"], 2000), (["7b-tokens=1.5B"], 1.5e9),
        (["tokens-3m"], 3e6), (["llama3 epoch 2, step 40"], 40), (["run-3-of-7"], 7), (["main", "smollm2"], 2),
        (["main", "other"], None),
    ],
)  # fmt: skip
def test_the_step_of_a_name(names, step):
    assert step_of(names) == step


def test_when_a_run_began():
    assert began({"started": "2026-01-02T03:04:05"}) == began({"started": "2026-01-02T04:04:05+01:00"})
    assert began({"started": "soon"}) is began({}) is None


def test_a_server_that_refuses_a_prompt_that_fits_is_no_window():
    def refused(outcome="skipped", latency_s=0.1, window=4096):
        record = new_record(outcome=outcome, model="m", timing={"latency_s": latency_s})
        return refused_below_window(record, {"m": window} if window else {})

    assert refused()
    assert not refused(window=999), "longer than the window"
    assert not refused(window=None), "a window that nobody knows"
    assert not refused(latency_s=None), "never sent"
    assert not refused(outcome="found")


def test_windows_are_read_from_a_manifest():
    both = [new_record(model="m"), new_record(model="k")]

    assert windows_of({"models": {"a": {"window": 8192}, "b": {"window": None}, "c": 5}}) == {"a": 8192}
    assert common_window({"m": 8, "k": 8}, both) == 8
    assert common_window({"m": 8, "k": 9}, both) is None


def test_a_session_adds_to_the_facts_that_earlier_ones_learnt():
    known = {"models": {"a": {"window": 8192, "dtype": "fp32"}, "gone": {"window": 5}}}

    assert with_known(known, {"models": {"a": {"window": None, "dtype": "bf16"}}}) == {
        "models": {"a": {"window": 8192, "dtype": "bf16"}, "gone": {"window": 5}}
    }


def test_a_file_of_a_run_is_no_link_out_of_its_folder(tmp_path):
    inside, outside = tmp_path / "run/inside", tmp_path / "run/outside"
    inside.parent.mkdir()
    (tmp_path / "run/file").write_text("x")
    (tmp_path / "file").write_text("x")
    inside.symlink_to("file")
    outside.symlink_to("../file")

    check_run_file(inside)
    with pytest.raises(InputError, match="is a link that leads out of its folder"):
        check_run_file(outside)


def folder_of(tmp_path, **options):
    given = {"model": ["mock:perfect"], "results_dir": str(tmp_path)} | options
    return run_folder(resolve_settings(given, {}, tmp_path))


@pytest.mark.parametrize(("name", "more"), [("r" * 200, "r"), ("é" * 100, "é")])
def test_a_run_name_has_at_most_200_bytes(name, more, tmp_path):
    assert folder_of(tmp_path, run_name=name) == tmp_path / name
    with pytest.raises(InputError, match=r"--run-name: .*up to 200 bytes"):
        folder_of(tmp_path, run_name=name + more)


def test_an_unnamed_run_has_a_name_that_every_file_system_takes(tmp_path):
    assert len(folder_of(tmp_path, model=[f"mock:{'m' * 300}"]).name) < 200


@pytest.mark.parametrize("task", [task.name for task in PUBLISHED_TASKS])
def test_questions_of_a_data_set_are_one_panel(task):
    assert label_parts(task, "q001")[:2] == ("questions", "q001")
