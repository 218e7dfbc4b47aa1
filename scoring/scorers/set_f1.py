"""Several values asked for at once: recall and precision of the values that an answer gives, as F1.

Values are found as `match` finds them: whole, affirmed, not in a long copy of the text. Everything else in the answer
that is a known wrong value, or has the shape of a value (as many digits, or a name of consonants), is one too many.
Where the answer names its result (`Answer: ...`), only what follows counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from needlework.scoring.answers.normalize import flatten, normalize_lines, normalize_value
from needlework.scoring.answers.passages import CLOSING, LONG, weight
from needlework.scoring.answers.standing import is_negated
from needlework.scoring.answers.values import find_same_shape
from needlework.scoring.scorers.match import affirms, match_score
from needlework.scoring.scores import Reference, Score, Scorer, Verdict

_SHOWN = 160
_RESULTS = 4  # places to look at, from the end
_RESULT = re.compile(r"(?:\banswers?\b|答案)[^\n:]{0,30}:|(?:^|\n)\W*(?:final )?answers?\W*\n")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}")
_NAME = re.compile(r"(?<![a-z0-9])[bcdfghjklmnpqrstvwxz]{5}(?![a-z0-9])")


def set_f1_score(answer: str, reference: Reference) -> Score:
    """F1 of the values given. Details: `recall`, `precision`, `f1`, `exact`, `extra` and `missed`.

    `extra`: how many values too many. `missed`: ranks (from 1, in the order of `parts`) of the values that were not
    given, with commas. A reference without any value raises `ValueError`.
    """
    wanted = [normalize_value(part) for part in reference.parts or reference.answers[:1]]
    if not any(wanted):
        raise ValueError("the reference has no value to match: give parts")
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    parts = [value for value in wanted if value]
    lines = _result(lines, [*parts, *map(normalize_value, reference.distractors)])
    plain = replace(reference, parts=tuple(parts), statement="")
    hit = [affirms(lines, value, plain) for value in parts]
    known = [value for value in map(normalize_value, reference.distractors) if value and value not in parts]
    wrong = list(dict.fromkeys([*(value for value in known if affirms(lines, value, plain)), *_alike(lines, parts)]))
    recall = sum(hit) / len(parts)
    precision = sum(hit) / (sum(hit) + len(wrong)) if any(hit) else 0.0
    value = 2 * sum(hit) / (sum(hit) + len(wrong) + len(parts))
    details: dict[str, float | str | int | bool | None] = {
        "recall": round(recall, 4),
        "precision": round(precision, 4),
        "f1": round(value, 4),
        "exact": value == 1,
        "extra": len(wrong),
        "missed": ",".join(str(rank + 1) for rank, found in enumerate(hit) if not found),
    }
    given = ", ".join([value for value, found in zip(parts, hit, strict=True) if found] or wrong)
    shown = (given or flatten(lines))[:_SHOWN]
    why = f"{sum(hit)} of {len(parts)} values" + (f", {len(wrong)} too many" if wrong else "")
    verdict: Verdict = "found" if value == 1 else "partial"
    if value == 0:
        refused = not wrong and match_score(answer, reference).verdict == "refused"
        verdict = "distractor" if set(wrong) & set(known) else "refused" if refused else "wrong"
    return Score(value, verdict, shown, why, details)


def _result(lines: str, values: Sequence[str]) -> str:
    """What follows the last `Answer:`, if a value stands there; else the whole answer."""
    for match in list(_RESULT.finditer(lines))[: -_RESULTS - 1 : -1]:
        rest = flatten(lines[match.end() :])
        if any(value in rest for value in values):
            return lines[match.end() :]
    return lines


def _alike(lines: str, parts: Sequence[str]) -> list[str]:
    """Values in an answer that are not wanted but look like those that are; of a long answer at its end only."""
    text = flatten(lines)
    if weight(text) > LONG + CLOSING * (len(parts) - 1):
        text = text[-CLOSING * len(parts) :]
    spans = {span for value in parts for span in find_same_shape(text, value)}
    alike = [text[span.start : span.end] for span in sorted(spans) if not is_negated(text, *span)]
    if all(_CONSONANTS.fullmatch(part) for part in parts):
        alike += [match[0] for match in _NAME.finditer(text) if not is_negated(text, *match.span())]
    return [value for value in alike if value not in parts]


SET_F1 = Scorer("set_f1", 3, set_f1_score)
