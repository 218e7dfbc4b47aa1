"""Attention by oneDNN's products: what torch's gives, used only where it is there, right and faster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from needlework.models.local import attention, token_tree
from needlework.models.local.attention import attend_whole, faster_attention
from needlework.models.local.load import choose_runner
from needlework.models.local.runners import Limits
from tests.haystack_fixtures.models.local.test_tree_equals_generate import (
    BATCHED,
    answers_of,
    by_library,
    grid,
)

SIZES = st.sampled_from([8, 64])  # of a head


def by_torch(rows: Any, columns: Any, _bias: Any) -> Any:
    return rows @ columns.t()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Matrices this small are not worth two, which wait for each other on a busy machine."""
    import torch

    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(usual)


@pytest.fixture
def always_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_GAIN", 0.0)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 300), st.lists(st.integers(1, 300), max_size=3), st.sampled_from([1, 3]), SIZES)
@pytest.mark.parametrize("largest", [1, 300], ids=["small scores", "scores beyond powers of two in 32 bits"])
def test_the_last_rows_see_all_up_to_themselves(
    largest: float, monkeypatch: pytest.MonkeyPatch, rows: int, before: list[int], group: int, size: int
) -> None:
    import torch

    monkeypatch.setattr(attention, "_TOKENS", 256)
    random = torch.Generator().manual_seed(rows)
    query = torch.randn(2, rows, group, size, generator=random) * largest
    path = [
        tuple(torch.randn(2, tokens, size, generator=random) for _ in range(2))
        for tokens in (*before[:-1], sum(before[-1:]) + rows)  # the last rows may stand behind others of their chain
    ]
    keys, values = (torch.cat(each, 1) for each in zip(*path, strict=True))
    tokens = keys.shape[1]
    hidden = torch.ones(rows, tokens, dtype=torch.bool).triu(tokens - rows + 1)
    scores = torch.einsum("hrgs,hts->hrgt", query.double(), keys.double()) * 0.3
    weights = scores.masked_fill(hidden[:, None], float("-inf")).softmax(-1)
    expected = torch.einsum("hrgt,hts->hrgs", weights, values.double()).float()
    seen = torch.full_like(query, float("nan"))
    attend_whole(by_torch, query, path, 0.3, seen)
    torch.testing.assert_close(seen, expected, rtol=1e-4, atol=1e-5 * largest)


@pytest.mark.usefixtures("always_faster")
@pytest.mark.parametrize("kind", ["grouped queries", "all heads", "some layers sliding", "biases"])
def test_answers_are_those_of_generate(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_tree, "FEWEST", 4)
    whole, calls = faster_attention(), 0
    if whole is None:
        pytest.skip("this torch has no oneDNN")

    def counted(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        return whole(*given)

    model, prompts = BATCHED[kind](), grid()
    expected = by_library(model, prompts)
    runner, _ = choose_runner(model, (), None, attend_whole=counted)
    assert answers_of(runner, prompts) == expected
    assert calls > 0
    runner.forget()
    assert answers_of(runner, prompts, Limits(7, 3, 10**6)) == expected


@pytest.mark.usefixtures("always_faster")
def test_wrong_numbers_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "operators", lambda: (lambda *given: by_torch(*given) * 1.001, None))
    assert faster_attention() is None


@pytest.mark.usefixtures("always_faster")
@pytest.mark.parametrize("error", [RuntimeError("no such instruction"), TypeError("takes 5 arguments")])
def test_a_kernel_that_fails_is_not_used(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_given: Any) -> Any:
        raise error

    monkeypatch.setattr(attention, "operators", lambda: (fails, None))
    assert faster_attention() is None


def test_what_is_missing_or_not_faster_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_GAIN", float("inf"))
    assert faster_attention() is None
    monkeypatch.setattr(attention, "operators", lambda: None)
    assert faster_attention() is None
