"""The number that an answer ends with (GSM, 16 worked examples in the prompt).

Compatible: upstream's extraction, on the reference too: digits up to the first point behind the first `The answer is`,
else those of the last word with a digit in the first paragraph. It cuts decimals (`294.67` is 294), loses signs,
joins fractions (`69/3` is 693) and overlooks `The answer is: 5`.

Strict: the number behind the last `answer is`, `####` or `\\boxed`, else the last number, compared by value: signs,
decimals, thousands separators and fractions are read.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from needlework.scoring.leval.exact_core import exact_match, gold_of, judged
from needlework.scoring.leval.passages import first_reply
from needlework.scoring.scores import Reference, Score, Scorer

_COMPAT_CUE = re.compile(r"The answer is (\S+)")
_CUE = re.compile(r"\banswer\b(?:\s+is\b\s*[:=]?|\s*[:=])|####|\\boxed\s*\{", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>[-−+](?=[$€£¥.\d]))?(?:[$€£¥]\s?(?P<inner>[-−])?)?"
    r"(?P<digits>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)(?:\s?/\s?(?P<under>\d+))?"
)
_SENTENCE = re.compile(r"[.!?](?=\s|$)|\n\s*\n")
_CUES = 50  # how many of the last places that announce a number are looked at
_BEHIND = 300  # characters behind `the answer is` in which its number stands
_LONGEST = 60  # digits; nothing longer is a number that was worked out


def compat_number(text: str) -> str:
    """The digits that upstream takes; nothing where there is none."""
    cued = _COMPAT_CUE.search(text)
    if cued:
        word = cued[1]
    else:
        words = text.partition("\n\n")[0].split(" ")
        word = next((word for word in reversed(words) if any(char.isdigit() for char in word)), "")
    return "".join(char for char in word.partition(".")[0] if char.isdigit())


def stated_number(text: str) -> Fraction | None:
    """The number that a text ends with, or `None`."""
    plain = unicodedata.normalize("NFKC", first_reply(text)).replace("\\$", "$").replace("\u2044", "/")
    for cue in list(_CUE.finditer(plain))[: -_CUES - 1 : -1]:
        sentence = _SENTENCE.split(plain[cue.end() : cue.end() + _BEHIND].lstrip(), maxsplit=1)[0]
        found = _numbers(sentence.rpartition("=")[2]) or _numbers(sentence)
        if found:
            return found[0]
    everywhere = _numbers(plain)
    return everywhere[-1] if everywhere else None


def _numbers(text: str) -> list[Fraction]:
    read = (_read(match) for match in _NUMBER.finditer(text))
    return [number for number in read if number is not None]


def _read(match: re.Match[str]) -> Fraction | None:
    digits = match["digits"].replace(",", "")
    under = match["under"] or "1"
    if len(digits) > _LONGEST or len(under) > _LONGEST or not digits.replace(".", "").isascii() or not under.isascii():
        return None
    if not int(under):
        return None
    value = Fraction(digits) / int(under)
    negative = match["sign"] in ("-", "−") or bool(match["inner"])
    return -value if negative else value


def _compat(answer: str, reference: Reference) -> Score:
    gold, taken = compat_number(gold_of(reference)), compat_number(answer)
    value = exact_match(taken, gold) if taken and gold else 0.0
    return judged(value, answer, taken, gold)


def _strict(answer: str, reference: Reference) -> Score:
    gold, taken = stated_number(gold_of(reference)), stated_number(answer)
    value = float(taken is not None and taken == gold)
    shown = "" if taken is None else str(taken)
    return judged(value, answer, shown, str(gold), "" if shown else "gives no number")


MATH = Scorer("leval_math", 1, _strict)
MATH_COMPAT = Scorer("leval_math_compat", 1, _compat)
