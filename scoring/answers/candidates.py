"""What one answer says: where the right value, known wrong values and look-alikes stand in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from needlework.scoring.answers.polarity import is_denied
from needlework.scoring.answers.values import Cover, Span, find_plain, find_same_shape, find_whole

_HEDGE = re.compile(r"[\"')*\s]*(?:,? ?(?:or|either)|或者?|还是|/)(?:\s*(?:maybe|perhaps|possibly))?[\"'(*\s]*")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A value that the answer gives: where, whether it is right, a known wrong one, or just looks alike."""

    span: Span
    value: str
    kind: Literal["right", "distractor", "alike"]
    denied: bool = False


def find_candidates(
    text: str, answers: Sequence[str], distractors: Sequence[str], statement: str, *, alike: bool = True
) -> list[Candidate]:
    """Find every candidate value in a normalised one-line text, in order of place; look-alikes only if `alike`.

    Where values overlap the longest counts (the answer `Jack Smith` does not give the value `Jack` if it is a known
    other one). In a quotation of the needle sentence only the right value is a candidate.
    """
    quotes = find_plain(text, statement)
    right = {span: value for value in answers for span in find_whole(text, value)}
    wrong = {span: value for value in distractors if value not in answers for span in find_whole(text, value)}
    beaten = Cover(wrong)
    known = Cover([*right, *quotes])
    found = [
        Candidate(span, value, "right", _is_denied(text, span, quotes))
        for span, value in right.items()
        if not beaten.holds(span)
    ]
    found += [
        Candidate(span, value, "distractor", is_denied(text, *span))
        for span, value in wrong.items()
        if not known.holds(span)
    ]
    if alike:
        found += [
            Candidate(span, text[span.start : span.end], "alike", is_denied(text, *span))
            for span in {span for value in answers for span in find_same_shape(text, value)}
            if not known.holds(span) and not beaten.holds(span)
        ]
    return sorted(found, key=lambda candidate: candidate.span)


def is_hedged(text: str, candidates: Sequence[Candidate]) -> bool:
    """Say whether two different values stand as alternatives (`48213 or 99999`)."""
    return any(
        left.kind != right.kind and _HEDGE.fullmatch(text, left.span.end, right.span.start) is not None
        for left, right in pairwise(candidates)
    )


def _is_denied(text: str, span: Span, quotes: Sequence[Span]) -> bool:
    """A quoted needle sentence is denied or affirmed as a whole: its own `not` says nothing about the answer."""
    at = bisect_right(quotes, (span.start, len(text))) - 1
    if at >= 0 and quotes[at].end >= span.end:
        return is_denied(text, *quotes[at])
    return is_denied(text, *span)
