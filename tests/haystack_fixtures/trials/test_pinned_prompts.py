"""The same seed gives the same bytes, in every version: prompts and trial keys are pinned.

A changed prompt hash means that scores of old and new runs are of different texts; a changed key means that old runs
are not resumed. Neither may happen by accident: `RECIPE_VERSION` and CHANGELOG.md have to say so.
"""

import json
import tomllib
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from needlework.haystack_fixtures.configuration.resolve import recipe_fields, resolve_settings
from needlework.haystack_fixtures.tasks.catalogue import grid
from needlework.haystack_fixtures.trials.builder import TrialBuilder
from needlework.models.tokenizers.tokenizer import load_tokenizer

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
LEVAL = {"leval_data": ".", "preset": "leval-closed", "task": "leval_tpo", "lengths": "700"}
OPEN = LEVAL | {"preset": "leval-open", "task": "leval_financial_qa"}
DOCUMENTS = {"documents": "documents", "preset": "own-documents", "lengths": "1600", "depths": "0,100"}
RULER = {"preset": "families", "task": "ruler_qa_1,ruler_vt", "lengths": "1k"}
FAMILIES = {"preset": "families", "corpus": "noise"}
SMALL = FAMILIES | {"lengths": "1200", "depths": "50"}
# Tasks that came into the preset later, and have pins of their own.
MEMORY = ("memory", "memory_number", "memory_choice", "agent_log", "agent_log_count")
LATER = ("graph_bfs", "graph_parents", "mrcr", *MEMORY)
PUBLISHED = {"lengths": "2k", "depths": "0,60,100"}
# The options of each run; those without a preset are of PRESET.
RUNS = {
    "chat": {},
    "raw": {"template": "raw", "question_position": "both", "answer_budget": "10"},
    "isolated": {"cache_policy": "isolated", "seed": "7", "thinking_budget": "50"},
    "llmtest": PUBLISHED | {"preset": "llmtest-multi"},
    "cdme": PUBLISHED | {"preset": "cdme-8k"},
    "evalscope": PUBLISHED | {"preset": "evalscope"},
    "leval": LEVAL,
    "leval-compat": LEVAL | {"leval_truncation": "compat", "lengths": "600"},
    "leval-bm25": LEVAL | {"retriever": "none,bm25", "chunk_size": "480", "chunk_overlap": "80", "retrieve": "2"},
    "leval-open": OPEN | {"leval_subset": "llm"},
    "leval-bare": OPEN | {"leval_length_hint": "false", "no_truncate": "true"},
    "documents": DOCUMENTS | {"questions": "asked.json", "vote": "3"},
    "documents-gaps": DOCUMENTS | {"retriever": "none", "controls": "absent", "repeats": "2"},
    "ruler": RULER | {"answer_prefix": "true", "language": "en,zh", "controls": "none"},
    "ruler-questions": RULER | {"task": "ruler_qa_1", "repeats": "2", "questions": "squad.json"},
    "families": SMALL | {"language": "en"},
    "graph, mrcr": FAMILIES | {"task": "graph_bfs,graph_parents,mrcr", "lengths": "2500"},
    "memory, logs": FAMILIES | {"task": ",".join(MEMORY), "controls": "absent,compacted"},
    "families-zh": SMALL | {"controls": "none", "language": "zh"},
}
PINS = tomllib.loads((Path(__file__).parent / "pins.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RUNS)
def test_prompts_keys_and_references_stay_what_they_were(name, tmp_path, monkeypatch):
    small_texts(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pinned.toml").write_text(PRESET, encoding="utf-8")
    given = {"model": ["mock:perfect"]} | RUNS[name]
    if "recipes" not in PINS[name]:
        given = {"preset": "pinned.toml", "repeats": "2"} | given
    settings = resolve_settings(given, {}, tmp_path)
    if name.startswith("families"):  # those that were there when this was pinned
        settings = replace(settings, suites=tuple(suite for suite in settings.suites if suite.task not in LATER))
    builder = TrialBuilder(settings, load_tokenizer("tiktoken:cl100k_base"), tmp_path)
    cells = [(series.suite, cell) for series in grid(settings) for cell in series.cells]
    trials = [builder.build(*cell) for cell in cells]
    keys = [builder.key(*cell, MODEL) for cell in cells]
    assert len(set(keys)) == len(keys)
    made = {
        "prompts": [_facts(trial.prompt) for trial in trials],
        "keys": keys,
        "references": [trial.asked.reference for trial in trials],
        "recipes": [recipe_fields(suite) for suite in settings.suites],
    }
    assert {kind: _hash(made[kind]) for kind in PINS[name]} == PINS[name]


def _facts(prompt):
    placed = [[getattr(needle, name) for name in needle.__struct_fields__[:7]] for needle in prompt.placed]
    ids = sha256(np.ascontiguousarray(prompt.ids, "<i4").tobytes()).hexdigest()
    messages = [[message.role, message.content] for message in prompt.messages]
    numbers = [prompt.context, prompt.context_tokens, prompt.slack, prompt.corpus_passes, prompt.flags]
    return [prompt.text, ids, messages, placed, prompt.text_sha256, prompt.filler_sha256, numbers]


def _hash(content):
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]


def small_texts(folder):
    """Write `tpo.jsonl`, `financial_qa.jsonl`, `documents/`, `asked.json` (questions about them), `squad.json`."""
    for name, evaluation in (("tpo", "exam"), ("financial_qa", "LLM"), ("financial_qa", "f1")):
        with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(_leval_row(evaluation)) + "\n")
    (folder / "documents").mkdir()
    for n in range(18):
        text = f"Light {n}\n\nThe light on rock {n} was kept by Keeper{n} for {n + 3} years. "
        text += " ".join(f"In year {year} rock {n} had {year * (n + 2) % 97} visitors." for year in range(6))
        (folder / "documents" / f"light{n}.txt").write_text(text, encoding="utf-8")
    asked = {
        str(n): {"question": f"Who kept the light on rock {n}?", "answer": f"Keeper{n}", "answer_doc": f"light{n}.txt"}
        for n in range(2)
    }
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    paragraphs = [
        {
            "context": f"The harbour of colony {n} was built by engineer Q{n}. Ships called there in all seasons.",
            "qas": [{"id": str(n), "question": f"Who built the harbour of {n}?", "answers": [{"text": f"Q{n}"}]}],
        }
        for n in range(8)
    ]
    squad = {"version": "v2.0", "data": [{"title": "Harbours", "paragraphs": paragraphs}]}
    (folder / "squad.json").write_text(json.dumps(squad), encoding="utf-8")


def _leval_row(evaluation):
    lines = [f"Ledger line {n}: the mill at ford {n % 17} sold {n * 37 % 101} sacks of barley. " for n in range(60)]
    return {
        "input": "".join(lines),
        "instructions": ["Which ford?\nA. one\nB. two", "What was sold?\nA. barley\nB. oats"],
        "outputs": ["B", "A"],
        "evaluation": evaluation,
    }
