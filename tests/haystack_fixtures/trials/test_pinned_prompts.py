"""The same seed gives the same bytes, in every version: prompts and trial keys are pinned.

A changed prompt hash means that scores of old and new runs are of different texts; a changed key means that old runs
are not resumed. Neither may happen by accident: `RECIPE_VERSION` and CHANGELOG.md have to say so.
"""

from __future__ import annotations

import json
from hashlib import sha256

import numpy as np
import pytest

from needlework.haystack_fixtures.settings.settings import resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.tokenizers.tokenizer_named import load_tokenizer
from needlework.haystack_fixtures.trials.trials import TrialBuilder

MODEL = {"spec": "mock:perfect", "args": [], "base_url": None}
PRESET = """
[pinned]
[[pinned.suite]]
task = "niah"
language = "en,zh"
lengths = "700,3k"
depths = "0,33,100"
[[pinned.suite]]
task = "multi_needle"
language = "en,zh"
lengths = "1k,3k"
depths = "0,50,100"
[[pinned.suite]]
task = "parallel"
language = "en,zh"
lengths = "1k,3k"
depths = "10,50,90"
"""
# Options, then the hashes of all prompts and of all keys.
PINNED = {
    "chat": ({}, "8f9b2247d2df81a37791", "3fd2e30b8d861820894f"),
    "raw": (
        {"template": "raw", "question_position": "both", "answer_budget": "10"},
        "1e9693178440ffd64fa8",
        "db2fc473292e982383a4",
    ),
    "isolated": (
        {"cache_policy": "isolated", "seed": "7", "thinking_budget": "50"},
        "00e45078b203f4786d3e",
        "542df432bcb675476468",
    ),
    "llmtest": (
        {"preset": "llmtest-multi", "lengths": "2k", "depths": "0,60,100"},
        "a1e9843c2b1534897fb5",
        "adbf6c350050e7b1e099",
    ),
    "cdme": (
        {"preset": "cdme-8k", "lengths": "2k", "depths": "0,60,100", "repeats": "2"},
        "d491ce303dca3d8bea59",
        "af5fd39d3de929d5cfae",
    ),
    "evalscope": (
        {"preset": "evalscope", "lengths": "2k", "depths": "0,60,100"},
        "40bdacb6bada0a3258b8",
        "29f0fbb77345f00b33d4",
    ),
}


@pytest.mark.parametrize("name", PINNED)
def test_prompts_and_keys_stay_what_they_were(name, tmp_path):
    options, prompts, keys = PINNED[name]
    preset = tmp_path / "pinned.toml"
    preset.write_text(PRESET, encoding="utf-8")
    given = {"preset": str(preset), "repeats": "2", "model": ["mock:perfect"]}
    settings = resolve_settings(given | options, {}, tmp_path)
    builder = TrialBuilder(settings, load_tokenizer("tiktoken:cl100k_base"), tmp_path)
    made = [
        (builder.build(series.suite, cell).prompt, builder.key(series.suite, cell, MODEL))
        for series in grid(settings)
        for cell in series.cells
    ]

    assert len({prompt.text_sha256 for prompt, _ in made}) == len({key for _, key in made}) == len(made)
    assert _hash([_facts(prompt) for prompt, _ in made]) == prompts
    assert _hash([key for _, key in made]) == keys


def _facts(prompt):
    placed = [[getattr(needle, name) for name in needle.__slots__] for needle in prompt.placed]
    ids = sha256(np.ascontiguousarray(prompt.ids, "<i4").tobytes()).hexdigest()
    messages = [[message.role, message.content] for message in prompt.messages]
    numbers = [prompt.context, prompt.context_tokens, prompt.slack, prompt.corpus_passes, prompt.flags]
    return [prompt.text, ids, messages, placed, prompt.text_sha256, prompt.filler_sha256, numbers]


def _hash(content):
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]
