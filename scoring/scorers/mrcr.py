"""A piece of a conversation given again: which piece is it, and how much of it is there?

The answer has to begin with the string that the question asks to prepend; white space, bold, quotes and fences around
it change nothing. What follows is compared with the wanted piece and with the other pieces that the reference knows,
by words: the piece that it is most like is the one that was given. The score is the likeness to the wanted piece where
that is the one, else 0, so that a text of the same kind earns nothing.

Likeness: 1 - (insertions + deletions) / (length of both), the normalised Indel similarity of rapidfuzz.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rapidfuzz.distance import Indel

from needlework.scoring.answers.normalize import normalize
from needlework.scoring.answers.refusals import declined_until
from needlework.scoring.scores import Reference, Score, Scorer, Verdict
from needlework.scoring.verdicts import expected_text

_FENCE = re.compile(r"\A\s*`{3,}[^\n`]*\n(.*?)\n?`{3,}\s*\Z", re.DOTALL)
_AROUND = r"[\s*_`\"'“”‘’「」#>:：\u200b\ufeff-]*"
_EDGES = " \t\r\n*_`\"'“”‘’「」\u200b\ufeff"
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORDS = re.compile(rf"[{_CJK}](?=(?P<next>[{_CJK}]?))|[^\W{_CJK}]+")
_LIKE = 0.5  # least likeness, by words, of an answer to the piece that it gives
_AHEAD = 0.1  # how much more it is like that piece than any other one
_SAME = 0.98
_SHOWN = 160


def mrcr_score(answer: str, reference: Reference) -> Score:
    """Score the piece behind the string: 0..1.

    `answers[0]`: the string and the wanted piece behind it. `given[0]`: the string; without it none is asked for.
    `distractors`: other pieces of the conversation, `kinds` what they are (`#2`). Details: `similarity` to the wanted
    piece whatever was given; `given`: `wanted`, the kind of the piece given, `other` for a piece without a kind, or
    `none`; `string`: whether the string stands first, later, or is missing.
    """
    string = reference.given[0] if reference.given else ""
    wanted = _flat(expected_text(reference).strip().removeprefix(string))
    if not _flat(answer):
        return Score(0.0, "empty", why="no text")
    piece, place = _parted(answer, string)
    given = _given(piece, wanted, [_flat(text) for text in reference.distractors])
    kinds = {_flat(text): kind for text, kind in reference.kinds.items()}
    name = "none" if given is None else "wanted" if given == wanted else kinds.get(given, "other")
    similarity = Indel.normalized_similarity(piece, wanted)
    details: dict[str, float | str | int | bool | None] = {
        "similarity": round(similarity, 6),
        "given": name,
        "string": place,
    }
    shown = piece[:_SHOWN]
    if place != "first":
        refused = name == "none" and declined_until(normalize(answer[:4000])) is not None
        why = "without the string at its start" + (f"; gives {name}" if name != "none" else "")
        # What begins with other words than the string will not begin with it later.
        begun = len(_flat(answer)) > 2 * len(string)
        return Score(0.0, "refused" if refused else "wrong", shown, why, details, settled=begun)
    if name == "wanted":
        verdict: Verdict = "found" if similarity >= _SAME else "partial"
        return Score(similarity, verdict, shown, f"the wanted piece, {similarity:.4f} alike", details)
    if name == "none":
        return Score(0.0, "wrong", shown, "no one piece of the conversation", details)
    return Score(0.0, "distractor", shown, f"another piece: {name}", details, settled=True)


def _parted(answer: str, string: str) -> tuple[str, str]:
    """What the answer gives, flat and without the string, and where the string stands: first, later, missing."""
    text = answer
    fenced = _FENCE.match(text)
    if fenced:
        text = fenced[1]
    text = unicodedata.normalize("NFC", text)
    if not string:
        return _flat(text), "first"
    leading = re.match(rf"{_AROUND}{re.escape(string)}", text)
    if leading:
        return _flat(text[leading.end() :]), "first"
    at = text.rfind(string)
    return _flat(text[at + len(string) :] if at >= 0 else text), "later" if at >= 0 else "missing"


def _given(piece: str, wanted: str, others: Sequence[str]) -> str | None:
    """The piece that a text gives, the wanted one of those that are equal to it; `None`: no one."""
    words = _words(piece)
    likeness = {text: Indel.normalized_similarity(words, _words(text)) for text in dict.fromkeys((wanted, *others))}
    best = max(likeness, key=likeness.__getitem__)  # the wanted one comes first
    second = max((value for text, value in likeness.items() if text != best), default=0.0)
    if piece == best or (likeness[best] >= _LIKE and (likeness[best] >= _SAME or likeness[best] - second >= _AHEAD)):
        return best
    return None


def _words(text: str) -> list[str]:
    """Words; of Chinese and Japanese, each character with the next."""
    return [found[0] + (found["next"] or "") for found in _WORDS.finditer(text)]


def _flat(text: str) -> str:
    """NFC, runs of white space as one space, nothing around it."""
    return " ".join(unicodedata.normalize("NFC", text).strip(_EDGES).split())


MRCR = Scorer("mrcr", 1, mrcr_score)
"""The wanted piece of a conversation."""
