"""An answer that was begun for the model: servers are told to go on with it, and show by their count that they did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from needlework.core.grid import Cell
from needlework.core.prompts import Message, Needle
from needlework.models.model import Model, Request, starts_answer
from needlework.models.served.calibration import layout_of, new_short_requests
from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import Tokenizer
from needlework.pipeline.exchange import check_answer
from tests.haystack_fixtures.models.conftest import make_prompt
from tests.haystack_fixtures.models.served.planted_http import PlantedServer, good

NEEDLE = Needle("code", "The code of the red house is 48151.", "What is the code?", "48151", key="the red house")
QUESTION = f"{NEEDLE.text} The sea was calm.\nWhat is the code of the red house?"
PREFIX = "The code of the red house is"


@pytest.fixture
def begun(chat: Callable[..., Request], smol_tokenizer: Tokenizer) -> Request:
    asked = chat(smol_tokenizer, QUESTION, 8, needles=(NEEDLE,), answer=NEEDLE.answer)
    messages = (*asked.prompt.messages, Message("assistant", PREFIX))
    return replace(asked, prompt=make_prompt(smol_tokenizer, asked.prompt.text + PREFIX, messages))


def connected(url: str, tokenizer: Tokenizer, **args: str) -> ServedModel:
    connection = ServerOptions(url, "SOME_KEY", timeout_s=60)
    return ServedModel(transport_of("openai", "m", args, connection), tokenizer, connection)


def test_servers_are_told_to_go_on(
    planted: PlantedServer, begun: Request, chat: Callable[..., Request], smol_tokenizer: Tokenizer
) -> None:
    planted.plant(good(), good())
    model = connected(planted.url, smol_tokenizer)
    model.respond(begun)
    model.respond(chat(smol_tokenizer, QUESTION))
    first, second = planted.requests
    assert first["messages"][-1] == {"role": "assistant", "content": PREFIX}
    assert (first["continue_final_message"], first["add_generation_prompt"]) == (True, False)
    assert not {"continue_final_message", "add_generation_prompt"} & second.keys()


@pytest.mark.parametrize("url", ["https://api.openai.com/v1", "azure"])
def test_those_that_cannot_are_not_asked(
    url: str, planted: PlantedServer, begun: Request, smol_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "k")
    args = {"azure_api_version": "2026-01-01"} if url == "azure" else {}
    model = connected(planted.url if url == "azure" else url, smol_tokenizer, **args)
    error = model.respond(begun).error
    assert error is not None
    assert (error.kind, error.fatal) == ("client", True)
    assert error.message.endswith("give --answer-prefix false")
    assert not planted.requests


def test_a_server_that_closes_the_answer_instead_counts_too_many(begun: Request, smol_tokenizer: Tokenizer) -> None:
    """The short requests have no started answer: what closing it adds is then no constant of the template."""
    assert starts_answer(begun)
    for short in new_short_requests(begun, smol_tokenizer):
        assert [message.role for message in short.prompt.messages] == ["system", "user"][-len(short.prompt.messages) :]
        assert not starts_answer(short)
    forms = replace(begun.prompt.forms, messages=begun.prompt.messages[:-1])
    plain = replace(begun, prompt=replace(begun.prompt, forms=forms))
    assert layout_of(begun, smol_tokenizer) == layout_of(plain, smol_tokenizer)


def test_a_real_server_goes_on(llama_server: str, smol: Model, begun: Request, smol_tokenizer: Tokenizer) -> None:
    served = connected(llama_server, smol_tokenizer)
    trial = replace(begun, cell=Cell("ruler_vt", 100, None, "hops4"))
    response, local = served.respond(trial), smol.respond(begun)
    assert response.error is None
    for text in (response.text, local.text):
        assert text.lstrip().startswith("48151")
    check = check_answer(begun.prompt.tokens, (), response)
    assert check.invalid == ()
    assert "template_difference" not in check.flags
