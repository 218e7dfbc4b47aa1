"""Which fields of a record are always written, which only with a value, and what no record may have."""

import json

import pytest

from needlework.core.record import Record, decode_record, encode_record, read_record, record_of

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
