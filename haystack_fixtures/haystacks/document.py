"""Contexts that are one text as it is; a text that is too long is cut at its start, its end, or between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import regex

from needlework.haystack_fixtures.errors import TooShortError
from needlework.haystack_fixtures.haystacks.pieces import Range, Spliced, WindowMemo
from needlework.haystack_fixtures.haystacks.sentences import splits_grapheme
from needlework.haystack_fixtures.haystacks.splice import splice
from needlework.haystack_fixtures.prompts.prompt import Message, Prompt, Written
from needlework.haystack_fixtures.tokenizers.tokenizer import Encoded

Keep = Literal["start", "end", "ends"]
Truncation = Literal["exact", "compat", "none", "never"]
Spans = tuple[tuple[int, int], ...]
_WORDS_A_STEP = 250


@dataclass(frozen=True, slots=True)
class Document:
    """A text that is the whole context.

    `keep`: the part that stays where it is cut; `ends`: both, half of the tokens each. `truncation`: `exact`: as many
    tokens stay as the prompt has room for; `compat`: L-Eval's steps of words (`compat_span`), which leave no room for
    template and question; `none`: all of it, and a prompt that is longer than its cell is not asked; `never`: all of
    it, and the model's window alone decides. `most`: tokens of the message that it stands in; the middle of a longer
    one goes first of all (`middle_cut`), 0 for any number. `cut`: the share of tokens that went so, 0..1.
    """

    text: str
    keep: Keep = "start"
    truncation: Truncation = "exact"
    most: int = 0
    cut: float = 0.0


def build_document(
    document: Document,
    encoded: Encoded,
    *,
    before: str,
    after: str,
    token_budget: int,
    messages: Callable[[str], tuple[Message, ...]],
    bos: tuple[int, ...],
    reserved: int,
    memo: WindowMemo,
) -> Prompt:
    """Build the prompt `bos + before + document + after`; `encoded` is the whole document.

    Its `slack` is below 0 where it is over the budget: with truncation `compat` by what stands around the document,
    with `none` by whatever the document is too long. A cut document has the flag `truncated`.

    Raises `InputError` when the budget cannot hold template and question, naming what would do.
    """

    def spliced(spans: Spans) -> Spliced:
        return splice([before, *(Range(encoded, *span) for span in spans), after], memo)

    whole: Spans = ((0, len(document.text)),)
    if document.truncation == "exact":
        spans = _exact_spans(
            lambda spans: spliced(spans).count + len(bos), document, encoded, budget=token_budget, reserved=reserved
        )
    elif document.truncation == "compat":
        spans = (compat_span(document, encoded, most=token_budget, memo=memo),)
    else:
        spans = whole
    kept, tokens = "".join(document.text[slice(*span)] for span in spans), spliced(spans)
    text = before + kept + after
    begin, end = len(before), len(before) + len(kept)
    ids = tokens.ids(bos)
    context_tokens = tokens.tokens_before(end) - tokens.tokens_before(begin)
    # Where nothing is cut, no token that spans an edge may look like a loss.
    share = document.cut if spans == whole else max(0.0, 1 - context_tokens / len(encoded.ids))
    return Prompt(
        forms=Written(messages(kept), text, ids),
        context=(begin, end),
        context_tokens=context_tokens,
        placed=(),
        slack=token_budget - len(ids),
        corpus_passes=0.0,
        text_sha256=_sha256(text),
        filler_sha256=_sha256(kept),
        flags=() if spans == whole and not document.cut else ("truncated",),
        truncated=share,
    )


def _exact_spans(
    count: Callable[[Spans], int], document: Document, encoded: Encoded, *, budget: int, reserved: int
) -> Spans:
    """The characters of the document that stay: of the prompts counted, the first that fits, mostly exactly."""
    tokens = len(encoded.ids)
    spans: Spans = ((0, len(document.text)),)
    kept, over = tokens, count(spans) - budget
    while over > 0:
        if kept <= 1:
            raise TooShortError(budget + reserved, "template and question need more", budget + over + reserved)
        kept = max(1, kept - over)
        spans = _spans(document, encoded, kept)
        over = count(spans) - budget
    return spans


def _spans(document: Document, encoded: Encoded, kept: int) -> Spans:
    """The characters of so many tokens at the ends that stay, never part of a character as people see it."""
    if document.keep == "start":
        return ((0, _end(document.text, encoded, kept)),)
    if document.keep == "end":
        return ((_start(document.text, encoded, kept), len(document.text)),)
    return (0, _end(document.text, encoded, kept // 2)), (
        _start(document.text, encoded, kept - kept // 2),
        len(document.text),
    )


def _end(text: str, encoded: Encoded, kept: int) -> int:
    """Where the first tokens end."""
    end = int(encoded.starts[kept]) if kept < len(encoded.ids) else len(text)
    while splits_grapheme(text, end):
        end -= 1
    return end


def _start(text: str, encoded: Encoded, kept: int) -> int:
    """Where the last tokens begin."""
    start = int(encoded.starts[len(encoded.ids) - kept])
    while splits_grapheme(text, start):
        start += 1
    return start


def middle_cut(ids: Sequence[int], most: int) -> list[int]:
    """LongBench v2's cut (THUDM/LongBench 2e00731): of more than `most` tokens the first and the last half stay."""
    kept = list(ids)
    return kept if len(kept) <= most else kept[: most // 2] + kept[len(kept) - (most - most // 2) :]


def compat_span(document: Document, encoded: Encoded, *, most: int, memo: WindowMemo) -> tuple[int, int]:
    """The characters that L-Eval's rule (cd34b05) leaves: words, as spaces part them, until the text has `most` tokens.

    The first cut leaves `most` words, each further one 250 less; where the end stays, the same from the end. A text
    without spaces goes to nothing.
    """
    spaces = [found.start() for found in regex.finditer(" ", document.text)]
    span, kept, limit = (0, len(document.text)), len(spaces) + 1, most
    while kept and splice([Range(encoded, *span)], memo).count > most:
        # Python's own slices: a limit below 0 takes words away.
        kept = len(range(kept)[:limit] if document.keep == "start" else range(kept)[-limit:])
        limit -= _WORDS_A_STEP
        gone = len(spaces) + 1 - kept
        if not gone:
            continue
        if not kept:
            span = (0, 0)
        elif document.keep == "start":
            span = (0, spaces[kept - 1])
        else:
            span = (spaces[gone - 1] + 1, len(document.text))
    return span


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
