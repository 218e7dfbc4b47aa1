"""A text of words reproduced: how much of it is there, in its order, and is the odd word where it was?

Words are compared, without capitals and punctuation. What an answer says before its first word and behind its last word
of the text (`Here it is:`) is left out. The score is the normalised edit similarity of the two lists of words,
1 - distance / length of the longer one (Levenshtein, as in Chroma's repeated words, there of characters).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from needlework.scoring.answers.normalize import normalize
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import verdict_for

_SHOWN = 160
_PARTIAL = 0.5


def copy_score(answer: str, reference: Reference) -> Score:
    """Score the copy of `answers[0]` (else of all `parts`), a text in which the word `keyword` stands once.

    Details: `odd_present`; `odd_in_place`: the odd word stands once and where it should; `divergence`: the place of the
    first word (from 0) that differs or is missing, `None` for none; `length_ratio`: words of the copy to those of the
    text. In Chinese, `parts` are the words that the text is made of. A reference without a text raises `ValueError`.
    """
    known, odd = [word for word in map(normalize, reference.parts) if word], normalize(reference.keyword)
    wanted = _words(reference.answers[0] if reference.answers else "\n".join(reference.parts), known)
    if not wanted:
        raise ValueError("the reference has no text to be copied: give answers")
    vocabulary = set(wanted)
    given = _words(answer, known)
    places = [place for place, word in enumerate(given) if word in vocabulary]
    given = given[places[0] : places[-1] + 1] if places else []
    value = Levenshtein.normalized_similarity(wanted, given)
    same = zip(wanted, given, strict=False)
    divergence = next((place for place, (one, other) in enumerate(same) if one != other), min(len(wanted), len(given)))
    exact = wanted == given
    details = {
        "odd_present": odd in given,
        "odd_in_place": _places(given, odd) == _places(wanted, odd),
        "divergence": None if exact else divergence,
        "length_ratio": round(len(given) / len(wanted), 4),
    }
    why = "word for word" if exact else f"{len(given)} words of {len(wanted)}, alike to word {divergence}"
    return Score(value, verdict_for(value, answer, partial_from=_PARTIAL), answer[:_SHOWN], why, details)


def _places(words: Sequence[str], wanted: str) -> list[int]:
    return [place for place, word in enumerate(words) if word == wanted]


def _words(text: str, known: Sequence[str]) -> list[str]:
    """The words of a text; in Chinese, those that are known and every other character."""
    longest = sorted((word for word in known if not word.isascii()), key=len, reverse=True)
    return re.findall("|".join(["[a-z0-9'-]+", *map(re.escape, longest), r"\w"]), normalize(text))


COPY = Scorer("copy", 1, copy_score, whole=True)
"""A copy, word for word."""
