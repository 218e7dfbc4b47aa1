"""Keyword scores with whole words: what OpenCompass's keyword rules are meant to measure.

A hit is a whole, affirmed occurrence (`values`, `polarity`) after normalisation: `Jack` is not in `Jackson`, nor in `it
is not Jack`; a keyword may hold spaces and `*`; an answer that repeats the prompt is no hit (`match`). The exact
published rules, shortcuts included, are in `keyword_compat`.
"""

from __future__ import annotations

import re

from needlework.scoring.answers.normalize import normalize_value
from needlework.scoring.published.atc import NOTHING, boxed_answer
from needlework.scoring.published.cdme import edit_score
from needlework.scoring.scorers.match import affirms
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_keyword, expected_text, verdict_for

MISS_SHARE = 0.2
_SHOWN = 200
# `\textbf{..}`, `\mathrm{..}`: how a box is written, not what is in it.
_STYLED = re.compile(r"\\(?:text|math)[a-z]*\s*\{([^{}]*)\}")
_SPACED_BOX = re.compile(r"\\boxed\s+(?=\{)")


def _keyword(answer: str, reference: Reference) -> Score:
    """100 for a hit, else 0.2 of the edit-distance score (CDME multi and NeedleBench v1, corrected)."""
    keyword = expected_keyword(reference)
    if affirms(answer, keyword, reference):
        return Score(1.0, "found", keyword, "keyword found whole")
    value = MISS_SHARE * edit_score(answer, expected_text(reference)).score / 100
    return Score(value, verdict_for(value, answer), answer[:_SHOWN], "keyword not found: 0.2 of the edit score")


def _binary(answer: str, reference: Reference) -> Score:
    """100 for a hit, else 0 (NeedleBench v2 single retrieval, corrected)."""
    keyword = expected_keyword(reference)
    if affirms(answer, keyword, reference):
        return Score(1.0, "found", keyword, "keyword found whole")
    return Score(0.0, verdict_for(0.0, answer), answer[:_SHOWN], "keyword not found")


def _words(answer: str, reference: Reference) -> Score:
    """The share of the keyword's words that stand in the answer (NeedleBench v1 multi reasoning, corrected)."""
    words = expected_keyword(reference).split()
    found = [word for word in words if affirms(answer, word, reference)]
    value = len(found) / len(words) if words else 0.0
    return Score(
        value, verdict_for(value, answer, partial_from=0), " ".join(found), f"{len(found)} of {len(words)} words"
    )


def _parallel(answer: str, reference: Reference) -> Score:
    """The share of needles whose keyword is given (NeedleBench multi retrieval, corrected: depths never collide)."""
    parts = reference.parts or (expected_keyword(reference),)
    found = [affirms(answer, part, reference) for part in parts]
    value = sum(found) / len(parts)
    given = ", ".join(part for part, hit in zip(parts, found, strict=True) if hit)
    return Score(
        value,
        verdict_for(value, answer, partial_from=0),
        given[:_SHOWN],
        f"{sum(found)} of {len(parts)} keywords",
        {f"part{number}": hit for number, hit in enumerate(found)},
    )


def _boxed(answer: str, reference: Reference) -> Score:
    r"""The last `\boxed{...}` equals an accepted answer (NeedleBench v2 M-RS and ATC, corrected).

    Both sides are normalised alike, so that names with an apostrophe can match, in bold or not. What is in the box
    tells whether the answer declines, not what was thought before it.
    """
    accepted = reference.answers or (expected_keyword(reference),)
    boxed = boxed_answer(_STYLED.sub(r"\1", _SPACED_BOX.sub(r"\\boxed", answer)))
    given = normalize_value(boxed.replace("'", ""))
    if given and any(given == normalize_value(normalize_value(text).replace("'", "")) for text in accepted):
        return Score(1.0, "found", boxed, "the boxed answer is right")
    why = f"boxed {boxed[:60]!r}" if boxed != NOTHING else "no boxed answer"
    said = answer if boxed == NOTHING else boxed
    wrong = {normalize_value(normalize_value(text).replace("'", "")) for text in reference.distractors}
    return Score(0.0, "distractor" if given in wrong else verdict_for(0.0, said), boxed[:_SHOWN], why)


KEYWORD = Scorer("keyword", 3, _keyword)
CDME_MULTI = Scorer("cdme_multi", 3, _keyword)
NEEDLEBENCH_V1 = Scorer("needlebench_v1", 3, _keyword)
NEEDLEBENCH_V1_MULTI = Scorer("needlebench_v1_multi", 3, _words)
NEEDLEBENCH_V2 = Scorer("needlebench_v2", 3, _binary)
NEEDLEBENCH_PARALLEL = Scorer("needlebench_parallel", 3, _parallel)
NEEDLEBENCH_ATC = Scorer("needlebench_atc", 3, _boxed)
