"""oneDNN's linear layers: the same numbers as torch's, used only where they are there, right and faster."""

from types import SimpleNamespace

import pytest

from needlework.models.local import load as linears
from needlework.models.local.load import use_fast_linears
from tests.models.local.test_decoder import tiny

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
