"""Parts of a run: of one model and prompt, as far as their manifests say, and without a missing shard."""

from pathlib import Path

import pytest

from needlework.core.devices import Division, Shard
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.results.merge.command import merged_manifest
from needlework.results.merge.parts import RunPart, absent_shards, differing_facts
from needlework.results.records.manifest import notes_of
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


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({"window": 4096}, ["models m: window 8192 / 4096"]),
        ({"server model_path": "q4.gguf"}, ["models m: server model_path m.gguf / q4.gguf"]),
        ({"calibration chat user": "exact, +23 tokens"},
         ["models m: calibration chat user exact, +0 tokens / exact, +23 tokens"]),
        # Another address, and facts that only one of them states, are no difference.
        ({"server": "http://b:8000/v1"}, []), ({"window": None, "window_source": "the server does not tell"}, []),
        ({"calibration chat user": "failed: a short request failed"}, []), ({"server total_slots": "8"}, []),
        ({"kernels": "plain"}, []),
    ],
)  # fmt: skip
def test_models_that_differ_are_named(change, lines):
    assert differing_facts({"models": {"m": MODEL}}, {"models": {"m": MODEL | change}}) == lines


@pytest.mark.parametrize("part", ["corpora", "tokenizers", "prompts", "embedders"])
def test_other_texts_are_named_and_missing_ones_agree(part):
    one = {part: {"x": "sha one"}, "models": {"m": MODEL}}

    assert differing_facts(one, {part: {"x": "sha two"}}) == [f"{part} x: sha one / sha two"]
    for other in ({}, {part: {"y": "sha two"}}, {"models": {}}):
        assert differing_facts(one, other) == []


@pytest.mark.parametrize(
    ("present", "absent"), [((1, 3), []), ((1,), ["shards/3-of-3"]), ((3,), ["shards/1-of-3"])], ids=str
)
def test_a_shard_without_cells_is_not_missing(present, absent):
    counts = (2, 0, 1)
    parts = [
        RunPart("", Path(), {}, None, None, (), 0, Planned(Division(Shard(number, 3), counts, "all"), ()))
        for number in present
    ]

    assert [shard.part for shard in absent_shards(parts)] == absent


def test_a_merged_run_began_with_its_first_part_and_has_the_changes_of_all(tmp_path):
    settings = resolve_settings({"model": ["mock:perfect"]}, {}, tmp_path)
    manifests = [
        {"started": "2026-11-02", "ended": "2026-11-03", "changed_facts": ["models m: window 8 / 4", 3]},
        {"started": "2026-11-01", "ended": "2026-11-04", "session_started": "2026-11-05"},
        {"started": "2026-11-02", "ended": "2026-11-03", "changed_facts": ["models m: window 8 / 4"]},
    ]
    parts = [RunPart(str(at), tmp_path, each, settings, "r", (), 0, None) for at, each in enumerate(manifests)]
    merged = merged_manifest(settings, parts, planned=3, recorded=3)

    assert (merged["started"], merged["ended"]) == ("2026-11-01", "2026-11-04")
    assert "session_started" not in merged
    assert notes_of(merged) == [
        "answers of earlier sessions were given under other facts (before / now): models m: window 8 / 4"
    ]
