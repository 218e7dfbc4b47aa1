"""Answers that are longer than they may be."""

from __future__ import annotations

from collections.abc import Callable

from needlework.models.model import Request, Response
from needlework.models.served.reply import checked_by_budget
from needlework.models.tokenizers.tokenizer import Tokenizer


def judged(text: str, chat: Callable[..., Request], tokenizer: Tokenizer, reasoning: str = "") -> tuple[int, bool]:
    request = chat(tokenizer, "What?", 64)
    found = checked_by_budget(Response(text, reasoning, "stop", completion_tokens=8), request, tokenizer)
    return len(found.text), "over_budget" in found.flags


def test_an_answer_within_its_budget_is_left_as_it_is(chat: Callable[..., Request], mock_tokenizer: Tokenizer) -> None:
    assert judged("Paris", chat, mock_tokenizer) == (5, False)


def test_one_with_more_tokens_is_flagged_and_kept(chat: Callable[..., Request], mock_tokenizer: Tokenizer) -> None:
    text = "one two three " * 40
    assert judged(text, chat, mock_tokenizer) == (len(text), True)
    assert judged("Paris", chat, mock_tokenizer, reasoning=text) == (5, True)


def test_of_one_that_never_ends_the_beginning_is_kept(chat: Callable[..., Request], mock_tokenizer: Tokenizer) -> None:
    kept, flagged = judged("Paris. " * 2_000_000, chat, mock_tokenizer)
    assert flagged
    assert kept == 32 * (64 + 16)
