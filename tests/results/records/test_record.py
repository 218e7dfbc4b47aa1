"""Which fields of a record are always written, which only where they say something, and what no record may have."""

import json

import pytest

from needlework.core.record import PromptFacts, Record, decode_record, encode_record, read_record, record_of

CELL = {"model": "m", "task": "niah", "needle": "code", "length": 400, "depth": 50, "repeat": 0}
RIGHT = CELL | {"outcome": "found", "score": 1}


def test_what_says_nothing_is_left_out_and_the_rest_is_always_there():
    written = json.loads(encode_record(record_of(RIGHT)))

    assert list(written) == list(Record.__struct_fields__)
    assert written["prompt"] == {"flags": [], "needles": []}
    assert written["details"] == {"flags": []}
    assert written["response"] == {
        "text": "", "reasoning": "", "finish_reason": None,
        "prompt_tokens": None, "completion_tokens": None, "reasoning_tokens": None,
    }  # fmt: skip
    assert written["timing"]["replayed"] is False
    assert written["timing"]["latency_s"] is None
    assert json.loads(encode_record(record_of(RIGHT | {"prompt": {"tokens": 9, "slack": 0}})))["prompt"]["slack"] == 0


@pytest.mark.parametrize("text", ["中文", "a\ud800b", "\u2028\x00\n", "\ufeff"], ids=ascii)
def test_any_text_comes_back(text):
    record = record_of(RIGHT | {"answer": text, "reference": {text: [text]}})

    line = encode_record(record)
    assert b"\n" not in line
    assert decode_record(line) == read_record(line) == record


def test_a_mark_of_the_encoding_may_stand_before_a_line():
    assert read_record(b"\xef\xbb\xbf" + json.dumps(RIGHT).encode()) == record_of(RIGHT)


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
def test_what_is_no_record_is_refused(change):
    with pytest.raises(ValueError, match=r"\w"):
        read_record(json.dumps(RIGHT | change).encode())


def test_numbers_of_other_libraries_and_of_no_json_are_written():
    numpy = pytest.importorskip("numpy")
    record = record_of(RIGHT)
    record.reference = {
        "a": numpy.float64(0.5),
        "b": numpy.int64(3),
        "c": float("nan"),
        "d": (1, 2),
        "e": ValueError("x"),
    }

    assert json.loads(encode_record(record))["reference"] == {"a": 0.5, "b": 3, "c": None, "d": [1, 2], "e": "x"}


def test_a_prompt_that_was_not_built_has_no_numbers():
    assert (PromptFacts().tokens, PromptFacts().slack) == (0, None)
