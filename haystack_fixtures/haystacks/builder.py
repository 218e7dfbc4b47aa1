"""Builds prompts of an exact length around a haystack, and checks them: what must stand in them once, does."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import regex

from needlework.core.errors import InputError, TooShortError
from needlework.core.prompts import Prompt, text_sha256
from needlework.core.record import NeedleFacts
from needlework.haystack_fixtures.haystacks.cuts import Cut, Cuts, cuts_near, first_cut, padded_cut, patched_cuts
from needlework.haystack_fixtures.haystacks.frame import (
    Draft,
    OuterText,
    PromptFrame,
    covering,
    draft_of,
    longer_beside,
)
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.haystack_fixtures.haystacks.splice import text_of
from needlework.models.tokenizers.tokenizer import Tokenizer

# Tokens by which seams may change a count that placement relies on.
_SEAMS = 3


def build_prompt(
    outer: OuterText,
    source: HaystackSource,
    needles: Sequence[tuple[str, str]],
    depths: Sequence[float],
    *,
    unique: Sequence[str] = (),
    answers: Sequence[str] = (),
) -> Prompt:
    """Build the prompt `bos + before + context + after` of as many tokens as the budget has.

    The context is the source's text from its start, cut to fit (its last sentence is shortened; where that cannot give
    the exact count, some sentences before it are left out), with each needle (name, text) verbatim at the sentence end
    nearest to its depth (percent of the haystack's tokens). At most max(2, 0.05 %) tokens of the budget stay free,
    almost always none. `unique` texts must not occur in the haystack; where one of `answers` stands outside the
    needles, the prompt has the flag `answer_elsewhere`.

    Raises `InputError` when the budget cannot hold template, needles and one sentence (naming the smallest length), or
    when the haystack holds a needle's text already.
    """
    for name, text in needles:
        if not text.strip():
            raise InputError("needle", name, "has no text")
    frame = PromptFrame(outer, source, tuple(needles), tuple(depths))
    least = "needles and one sentence" if outer.edges else "template, question, needles and one sentence"
    return finish(frame, search(frame, least), unique=unique, answers=answers)


def finish(frame: PromptFrame, draft: Draft, *, unique: Sequence[str] = (), answers: Sequence[str] = ()) -> Prompt:
    """The prompt of a draft, with its facts (see `build_prompt`).

    Raises `InputError` where a needle or a `unique` text stands twice.
    """
    source = frame.source
    filler, text = draft.cut.text(source), text_of(draft.pieces)
    check_unique(filler, text, frame.needles, unique)
    placed, context_tokens = _placed(frame, draft)
    haystack_tokens = context_tokens - sum(needle.tokens for needle in placed)
    off = any(
        abs(needle.requested - needle.depth) / 100 * haystack_tokens > longer_beside(source, draft.cut, offset) + _SEAMS
        for needle, offset in zip(placed, draft.places, strict=True)
    )
    spans, (begin, end) = sorted(draft.spans), draft.context
    around = zip([begin, *(stop for _, stop in spans)], [*(start for start, _ in spans), end], strict=True)
    outside = "".join(text[start:stop] for start, stop in around)  # the context without its needles
    repeated = any(occurs(answer, outside) for answer in answers)
    return Prompt(
        tokens=len(frame.outer.bos) + draft.spliced.count,
        make_text=lambda: text_of(draft.pieces),
        make_messages=lambda text: frame.outer.messages(text[slice(*draft.context)]),
        make_ids=lambda: draft.spliced.ids(frame.outer.bos),
        context=draft.context,
        context_tokens=context_tokens,
        placed=placed,
        slack=frame.outer.budget - draft.count,
        corpus_passes=draft.cut.used / source.corpus_chars,
        text_sha256=text_sha256(text),
        filler_sha256=text_sha256(filler),
        flags=(("depth_off",) if off else ()) + (("answer_elsewhere",) if repeated else ()),
    )


def verify_prompt(tokenizer: Tokenizer, prompt: Prompt, needles: Sequence[tuple[str, str]] = ()) -> None:
    """Check a prompt: its ids encode its whole text, and its needles stand whole where they should.

    `needles`, when given, are the (name, text) pairs that it was built with. Raises `InputError`.
    """
    full = tokenizer.encode(prompt.text).ids
    if prompt.tokens != len(prompt.ids):
        raise InputError("prompt", prompt.text_sha256, f"{prompt.tokens} tokens were counted, {len(prompt.ids)} made")
    bos = np.asarray(tokenizer.bos, np.int32)
    if not (np.array_equal(prompt.ids, full) or np.array_equal(prompt.ids, np.concatenate((bos, full)))):
        raise InputError("prompt", prompt.text_sha256, f"{prompt.tokens} tokens are not its {len(full)} canonical ones")
    if text_sha256(prompt.text) != prompt.text_sha256:
        raise InputError("prompt", prompt.text_sha256, "its text is not the one that was hashed")
    texts = dict(needles)
    for needle in prompt.placed:
        shown = prompt.text[needle.start : needle.end]
        inside = prompt.context[0] <= needle.start < needle.end <= prompt.context[1]
        if not inside or shown != texts.get(needle.name, shown) or prompt.text.count(shown) != 1:
            raise InputError("needle", needle.name, "does not stand in the context verbatim and once")
    for message in prompt.messages:
        if message.content.strip() not in prompt.text:
            raise InputError("prompt", message.role, "the text is not that of its messages")


def _placed(frame: PromptFrame, draft: Draft) -> tuple[tuple[NeedleFacts, ...], int]:
    """The needles with the tokens before them, and the context's tokens, counted in the prompt.

    A token that spans the edge of a needle is the needle's.
    """
    spliced = draft.spliced
    first, last = covering(spliced, draft.context[0]), spliced.tokens_before(draft.context[1])
    ranges: dict[int, tuple[int, int]] = {}
    done = first
    for number in sorted(range(len(frame.needles)), key=lambda number: draft.spans[number]):
        start, end = draft.counted[number]
        low = max(done, covering(spliced, start))
        done = max(low, spliced.tokens_before(end))
        ranges[number] = (low, done)
    sizes = {number: high - low for number, (low, high) in ranges.items()}
    haystack = last - first - sum(sizes.values())
    placed = []
    for number, (name, _) in enumerate(frame.needles):
        low = ranges[number][0]
        tokens_before = low - first - sum(sizes[other] for other in ranges if ranges[other][0] < low)
        placed.append(
            NeedleFacts(
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


# The number of cuts of a kind to try, and the distance in tokens from the expected one.
_TRIES = 6
_TRIES_PATCHED = 40
_REACH = 24
_MOST_DOTS = 128


def search(frame: PromptFrame, least: str) -> Draft:
    """The draft with the most tokens within the budget, exact where one of the cuts tried is.

    Raises `InputError` where none comes near, or where the shortest is too long; `least`: the shortest in words.
    """
    outer = frame.outer
    budget, reserved = outer.budget, outer.reserved
    # The same for all lengths.
    key = ("shortest", outer.before, outer.after, outer.bos, outer.edges, frame.needles, frame.depths)
    first = first_cut(frame.source)
    shortest = frame.source.remember(key, lambda: draft_of(frame, first).count)
    if shortest > budget:
        raise TooShortError(budget + reserved, f"{least} need more", shortest + reserved)
    best = _Best(shortest, first, None)
    # Tokens that template, needles and seams add; nearly the same for neighbouring cuts.
    extra = float(shortest - first.tokens)
    for tries, cuts_of in (
        (_TRIES, partial(cuts_near, reach=_REACH, any_grapheme=False)),
        (_TRIES_PATCHED, patched_cuts),
        (_TRIES, partial(cuts_near, reach=4 * _REACH, any_grapheme=True)),
    ):
        # Sentences are left out for a token or two, whole documents are not.
        content = cuts_of is not patched_cuts or frame.source.closing is not None
        if best.tokens == budget or (content and near_enough(best.tokens, budget)):
            break
        best, extra = _try(frame, budget, cuts_of(frame.source, round(budget - extra)), tries, best, extra)
    draft = _padded(frame, budget, best.draft or draft_of(frame, best.cut), extra)
    if not near_enough(draft.count, budget):
        remedy = f"no cut of the haystack comes near enough: try {draft.count + reserved}"
        raise InputError("--lengths", budget + reserved, remedy)
    return draft


def near_enough(count: int, budget: int) -> bool:
    """Whether a prompt may have so many tokens of its budget."""
    return budget - count <= max(2, budget // 2000)


class _Best(NamedTuple):
    """The longest fitting cut so far: its tokens, and its draft if made already."""

    tokens: int
    cut: Cut
    draft: Draft | None


def _try(frame: PromptFrame, budget: int, cuts: Cuts, tries: int, best: _Best, extra: float) -> tuple[_Best, float]:
    """The best after some more tries, nearest first, and the tokens added to a cut by then."""
    untried = cuts.tokens.astype(float)
    for _ in range(min(tries, len(untried))):
        number = int(np.abs(untried + (extra - budget)).argmin())
        untried[number] = np.inf
        cut = cuts.cut(number)
        draft = draft_of(frame, cut)
        extra += (draft.count - cut.tokens - extra) / 2
        if best.tokens < draft.count <= budget:
            best = _Best(draft.count, cut, draft)
        if best.tokens == budget:
            break
    return best, extra


def _padded(frame: PromptFrame, budget: int, best: Draft, extra: float) -> Draft:
    """The draft, with an ellipsis if it is not near enough and that brings it nearer."""
    if budget - best.count > _MOST_DOTS:  # all tried ones were over it, as when a table's rules follow a word
        cuts = cuts_near(frame.source, round(budget - extra), reach=4 * _REACH, any_grapheme=True)
        below = np.flatnonzero(cuts.tokens + extra <= budget)[-_TRIES:]
        drafts = (draft_of(frame, cuts.cut(number)) for number in below.tolist())
        best = max((draft for draft in (best, *drafts) if draft.count <= budget), key=lambda draft: draft.count)
    for dots in range(budget - best.count, 0, -1):
        if near_enough(best.count, budget) or dots > _MOST_DOTS:
            break
        padded = draft_of(frame, padded_cut(frame.source, best.cut, dots))
        best = padded if best.count < padded.count <= budget else best
    return best


_WORDS = regex.compile(
    r"[\p{L}\p{M}\p{N}--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]", regex.V1
)


def check_unique(filler: str, text: str, needles: Sequence[tuple[str, str]], terms: Sequence[str]) -> None:
    """Raise `InputError` unless each needle occurs once in the prompt's text and no term in `filler`, the haystack."""
    for name, needle in needles:
        if needle.strip() in filler:
            raise InputError("needle", name, "the haystack has this text already: use another corpus or needle")
        if text.count(needle) != 1:
            raise InputError("needle", name, "its text stands in the prompt more than once: give every needle its own")
    lowered = filler.lower() if terms else ""
    for term in terms:
        if occurs(term.lower(), lowered):
            remedy = "the haystack has this key or answer already: use another corpus or needle"
            raise InputError("needle", term, remedy)


def occurs(term: str, text: str) -> bool:
    """Whether a term stands in text by itself, not inside a longer word or number."""
    term = term.strip()
    start = text.find(term) if term else -1
    while start >= 0:
        end = start + len(term)
        if not _inside_word(text, start) and not _inside_word(text, end):
            return True
        start = text.find(term, start + 1)
    return False


def _inside_word(text: str, offset: int) -> bool:
    """Whether a word or number goes on over an offset."""
    if not 0 < offset < len(text):
        return False
    left, right = text[offset - 1], text[offset]
    return _WORDS.match(left) is not None and _WORDS.match(right) is not None
