"""Contexts of whole documents: those that are asked about at their depths, others around them in one order.

A rule, a line such as `-----`, stands after every document, the last too. Between blank lines its tokens are its own
in the tokenizers of today's models (one to five of them), so that a document has the same tokens wherever it stands,
and the same documents have the same count in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import regex

from needlework.haystack_fixtures.errors import InputError, TooLongError
from needlework.haystack_fixtures.haystacks.build import finish
from needlework.haystack_fixtures.haystacks.candidate import Draft, draft_of
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.document_cache import EncodedDocument
from needlework.haystack_fixtures.haystacks.frame import Frame
from needlework.haystack_fixtures.haystacks.pieces import Piece, Range, WindowMemo, text_of
from needlework.haystack_fixtures.haystacks.search import search
from needlework.haystack_fixtures.haystacks.source import Closing, EncodedDocuments, HaystackSource
from needlework.haystack_fixtures.haystacks.splice import splice
from needlework.haystack_fixtures.prompts.prompt import Message, Prompt

_SIGNS = "-=*#~+"
_RULE = regex.compile(rf"^[^\S\n]*([{_SIGNS}])(\1{{2,}})[^\S\n]*$", regex.MULTILINE)
_WIDTH = 5
# What the search for the exact length may look at beyond it.
_MARGIN = 512
_CHARS_TOGETHER = 100_000


@dataclass(frozen=True, slots=True)
class OtherDocuments:
    """The documents around a trial's needles. `order`: their numbers in the task's corpus, as they follow one another.

    `names`: of all documents of the corpus. `separator`: stands after every document. `about`: what is asked, in words.
    """

    order: tuple[int, ...]
    names: tuple[str, ...]
    separator: str
    about: str


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A source of whole documents. `numbers`: which of the corpus, in order. `complete`: there are no more."""

    haystack: HaystackSource
    numbers: tuple[int, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document as it stands in a prompt. `cut`: it was shortened."""

    name: str
    text: str
    cut: bool = False


def separator_for(texts: Iterable[str]) -> str:
    """What stands after every document: a rule between blank lines, of a sign that no document has one of.

    Where they have rules of every sign: of that whose longest is the shortest, and longer.
    """
    longest = dict.fromkeys(_SIGNS, 0)
    for text in texts:
        for found in _RULE.finditer(text):
            longest[found[1]] = max(longest[found[1]], 1 + len(found[2]))
    sign = min(_SIGNS, key=lambda sign: longest[sign])
    return f"\n\n{sign * max(_WIDTH, longest[sign] + 1)}\n\n"


def document_source(documents: EncodedDocuments, others: OtherDocuments, *, min_tokens: int) -> DocumentSource:
    """The other documents as one text of at least `min_tokens` tokens, or all of them.

    Raises `InputError` where there is none.
    """
    if not others.order:
        raise InputError("--documents", documents.corpus.name, f"has no other documents for {others.about}: add some")
    pieces: list[Piece] = []
    lengths: list[int] = []
    tokens, shortest = 0, 0
    for document in _in_order(documents, others.order):
        shortest = shortest or int(document.ends[0])
        pieces += [Range(document.encoded, 0, len(document.encoded.text)), others.separator]
        lengths.append(len(document.encoded.text) + len(others.separator))
        tokens += len(document.encoded.ids)
        if tokens >= min_tokens + _MARGIN:
            break
    text, ends = text_of(pieces), np.cumsum(lengths, dtype=np.int64)
    encoded = splice(pieces, WindowMemo(documents.tokenizer)).encoded(text)
    haystack = HaystackSource(
        text=text,
        encoded=encoded,
        ends=ends,
        ends_tokens=encoded.starts.searchsorted(ends).astype(np.int64),
        corpus_chars=max(len(text), sum(len(documents.texts[n]) + len(others.separator) for n in others.order)),
        closing=Closing(others.separator, len(documents.tokenizer.encode(others.separator).ids), shortest),
    )
    numbers = others.order[: len(lengths)]
    return DocumentSource(haystack, numbers, len(numbers) == len(others.order))


def build_of_documents(
    others: OtherDocuments,
    source: DocumentSource,
    *,
    before: str,
    after: str,
    needles: Sequence[tuple[str, str]],
    depths: Sequence[float],
    token_budget: int,
    longest: int,
    messages: Callable[[str], tuple[Message, ...]],
    bos: tuple[int, ...],
    reserved: int,
    memo: WindowMemo,
    answers: Sequence[str] = (),
) -> tuple[Prompt, tuple[ShownDocument, ...]]:
    """Build the prompt `bos + before + context + after` of `token_budget` tokens, and tell the documents in it.

    Needles (name, text) are documents and stand whole between two others, nearest to their depths (percent of the
    others' tokens; 0 and 100 are the ends). The last of the others is shortened, so that the prompt has its exact
    length; where that cannot give it, some before it are left out. `longest`: tokens of the longest prompt wanted.
    `answers`: see `build_prompt`.

    Raises `TooShortError` where the needles are too long for the budget, `TooLongError` where all documents together do
    not fill the longest one.
    """
    frame = Frame(before, after, source.haystack, tuple(needles), tuple(depths), len(bos), memo)
    if source.complete and (most := draft_of(frame, _whole(source.haystack)).count) < longest:
        raise TooLongError(longest + reserved, most + reserved, others.about)
    draft = search(frame, token_budget, reserved, f"template, {others.about}, and a sentence of another")
    prompt = finish(frame, draft, token_budget=token_budget, messages=messages, bos=bos, unique=(), answers=answers)
    return prompt, _shown(frame, draft, source, others.names)


def _in_order(documents: EncodedDocuments, order: Sequence[int]) -> Iterator[EncodedDocument]:
    """Documents one after the other; some are encoded together, which is cheaper."""
    together: list[int] = []
    chars = 0
    for number in order:
        if together and chars + len(documents.texts[number]) > _CHARS_TOGETHER:
            yield from documents.several(together)
            together, chars = [], 0
        together.append(number)
        chars += len(documents.texts[number])
    yield from documents.several(together)


def _whole(source: HaystackSource) -> Cut:
    end = len(source.text) - len(source.closes)
    return Cut(end, (end, end), source.closes, len(source.encoded.ids))


def _shown(frame: Frame, draft: Draft, source: DocumentSource, names: Sequence[str]) -> tuple[ShownDocument, ...]:
    """The documents of a draft in their order, each as it stands there."""
    haystack, cut, closes = source.haystack, draft.cut, source.haystack.closes
    whole = int(haystack.ends.searchsorted(cut.end, "right"))
    bounds = [0, *haystack.ends[:whole].tolist()]
    units = [(start, at, haystack.text[start : end - len(closes)]) for at, (start, end) in enumerate(pairwise(bounds))]
    rest = haystack.text[bounds[-1] : cut.end] + haystack.text[slice(*cut.tail)] + cut.closer
    if rest:
        at = int(haystack.ends.searchsorted(cut.used, "left"))
        units.append((bounds[-1], at, rest.removesuffix(closes)))
    shown: list[tuple[int, int, ShownDocument]] = []
    for start, at, text in units:
        number, begin = source.numbers[at], int(haystack.ends[at - 1]) if at else 0
        full = haystack.text[begin : int(haystack.ends[at]) - len(closes)]
        shown.append((start, 1, ShownDocument(names[number], text, text != full)))
    for place, (name, text) in zip(draft.places, frame.needles, strict=True):
        shown.append((place, 0, ShownDocument(name, text)))
    return tuple(each for *_, each in sorted(shown, key=lambda found: found[:2]))
