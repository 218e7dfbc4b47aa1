"""Builds a haystack of an exact length; needle texts stand nowhere else in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

import numpy as np
import regex

from needlework.core.errors import InputError
from needlework.core.prompts import Message, PlacedNeedle, Prompt
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import PromptFrame, filler_sha256, longer_beside, text_sha256
from needlework.haystack_fixtures.haystacks.pieces import Piece, WindowMemo, text_of
from needlework.haystack_fixtures.haystacks.search import Draft, Pieced, covering, search
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.models.tokenizers.tokenizer import Tokenizer

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
    frame = PromptFrame(
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
    frame: PromptFrame,
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


def _placed(frame: PromptFrame, draft: Draft) -> tuple[tuple[PlacedNeedle, ...], int]:
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


_WORDS = regex.compile(
    r"[\p{L}\p{M}\p{N}--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]", regex.V1
)

# The letter whose lower case depends on its neighbours, and those beyond ASCII whose lower case is in it.
_NOT_BY_ITSELF = "\u03a3\u0130\u212a"
_SENTENCE = 4096  # characters; no sentence and its closing is longer, nor a term that is searched for quickly
_FOUR, _FOURS_BITS = 4, 20
_SHORT = 20_000  # characters that are searched in no time
_FEW = 5  # texts that are searched for in less time than looking through all of it takes
_SPREAD = 2654435761  # multiplying by a prime near the golden ratio's share spreads numbers evenly


def check_unique(
    source: HaystackSource, draft: Draft, needles: Sequence[tuple[str, str]], terms: Sequence[str]
) -> None:
    """Raise `InputError` unless every needle stands in the prompt's text once and no term stands in the haystack."""
    for name, needle in needles:
        if _holds(source, draft.cut, needle.strip()):
            raise InputError("needle", name, "the haystack has this text already: use another corpus or needle")
    # It is not in the haystack, so all that can have it again is beside the haystack or reaches into it.
    near = max((len(needle) for _, needle in needles), default=0) + 2
    beside = _without_middles(draft.pieces, near)
    for name, needle in needles:
        if beside.count(needle) != 1:
            raise InputError("needle", name, "its text stands in the prompt more than once: give every needle its own")
    for term in terms:
        if _holds_word(source, draft.cut, term):
            raise InputError(
                "needle", term, "the haystack has this key or answer already: use another corpus or needle"
            )


def stands_elsewhere(answer: str, source: HaystackSource, draft: Draft) -> bool:
    """Whether an answer stands by itself in a prompt's context outside its needles."""
    answer = answer.strip()
    rest = list(_filler(draft))
    # If not in the source, it can only have come about where needles were taken out, or where the haystack was cut: not
    # further from its end than one sentence.
    if _find(source, answer) < 0 and answer not in _without_middles(rest, len(answer) + _SENTENCE):
        return False
    return occurs(answer, text_of(rest))


def _filler(draft: Draft) -> Iterator[Piece]:
    """The pieces of the context without its needles."""
    begin, end = draft.context
    needles, place = {*draft.spans}, 0
    for piece in draft.pieces:
        start = place
        place += len(piece) if isinstance(piece, str) else piece.end - piece.start
        if begin <= start and place <= end and (start, place) not in needles:
            yield piece


def _without_middles(pieces: Sequence[Piece], near: int) -> str:
    """The text of pieces; of a long stretch of the source no more than some characters at both ends."""
    parts = []
    for piece in pieces:
        if isinstance(piece, str):
            parts.append(piece)
        elif piece.end - piece.start <= 2 * near:
            parts.append(piece.source.text[piece.start : piece.end])
        else:
            text = piece.source.text
            parts += (text[piece.start : piece.start + near], "\0", text[piece.end - near : piece.end])
    return "".join(parts)


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


def _holds(source: HaystackSource, cut: Cut, text: str) -> bool:
    """Whether a haystack has a text; haystacks of one source begin alike, so the source is searched once for all."""
    first = _find(source, text)
    return 0 <= first <= cut.end - len(text) or text in _end(source, cut, len(text))


def _find(source: HaystackSource, text: str) -> int:
    """Where a source has a text first, or -1. Behind one pass over the corpus everything comes again."""
    if len(source.text) < _SHORT:
        return source.text.find(text)
    if len(text) <= _SENTENCE and not _has_all(source, text.encode("utf-8", "surrogatepass").lower()):
        return -1
    return source.remember(("find", text), lambda: source.text.find(text, 0, source.corpus_chars + len(text)))


def _holds_word(source: HaystackSource, cut: Cut, word: str) -> bool:
    """Whether a word stands in a haystack by itself, in capitals or not (see `occurs`)."""
    lowered = word.lower().strip()
    may = source.remember(("word", lowered), lambda: _may_hold(source, lowered))
    if not may and lowered not in _end(source, cut, len(lowered)).lower():
        return False
    return occurs(lowered, cut.text(source).lower())


def _may_hold(source: HaystackSource, lowered: str) -> bool:
    """Whether a source in lower case has a text in lower case; sometimes just "perhaps"."""
    if len(lowered) > _SENTENCE or source.remember("hard to lower", lambda: _hard_to_lower(source)):
        return True
    if lowered.isascii():  # bytes are lowered much faster, and without those letters it is the same
        data = lowered.encode()
        return _has_all(source, data) and data in _lowered_bytes(source)
    return lowered in source.remember("lowered", lambda: _once(source).lower())


def _has_all(source: HaystackSource, lowered: bytes) -> bool:
    """Whether a source may have a text, both in lower case: false where its longest word, which others may share, is
    not there, or something of it."""
    if len(source.text) < _SHORT:
        return True
    searched = source.remember("searched", set[bytes])
    if len(searched) < _FEW:
        searched.add(lowered)
        return True
    longest = max(lowered.split(), key=len, default=lowered)
    if longest != lowered and not source.remember(("has", longest), lambda: _has_fours(source, longest)):
        return False
    return _has_fours(source, lowered)


def _has_fours(source: HaystackSource, lowered: bytes) -> bool:
    """The same, told by four bytes that stand nowhere.

    Where there are more than a few texts, a source is looked through once for all, in steps of two bytes: what it has,
    it has from the first byte or from the second one on in such steps. Nearly always four bytes are missing, and
    nothing has to be searched.
    """

    def make() -> bytes:
        data = _lowered_bytes(source)
        table = np.zeros(1 << _FOURS_BITS, np.bool_)
        for part in (data, data[_FOUR // 2 :]):
            spread = np.frombuffer(part, "<u4", len(part) // _FOUR) * np.uint32(_SPREAD) >> (32 - _FOURS_BITS)
            table[spread.astype(np.int64)] = True
        return table.tobytes()

    table = source.remember("fours", make)
    last = len(lowered) - _FOUR + 1
    for first in range(_FOUR // 2):
        for at in range(first, last, _FOUR // 2):
            number = int.from_bytes(lowered[at : at + _FOUR], "little") * _SPREAD
            if not table[(number & 0xFFFFFFFF) >> (32 - _FOURS_BITS)]:
                break
        else:
            return True
    return False


def _lowered_bytes(source: HaystackSource) -> bytes:
    return source.remember("lowered bytes", lambda: _once(source).encode("utf-8", "surrogatepass").lower())


def _hard_to_lower(source: HaystackSource) -> bool:
    once = _once(source)
    return any(letter in once for letter in _NOT_BY_ITSELF)


def _once(source: HaystackSource) -> str:
    """One pass over the corpus, and enough of the next to hold what stands in both."""
    return source.text[: source.corpus_chars + _SENTENCE]


def _end(source: HaystackSource, cut: Cut, chars: int) -> str:
    """The haystack from some characters before where it leaves the source."""
    return source.text[max(0, cut.end - chars) : cut.end] + source.text[cut.tail[0] : cut.tail[1]] + cut.closer
