"""Reasoning and answer are told apart wherever a model puts them."""

from __future__ import annotations

import pytest

from haystack_fixtures.models.reasoning import split_reasoning


@pytest.mark.parametrize(
    ("text", "prompt", "answer", "reasoning"),
    [
        ("Paris.", "", "Paris.", ""),
        ("  Paris.\n", "", "  Paris.\n", ""),
        ("<think>hm 42</think>\nParis.", "", "Paris.", "hm 42"),
        ("<think>hm 42", "", "", "hm 42"),
        ("hm 42</think>Paris.", "", "Paris.", "hm 42"),
        ("hm 42", "...<think>\n", "", "hm 42"),
        ("hm</think>Paris.", "...<think>\n", "Paris.", "hm"),
        ("[THINK]hm[/THINK]Paris.", "", "Paris.", "hm"),
        ("<think>a</think>One. <think>b</think>Two.", "", "One. Two.", "a\nb"),
        ("<think></think>Paris.", "", "Paris.", ""),
        ("", "", "", ""),
        ("A document about <think> tags", "text with <think> inside it", "A document about", "tags"),
    ],
)
def test_split(text: str, prompt: str, answer: str, reasoning: str) -> None:
    assert split_reasoning(text, prompt) == (answer, reasoning)
