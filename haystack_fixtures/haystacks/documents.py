"""Contexts of documents: one that is cut to its length, or the answer's among whole others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import regex

from needlework.core.errors import InputError, TooLongError, TooShortError
from needlework.core.prompts import Prompt, rendered_prompt, text_sha256
from needlework.haystack_fixtures.haystacks.builder import finish, search
from needlework.haystack_fixtures.haystacks.cuts import Cut
from needlework.haystack_fixtures.haystacks.frame import Draft, OuterText, PromptFrame, draft_of
from needlework.haystack_fixtures.haystacks.sentences import splits_grapheme
from needlework.haystack_fixtures.haystacks.source import Closing, EncodedDocuments, HaystackSource
from needlework.haystack_fixtures.haystacks.splice import Encode, Piece, Range, Spliced, remembering, splice, text_of
from needlework.models.tokenizers.tokenizer import Encoded

Keep = Literal["start", "end", "ends"]
Truncation = Literal["exact", "compat", "none", "never"]
Spans = tuple[tuple[int, int], ...]
_WORDS_A_STEP = 250


@dataclass(frozen=True, slots=True)
class Document:
    """A document that is the whole context, and how it is cut."""

    text: str
    keep: Keep = "start"  # the part that a cut keeps; `ends`: half of the tokens each
    truncation: Truncation = "exact"
    message_tokens: int = 0  # limit of its whole message, which `cut_middle` applies first; 0: none
    cut: float = 0.0  # the share of tokens cut by it, 0..1


def build_document(outer: OuterText, document: Document, encoded: Encoded) -> Prompt:
    """Build the prompt `bos + before + document + after`; `encoded` is the whole document.

    Its `slack` is below 0 if it is over the budget: with truncation `compat` by template and question, with `none` by
    as much as the document is too long. A cut document has the flag `truncated`.

    Raises `InputError` with the least length if the budget cannot hold template and question.
    """

    def spliced(spans: Spans) -> Spliced:
        return splice([outer.before, *(Range(encoded, *span) for span in spans), outer.after], outer.encode)

    whole: Spans = ((0, len(document.text)),)
    spans = whole
    if document.truncation == "exact":  # cut until the prompt fits, mostly exactly
        stays = len(encoded.ids)
        while (more := spliced(spans).count + len(outer.bos) - outer.budget) > 0:
            if stays <= 1:
                length = outer.budget + outer.reserved
                raise TooShortError(length, "template and question need more", length + more)
            stays = max(1, stays - more)
            spans = _spans(document, encoded, stays)
    elif document.truncation == "compat":
        spans = (compat_span(document, encoded, most=outer.budget, encode=outer.encode),)
    left, tokens = "".join(document.text[slice(*span)] for span in spans), spliced(spans)
    text = outer.before + left + outer.after
    begin, end = len(outer.before), len(outer.before) + len(left)
    ids = tokens.ids(outer.bos)
    context_tokens = tokens.tokens_before(end) - tokens.tokens_before(begin)
    # Uncut, a token across an edge must not count as cut.
    share = document.cut if spans == whole else max(0.0, 1 - context_tokens / len(encoded.ids))
    return rendered_prompt(
        outer.messages(left),
        text,
        ids,
        context=(begin, end),
        context_tokens=context_tokens,
        slack=outer.budget - len(ids),
        filler_sha256=text_sha256(left),
        flags=() if spans == whole and not document.cut else ("truncated",),
        truncated=share,
    )


def _spans(document: Document, encoded: Encoded, count: int) -> Spans:
    """The characters of `count` tokens at the ends that are kept; no grapheme is split."""
    text, both = document.text, (count // 2, count - count // 2)
    head, tail = {"start": (count, 0), "end": (0, count), "ends": both}[document.keep]
    spans = []
    if head:
        end = int(encoded.starts[head]) if head < len(encoded.ids) else len(text)
        while splits_grapheme(text, end):
            end -= 1
        spans.append((0, end))
    if tail:
        start = int(encoded.starts[len(encoded.ids) - tail])
        while splits_grapheme(text, start):
            start += 1
        spans.append((start, len(text)))
    return tuple(spans)


def cut_middle(ids: Sequence[int], most: int) -> list[int]:
    """Cut the middle to `most` tokens, as LongBench v2 does (THUDM/LongBench 2e00731)."""
    left = list(ids)
    return left if len(left) <= most else left[: most // 2] + left[len(left) - (most - most // 2) :]


def compat_span(document: Document, encoded: Encoded, *, most: int, encode: Encode) -> tuple[int, int]:
    """The characters that L-Eval's rule (cd34b05) keeps: words, until the text has `most` tokens.

    The first cut leaves `most` words, each further one 250 less; where the end stays, the same from the end. A text
    without spaces goes to nothing.
    """
    spaces = [match.start() for match in regex.finditer(" ", document.text)]
    span, left, limit = (0, len(document.text)), len(spaces) + 1, most
    while left and splice([Range(encoded, *span)], encode).count > most:
        # Python's own slices: a limit below 0 takes words away.
        left = len(range(left)[:limit] if document.keep == "start" else range(left)[-limit:])
        limit -= _WORDS_A_STEP
        gone = len(spaces) + 1 - left
        if not gone:
            continue
        if not left:
            span = (0, 0)
        elif document.keep == "start":
            span = (0, spaces[left - 1])
        else:
            span = (spaces[gone - 1] + 1, len(document.text))
    return span


# A rule, a line such as `-----`, stands after every document, the last too. Between blank lines its tokens are its own
# in the tokenizers of today's models (one to five of them), so that a document has the same tokens wherever it stands,
# and the same documents have the same count in whatever order.
_SIGNS = "-=*#~+"
_RULE = regex.compile(rf"^[^\S\n]*([{_SIGNS}])(\1{{2,}})[^\S\n]*$", regex.MULTILINE)
_WIDTH = 5
# Text that the search for the exact length may use beyond it.
_MARGIN = 512


@dataclass(frozen=True, slots=True)
class OtherDocuments:
    """The documents around a trial's needles."""

    order: tuple[int, ...]  # numbers in the task's corpus, in their order
    names: tuple[str, ...]  # of all documents of the corpus
    separator: str  # stands after every document
    about: str  # what is asked, in words


@dataclass(frozen=True, slots=True)
class ShownDocument:
    """A document as it stands in a prompt."""

    name: str
    text: str
    cut: bool = False  # it was shortened


def separator_for(texts: Iterable[str]) -> str:
    """The separator after every document: a rule between blank lines, of a sign no document has.

    Where they have rules of every sign: of that whose longest is the shortest, and longer.
    """
    longest = dict.fromkeys(_SIGNS, 0)
    for text in texts:
        for rule in _RULE.finditer(text):
            longest[rule[1]] = max(longest[rule[1]], 1 + len(rule[2]))
    sign = min(_SIGNS, key=lambda sign: longest[sign])
    return f"\n\n{sign * max(_WIDTH, longest[sign] + 1)}\n\n"


def document_source(documents: EncodedDocuments, others: OtherDocuments, *, min_tokens: int) -> HaystackSource:
    """The other documents as one text of at least `min_tokens` tokens, or all of them.

    Raises `InputError` where there is none.
    """
    if not others.order:
        raise InputError("--documents", documents.corpus.name, f"has no other documents for {others.about}: add some")
    pieces: list[Piece] = []
    lengths: list[int] = []
    tokens, shortest = 0, 0
    for number in others.order:
        document = documents[number]
        shortest = shortest or int(document.ends[0])
        pieces += [Range(document.encoded, 0, len(document.encoded.text)), others.separator]
        lengths.append(len(document.encoded.text) + len(others.separator))
        tokens += len(document.encoded.ids)
        if tokens >= min_tokens + _MARGIN:
            break
    text, ends = text_of(pieces), np.cumsum(lengths, dtype=np.int64)
    encoded = splice(pieces, remembering(documents.tokenizer)).encoded(text)
    return HaystackSource(
        text=text,
        encoded=encoded,
        ends=ends,
        ends_tokens=encoded.starts.searchsorted(ends).astype(np.int64),
        corpus_chars=max(len(text), sum(len(documents.texts[n]) + len(others.separator) for n in others.order)),
        closing=Closing(others.separator, len(documents.tokenizer.encode(others.separator).ids), shortest),
    )


def build_of_documents(
    outer: OuterText,
    others: OtherDocuments,
    source: HaystackSource,
    needles: Sequence[tuple[str, str]],
    depths: Sequence[float],
    *,
    longest: int,
    answers: Sequence[str] = (),
) -> tuple[Prompt, tuple[ShownDocument, ...]]:
    """Build the prompt of whole documents that fills the budget, and list its documents.

    Needles (name, text) are documents and stand whole between two others, nearest to their depths (percent of the
    others' tokens; 0 and 100 are the ends). The last of the others is shortened, so that the prompt has its exact
    length; where that cannot give it, some before it are left out. `longest`: tokens of the longest prompt wanted.
    `answers`: see `build_prompt`.

    Raises `TooShortError` where the needles are too long for the budget, `TooLongError` where all documents together do
    not fill the longest one.
    """
    frame = PromptFrame(outer, source, tuple(needles), tuple(depths))
    if len(source.ends) == len(others.order):  # there are no more
        end = len(source.text) - len(source.closes)
        most = draft_of(frame, Cut(end, (end, end), source.closes, len(source.encoded.ids))).count
        if most < longest:
            raise TooLongError(longest + outer.reserved, most + outer.reserved, others.about)
    draft = search(frame, f"template, {others.about}, and a sentence of another")
    return finish(frame, draft, answers=answers), _shown(frame, draft, others)


def _shown(frame: PromptFrame, draft: Draft, others: OtherDocuments) -> tuple[ShownDocument, ...]:
    """The documents of a draft in their order, needles included, with their texts there."""
    haystack, cut, closes = frame.source, draft.cut, frame.source.closes
    whole = int(haystack.ends.searchsorted(cut.end, "right"))
    bounds = [0, *haystack.ends[:whole].tolist()]
    units = [(start, at, haystack.text[start : end - len(closes)]) for at, (start, end) in enumerate(pairwise(bounds))]
    rest = haystack.text[bounds[-1] : cut.end] + haystack.text[slice(*cut.tail)] + cut.closer
    if rest:
        at = int(haystack.ends.searchsorted(cut.used, "left"))
        units.append((bounds[-1], at, rest.removesuffix(closes)))
    shown: list[tuple[int, int, ShownDocument]] = []
    for start, at, text in units:
        begin = int(haystack.ends[at - 1]) if at else 0
        full = haystack.text[begin : int(haystack.ends[at]) - len(closes)]
        shown.append((start, 1, ShownDocument(others.names[others.order[at]], text, text != full)))
    for offset, (name, text) in zip(draft.places, frame.needles, strict=True):
        shown.append((offset, 0, ShownDocument(name, text)))
    return tuple(each for *_, each in sorted(shown, key=lambda row: row[:2]))
