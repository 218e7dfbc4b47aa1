"""Searches the cut that gives the exact length."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from needlework.core.errors import InputError, TooShortError
from needlework.core.prompts import Message
from needlework.haystack_fixtures.haystacks.cuts import Cut, Cuts, cuts_near, first_cut, padded_cut, patched_cuts
from needlework.haystack_fixtures.haystacks.frame import (
    Places,
    PromptFrame,
    head_of,
    place_for,
    rest_of,
)
from needlework.haystack_fixtures.haystacks.pieces import Piece, Spliced, text_of
from needlework.haystack_fixtures.haystacks.splice import splice

# How many cuts of a kind to try, and how far (in tokens) around where the exact one is expected.
_TRIES = 6
_TRIES_PATCHED = 40
_AROUND = 24
_MOST_DOTS = 128


def search(frame: PromptFrame, budget: int, reserved: int, least: str) -> Draft:
    """The draft with the most tokens within the budget, exact where one of the cuts tried is.

    Raises `InputError` where none comes near, or where the shortest is too long; `least` says in words what that has.
    """
    # The same for all lengths.
    key = ("shortest", frame.before, frame.after, frame.needles, frame.depths, frame.bos, frame.memo, frame.of_context)
    first = first_cut(frame.source)
    shortest = frame.source.remember(key, lambda: draft_of(frame, first).count)
    if shortest > budget:
        raise TooShortError(budget + reserved, f"{least} need more", shortest + reserved)
    best = _Best(shortest, first, None)
    # What the template, needles and seams add; nearly the same for neighbouring cuts.
    extra = float(shortest - first.tokens)
    available = len(frame.source.encoded.ids)
    if budget - extra > available and frame.source.closing is None:
        raise InputError("haystack", budget + reserved, f"the source that was opened holds {available} tokens only")
    for tries, cuts_of in (
        (_TRIES, partial(cuts_near, around=_AROUND, any_grapheme=False)),
        (_TRIES_PATCHED, patched_cuts),
        (_TRIES, partial(cuts_near, around=4 * _AROUND, any_grapheme=True)),
    ):
        # Sentences are left out for a token or two, whole documents are not.
        content = cuts_of is not patched_cuts or frame.source.closing is not None
        if best.tokens == budget or (content and near_enough(best.tokens, budget)):
            break
        best, extra = _try(frame, budget, cuts_of(frame.source, round(budget - extra)), tries, best, extra)
    found = _padded(frame, budget, best.draft or draft_of(frame, best.cut), extra)
    if not near_enough(found.count, budget):
        remedy = f"no cut of the haystack comes near enough: try {found.count + reserved}"
        raise InputError("--lengths", budget + reserved, remedy)
    return found


def near_enough(count: int, budget: int) -> bool:
    """Whether a prompt may have so many tokens of its budget."""
    return budget - count <= max(2, budget // 2000)


class _Best(NamedTuple):
    """The longest of the cuts tried that fits: its tokens, and its draft where that is made already."""

    tokens: int
    cut: Cut
    draft: Draft | None


def _try(frame: PromptFrame, budget: int, found: Cuts, tries: int, best: _Best, extra: float) -> tuple[_Best, float]:
    """The best after some more tries, nearest first, and what is then known to be added to a cut's tokens."""
    untried = found.tokens.astype(float)
    for _ in range(min(tries, len(untried))):
        number = int(np.abs(untried + (extra - budget)).argmin())
        untried[number] = np.inf
        cut = found.cut(number)
        draft = draft_of(frame, cut)
        extra += (draft.count - cut.tokens - extra) / 2
        if best.tokens < draft.count <= budget:
            best = _Best(draft.count, cut, draft)
        if best.tokens == budget:
            break
    return best, extra


def _padded(frame: PromptFrame, budget: int, best: Draft, extra: float) -> Draft:
    """The draft; of one that is not near enough the same with an ellipsis, where that is nearer."""
    if budget - best.count > _MOST_DOTS:  # all that were tried were over it, as where a table's rules follow a word
        best = _largest_below(frame, budget, extra, best)
    for dots in range(budget - best.count, 0, -1):
        if near_enough(best.count, budget) or dots > _MOST_DOTS:
            break
        padded = draft_of(frame, padded_cut(frame.source, best.cut, dots))
        best = padded if best.count < padded.count <= budget else best
    return best


def _largest_below(frame: PromptFrame, budget: int, extra: float, best: Draft) -> Draft:
    """The longest draft within the budget, of cuts that are estimated below it; `best` where none is longer."""
    found = cuts_near(frame.source, round(budget - extra), around=4 * _AROUND, any_grapheme=True)
    below = np.flatnonzero(found.tokens + extra <= budget)[-_TRIES:]
    drafts = [draft_of(frame, found.cut(number)) for number in below.tolist()]
    return max((draft for draft in (best, *drafts) if draft.count <= budget), key=lambda draft: draft.count)


@dataclass(frozen=True, slots=True)
class Draft:
    """A whole prompt for one cut, as pieces. `spans`: each needle's characters, `counted`: with the gaps beside it.

    `count`: tokens of the prompt, or of its context where the frame says so.
    """

    cut: Cut
    places: Places
    pieces: tuple[Piece, ...]
    spans: tuple[tuple[int, int], ...]
    counted: tuple[tuple[int, int], ...]
    context: tuple[int, int]
    spliced: Spliced
    count: int


def draft_of(frame: PromptFrame, cut: Cut) -> Draft:
    """Put template, haystack and needles together and count them."""
    places = tuple([place_for(frame.source, depth, cut) for depth in frame.depths])
    head = head_of(frame, cut, places)
    pieces = (*head.pieces, *rest_of(frame, cut, head))
    spliced = splice(pieces, frame.memo)
    begin, end = len(frame.before), head.end + cut.chars - head.char
    if frame.of_context is None:
        count = spliced.count + frame.bos
    else:
        ahead_of_it, behind_it = frame.of_context
        count = spliced.tokens_before(end + behind_it) - covering(spliced, begin - ahead_of_it)
    return Draft(cut, places, pieces, head.spans, head.counted, (begin, end), spliced, count)


def covering(spliced: Spliced, place: int) -> int:
    """The first token with text at or after a place."""
    index = spliced.tokens_before(place)
    return index if spliced.start(index) == place else max(0, index - 1)


# A server is sent messages, a model on this machine takes ids, and some 128,000 tokens are a megabyte in each form.

# Stands in for the context while messages are laid out; private-use characters, so no text holds it by chance.
_HOLE = "\ue000context\ue001"
_SHORT = 50_000  # characters of a text that is not worth being spared


class Pieced:
    """See `prompt.Forms`."""

    def __init__(
        self, frame: PromptFrame, draft: Draft, bos: tuple[int, ...], around: Callable[[str], tuple[Message, ...]]
    ) -> None:
        """`around` makes the messages around a context, which they hold as it is."""
        self.tokens = len(bos) + draft.spliced.count
        self._before, self._after = frame.before, frame.after
        self._source = frame.source
        self._pieces = draft.pieces
        self._spliced = draft.spliced
        self._context = draft.context
        self._short = draft.context[1] < _SHORT
        self._bos = bos
        self._around = around

    @cached_property
    def text(self) -> str:
        """The whole rendered request."""
        if self._short:
            return text_of(self._pieces)
        return "".join(self._parts(0, self._context[1] + len(self._after)))

    @cached_property
    def ids(self) -> NDArray[np.int32]:
        """The text's tokens."""
        return self._spliced.ids(self._bos)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """What a chat is asked: mostly the contents stand in the text as they are, and are made as parts of it."""
        begin, end = self._context
        made = []
        for message in self._around(_HOLE):
            head, hole, tail = message.content.partition(_HOLE)
            if hole and self._before.endswith(head) and self._after.startswith(tail):
                content = self._part(begin - len(head), end + len(tail))
            else:
                content = message.content.replace(_HOLE, self._part(begin, end)) if hole else message.content
            made.append(Message(message.role, content))
        return tuple(made)

    def _part(self, start: int, end: int) -> str:
        """Characters start..end of the text; of a long one without making all of it."""
        return self.text[start:end] if self._short else "".join(self._parts(start, end))

    def _parts(self, start: int, end: int) -> Iterator[str]:
        place = 0
        for each in self._pieces:
            size = len(each) if isinstance(each, str) else each.end - each.start
            low, high = max(start - place, 0), min(end - place, size)
            if low < high:
                if isinstance(each, str):
                    yield each[low:high]
                else:
                    yield from self._source.blocks(each.start + low, each.start + high)
            place += size
