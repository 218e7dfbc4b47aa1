"""The same seed gives the same bytes, in every version: prompts and trial keys are pinned.

A changed prompt hash means that scores of old and new runs are of different texts; a changed key means that old runs
are not resumed. Neither may happen by accident: `RECIPE_VERSION` and CHANGELOG.md have to say so.
"""

import json
from hashlib import sha256

import numpy as np
import pytest
from msgspec.structs import replace

from needlework.haystack_fixtures.configuration.resolve import recipe_fields, resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.haystack_fixtures.trials.small_texts import small_texts

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
        "f5fb2fd2267e521a5ace",
        "0471b2603ee4d5549a52",
    ),
    "cdme": (
        {"preset": "cdme-8k", "lengths": "2k", "depths": "0,60,100", "repeats": "2"},
        "733127ea7624ddbaf9e1",
        "f2e2ee9c130f9699a015",
    ),
    "evalscope": (
        {"preset": "evalscope", "lengths": "2k", "depths": "0,60,100"},
        "a61d7f9e9f0be6fc03b6",
        "e24575a7354abb4607bf",
    ),
}


LEVAL = {"leval_data": ".", "preset": "leval-closed", "task": "leval_tpo", "lengths": "700"}
OPEN = LEVAL | {"preset": "leval-open", "task": "leval_financial_qa"}
DOCUMENTS = {"documents": "documents", "preset": "own-documents", "lengths": "1600", "depths": "0,100"}
# Tasks that came into the preset later, and have pins of their own.
MEMORY = ("memory", "memory_number", "memory_choice", "agent_log", "agent_log_count")
LATER = ("graph_bfs", "graph_parents", "mrcr", *MEMORY)
NEW = {"preset": "families", "task": "graph_bfs,graph_parents,mrcr", "corpus": "noise", "lengths": "2500"}
RULER = {"preset": "families", "task": "ruler_qa_1,ruler_vt", "lengths": "1k"}
# Options of a family's own, then the hashes of all prompts, of all keys, and of what records of one run have in common.
OWN = {
    "leval": (LEVAL, "94784f10a3d137e36cbb", "cb2b5b79e14b1bf2ac7f", "2701955971308dd42df8"),
    "leval-compat": (
        LEVAL | {"leval_truncation": "compat", "lengths": "600"},
        "25e54ce46e05d3082a07",
        "065c91f037175a05d0b5",
        "fecd535b94aafac16c08",
    ),
    "leval-bm25": (
        LEVAL | {"retriever": "none,bm25", "chunk_size": "120t", "chunk_overlap": "20t", "retrieve": "2"},
        "c95b739563f679e06967",
        "f31b863c788b7c32406f",
        "e3bf51c0ec8f4a6777b8",
    ),
    "leval-open": (
        OPEN | {"leval_subset": "llm"},
        "d4da432b9d76a07048bd",
        "d4b5f8f9be30cd6479aa",
        "001b4f42d40f9881315e",
    ),
    "leval-bare": (
        OPEN | {"leval_length_hint": "false", "no_truncate": "true"},
        "d28292907974297527a9",
        "f30f2cbf16bc421bdba1",
        "36b6e2d03a4350d1aa36",
    ),
    "documents": (
        DOCUMENTS | {"questions": "asked.json", "vote": "3"},
        "bfb5ad425569ddbecd44",
        "098fa5a1865f641e2179",
        "6893b8ea2e11eefcfebd",
    ),
    "documents-gaps": (
        DOCUMENTS | {"retriever": "none", "controls": "absent", "repeats": "2"},
        "4d6f2007d8a44994b51b",
        "7c4b487cd76de074bcc6",
        "6893b8ea2e11eefcfebd",
    ),
    "ruler": (
        RULER | {"answer_prefix": "true", "language": "en,zh", "controls": "none"},
        "b12aeb8feb6d640f6daa",
        "20cb3017345a4af20f81",
        "56183428cf1f2211ea0d",
    ),
    "ruler-questions": (
        RULER | {"task": "ruler_qa_1", "repeats": "2", "questions": "squad.json"},
        "8361de08508fda516c0f",
        "fc47b818a2cde417063f",
        "0a3c90b990108f5e0cdc",
    ),
    "families": (
        {"preset": "families", "corpus": "noise", "lengths": "1200", "depths": "50", "language": "en"},
        "607c7511dfed47159d8a",
        "265aee1f7f08b72c919f",
        "4cf2b9786e301074e90e",
    ),
    "graph, mrcr": (NEW, "d326d9b6fc17e27a49ae", "097657caf8743f11d1a4", "ce602c26ea8a607a8609"),
    "memory, logs": (
        {"preset": "families", "task": ",".join(MEMORY), "corpus": "noise", "controls": "absent,compacted"},
        "cf3107114416db611154",
        "b32bdbcd0adfa61d6d6a",
        "c63e7bac30131e67ba6c",
    ),
    "families-zh": (
        {
            "preset": "families",
            "corpus": "noise",
            "lengths": "1200",
            "depths": "50",
            "controls": "none",
            "language": "zh",
        },
        "9dbb774e5e8c950804da",
        "0609a5a6c72630fd7619",
        "bf7d57890fa75d872459",
    ),
}

# Hashes of all references: what answers are compared with, chance and floor, kinds of wrong values.
REFERENCES = {
    "chat": "4d4672fa8ada4afdb80b",
    "raw": "4d4672fa8ada4afdb80b",
    "isolated": "e541306cce8c14621bfb",
    "llmtest": "5697e4ca92d1bf5af3b3",
    "cdme": "46b3f9019a76646f914c",
    "evalscope": "d6c979adaccefafd2810",
    "leval": "eabe24de20c4fab5856d",
    "leval-compat": "eabe24de20c4fab5856d",
    "leval-bm25": "3643d9ea5796cdc99a49",
    "leval-open": "5749111164d683d16bcc",
    "leval-bare": "ae630829c1effd3f183e",
    "documents": "2041ca8e8404d26eed67",
    "documents-gaps": "8e90539d84a910943fbb",
    "ruler": "c5e2a332821a8efe8d50",
    "ruler-questions": "64e05fcb87b46e6018a0",
    "families": "84054fea4ef4dc482608",
    "graph, mrcr": "24648479668985bf2b52",
    "memory, logs": "47a2f93f8b413a3f9b96",
    "families-zh": "ca6d6c1ee5e25e74e8f9",
}


@pytest.mark.parametrize("name", PINNED)
def test_prompts_and_keys_stay_what_they_were(name, tmp_path):
    options, prompts, keys = PINNED[name]
    preset = tmp_path / "pinned.toml"
    preset.write_text(PRESET, encoding="utf-8")
    settings = _settings({"preset": str(preset), "repeats": "2"} | options, tmp_path)
    assert _pins(name, settings, tmp_path) == (prompts, keys)


@pytest.mark.parametrize("name", OWN)
def test_those_of_every_family_stay_what_they_were(name, tmp_path, monkeypatch):
    options, prompts, keys, recipe = OWN[name]
    small_texts(tmp_path)
    monkeypatch.chdir(tmp_path)
    settings = _settings(options, tmp_path)
    if name.startswith("families"):  # those that were there when this was pinned
        kept = tuple(suite for suite in settings.suites if suite.task not in LATER)
        settings = replace(settings, suites=kept)
    recipes = [recipe_fields(suite) for suite in settings.suites]
    assert (*_pins(name, settings, tmp_path), _hash(recipes)) == (prompts, keys, recipe)


def _settings(given, folder):
    return resolve_settings({"model": ["mock:perfect"]} | given, {}, folder)


def _pins(name, settings, folder):
    builder = TrialBuilder(settings, load_tokenizer("tiktoken:cl100k_base"), folder)
    cells = [(series.suite, cell) for series in grid(settings) for cell in series.cells]
    made = [builder.build(*cell) for cell in cells]
    keys = [builder.key(*cell, MODEL) for cell in cells]
    assert len(set(keys)) == len(keys)
    assert _hash([trial.asked.reference for trial in made]) == REFERENCES[name]
    return _hash([_facts(trial.prompt) for trial in made]), _hash(keys)


def _facts(prompt):
    placed = [[getattr(needle, name) for name in needle.__slots__] for needle in prompt.placed]
    ids = sha256(np.ascontiguousarray(prompt.ids, "<i4").tobytes()).hexdigest()
    messages = [[message.role, message.content] for message in prompt.messages]
    numbers = [prompt.context, prompt.context_tokens, prompt.slack, prompt.corpus_passes, prompt.flags]
    return [prompt.text, ids, messages, placed, prompt.text_sha256, prompt.filler_sha256, numbers]


def _hash(content):
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]
