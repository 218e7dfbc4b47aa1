"""A server's window, read from what each kind of server says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from needlework.models.served.errors import UnreachableError
from needlework.models.served.probes import Window, discover_window

ROOT = "http://127.0.0.1:8000"
PROPS = "/props?model=m&autoload=false"


class Server:
    """Says what was planted for each path; everything else is not found."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self.said = dict(said)
        self.asked: list[str] = []

    def __call__(self, url: str, body: Mapping[str, Any] | None = None, wait_s: float = 5.0) -> Any:
        assert url.startswith(ROOT)
        self.asked.append(url.removeprefix(ROOT))
        found = self.said.get(self.asked[-1])
        return found(body) if callable(found) else found


def found(said: Mapping[str, Any], name: str = "m", base: str = "/v1") -> Window:
    return discover_window(Server(said), ROOT + base, name)


VLLM = {
    "object": "list",
    "data": [{"id": "m", "object": "model", "owned_by": "vllm", "root": "/m", "max_model_len": 8192}],
}
SGLANG = {"data": [{"id": "m", "owned_by": "sglang", "root": "m", "max_model_len": 131072}]}
OPENROUTER = {
    "data": [
        {"id": "m", "context_length": 131072, "top_provider": {"context_length": 32768, "max_completion_tokens": 4096}},
        {"id": "n", "context_length": 4096},
    ]
}
GROQ = {"data": [{"id": "n", "context_window": 1}, {"id": "m", "context_window": 131072, "max_completion_tokens": 1}]}
MISTRAL = {"data": [{"id": "m", "max_context_length": 32768, "aliases": ["m-latest"]}]}
TOGETHER = [{"id": "m", "context_length": 16384}]
TABBY = {"data": [{"id": "m", "parameters": {"max_seq_len": 12288}}]}
LM_STUDIO_0 = {"data": [{"id": "m", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 4096}]}


@pytest.mark.parametrize(
    ("said", "tokens"),
    [
        (VLLM, 8192), (SGLANG, 131072), (OPENROUTER, 32768), (GROQ, 131072), (MISTRAL, 32768), (TOGETHER, 16384),
        (TABBY, 12288), (LM_STUDIO_0, 4096),
    ],
)  # fmt: skip
def test_the_list_of_models_tells(said: Any, tokens: int) -> None:
    server = Server({"/v1/models": said})
    window = discover_window(server, f"{ROOT}/v1", "m")
    assert (window.tokens, window.exact) == (tokens, True)
    assert window.source.startswith("/v1/models ")
    assert server.asked == ["/v1/models"]


def test_another_name_of_the_model() -> None:
    assert found({"/v1/models": MISTRAL}, "m-latest").tokens == 32768


def test_a_row_of_another_model_tells_nothing() -> None:
    assert found({"/v1/models": OPENROUTER}, "x").tokens is None
    assert found({"/v1/models": VLLM}, "x").tokens == 8192  # the only model there is: it will answer


def test_llama_cpp_gives_each_slot_its_share() -> None:
    said = {
        "/v1/models": {"data": [{"id": "m", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072, "n_ctx": 32768}}]},
        PROPS: {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 4},
    }
    assert found(said) == Window(8192, "/props default_generation_settings.n_ctx", slots=4)


def test_llama_cpp_without_props_has_at_most_what_it_was_trained_for() -> None:
    said = {"/v1/models": {"data": [{"id": "a.gguf", "meta": {"n_ctx_train": 131072}}]}}
    window = found(said)
    assert (window.tokens, window.exact) == (131072, False)


SHOWN = {
    "modelfile": "FROM x",
    "parameters": 'stop                           "<|im_end|>"\nnum_ctx                        16384',
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960, "qwen3.embedding_length": 1024},
}
LISTED = {"data": [{"id": "m:latest", "object": "model", "owned_by": "library"}]}


def test_ollama_gives_what_it_has_allocated_and_not_what_the_model_could_take() -> None:
    running = {"models": [{"name": "other:latest", "context_length": 1}, {"name": "m:latest", "context_length": 4096}]}
    said = {
        "/v1/models": LISTED,
        "/api/show": lambda body: SHOWN if body == {"model": "m"} else None,
        "/api/ps": running,
    }
    assert found(said) == Window(4096, "/api/ps context_length")


def test_ollama_is_made_to_load_the_model_first() -> None:
    server = Server({"/v1/models": LISTED, "/api/show": SHOWN, "/api/ps": {"models": []}})

    def load(body: Any) -> Any:
        server.said["/api/ps"] = {"models": [{"model": "m:latest", "context_length": 4096}]}
        return {"done": True, "done_reason": "load"}

    server.said["/api/generate"] = load
    assert discover_window(server, f"{ROOT}/v1", "m").tokens == 4096


def test_an_old_ollama_tells_what_was_set_or_else_the_models_own_length() -> None:
    said = {"/v1/models": LISTED, "/api/show": SHOWN, "/api/ps": {"models": [{"name": "m:latest"}]}}
    assert found(said) == Window(16384, "/api/show num_ctx")
    bare = {**said, "/api/show": {**SHOWN, "parameters": ""}}
    assert (found(bare).tokens, found(bare).exact) == (40960, False)


def test_lm_studio() -> None:
    row = {
        "key": "m",
        "max_context_length": 262144,
        "loaded_instances": [{"id": "m:2", "config": {"context_length": 122880}}],
    }
    said = {"/v1/models": {"data": [{"id": "m"}, {"id": "n"}]}, "/api/v1/models": {"models": [row, {"key": "n"}]}}
    assert found(said).tokens == 122880
    assert found(said, "m:2").tokens == 122880
    row["loaded_instances"] = []
    assert (found(said).tokens, found(said).exact) == (262144, False)


def test_text_generation_inference() -> None:
    said = {"/info": {"model_id": "m", "max_input_tokens": 4095, "max_total_tokens": 4096}}
    assert found(said) == Window(4096, "/info max_total_tokens")


def test_kobold() -> None:
    assert found({"/api/extra/true_max_context_length": {"value": 8192}}).tokens == 8192


def test_addresses_below_a_path() -> None:
    said = {"/llm/v1/models": {"data": [{"id": "m"}]}, f"/llm{PROPS}": {"default_generation_settings": {"n_ctx": 512}}}
    assert found(said, base="/llm/v1/").tokens == 512


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"/v1/models": "nonsense", PROPS: [], "/api/show": 3, "/info": None},
        {"/v1/models": {"data": [{"id": "m", "max_model_len": "8192"}]}},
        {"/v1/models": {"data": [{"id": "m", "max_model_len": 0}]}},
        {"/v1/models": {"data": [{"id": "m", "max_model_len": True}]}},
        {"/v1/models": {"data": [{"id": "m", "max_model_len": 1e30}]}},
        {"/v1/models": {"data": [{"id": "m", "max_model_len": float("nan")}]}},
        {PROPS: {"default_generation_settings": {"n_ctx": 0}}},  # a router that has not loaded the model
        {"/v1/models": {"data": {"id": "m"}}},
    ],
)
def test_a_server_that_does_not_tell(said: Mapping[str, Any]) -> None:
    assert found(said) == Window(None, "the server does not tell")


def test_a_server_that_does_not_answer_is_asked_once() -> None:
    asked: list[str] = []

    def silent(url: str, body: Mapping[str, Any] | None = None, wait_s: float = 5.0) -> Any:
        asked.append(url)
        raise UnreachableError("ConnectTimeout")

    window = discover_window(silent, f"{ROOT}/v1", "m")
    assert (window.tokens, window.exact) == (None, False)
    assert len(asked) == 1
