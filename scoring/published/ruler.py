"""RULER's two rules, and a strict one beside them.

RULER (`string_match_all`, `string_match_part`): values count wherever they stand in the answer as a piece of text,
in capitals or not: in longer numbers and words, in denials, among any number of wrong ones. `ruler_strict` wants whole,
affirmed values, and takes off for every further one; both compatible rules tell its score in their details.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from needlework.scoring.answers.normalize import normalize_lines, normalize_value
from needlework.scoring.answers.values import find_whole
from needlework.scoring.scorers.match import match_score
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

_CONTROLS = re.compile(r"[\x00-\x1f]")
_SHOWN = 160
_ITEMS = re.compile(r"[,;:、，；：。\n]|\.(?=\s|$)|\s(?:and|or|&)\s|(?:^|\s)(?:\d{1,3}[.)]|[-*•])\s+")
_EDGES = " \t\"'`*_()[]{}<>“”‘’「」.!?"
_CHATTY = frozenset(
    ("sure", "certainly", "yes", "okay", "answer", "answers", "words", "variables", "numbers", "values", "答案")
)
_SHORTEST = 4  # letters of a word that counts as one too many where it stands between right ones: not `and`, not `VAR`


def postprocessed(answer: str) -> str:
    """The answer as RULER looks at it: trimmed, control characters as line ends."""
    return _CONTROLS.sub("\n", answer.strip()).strip()


def share_found(answer: str, references: Sequence[str]) -> float:
    """`string_match_all` of one answer, 0..1: the share of references that stand in it, in capitals or not."""
    text = answer.lower()
    return sum(reference.lower() in text for reference in references) / len(references)


def any_found(answer: str, references: Sequence[str]) -> float:
    """`string_match_part` of one answer: 1 where one of the references stands in it."""
    text = answer.lower()
    return float(any(reference.lower() in text for reference in references))


def percent_of(shares: Sequence[float]) -> float:
    """RULER's score of a task: the mean in percent, to 2 decimals."""
    return round(sum(shares) / len(shares) * 100, 2)


def _all(answer: str, reference: Reference) -> Score:
    wanted = _references(reference)
    return _compatible(share_found(postprocessed(answer), wanted), answer, reference, wanted)


def _part(answer: str, reference: Reference) -> Score:
    wanted = _references(reference)
    return _compatible(any_found(postprocessed(answer), wanted), answer, reference, wanted)


def _references(reference: Reference) -> tuple[str, ...]:
    """All parts of several; of one answer every spelling."""
    wanted = reference.parts or reference.answers
    if not wanted:
        raise ValueError("the reference has no value to match: give answers or parts")
    return wanted


def _compatible(value: float, answer: str, reference: Reference, wanted: Sequence[str]) -> Score:
    strict = strict_score(answer, reference)
    text = postprocessed(answer).lower()
    found = [each for each in wanted if each.lower() in text]
    verdict: Verdict = "found" if value == 1 else "partial" if value else _missed(strict)
    why = f"{len(found)} of {len(wanted)} stand in the answer" if found else strict.why
    return Score(
        value,
        verdict,
        (", ".join(found) or strict.answer)[:_SHOWN],
        why,
        {"strict": None if strict.verdict == "unclear" else round(strict.value, 4)},
    )


def _missed(strict: Score) -> Verdict:
    """What a miss is; it may have been a hit for the strict rule (`1,234,567` for 1234567), or unclear to it."""
    return strict.verdict if strict.value == 0 and strict.verdict != "unclear" else "wrong"


def strict_score(answer: str, reference: Reference) -> Score:
    """Judge one answer: `match` for one value; F1 for several, with whatever else is listed as values too many.

    Too many are known wrong values, numbers and codes of the same shape, and items of one word in a list that are not
    wanted. Details: `recall`, `precision` and `extra` where several are wanted.
    """
    base = match_score(answer, reference)
    if len(reference.parts) < 2 or base.verdict in ("empty", "refused", "unclear"):
        return base
    hits = int(base.details.get("parts_found") or 0)
    extra = max(int(base.details.get("extra") or 0), len(_listed_beside(answer, reference.parts)))
    parts = len(reference.parts)
    value = 2 * hits / (parts + hits + extra)
    details = {
        "recall": round(hits / parts, 4),
        "precision": round(hits / (hits + extra), 4) if hits else 0.0,
        "extra": extra,
    }
    why = f"{hits} of {parts} values" + (f", {extra} too many" if extra else "")
    verdict: Verdict = base.verdict if not hits else "found" if value == 1 else "partial"
    return replace(base, value=value, verdict=verdict, why=why if hits else base.why, details=details)


def _listed_beside(answer: str, parts: Sequence[str]) -> set[str]:
    """The items of one word that are no part, and the words that stand between parts in an item."""
    wanted = {normalize_value(part) for part in parts}
    longest = 2 * max(map(len, wanted))  # a longer item is a phrase of a script without spaces
    beside: set[str] = set()
    for item in _ITEMS.split(normalize_lines(answer)):
        words = [word for word in (piece.strip(_EDGES) for piece in item.split()) if word]
        right = sum(word in wanted for word in words)
        if len(words) == 1 and not any(find_whole(words[0], part) for part in wanted):
            beside |= {
                word for word in words if len(word) <= longest and not (word.isdigit() and len(word) < _SHORTEST)
            }
        elif 2 * right >= len(words):
            beside |= {word for word in words if len(word) >= _SHORTEST and word not in wanted}
    return beside - _CHATTY


RULER_ALL = Scorer("ruler_all", 1, _all)
RULER_PART = Scorer("ruler_part", 1, _part)
RULER_STRICT = Scorer("ruler_strict", 3, strict_score)
