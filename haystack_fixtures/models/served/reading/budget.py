"""An answer that is longer than it was allowed to be: a server that heeds no limit."""

from __future__ import annotations

from dataclasses import replace

from needlework.haystack_fixtures.models.model import Request
from needlework.haystack_fixtures.models.served.reading.reply import Reply
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

_CHARS_A_TOKEN = 32  # hardly any token stands for more
_SPARE_TOKENS = 16  # the server's tokenizer may part the same text otherwise
FLAG = "over_budget"


def within_budget(reply: Reply, request: Request, tokenizer: Tokenizer) -> Reply:
    """The reply with the flag `over_budget` where it has more tokens than were asked for, whatever `usage` says.

    Of one that is far longer the beginning is kept, `_CHARS_A_TOKEN` characters for each token of the budget: such
    answers can have gigabytes, and what was asked for stands at their beginning or nowhere.
    """
    budget = request.answer_budget + request.thinking_budget
    most = _CHARS_A_TOKEN * (budget + _SPARE_TOKENS)
    if len(reply.text) + len(reply.reasoning) <= budget:
        return reply
    over = max(len(reply.text), len(reply.reasoning)) > most
    if not over:
        tokens = sum(len(tokenizer.encode(text).ids) for text in (reply.text, reply.reasoning) if text)
        over = tokens > budget + max(_SPARE_TOKENS, budget // 8)
    if not over:
        return reply
    return replace(reply, text=reply.text[:most], reasoning=reply.reasoning[:most], flags=(*reply.flags, FLAG))
