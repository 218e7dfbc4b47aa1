"""A served model that asks a planted server, with a clock that only its pauses move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from needlework.models.model import Request
from needlework.models.served.connection import ServerOptions
from needlework.models.served.limiter import Turnstile
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.served.planted_http import PlantedServer
from tests.haystack_fixtures.models.served.slept_time import SleptTime

Ask = Callable[..., Request]


@pytest.fixture
def time() -> SleptTime:
    return SleptTime()


@pytest.fixture
def slept(time: SleptTime) -> list[float]:
    return time.slept


@pytest.fixture
def model(planted: PlantedServer, mock_tokenizer: Tokenizer, time: SleptTime) -> Callable[..., ServedModel]:
    def make(timeout_s: float = 5.0, retries: int = 3, **args: str) -> ServedModel:
        connection = ServerOptions(planted.url, "NO_SUCH_KEY", timeout_s, retries)
        gate = Turnstile(8, now=time.now, sleep=time.sleep)
        return ServedModel(transport_of("openai", "m", args, connection), mock_tokenizer, connection, gate)

    return make


@pytest.fixture
def question(chat: Ask, mock_tokenizer: Tokenizer) -> Request:
    return chat(mock_tokenizer, "What is the capital of France?", 16)
