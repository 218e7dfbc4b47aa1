"""Whether parts are of one model and prompt, as far as their manifests say, and which shards are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.core.devices import Division, Shard
from needlework.results.merge.parts import RunPart, absent_shards, differing_facts
from needlework.results.records.run_folder import Planned

MODEL = {
    "spec": "openai:m",
    "server": "http://a:8000/v1",
    "window": 8192,
    "window_source": "vLLM /v1/models",
    "server model_path": "m.gguf",
    "server total_slots": "4",
    "kernels": "onednn",
    "calibration chat user": "exact, +0 tokens",
}


def told(first: dict, second: dict) -> list[str]:
    return list(differing_facts({"models": {"m": first}}, {"models": {"m": second}}))


@pytest.mark.parametrize(
    ("fact", "other", "said"),
    [
        ("window", 4096, "models m: window 8192 / 4096"),
        ("server model_path", "q4.gguf", "models m: server model_path m.gguf / q4.gguf"),
        ("calibration chat user", "exact, +23 tokens", "calibration chat user exact, +0 tokens / exact, +23 tokens"),
    ],
)
def test_servers_that_say_that_they_differ_are_told(fact, other, said):
    (line,) = told(MODEL, MODEL | {fact: other})

    assert line.endswith(said)


@pytest.mark.parametrize(
    "other",
    [
        {"server": "http://b:8000/v1"},
        {"window": None, "window_source": "the server does not tell"},
        {"calibration chat user": "failed: a short request failed"},
        {"server total_slots": "8"},
        {"kernels": "plain"},
    ],
)
def test_another_place_and_what_one_of_them_does_not_tell_is_no_difference(other):
    assert told(MODEL, MODEL | other) == []


def test_a_shard_that_loaded_no_model_agrees_with_all():
    assert list(differing_facts({"models": {"m": MODEL}}, {"models": {}})) == []
    assert list(differing_facts({"models": {"m": MODEL}}, {})) == []


@pytest.mark.parametrize("part", ["corpora", "tokenizers", "prompts"])
def test_other_texts_are_told(part):
    assert list(differing_facts({part: {"x": "sha one"}}, {part: {"x": "sha two"}})) == [f"{part} x: sha one / sha two"]
    assert list(differing_facts({part: {"x": "sha one"}}, {part: {"y": "sha two"}})) == []


def part(number: int, counts: tuple[int, ...]) -> RunPart:
    planned = Planned(Division(Shard(number, len(counts)), counts, "all"), ())
    return RunPart(f"shards/{number}", Path("/run"), {}, None, None, (), 0, planned)


@pytest.mark.parametrize(
    ("present", "absent"), [((1, 3), []), ((1,), ["shards/3-of-3"]), ((3,), ["shards/1-of-3"])], ids=str
)
def test_a_shard_without_cells_is_not_missing(present, absent):
    parts = [part(number, (2, 0, 1)) for number in present]

    assert [shard.part for shard in absent_shards(parts)] == absent
