"""Conversations on a real server: llama.cpp's own chat template and count; nothing is planted."""

from __future__ import annotations

import json

import pytest

from needlework.pipeline.reconstruct import rebuild
from needlework.results.prompt import stored_run


@pytest.mark.slow
def test_the_server_counts_what_we_count(project, llama_server):
    project.asks("mrcr")
    result = project.run(
        "--preset=mrcr-offline", "--lengths=1300", "--depths=0,100", "--repeats=1", "--controls=none", "-k", "n2",
        f"--base-url={llama_server}", "--tokenizer=smollm2", "--concurrency=1",
        "--verify-prompts", model="openai:smollm2",
    )  # fmt: skip
    assert result.ret == 0
    records = project.records()
    assert len(records) == 2
    for record in records:
        assert record["outcome"] not in ("error", "invalid", "skipped")
        assert record["response"]["prompt_tokens"] == record["prompt"]["tokens"] == 1300 - 256
        assert {needle["name"] for needle in record["prompt"]["needles"]} == {"piece1", "piece2"}
        wanted = record["prompt"]["needles"][int(record["reference"]["wanted"][1:]) - 1]
        assert wanted["depth"] == record["depth"]
    manifest = json.loads(project.file("manifest.json"))
    assert manifest["models"]["openai:smollm2"]["calibration chat turns"] == "exact, +0 tokens"
    for record in records:
        made = rebuild(stored_run(project.runs / "r"), record["id"]).prompt
        assert made.text_sha256 == record["prompt"]["sha256"]
        assert made.messages[-1].role == "user"
        assert len(made.messages) % 2 == 1
        assert made.messages[-1].content == record["question"]
