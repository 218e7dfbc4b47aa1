"""The builder: a prompt with its exact number of tokens and its needles at their true depths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

import numpy as np

from needlework.haystack_fixtures.errors import InputError
from needlework.haystack_fixtures.haystacks.candidate import Draft, covering
from needlework.haystack_fixtures.haystacks.frame import Frame
from needlework.haystack_fixtures.haystacks.hashes import filler_sha256, text_sha256
from needlework.haystack_fixtures.haystacks.pieced import Pieced
from needlework.haystack_fixtures.haystacks.pieces import WindowMemo
from needlework.haystack_fixtures.haystacks.placement import longer_beside
from needlework.haystack_fixtures.haystacks.search import search
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.unique import check_unique, stands_elsewhere
from needlework.haystack_fixtures.prompts.prompt import Message, PlacedNeedle, Prompt
from needlework.haystack_fixtures.tokenizers.tokenizer import Tokenizer

# Tokens by which seams may change a count that placement relies on.
_SEAMS = 3


def build_prompt(
    tokenizer: Tokenizer,
    *,
    before: str,
    after: str,
    source: HaystackSource,
    needles: Sequence[tuple[str, str]],
    depths: Sequence[float],
    token_budget: int,
    messages: Callable[[str], tuple[Message, ...]],
    bos: tuple[int, ...],
    reserved: int = 0,
    unique: Sequence[str] = (),
    answers: Sequence[str] = (),
    memo: WindowMemo | None = None,
    of_context: bool = False,
) -> Prompt:
    """Build the prompt `bos + before + context + after` of token_budget tokens; or, `of_context`, with a context of so
    many: its tokens as they are in the prompt, one that spans an edge included.

    The context is the source's text from its start, cut to fit (its last sentence is shortened; where that cannot give
    the exact count, some sentences before it are left out), with each needle (name, text) verbatim at the sentence end
    nearest to its depth (percent of the haystack's tokens). At most max(2, 0.05 %) tokens of the budget stay free,
    almost always none. `messages` makes the messages around a context, which they hold as it is. `reserved` (answer
    budget) is added to lengths in errors. `unique` texts must not occur in the haystack; where one of `answers` stands
    outside the needles, the prompt has the flag `answer_elsewhere`. A `memo` may be shared by calls with the same
    tokenizer.

    Raises `InputError` when the budget cannot hold template, needles and one sentence (naming the smallest length), or
    when the haystack holds a needle's text already.
    """
    if len(depths) != len(needles):
        raise ValueError(f"{len(needles)} needles but {len(depths)} depths")
    for (name, text), depth in zip(needles, depths, strict=True):
        if not text.strip():
            raise InputError("needle", name, "has no text")
        if not 0 <= depth <= 100:
            raise InputError("--depths", depth, "a depth is a percentage from 0 to 100")
    frame = Frame(
        before,
        after,
        source,
        tuple(needles),
        tuple(depths),
        len(bos),
        memo or WindowMemo(tokenizer),
        of_context=(0, 0) if of_context else None,
    )
    least = "needles and one sentence" if of_context else "template, question, needles and one sentence"
    draft = search(frame, token_budget, reserved, least)
    return finish(frame, draft, token_budget=token_budget, messages=messages, bos=bos, unique=unique, answers=answers)


def finish(
    frame: Frame,
    draft: Draft,
    *,
    token_budget: int,
    messages: Callable[[str], tuple[Message, ...]],
    bos: tuple[int, ...],
    unique: Sequence[str],
    answers: Sequence[str] = (),
) -> Prompt:
    """The prompt of a draft, with its facts (see `build_prompt`).

    Raises `InputError` where a needle or a `unique` text stands twice.
    """
    source = frame.source
    check_unique(source, draft, frame.needles, unique)
    placed, context_tokens = _placed(frame, draft)
    haystack_tokens = context_tokens - sum(needle.tokens for needle in placed)
    off = any(
        abs(needle.requested - needle.depth) / 100 * haystack_tokens > longer_beside(source, draft.cut, place) + _SEAMS
        for needle, place in zip(placed, draft.places, strict=True)
    )
    elsewhere = any(stands_elsewhere(answer, source, draft) for answer in answers)
    return Prompt(
        forms=Pieced(frame, draft, bos, messages),
        context=draft.context,
        context_tokens=context_tokens,
        placed=placed,
        slack=token_budget - draft.count,
        corpus_passes=source.passes(draft.cut.used),
        text_sha256=text_sha256(source, draft.pieces),
        filler_sha256=filler_sha256(source, draft.cut),
        flags=(("depth_off",) if off else ()) + (("answer_elsewhere",) if elsewhere else ()),
    )


def verify_prompt(tokenizer: Tokenizer, prompt: Prompt, needles: Sequence[tuple[str, str]] = ()) -> None:
    """Prove a prompt: its ids are those of encoding its whole text, and its needles stand whole where they should.

    `needles`, when given, are the (name, text) pairs that it was built with. Raises `InputError`.
    """
    full = tokenizer.encode(prompt.text).ids
    if prompt.tokens != len(prompt.ids):
        raise InputError("prompt", prompt.text_sha256, f"{prompt.tokens} tokens were counted, {len(prompt.ids)} made")
    bos = np.asarray(tokenizer.bos, np.int32)
    if not (np.array_equal(prompt.ids, full) or np.array_equal(prompt.ids, np.concatenate((bos, full)))):
        raise InputError("prompt", prompt.text_sha256, f"{prompt.tokens} tokens are not its {len(full)} canonical ones")
    if _sha256(prompt.text) != prompt.text_sha256:
        raise InputError("prompt", prompt.text_sha256, "its text is not the one that was hashed")
    wanted = dict(needles)
    for needle in prompt.placed:
        found = prompt.text[needle.start : needle.end]
        inside = prompt.context[0] <= needle.start < needle.end <= prompt.context[1]
        if not inside or found != wanted.get(needle.name, found) or prompt.text.count(found) != 1:
            raise InputError("needle", needle.name, "does not stand in the context verbatim and once")
    for message in prompt.messages:
        if message.content.strip() not in prompt.text:
            raise InputError("prompt", message.role, "the text is not that of its messages")


def _placed(frame: Frame, draft: Draft) -> tuple[tuple[PlacedNeedle, ...], int]:
    """The needles with the tokens before them, and the tokens of the whole context; counted on the prompt's tokens.

    A token that spans the edge of a needle is the needle's.
    """
    spliced = draft.spliced
    first, last = covering(spliced, draft.context[0]), spliced.tokens_before(draft.context[1])
    own: dict[int, tuple[int, int]] = {}
    done = first
    for number in sorted(range(len(frame.needles)), key=lambda number: draft.spans[number]):
        start, end = draft.counted[number]
        low = max(done, covering(spliced, start))
        done = max(low, spliced.tokens_before(end))
        own[number] = (low, done)
    sizes = {number: high - low for number, (low, high) in own.items()}
    haystack = last - first - sum(sizes.values())
    placed = []
    for number, (name, _) in enumerate(frame.needles):
        low = own[number][0]
        tokens_before = low - first - sum(sizes[other] for other in own if own[other][0] < low)
        placed.append(
            PlacedNeedle(
                name=name,
                start=draft.spans[number][0],
                end=draft.spans[number][1],
                tokens_before=tokens_before,
                tokens=sizes[number],
                requested=float(frame.depths[number]),
                depth=100 * tokens_before / haystack,
            )
        )
    return tuple(placed), last - first


def _sha256(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
