"""Names of models: what is the same one, and what a server has swapped."""

from __future__ import annotations

import pytest

from needlework.models.served.server_facts import same_model


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06"),
        ("gpt-4", "gpt-4-0613"),
        ("claude-x-latest", "claude-x-20241022"),
        ("gemini-1.5-pro", "gemini-1.5-pro-002"),
        ("llama3", "llama3:latest"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct"),
        ("SmolLM2-135M", "/models/SmolLM2-135M.gguf"),
        ("openai/gpt-4o", "gpt-4o-2024-08-06"),
    ],
)
def test_the_same_model_by_another_name(asked: str, told: str) -> None:
    assert same_model(asked, told)
    assert same_model(told, asked)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gpt-2", "gpt-2-small"),
        ("gpt-4o", "gpt-4o-mini"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("qwen2.5-7b", "qwen2.5-72b"),
        ("a", "b"),
    ],
)
def test_another_model(asked: str, told: str) -> None:
    assert not same_model(asked, told)
