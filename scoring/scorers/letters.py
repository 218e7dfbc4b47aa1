"""The letters of options that an answer states."""

import re
import unicodedata

from needlework.scoring.reading import first_reply, verdict_for
from needlework.scoring.scores import Reference, Score, Scorer, expected_text

# A letter counts where it stands alone and is not denied; `the answer is C` and a box beat labels, and labels
# (`B. ...`) beat what else is said. Letters in words count for nothing.
_SHOWN = 160
_MARKUP = re.compile(r"\\(?:text|math)[a-z]*|[*_`#${}\"“”‘’「」【】<>\\]")
# An A before a word in small letters is the article, unless that word goes on about an option.
_LETTER = r"(?:[B-D]|A(?!\s+[a-z])|A(?=\s+(?:and|or|is|are|was|because|since|as|for|but|due)\b))"
_ONE = rf"\(?\s*(?<![A-Za-z0-9_]){_LETTER}(?!\w)\s*\)?"
_BETWEEN = r"(?:\s*(?:[,;/&+或和、]|\band\b|\bor\b))+\s*"
_SPACED = rf"{_ONE}(?:\s+{_ONE})+(?=\W*(?:\n|$))"
_LIST = rf"(?:{_SPACED}|{_ONE}(?:{_BETWEEN}{_ONE})*|\b[A-D]{{2,4}}\b)"
_CONCLUDED = re.compile(
    r"(?i:(?:\b(?:answers?|choices?|options?|letters?)\s*(?:(?:is|are|would be|should be|must be)\b\s*:?|[:=])"
    r"|(?:答案|选项|选择)\s*应?该?\s*[是为选]?\s*:?)\s*"
    r"(?:(?:clearly|therefore|both|options?|choices?|letters?)\s+)*)"
    rf"(?:(?P<list>{_LIST})(?![\w'’&+-])|(?P<small>[a-d])(?=\s*[.)]?\s*(?:\n|\Z)))"
)
_LABEL = re.compile(r"(?:^|(?<=[,;/&])|(?<=\band)|(?<=\bor))\s*[-•]?\s*\(?\b([A-D])(?:\)|[.:](?=\s|$))", re.MULTILINE)
_OPENING = re.compile(rf"\W*(?P<list>{_LIST})")
_ALONE = re.compile(rf"(?<![\w'’])(?:{_LETTER}|[A-D]{{2,4}})(?![\w'’])")
_DENIED = re.compile(
    r"(?:\bnot|n['’]t(?:\s+be)?|\bneither|\bnor|\bexcept|\brather than)\s+(?:options?\s+)?\(?$", re.IGNORECASE
)
_LOOK_BACK = 40  # characters before a letter in which it may be denied


def stated_letters(answer: str, *, in_passing: bool = True) -> str:
    """The letters that an answer states, sorted; or nothing. `in_passing`: wherever they stand."""
    text = unicodedata.normalize("NFKC", first_reply(answer)).replace("\\boxed", " answer: ")
    text = _MARKUP.sub("", text).strip()
    bare = text.strip("()[].,:;!' \t\n")
    if len(bare) == 1 and bare in "abcd":
        return bare.upper()
    concluded = [match["list"] or match["small"].upper() for match in _CONCLUDED.finditer(text)]
    if concluded:
        return _spread(concluded[-1])
    labels = "".join(match[1] for match in _LABEL.finditer(text) if not _is_denied(text, match.start(1)))
    opening = _OPENING.match(text)
    if opening and (in_passing or labels or opening.end() == len(text.rstrip(" .)!"))):
        return "".join(sorted({*_spread(opening["list"]), *labels}))
    alone = (match[0] for match in _ALONE.finditer(text) if not _is_denied(text, match.start()))
    return "".join(sorted(set(labels))) or (_spread(" ".join(alone)) if in_passing else "")


def _is_denied(text: str, start: int) -> bool:
    return bool(_DENIED.search(text[max(0, start - _LOOK_BACK) : start]))


def _spread(listed: str) -> str:
    """The letters of `A, B and D` and of `ABD`; small letters are words."""
    return "".join(sorted({char for word in re.findall(r"\b[A-D]+\b", listed) for char in word}))


def choice_letter_score(answer: str, reference: Reference) -> Score:
    """1 for the right letter, `answers[0]`, else 0. Details: `letter`, empty for none or several."""
    letters, right = stated_letters(answer, in_passing=False), expected_text(reference).strip()
    letter = letters if len(letters) == 1 else ""
    details = {"letter": letter}
    if letter:
        if letter == right:
            return Score(1.0, "found", letter, "the right letter", details)
        return Score(0.0, "wrong", letter, f"{letter} is not {right[:20]}", details)
    return Score(0.0, verdict_for(0.0, answer[-4000:]), answer[-_SHOWN:], "gives no one letter", details)


CHOICE_LETTER = Scorer("choice_letter", 2, choice_letter_score)
"""One letter of A to D."""
