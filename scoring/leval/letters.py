"""Letters of options A-D: one of them (QuALITY, TOEFL: `letter`), or one or several (Coursera: `letters`).

Compatible: upstream's extraction. It takes letters out of words (`Based on` is B), takes the first of several letters
where one is wanted, loses letters before a comma and at the end where several are, guesses A where there is none, and
gives 0.25 for any part of the right letters.

Strict: a letter counts where it stands alone and is not denied; `the answer is C` beats labels, and labels (`B. ...`)
beat what else is said. No letter, or several where one is wanted, is wrong, and so is a part of the right letters.
"""

from __future__ import annotations

import re
import unicodedata

from needlework.scoring.leval.exact_core import OPTIONS, exact_match, gold_of, judged
from needlework.scoring.leval.passages import first_reply
from needlework.scoring.scores import Reference, Score, Scorer

_BEFORE_END = re.compile(r"[A-D](?=[\s.)])")
_RUN = re.compile(r"[A-D]+")
_MARKUP = re.compile(r"[*_`#]+")

# An A before a word in small letters is the article, unless that word goes on about an option.
_LETTER = r"(?:[B-D]|A(?!\s+[a-z])|A(?=\s+(?:and|or|is|are|was|because|since|as|for|but|due)\b))"
_ONE = rf"\(?\b{_LETTER}\b\)?"
_BETWEEN = r"(?:\s*(?:[,;/&+]|\band\b|\bor\b))+\s*"
_SPACED = rf"{_ONE}(?:\s+{_ONE})+(?=\W*(?:\n|$))"
_LIST = rf"(?:{_SPACED}|{_ONE}(?:{_BETWEEN}{_ONE})*|\b[A-D]{{2,4}}\b)"
_CONCLUDED = re.compile(
    r"(?i:(?:answers?|choices?|options?|letters?)\s*(?:(?:is|are|would be|should be|must be)\b\s*:?|[:=])\s*"
    r"(?:(?:clearly|therefore|both|options?|choices?|letters?)\s+)*)"
    rf"[\"'“]?(?P<list>{_LIST})(?![a-z'’])"
)
_LABEL = re.compile(r"(?:^|(?<=[,;/&])|(?<=\band)|(?<=\bor))\s*[-•]?\s*\(?\b([A-D])(?:\)|[.:](?=\s|$))", re.MULTILINE)
_OPENING = re.compile(rf"\W*(?P<list>{_LIST})")
_ALONE = re.compile(rf"(?<![\w'’])(?:{_LETTER}|[A-D]{{2,4}})(?![\w'’])")
_DENIED = re.compile(
    r"(?:\bnot|n['’]t(?:\s+be)?|\bneither|\bnor|\bexcept|\brather than)\s+(?:options?\s+)?\(?$", re.IGNORECASE
)
_LOOK_BACK = 40  # characters before a letter in which it may be denied


def compat_letters(answer: str, *, several: bool) -> str:
    """Take letters out of an answer as upstream does; `None` for a blank one, A where it finds no letter."""
    if not answer.strip():
        return "None"
    if answer in OPTIONS:
        return answer
    if not several:
        return next((char for char in answer if char in OPTIONS), "A")
    leading = _RUN.match(answer)
    run = leading[0] if leading else ""
    if len(run) > 1:
        return "".join(sorted(set(run)))
    rest = answer[len(run) :].partition("Question")[0]
    found = {*_BEFORE_END.findall(rest), *run}
    if found:
        return "".join(sorted(found))
    anywhere = _RUN.search(rest)
    return anywhere[0] if anywhere else "A"


def gold_letters(gold: str) -> str:
    """The letters of a reference: those of its first word (`(B) the text`)."""
    words = gold.split(None, 1)
    return "".join(char for char in words[0] if char in OPTIONS) if words else ""


def stated_letters(answer: str) -> str:
    """The letters that an answer states, sorted; nothing where it states none."""
    text = _MARKUP.sub("", unicodedata.normalize("NFKC", first_reply(answer))).strip()
    if not text:
        return ""
    bare = text.strip("()[]{}.,:;!\"' \t\n")
    if len(bare) == 1 and bare in "abcd":
        return bare.upper()
    concluded = _CONCLUDED.findall(text)
    if concluded:
        return _spread(concluded[-1])
    labels = {match[1] for match in _LABEL.finditer(text) if not _is_denied(text, match.start(1))}
    opening = _OPENING.match(text)
    if opening:
        return _joined(set(_spread(opening["list"])) | labels)
    alone = (match for match in _ALONE.finditer(text) if not _is_denied(text, match.start()))
    return _joined(labels) or _spread(" ".join(match[0] for match in alone))


def _is_denied(text: str, start: int) -> bool:
    return bool(_DENIED.search(text[max(0, start - _LOOK_BACK) : start]))


def _spread(listed: str) -> str:
    """The letters of `A, B and D` and of `ABD`; small letters are words."""
    return _joined({char for word in re.findall(r"\b[A-D]+\b", listed) for char in word})


def _joined(letters: set[str]) -> str:
    return "".join(sorted(letters))


def _compat(answer: str, reference: Reference, *, several: bool) -> Score:
    gold = gold_letters(gold_of(reference))
    taken = compat_letters(answer, several=several)
    return judged(exact_match(taken, gold), answer, taken, gold)


def _strict(answer: str, reference: Reference, *, several: bool) -> Score:
    gold = _joined(set(gold_letters(gold_of(reference))))
    taken = stated_letters(answer)
    why = "" if taken else "names no option"
    if len(taken) > 1 and not several:
        why = f"names {len(taken)} options where one is wanted"
    return judged(float(bool(gold) and taken == gold), answer, taken, gold, why)


LETTER = Scorer("leval_letter", 1, lambda answer, reference: _strict(answer, reference, several=False))
LETTER_COMPAT = Scorer("leval_letter_compat", 1, lambda answer, reference: _compat(answer, reference, several=False))
LETTERS = Scorer("leval_letters", 1, lambda answer, reference: _strict(answer, reference, several=True))
LETTERS_COMPAT = Scorer("leval_letters_compat", 1, lambda answer, reference: _compat(answer, reference, several=True))
