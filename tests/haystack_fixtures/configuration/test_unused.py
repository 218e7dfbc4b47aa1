"""Options that nothing looks at are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from needlework.haystack_fixtures.configuration.messages import unused
from needlework.haystack_fixtures.configuration.resolve import resolve_settings


def told(**given: str) -> list[str]:
    return list(unused(given, resolve_settings(given, {}, Path())))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("documents", "x"), ("questions", "x"), ("leval_data", "x"), ("retriever", "bm25"), ("chunk_size", "9"),
        ("embedder", "st:x"), ("price", "1,2"), ("top_up", "9"), ("judge_base_url", "http://127.0.0.1:9/v1"),
    ],
)  # fmt: skip
def test_with_needles_they_do_nothing(option: str, value: str) -> None:
    [line] = told(preset="quick", **{option: value})
    assert line.startswith(f"--{option.replace('_', '-')} is not used: ")


def test_where_they_are_used_nothing_is_said() -> None:
    assert told(preset="own-documents", documents="x", questions="x", chunk_size="9", retriever="bm25") == []
    assert told(preset="leval-closed", leval_data="x", retriever="dense", embedder="st:x") == []
    assert told(task="ruler_qa_1", questions="x") == []
    assert told(lengths="400", seed="3", gate="score >= 0.5", top_up="5") == []


def test_an_embedder_without_vectors_is_told() -> None:
    [line] = told(preset="own-documents", documents="x", retriever="bm25", embedder="st:x")
    assert "give --retriever dense" in line
