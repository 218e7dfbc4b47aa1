"""Contexts that are lists: lines, records or numbered words, as many whole ones as the length holds.

What is left of the length behind the last unit, always less than one, is filled with prose behind the list: so every
prompt has its exact length, no unit is cut, and depths are depths in the list.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, count
from typing import Any

import numpy as np
import regex

from needlework.core.errors import InputError, TooShortError
from needlework.core.prompts import Prompt
from needlework.haystack_fixtures.haystacks.builder import finish, near_enough
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import Draft, OuterText, PromptFrame, draft_of
from needlework.haystack_fixtures.haystacks.sentences import splits_grapheme
from needlework.haystack_fixtures.haystacks.source import HaystackSource
from needlework.models.tokenizers.tokenizer import Tokenizer

_PROSE = 40  # characters of prose to search for each missing token
_NEAR = 4
_MOST_DOTS = 64
_MORE = 8  # a growing list is made an eighth longer: the next size to try is mostly in it
_PATIENCE = 3
_HAN = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]|[^\s\p{Han}\p{Hiragana}\p{Katakana}]+")


@dataclass(frozen=True, slots=True)
class Listing:
    """A list by its number of units."""

    units: Callable[[int], Sequence[str]]  # its n units, each a text that ends as units do (a newline)
    # The answer of n units, and its own fields of the reference; `None`: the same for every n.
    resolve: Callable[[int], tuple[str, Mapping[str, Any]]] | None = None
    growing: bool = True  # the list of n + 1 units is that of n with one more
    steady: bool = True  # it has more tokens then, so that just one number of units fits
    opening: str = ""  # stands before the list
    closing: str = ""  # stands behind it
    fewest: int = 1  # units
    most: int | None = None  # units
    fill: bool = True  # prose fills the rest of the length; without it prompts may be shorter
    # Of n units: those that lack what the answer rests on, where such a list can be made.
    without: Callable[[int], Sequence[str]] | None = None
    joined: bool = False  # nothing stands between a needle and the units beside it


class ListSources:
    """The lists of one trial's listing, encoded: a growing one once for all sizes, of others the last two."""

    def __init__(self, listing: Listing, tokenizer: Tokenizer) -> None:
        self.listing = listing
        self._tokenizer = tokenizer
        self._last: tuple[HaystackSource, ...] = ()

    def of(self, n: int) -> tuple[HaystackSource, Cut]:
        """A source that begins with the list of n units, and the cut that is the list."""
        last, listing = self._last, self.listing
        sizes = {len(source.ends): source for source in reversed(last)}
        source = next((sizes[size] for size in sizes if size >= n), None) if listing.growing else sizes.get(n)
        if source is None:
            size = min(n + n // _MORE, listing.most or n + n // _MORE) if listing.growing else n
            units = listing.units(size)
            text, ends = "".join(units), np.fromiter(accumulate(map(len, units)), np.int64, len(units))
            encoded = self._tokenizer.encode(text)
            ends_tokens = encoded.starts.searchsorted(ends).astype(np.int64)
            source = HaystackSource(text, encoded, ends, ends_tokens, max(1, len(text)))
            self._last = (source, *([] if listing.growing else last[:1]))
        end = int(source.ends[n - 1])
        return source, Cut(end, (end, end), "", int(source.ends_tokens[n - 1]))


def build_listing(
    outer: OuterText,
    sources: ListSources,
    prose: str,
    needles: Sequence[tuple[str, str]],
    depths: Sequence[float],
    unique: Sequence[str] = (),
) -> tuple[Prompt, int]:
    """Build the prompt `bos + before + opening + list + closing + prose + after`; return its units.

    As many units as fit, needles (name, text) whole between two of them, nearest to their depths; then a beginning of
    `prose`, cut to the missing tokens. `Prompt.context` is the list alone; the edges of `outer`, if it has some,
    take in opening, closing and prose. `unique`: see `build_prompt`.

    Raises `InputError` when the budget cannot hold template, needles and the fewest units, naming what would do.
    """
    listing = sources.listing
    if not 0 < listing.fewest <= (listing.most or listing.fewest):
        raise ValueError(f"a list of {listing.fewest} to {listing.most} units")
    budget, reserved = outer.budget, outer.reserved

    def frame(n: int, pad: str) -> tuple[PromptFrame, Cut]:
        source, cut = sources.of(n)
        ending = listing.closing + pad
        beside = replace(
            outer,
            before=outer.before + listing.opening,
            after=ending + outer.after,
            messages=lambda context: outer.messages(listing.opening + context + ending),
            edges=(len(listing.opening), len(ending)) if outer.edges else None,
        )
        return PromptFrame(beside, source, tuple(needles), tuple(depths), listing.joined), cut

    def draft(n: int, pad: str = "") -> Draft:
        return draft_of(*frame(n, pad))

    n, fitting = _most_units(draft, listing, budget, reserved)
    pad = ""
    if listing.fill and not near_enough(fitting.count, budget):
        pad, fitting = _padded(lambda pad: draft(n, pad), prose, fitting, budget)
        if not near_enough(fitting.count, budget):
            remedy = f"no list and prose come near enough: try {fitting.count + reserved}"
            raise InputError("--lengths", budget + reserved, remedy)
    prompt = finish(frame(n, pad)[0], fitting, unique=unique)
    # The length of the list made so far depends on earlier prompts of the process.
    return replace(prompt, corpus_passes=0.0), n


def _most_units(draft: Callable[[int], Draft], listing: Listing, budget: int, reserved: int) -> tuple[int, Draft]:
    """A number of units that fits while one more does not; the only one, where lists are steady.

    Each list that is tried takes as long as the prompt itself: the next is guessed from the tokens of those before.
    """
    low, fits = listing.fewest, draft(listing.fewest)
    if fits.count > budget:
        needed = "template, question and the shortest list need more"
        raise TooShortError(budget + reserved, needed, fits.count + reserved)
    high, over = 0, 0  # the shortest list known to be too long, and its tokens; 0: none yet
    half, halved = 0, 0  # the next goal for high - low, and the turn that reached the last one
    for turn in count():
        if low == listing.most or high == low + 1:
            break
        more = (budget - fits.count) / ((over - fits.count) / (high - low) if high else fits.cut.tokens / low)
        guess = low + (round(more) if high and listing.steady else int(more))
        if not high:  # the first unit may be no measure of the others
            guess = min(guess, 4 * low + 64, listing.most or guess)
        else:  # nor the average, where lists do not grow evenly
            half, halved = ((high - low) // 2, turn) if not half or high - low <= half else (half, halved)
            # A list with one unit more, where that seems too long, is tried in any case. Where another number of units
            # may fit as well, the order of tries decides.
            uneven = turn - halved > _PATIENCE - (more >= 1) if listing.steady else turn % 3 == 2
            guess = (low + high) // 2 if uneven else guess
        guess = min(max(guess, low + 1), high - 1 if high else guess + 1)
        made = draft(guess)
        if made.count <= budget:
            low, fits = guess, made
        else:
            high, over = guess, made.count
    return low, fits


def _padded(draft: Callable[[str], Draft], prose: str, unpadded: Draft, budget: int) -> tuple[str, Draft]:
    """The longest beginning of the prose that fits the budget, with its draft."""
    ends = list(_word_ends(prose, budget - unpadded.count))
    best = ("", unpadded)

    def better(pad: str) -> bool:
        nonlocal best
        made = draft(pad)
        if best[1].count < made.count <= budget:
            best = (pad, made)
        return made.count <= budget

    low, high = 0, len(ends)  # beginnings before low fit, those from high on do not
    while low < high and best[1].count < budget:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if better(_beginning(prose, ends[middle])) else (low, middle)
    # If words are several tokens long: without the full stop or with a second one, then dots.
    pads = [_beginning(prose, end) for end in reversed(ends[max(0, low - _NEAR) : low])]
    near = [text for pad in pads for text in (pad[:-1], f"{pad} .")]
    base = best[0] or "\n"
    for pad in (*near, *(base + " ." * dots for dots in range(1, _MOST_DOTS))):
        if best[1].count == budget:
            break
        better(pad)
    return best


def _word_ends(prose: str, tokens: int) -> Iterator[int]:
    """Word ends near the beginning of a text, ascending."""
    for match in _WORD.finditer(prose, 0, (tokens + 1) * _PROSE):
        end = match.end()
        if prose[end - 1].isalnum() and not splits_grapheme(prose, end):
            yield end


def _beginning(prose: str, end: int) -> str:
    """The beginning of a text as a paragraph that is closed by a full stop."""
    return f"\n\n{prose[:end]}{'。' if _HAN.match(prose[end - 1]) else '.'}"
