"""Contexts that are a conversation as it is, such as a row of a published benchmark: nothing is added, nothing cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.haystacks.joints import AroundTurns
from needlework.haystack_fixtures.prompts.prompt import PlacedNeedle, Prompt, Written
from needlework.haystack_fixtures.prompts.turns import Turn
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a conversation, in any order of roles; the question that follows is none of them.

    `wanted`: which turn the question asks for; its place and depth are recorded. `by_window`: the model's window alone
    decides whether it is too long; else its cell's length does.
    """

    turns: tuple[Turn, ...]
    wanted: int | None = None
    by_window: bool = False


def build_given(tokenizer: Tokenizer, conversation: Conversation, around: AroundTurns, *, token_budget: int) -> Prompt:
    """Build the prompt of a conversation as it is. Its `slack` is below 0 where it is too long for the budget.

    Neighbours of one role are sent as they are; where the chat template refuses that, they are joined, and the prompt
    has the flag `merged_roles`. Raises `InputError` where the template refuses the messages or changes a turn.
    """
    turns = conversation.turns
    around = around.accepted(turns)
    messages, text = around.rendered(turns)
    encoded = tokenizer.encode(text)
    ids = np.concatenate((np.asarray(around.bos, np.int32), encoded.ids))
    spans = spans_of([turn.text for turn in turns], text)
    context = (spans[0][0], spans[-1][1]) if spans else (0, 0)
    tokens = encoded.starts.searchsorted(np.asarray([context, *spans], np.int64)).tolist()
    (first, last), own = tokens[0], tokens[1:]
    placed: tuple[PlacedNeedle, ...] = ()
    if conversation.wanted is not None:
        low, high = own[conversation.wanted]
        depth = 100 * (low - first) / max(1, last - first - (high - low))
        name = f"turn{conversation.wanted}"
        placed = (PlacedNeedle(name, *spans[conversation.wanted], low - first, high - low, depth, depth),)
    return Prompt(
        forms=Written(messages, text, ids),
        context=context,
        context_tokens=last - first,
        placed=placed,
        slack=token_budget - len(ids),
        corpus_passes=0.0,
        text_sha256=_sha256(text),
        filler_sha256=_sha256(text[slice(*context)]),
        flags=("merged_roles",) if around.merged else (),
        conversation=True,
    )


def spans_of(contents: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Where texts stand in the rendered one, each behind the last. Raises `InputError` where one does not."""
    spans, place = [], 0
    for number, content in enumerate(contents):
        # Most templates trim what they are given.
        stripped = content.strip()
        start = text.find(stripped, place)
        if start < 0:
            remedy = f"the model's chat template changes the text of turn {number}: use --template raw"
            raise InputError("--template", "chat", remedy)
        place = start + len(stripped)
        spans.append((start, place))
    return spans


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
