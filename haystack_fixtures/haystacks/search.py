"""The search for the cut that gives a prompt its exact number of tokens."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from needlework.haystack_fixtures.errors import InputError, TooShortError
from needlework.haystack_fixtures.haystacks.candidate import Draft, counted, draft_of
from needlework.haystack_fixtures.haystacks.cuts import Cut, Cuts, cuts_near, first_cut, padded_cut, patched_cuts
from needlework.haystack_fixtures.haystacks.frame import Frame

# How many cuts of a kind to try, and how far (in tokens) around where the exact one is expected.
_TRIES = 6
_TRIES_PATCHED = 40
_AROUND = 24
_MOST_DOTS = 128


def search(frame: Frame, budget: int, reserved: int, least: str) -> Draft:
    """The draft with the most tokens within the budget, exact where one of the cuts tried is.

    Raises `InputError` where none comes near, or where the shortest is too long; `least` says in words what that has.
    """
    # The same for all lengths.
    key = ("shortest", frame.before, frame.after, frame.needles, frame.depths, frame.bos, frame.memo, frame.of_context)
    first = first_cut(frame.source)
    shortest = frame.source.remember(key, lambda: counted(frame, first)[0])
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


def _try(frame: Frame, budget: int, found: Cuts, tries: int, best: _Best, extra: float) -> tuple[_Best, float]:
    """The best after some more tries, nearest first, and what is then known to be added to a cut's tokens."""
    untried = found.tokens.astype(float)
    for _ in range(min(tries, len(untried))):
        number = int(np.abs(untried + (extra - budget)).argmin())
        untried[number] = np.inf
        cut = found.cut(number)
        count, draft = counted(frame, cut)
        extra += (count - cut.tokens - extra) / 2
        if best.tokens < count <= budget:
            best = _Best(count, cut, draft)
        if best.tokens == budget:
            break
    return best, extra


def _padded(frame: Frame, budget: int, best: Draft, extra: float) -> Draft:
    """The draft; of one that is not near enough the same with an ellipsis, where that is nearer."""
    if budget - best.count > _MOST_DOTS:  # all that were tried were over it, as where a table's rules follow a word
        best = _largest_below(frame, budget, extra, best)
    for dots in range(budget - best.count, 0, -1):
        if near_enough(best.count, budget) or dots > _MOST_DOTS:
            break
        padded = draft_of(frame, padded_cut(frame.source, best.cut, dots))
        best = padded if best.count < padded.count <= budget else best
    return best


def _largest_below(frame: Frame, budget: int, extra: float, best: Draft) -> Draft:
    """The longest draft within the budget, of cuts that are estimated below it; `best` where none is longer."""
    found = cuts_near(frame.source, round(budget - extra), around=4 * _AROUND, any_grapheme=True)
    below = np.flatnonzero(found.tokens + extra <= budget)[-_TRIES:]
    drafts = [draft_of(frame, found.cut(number)) for number in below.tolist()]
    return max((draft for draft in (best, *drafts) if draft.count <= budget), key=lambda draft: draft.count)
