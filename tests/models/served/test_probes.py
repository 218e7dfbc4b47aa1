"""What each kind of server says of itself: its window, who it is, and the names of models."""

import pytest

from needlework.models.served.errors import UnreachableError
from needlework.models.served.server_facts import Window, discover_window, fingerprint, same_model, who_answers

ROOT = "http://127.0.0.1:8000"
PROPS = "/props?model=m&autoload=false"


class Server:
    """Says what was planted for each path; everything else is not found."""

    def __init__(self, replies):
        self.replies = dict(replies)
        self.asked = []

    def __call__(self, url, body=None, wait_s=5.0):
        assert url.startswith(ROOT)
        self.asked.append(url.removeprefix(ROOT))
        reply = self.replies.get(self.asked[-1])
        return reply(body) if callable(reply) else reply


def window_of(replies, name="m", base="/v1"):
    return discover_window(Server(replies), ROOT + base, name)


OPENROUTER = {
    "data": [
        {"id": "m", "context_length": 131072, "top_provider": {"context_length": 32768}},
        {"id": "n", "context_length": 4096},
    ]
}


@pytest.mark.parametrize(
    ("models", "name", "tokens"),
    [
        ({"data": [{"id": "m", "max_model_len": 8192}]}, "m", 8192),  # vLLM, SGLang
        ({"data": [{"id": "m", "max_model_len": 8192}]}, "x", 8192),  # the only model there is: it will answer
        (OPENROUTER, "m", 32768),
        ({"data": [{"id": "n", "context_window": 1}, {"id": "m", "context_window": 131072}]}, "m", 131072),  # Groq
        ({"data": [{"id": "m", "max_context_length": 32768, "aliases": ["m-latest"]}]}, "m-latest", 32768),  # Mistral
        ([{"id": "m", "context_length": 16384}], "m", 16384),  # Together
        ({"data": [{"id": "m", "parameters": {"max_seq_len": 12288}}]}, "m", 12288),  # TabbyAPI
        ({"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 4096}]}, "m", 4096),  # LM Studio
    ],
)
def test_the_list_of_models_tells(models, name, tokens):
    server = Server({"/v1/models": models})
    window = discover_window(server, f"{ROOT}/v1", name)
    assert (window.tokens, window.exact) == (tokens, True)
    assert window.source.startswith("/v1/models ")
    assert server.asked == ["/v1/models"]


SHOWN = {
    "modelfile": "FROM x",
    "parameters": 'stop                           "<|im_end|>"\nnum_ctx                        16384',
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960, "qwen3.embedding_length": 1024},
}
LISTED = {"data": [{"id": "m:latest", "object": "model", "owned_by": "library"}]}
RUNNING = {"models": [{"name": "other:latest", "context_length": 1}, {"name": "m:latest", "context_length": 4096}]}
OLLAMA = {"/v1/models": LISTED, "/api/show": lambda body: SHOWN if body == {"model": "m"} else None}
STUDIO = {"key": "m", "max_context_length": 262144}
LOADED = [{"id": "m:2", "config": {"context_length": 122880}}]


def studio(row):
    return {"/v1/models": {"data": [{"id": "m"}, {"id": "n"}]}, "/api/v1/models": {"models": [row, {"key": "n"}]}}


LLAMA = {  # each slot has its share
    "/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131072, "n_ctx": 32768}}]},
    PROPS: {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 4},
}
TRAINED = {"/v1/models": {"data": [{"id": "a.gguf", "meta": {"n_ctx_train": 131072}}]}}


@pytest.mark.parametrize(
    ("replies", "name", "tokens", "source", "exact"),
    [
        (LLAMA, "m", 8192, "/props default_generation_settings.n_ctx", True),
        (TRAINED, "m", 131072, "/v1/models meta.n_ctx_train", False),
        ({**OLLAMA, "/api/ps": RUNNING}, "m", 4096, "/api/ps context_length", True),
        ({**OLLAMA, "/api/ps": {"models": [{"name": "m:latest"}]}}, "m", 16384, "/api/show num_ctx", True),
        ({**OLLAMA, "/api/show": {**SHOWN, "parameters": ""}}, "m", 40960, "/api/show context_length (the mod", False),
        (studio({**STUDIO, "loaded_instances": LOADED}), "m:2", 122880, "/api/v1/models loaded_instances.con", True),
        (studio(STUDIO), "m", 262144, "/api/v1/models max_context_length (the mod", False),
        ({"/info": {"max_input_tokens": 4095, "max_total_tokens": 4096}}, "m", 4096, "/info max_total_tokens", True),
        ({"/api/extra/true_max_context_length": {"value": 8192}}, "m", 8192, "/api/extra/true_max_context_le", True),
        ({"/v1/models": OPENROUTER}, "x", None, "the server does not tell", True),
    ],
)
def test_what_other_servers_tell(replies, name, tokens, source, exact):
    window = window_of(replies, name)
    assert (window.tokens, window.source[: len(source)], window.exact) == (tokens, source, exact)
    assert window.slots == (4 if replies is LLAMA else None)


def test_ollama_is_made_to_load_the_model_first():
    server = Server({**OLLAMA, "/api/ps": {"models": []}})
    server.replies["/api/generate"] = lambda _body: server.replies.update({"/api/ps": RUNNING}) or {"done": True}
    assert discover_window(server, f"{ROOT}/v1", "m").tokens == 4096


def test_addresses_below_a_path():
    props = {"default_generation_settings": {"n_ctx": 512}}
    assert window_of({"/llm/v1/models": {"data": [{"id": "m"}]}, f"/llm{PROPS}": props}, base="/llm/v1/").tokens == 512


@pytest.mark.parametrize(
    "replies",
    [
        {},
        {"/v1/models": "nonsense", PROPS: [], "/api/show": 3, "/info": None},
        *({"/v1/models": {"data": [{"id": "m", "max_model_len": n}]}} for n in ("8192", 0, True, 1e30, float("nan"))),
        {PROPS: {"default_generation_settings": {"n_ctx": 0}}},  # a router that has not loaded the model
        {"/v1/models": {"data": {"id": "m"}}},
    ],
)
def test_a_server_that_does_not_tell(replies):
    assert window_of(replies) == Window(None, "the server does not tell")


def test_a_server_that_does_not_answer_is_asked_once():
    asked = []

    def silent(url, body=None, wait_s=5.0):
        asked.append(url)
        raise UnreachableError("ConnectTimeout")

    window = discover_window(silent, f"{ROOT}/v1", "m")
    assert (window.tokens, window.exact, len(asked)) == (None, False, 1)
    assert who_answers(silent, f"{ROOT}/v1", "m") == {}


def test_who_answers_is_what_can_change_answers_and_nothing_that_changes_by_itself():
    def facts(**more):
        props = {"total_slots": 4, "model_path": "/m.gguf", "chat_template": "x" * 999}
        props |= {"default_generation_settings": {"n_ctx": 1024, "id_task": 7}, **more}
        models = {"data": [{"id": "m", "created": 1, "meta": {"n_ctx": 4096, "size": 9}}]}
        return who_answers(Server({"/v1/models": models, "/props": props}), f"{ROOT}/v1", "m")

    one = facts()
    assert (one["n_ctx"], one["total_slots"], one["size"]) == ("1024", "4", "9")
    assert one["chat_template"].startswith("sha256 ")
    assert "created" not in one
    changes = [
        {"total_slots": 1}, {"model_path": "/other.gguf"}, {"chat_template": "y" * 999}, {"build_info": "b2"},
    ]  # fmt: skip
    assert len({fingerprint(one), *(fingerprint(facts(**change)) for change in changes)}) == 5
    assert fingerprint(facts(default_generation_settings={"n_ctx": 1024, "id_task": 8})) == fingerprint(one)
    assert fingerprint(who_answers(Server({}), f"{ROOT}/v1", "m")) == ""


@pytest.mark.parametrize(
    ("asked", "answered", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True), ("gpt-4", "gpt-4-0613", True),
        ("claude-x-latest", "claude-x-20241022", True), ("gemini-1.5-pro", "gemini-1.5-pro-002", True),
        ("llama3", "llama3:latest", True), ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b-instruct", True),
        ("SmolLM2-135M", "/models/SmolLM2-135M.gguf", True), ("openai/gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-2", "gpt-2-small", False), ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", False), ("qwen2.5-7b", "qwen2.5-72b", False), ("a", "b", False),
    ],
)  # fmt: skip
def test_the_same_model_by_another_name(asked, answered, same):
    assert same_model(asked, answered) is same_model(answered, asked) is same
