"""What differs between runs beside their scores, from manifests and records."""

import pytest

from needlework.core.errors import InputError
from needlework.results.statistics.comparison.provenance import (
    changed_parts,
    check_dtypes,
    differing_facts,
    differing_parts,
    weights_lines,
)
from tests.results.statistics.comparison.test_comparison import record

SUITE = {"task": "niah", "needle_set": "codes", "language": "en", "answer_budget": 48, "lengths": [1000]}
FIRST = {
    "suites": [SUITE],
    "options": {"seed": 0},
    "corpora": {"essays/en": {"sha256": "1", "documents": 3}},
    "tokenizers": {"llama": "a"},
    "prompts": {"own/en": "p"},
    "models": {"m": {"revision": "1"}},
}


SECOND = FIRST | {
    "suites": [SUITE | {"answer_budget": 64, "lengths": [2000]}],
    "options": {"seed": 3},
    "corpora": {"essays/en": {"sha256": "2", "documents": 3}},
    "tokenizers": {"qwen": "b"},
    "prompts": {"own/en": "p", "own/zh": "q"},
}


def served(server, command):
    options = {"server_id": server, "base_url": command}
    return FIRST | {"options": options, "models": {"openai:m": {"command": command, "window": 512}}}


@pytest.mark.parametrize(
    ("first", "second", "lines"),
    [
        (FIRST, FIRST, []),
        (
            FIRST,
            SECOND,
            [
                "suite niah codes en: answer_budget 48 / 64",
                "seed: 0 / 3",
                "corpora essays/en: sha256 1 / 2",
                "tokenizers: llama / qwen",
                "prompts own/zh: only in B",
            ],
        ),
        (None, FIRST, ["A without a readable manifest.json, which would say which part differs"]),
        ({}, {}, ["A and B without a readable manifest.json, which would say which part differs"]),
        (FIRST, FIRST | {"suites": [SUITE | {"task": "multi"}, SUITE]}, ["suite multi codes en: only in B"]),
        (FIRST, FIRST | {"tokenizers": {"folder": "a"}}, []),
        (served("a", "x"), served("a", "y"), []),
        (served("a", "x"), served("b", "x"), ["server_id: a / b"]),
        (
            {"models": {"m": {"dtype": "float32", "spec": "m"}}},
            {"models": {"n": {"dtype": "bfloat16", "spec": "n"}}},
            ["models: m / n", "models: dtype float32 / bfloat16"],
        ),
        ({"suites": 3, "corpora": [1]}, {"suites": [None], "options": "x"}, ["suite : only in B"]),
    ],
)
def test_manifests_say_which_part_differs(first, second, lines):
    assert differing_parts(first, second) == lines


FP32, BF16 = {"dtype": "float32", "weights_sha256": "w"}, {"dtype": "bfloat16", "weights_sha256": "w"}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"m": FP32}, {"m": BF16}, "m: float32 / bfloat16"),
        ({"here": FP32}, {"there": BF16}, "here: float32 / bfloat16"),
        ({"m": FP32}, {"m": FP32}, ""),
        ({"m": FP32}, {"n": BF16 | {"weights_sha256": "v"}}, ""),
        ({"m": {"dtype": "float32"}}, {"n": {"dtype": "bfloat16"}}, ""),
        ({"m": {"dtype": None}}, {"m": BF16}, ""),
    ],
)
def test_one_model_in_two_kinds_of_numbers_is_refused(first, second, words):
    if not words:
        check_dtypes("runs", "a and b", {"models": first}, {"models": second})
        return
    with pytest.raises(InputError, match=words):
        check_dtypes("runs", "a and b", {"models": first}, {"models": second})
    check_dtypes("runs", "a and b", None, {"models": second})


def test_what_two_sessions_of_a_run_know_otherwise_is_a_change_and_what_one_does_not_know_is_none():
    before = {"corpora": {"c/en": {"sha256": "a"}, "d/en": {}}, "models": {"m": {"window": None, "dtype": "fp32"}}}
    now = {"corpora": {"c/en": {"sha256": "b"}}, "models": {"m": {"window": 8, "dtype": "fp32", "server": "y"}}}

    assert changed_parts(before, now) == ["corpora c/en: sha256 a / b"]
    assert changed_parts(now, {"models": {"m": {"window": 4, "server": "z"}}}) == ["models m: window 8 / 4"]
    assert changed_parts({"tokenizers": {"t": "1"}}, {"tokenizers": {"t": "2"}}) == ["tokenizers t: 1 / 2"]
    assert changed_parts({}, now) == changed_parts({"models": 3, "corpora": {"c/en": 3}}, {"models": [1]}) == []


def test_records_say_which_fact_of_a_prompt_differs():
    other = record(prompt={"sha256": "x", "filler_sha256": "g", "tokens": 901, "needles": []})

    assert differing_facts(record(), other) == ["filler: f / g", "tokens: 900 / 901"]


def test_models_are_known_by_their_weights():
    def manifest(model, sha256):
        return {"models": {model: {"weights_sha256": sha256}}}

    assert weights_lines({"a": manifest("m", "s" * 64), "b": manifest("n", "s" * 64), "c": manifest("x", None)}) == [
        f"a and b are the same weights (sha256 {'s' * 12})"
    ]
    assert weights_lines({"a": manifest("m", "s"), "b": manifest("m", "t")}) == [
        "a and b are different weights under one name, m"
    ]
