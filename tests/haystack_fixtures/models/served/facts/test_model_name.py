"""Names of models: what is the same one, and what a server has swapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from needlework.core.grid import Cell
from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.served.server_facts import same_model
from needlework.models.tokenizers.tokenizer import Tokenizer
from needlework.pipeline.exchange import check_answer
from tests.haystack_fixtures.models.served.planted_http import PlantedServer, good


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


Ask = Callable[..., Request]


@pytest.fixture
def answers(planted: PlantedServer, chat: Ask, mock_tokenizer: Tokenizer) -> Callable[..., list[tuple[str, ...]]]:
    """The flags, or the reasons why they are invalid, of answers that come from these models, one after another."""

    def ask(*names: str, asked: str = "m", strict: bool = False) -> list[tuple[str, ...]]:
        connection = ServerOptions(planted.url, "NO_SUCH_KEY", strict_model=strict)
        model = ServedModel(transport_of("openai", asked, {"window": "999"}, connection), mock_tokenizer, connection)
        request = replace(chat(mock_tokenizer, "What is the capital of France?", 16), cell=Cell("niah", 500, 0.0, "x"))
        found = []
        for name in names:
            planted.plant(good() | {"model": name, "system_fingerprint": "fp"})
            response = model.respond(request)
            assert (response.model, response.fingerprint) == (name, "fp")
            response = replace(response, prompt_tokens=None)  # what it counts is another matter
            check = check_answer(7, [], response)
            found.append(check.invalid or tuple(flag for flag in check.flags if "model" in flag))
        model.close()
        return found

    return ask


def test_a_model_that_changes_is_flagged_from_then_on(answers: Callable[..., list[tuple[str, ...]]]) -> None:
    assert answers("m", "m-2024-08-06", "other", "m") == [(), (), ("model_changed",), ()]


def test_another_model_than_the_one_asked_for_is_flagged(answers: Callable[..., list[tuple[str, ...]]]) -> None:
    assert answers("other", "other") == [("other_model",), ("other_model",)]


def test_strict_model_makes_both_invalid(answers: Callable[..., list[tuple[str, ...]]]) -> None:
    assert answers("m", "other", "m", strict=True) == [(), ("other_model",), ()]
    assert answers("other", strict=True) == [("other_model",)]
