"""A judge of a command: what it is shown of a text that its window does not hold."""

from types import SimpleNamespace

import pytest

from needlework.core.errors import InputError
from needlework.models.judge import CommandJudge
from needlework.models.tokenizers.tokenizer import load_tokenizer

TEXT = "A harbour light was seen again. " * 200


def judge(window, reply_budget=100):
    model = SimpleNamespace(window=window, tokenizer=load_tokenizer("tiktoken:cl100k_base"))
    return CommandJudge("openai:m", {}, 1, reply_budget, model, print)


@pytest.mark.parametrize("reply_budget", [100, 400])
def test_a_text_is_cut_to_leave_room_for_the_words_around_and_the_reply(reply_budget):
    asked = judge(1000, reply_budget)
    part = asked.shortened(TEXT, "Ask about this text.")

    tokens = asked.model.tokenizer.encode(part).count
    assert TEXT.startswith(part)
    assert 0.8 * (1000 - reply_budget) < tokens + 5 <= 1000 - reply_budget


@pytest.mark.parametrize("window", [None, 100_000])
def test_a_text_that_fits_stays_whole(window):
    assert judge(window).shortened(TEXT, "Ask about this text.") == TEXT


def test_a_window_without_room_is_refused():
    with pytest.raises(InputError, match="its window of 120 tokens has no room for a document"):
        judge(120).shortened(TEXT, "Ask about this text. " * 10)
