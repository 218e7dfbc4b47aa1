"""Runs whose lengths a provider's own counter says, about: labelled so, and cut prompts are still seen."""

import json
from dataclasses import replace
from hashlib import sha256

import pytest

from needlework.results.prompt import PromptsOfRuns
from tests.native_servers import native_server, right

GIVEN = ("--tokenizer=server", "--verify-prompts", "--concurrency=1")


@pytest.mark.parametrize("provider", ["anthropic", "google"])
def test_lengths_are_about_what_the_provider_counts(project, provider):
    with native_server(provider) as server:
        result = project.run(*GIVEN, f"--base-url={server.url}", "--lengths=600,3000", model=f"{provider}:mm")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines([f"{provider}:mm: lengths are approximate: a scaled tokenizer counts, *"])
    for record in project.records():
        prompt, served = record["prompt"], record["response"]["prompt_tokens"]
        assert prompt["tokens"] == pytest.approx(served, rel=0.03)
        assert 0 < prompt["tokens_error"] < 0.05
        assert "approximate_length" in record["details"]["flags"]
    (name,) = json.loads(project.file("manifest.json"))["tokenizers"]
    assert "o200k_base scaled, off by" in name
    assert "context length (tokens, about ±" in project.file(f"heatmap-niah-code-{provider}_mm.svg")
    for record in project.records():  # the server is away, and what it counted is kept with the run
        made = PromptsOfRuns()(project.runs / "r", record["id"])
        assert sha256(made.text.encode()).hexdigest() == record["prompt"]["sha256"]


def test_a_provider_that_cuts_prompts_is_seen_by_counts_that_stop_growing(project):
    window = 800

    def cut(question):
        reply = right(question)
        return replace(reply, tokens=window) if len(question.text) > 4 * window else reply

    with native_server("anthropic", cut) as server:
        given = ("--lengths=600,1200,2400", "--depths=50", "--max-errors=100")
        project.run(*GIVEN, *given, f"--base-url={server.url}", model="anthropic:mm")
    outcomes = {record["length"]: record["outcome"] for record in project.records()}
    assert outcomes[600] == "found"
    assert outcomes[2400] == "invalid"
    assert "the server counted 800 tokens of a prompt of about" in project.records()[-1]["why"]
