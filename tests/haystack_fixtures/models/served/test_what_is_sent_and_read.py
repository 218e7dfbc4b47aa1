"""Served models against a real server: what is sent, and how answers in their many forms are read."""

from __future__ import annotations

from collections.abc import Callable

from needlework.models.model import Request, part_reasoning
from needlework.models.served.connection import ServerOptions
from needlework.models.served.model import ServedModel, transport_of
from needlework.models.tokenizers.tokenizer import Tokenizer
from tests.haystack_fixtures.models.served.planted_http import PlantedServer, error, events, good

Ask = Callable[..., Request]


def test_what_is_sent(
    planted: PlantedServer, model: Callable[..., ServedModel], raw: Ask, mock_tokenizer: Tokenizer
) -> None:
    planted.plant(good())
    request = Request(raw(mock_tokenizer, "The capital is").prompt, "raw", 10, thinking_budget=5)
    model(extra_body='{"top_k": 1}', seed="4").respond(request)
    assert planted.paths == ["/v1/completions"]
    sent = planted.requests[0]
    assert (sent["prompt"], sent["max_tokens"], sent["temperature"]) == ("The capital is", 15, 0)
    assert (sent["seed"], sent["top_k"], sent["stream"]) == (4, 1, True)
    assert "stop" not in sent


def test_a_stream(planted: PlantedServer, model: Callable[..., ServedModel], question: Request) -> None:
    planted.plant(
        events(
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]},
            {"choices": [{"index": 0, "delta": {"reasoning_content": "France... "}}]},
            {"choices": [{"index": 0, "delta": {"content": "Pa"}}]},
            {"choices": [{"index": 0, "delta": {"content": "ris \u2028 ok"}, "finish_reason": "length"}]},
            {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}, "timings": {"cache_n": 8}},
        )
    )
    response = model().respond(question)
    assert (response.text, response.reasoning, response.finish_reason) == ("Paris \u2028 ok", "France... ", "length")
    assert (response.prompt_tokens, response.completion_tokens, response.cached_tokens) == (9, 3, 8)
    assert response.latency_s is not None
    assert response.ttft_s is None, "all came at once: nobody saw the first token alone"


def test_of_several_choices_the_first_by_index_is_judged(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request
) -> None:
    said = [
        {"index": i, "finish_reason": "stop", "message": {"content": text}} for i, text in ((1, "Lyon"), (0, "Paris"))
    ]
    planted.plant({"choices": said})
    assert model().respond(question).text == "Paris"
    pieces = [
        {"choices": [{"index": i, "delta": {"content": text}}]}
        for i, text in ((1, "Ly"), (0, "Pa"), (1, "on"), (0, "ris"))
    ]
    pieces[-1]["choices"][0]["finish_reason"] = "stop"
    planted.plant(events(*pieces))
    assert model().respond(question).text == "Paris"


def test_hidden_reasoning_of_many_blocks_is_read_in_linear_time() -> None:
    parted = part_reasoning("<think>a</think>" * 100_000 + "Paris")
    assert (parted.answer, len(parted.reasoning)) == ("Paris", 199_999)


def test_a_server_that_cannot_stream_is_asked_without_from_then_on(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request, slept: list[float]
) -> None:
    planted.plant(error(400, "stream_options is not supported"), good())
    one = model()
    assert one.respond(question).text == "Paris"
    assert one.respond(question).text == "Paris"
    assert ["stream" in sent for sent in planted.requests] == [True, False, False]
    assert not slept


def test_a_server_that_wants_max_completion_tokens_gets_it(
    planted: PlantedServer, model: Callable[..., ServedModel], question: Request
) -> None:
    planted.plant(error(400, "'max_tokens' is not supported, use 'max_completion_tokens' instead."), good())
    assert model().respond(question).text == "Paris"
    assert planted.requests[1]["max_completion_tokens"] == 16
    assert "max_tokens" not in planted.requests[1]
    planted.plant(good())
    model(max_tokens_field="max_completion_tokens").respond(question)
    assert "max_tokens" not in planted.requests[2]


def test_azure_addresses(planted: PlantedServer, mock_tokenizer: Tokenizer, question: Request) -> None:
    planted.plant(good())
    connection = ServerOptions(planted.url.removesuffix("/v1"), "NO_SUCH_KEY")
    args = {"azure_api_version": "2024-10-21", "azure_deployment": "dep"}
    model = ServedModel(transport_of("openai", "m", args, connection), mock_tokenizer, connection)
    assert model.respond(question).text == "Paris"
    assert planted.paths == ["/openai/deployments/dep/chat/completions?api-version=2024-10-21"]
    assert model.identity["azure_deployment"] == "dep"
