"""One of the choices A to D: the letter that an answer concludes with.

Read is the letter behind the last `answer is`, `ANSWER:` or `答案`, where it stands alone: in brackets, bold, quotes, a
box, full width. Two letters behind it (`A or B`) are none. Without such words the answer must be the letter itself,
alone or as the label of its choice (`(B) the bridge`). Letters in words and in passing count for nothing.
"""

from __future__ import annotations

import re
import unicodedata

from needlework.scoring.answers.normalize import normalize
from needlework.scoring.answers.refusals import declined_until
from needlework.scoring.scores import Reference, Score, Scorer, Verdict
from needlework.scoring.verdicts import expected_text

_MARKUP = re.compile(r"\\(?:boxed|text|mathrm|textbf|mathbf)|[*_`#${}\"'“”‘’「」【】<>\\]")
# An A before a word in small letters is the article, unless that word goes on about the choice.
_ARTICLE = (
    r"A(?=[^\S\n]+(?!(?:and|or|is|are|was|because|since|as|for|but|due|given|with|which|from|the|rather)\b)[a-z])"
)
_BARE = rf"(?!{_ARTICLE})[A-D](?![\w+&-])|[a-d](?=\s*[.)]?\s*(?:\n|\Z))"
_LETTER = rf"(?:[(\[]\s*(?P<in>[A-Da-d])\s*[)\]]|(?P<bare>{_BARE})\)?)"
_MARKER = re.compile(
    r"(?i:\b(?:answer|choice|option|letter)s?(?:\s+(?:choice|option|letter))?\s*"
    r"(?:(?:is|are|would be|should be|must be)\b\s*[:,]?|[:=])|(?:答案|选项|选择)\s*应?该?\s*[是为选]?\s*:?"
    r"|\bboxed)"
    r"\s*(?i:(?:clearly|therefore|definitely|most likely|indeed)\s+)?(?i:(?:option|choice|letter)\s*)?"
)
_SAID = re.compile(_LETTER)
_ANOTHER = re.compile(r"\s*(?:[,;/&|]|\bor\b|\band\b|[或和、])\s*(?:\bor\b|\band\b)?\s*[(\[]?[A-D](?![\w'])")
_ALONE = re.compile(rf"\W*?{_LETTER}(?=[.:)]|\s*\Z)")
_OTHER_LABEL = re.compile(r"^\W*[(\[]?[A-D][)\].:](?=\s)", re.MULTILINE)
_SHOWN = 160


def concluded_letter(answer: str) -> str:
    """The letter that an answer gives, A to D; empty: none, or two."""
    text = _MARKUP.sub(" ", unicodedata.normalize("NFKC", answer).replace("\\boxed", "boxed"))
    text = re.sub(r"[^\S\n]+", " ", text)
    for marker in reversed(list(_MARKER.finditer(text))):
        said = _SAID.match(text, marker.end())
        if said:
            return "" if _ANOTHER.match(text, said.end()) else _of(said)
    said = _ALONE.match(text)
    if said and len(_OTHER_LABEL.findall(text)) <= 1 and not _ANOTHER.match(text, said.end()):
        return _of(said)
    return ""


def _of(said: re.Match[str]) -> str:
    return (said["in"] or said["bare"]).upper()


def choice_letter_score(answer: str, reference: Reference) -> Score:
    """1 for the right letter, `answers[0]`, else 0. Details: `letter`, empty where there is none."""
    letter, right = concluded_letter(answer), expected_text(reference).strip()
    details = {"letter": letter}
    if letter:
        value = float(letter == right)
        verdict: Verdict = "found" if value else "wrong"
        return Score(value, verdict, letter, "the right letter" if value else f"{letter} is not {right[:20]}", details)
    plain = normalize(answer[-4000:])
    verdict = "empty" if not plain else "refused" if declined_until(plain) is not None else "wrong"
    return Score(0.0, verdict, answer[-_SHOWN:], "gives no one letter", details)


CHOICE_LETTER = Scorer("choice_letter", 1, choice_letter_score)
"""One letter of A to D."""
