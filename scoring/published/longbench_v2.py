"""LongBench v2 as its authors and as evalscope read the letter of an answer, A to D.

The authors' rule takes the first letter behind their own words, also out of a longer word (`is Amber` is A), and knows
no other wording. evalscope's takes the last capital of the whole reply where no `ANSWER:` has a letter behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_text, verdict_for

OPTIONS = frozenset("ABCD")

_BRACKETED = re.compile(r"The correct answer is \(([A-D])\)")
_PLAIN = re.compile(r"The correct answer is ([A-D])")

_MARKER = re.compile(r"ANSWER\s*:\s*\**\s*", re.IGNORECASE)
_LABELS = (
    re.compile(r"[\(\[（【]\s*([A-Za-z\d](?:\s*[,，]\s*[A-Za-z\d])*)\s*[\)\]）】]"),
    re.compile(r"([A-Za-z\d][A-Za-z\d ,]*)"),
)
_WORD = re.compile(r"[A-Za-z\d]+")


def authors_letter(response: str) -> str | None:
    """The authors' `extract_answer` (THUDM/LongBench 2e00731); `None`: no letter."""
    text = response.replace("*", "")
    found = _BRACKETED.search(text) or _PLAIN.search(text)
    return found[1] if found else None


def evalscope_letter(response: str) -> str:
    """evalscope's reading of one of four choices (fde259d2); empty: no letter."""
    for marker in reversed(list(_MARKER.finditer(response))):
        for label in _LABELS:
            found = label.match(response, marker.end())
            letters = _leading_letters(found[1]) if found else ""
            if letters:
                said = letters.strip().rstrip(".")
                return said if said in OPTIONS else ""
    last = next((char for char in reversed(response) if char.isupper()), "")
    return last if last in OPTIONS else ""


def _leading_letters(listed: str) -> str:
    """The beginning of a list that has nothing but letters of choices, as `A` of `A and B`, `A, C` of `A, C`."""
    end = 0
    for word in _WORD.finditer(listed):
        if not OPTIONS.issuperset(word[0]):
            break
        end = word.end()
    return listed[:end]


def _scorer(name: str, read: Callable[[str], str | None]) -> Scorer:
    def judge(answer: str, reference: Reference) -> Score:
        letter, right = read(answer) or "", expected_text(reference)
        value = float(bool(letter) and letter == right)
        why = "the right letter" if value else f"{letter} is not {right[:20]}" if letter else "no letter"
        return Score(value, verdict_for(value, answer), letter, why, {"letter": letter})

    return Scorer(name, 1, judge)


AUTHORS = _scorer("longbench_v2_authors_compat", authors_letter)
EVALSCOPE = _scorer("longbench_v2_evalscope_compat", evalscope_letter)
