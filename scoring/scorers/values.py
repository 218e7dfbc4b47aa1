"""Scorers of one value: numbers, copies, words of a needle."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from rapidfuzz.distance import Indel, Levenshtein, Prefix

from needlework.scoring.folding import fold_lines, read_han
from needlework.scoring.match.claims import is_negated
from needlework.scoring.plain_text import (
    HAN_NUMERALS,
    Span,
    content_word_places,
    content_words,
    flatten,
    normalize,
    normalize_lines,
)
from needlework.scoring.reading import conclusion, first_sentence, is_refusal, own_words, refusal_end, verdict_for
from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Details, Reference, Score, Verdict, expected_text, rule

# Text is normalised (`normalize`), so `1,234` is 1234. Denied numbers and ordinals are left out; numbers of the
# question count only where the answer has no others, numbers in words only where it has no digits. A
# concluding sentence beats what stands before it. `7 or 8` and `7 to 9` are no answers.
_SHOWN = 160
_NUMBER = re.compile(r"(?<![0-9a-z_.])-?\d+(?:\.\d+)?(?![\d_]|st\b|nd\b|rd\b|th\b)")
_ALONE = re.compile(r"\W*?(-?\d+(?:\.\d+)?)\W*")
_EITHER = re.compile(r"[\"')\s]*(?:,? ?(?:or|to)\b|或者?|还是|到|至|[-/~])(?:\s*(?:maybe|perhaps|about))?[\"'(\s]*")
_IN_WORDS = re.compile(rf"\b(?:zero|one)\b|[{HAN_NUMERALS}]+")


class _GivenNumber(NamedTuple):
    """A number that an answer gives, and where."""

    span: Span
    value: float


@rule("number", 5)
def number_scorer(answer: str, reference: Reference) -> Score:
    """1 where the answer gives the number `answers[0]` (else `parts[0]`), and 0 otherwise.

    Details: `given`, `error` (given less right) and `relative_error` (of the right number, of 1 where that is 0). A
    reference without a number raises `ValueError`.
    """
    references = (*reference.answers, *reference.parts)
    if not references:
        raise ValueError("the reference has no number: give answers")
    right = float(references[0])
    lines = normalize_lines(answer)
    if not lines:
        return Score(0.0, "empty", why="no text")
    stated = own_words(lines, normalize(reference.question))
    if not any(char.isalnum() for char in stated):
        return Score(0.0, "wrong", flatten(lines)[:_SHOWN], "only repeats the question")
    stated = stated if _numbers(stated) else fold_lines(stated)
    text = flatten(stated)
    numbers = _numbers(stated) or _in_words(stated)
    declined = None if numbers and _opens_alone(stated, numbers) else refusal_end(text)
    if declined is not None and all(number.span.start < declined for number in numbers):
        return Score(0.0, "refused", text[:_SHOWN], "declines to answer or says that it is not there")
    if not numbers:
        return Score(0.0, "wrong", text[:_SHOWN], "gives no number")
    in_question = {number.value for number in _numbers(normalize(reference.question))}
    chosen = _choose(stated, numbers, in_question)
    error = chosen.value - right
    details = {"given": chosen.value, "error": error, "relative_error": round(abs(error) / (abs(right) or 1.0), 4)}
    shown = f"{chosen.value:.12g}"
    if _is_hedged(text, chosen, [number for number in numbers if number.value not in in_question]):
        return Score(0.0, "wrong", text[:_SHOWN], "gives several numbers to choose from", details)
    if error == 0:
        return Score(1.0, "found", shown, f"gives {shown}", details)
    return Score(0.0, "distractor" if shown in reference.distractors else "wrong", shown, f"gives {shown}", details)


def _numbers(text: str) -> list[_GivenNumber]:
    spans = (Span(*match.span()) for match in _NUMBER.finditer(text))
    return [_GivenNumber(span, float(text[span.start : span.end])) for span in spans if not is_negated(text, *span)]


def _in_words(lines: str) -> list[_GivenNumber]:
    """The last number in words that folding leaves, as in `一共七句`."""
    words = [match for match in _IN_WORDS.finditer(lines) if not is_negated(lines, *match.span())]
    read = [(Span(*word.span()), {"zero": "0", "one": "1"}.get(word[0]) or read_han(word[0])) for word in words]
    return [_GivenNumber(span, float(number)) for span, number in read if number][-1:]


def _opens_alone(lines: str, numbers: list[_GivenNumber]) -> bool:
    """Whether the first sentence or line is the first number and no word more."""
    first = _ALONE.fullmatch(lines.partition("\n")[0])
    if first is None and not re.search(r"\n\s*\d+[.)]", lines):
        first = _ALONE.fullmatch(lines[: first_sentence(lines).end].rstrip())
    return first is not None and numbers[0].span.start == first.start(1)


def _choose(lines: str, numbers: list[_GivenNumber], in_question: set[float]) -> _GivenNumber:
    """The number in a first sentence of its own; else the last of the conclusion; else the last."""
    if _opens_alone(lines, numbers):
        return numbers[0]
    end = conclusion(lines)
    concluded = [number for number in numbers if end and number.span.start >= end.start]
    candidates = concluded or numbers
    return ([number for number in candidates if number.value not in in_question] or candidates)[-1]


def _is_hedged(text: str, chosen: _GivenNumber, others: list[_GivenNumber]) -> bool:
    """Whether another number stands beside the chosen one as an alternative or the other end of a range."""
    pairs = [sorted((other.span, chosen.span)) for other in others if other.value != chosen.value]
    return any(_EITHER.fullmatch(text, first.end, second.start) for first, second in pairs)


# Words are compared, without capitals and punctuation. What an answer says before its first word and behind its last
# word of the text (`Here it is:`) is left out. The score is the normalised edit similarity of the two lists of words, 1
# - distance / length of the longer one (Levenshtein, as in Chroma's repeated words, there of characters).
_PARTIAL = 0.5


@rule("copy", 1, whole=True)
def copy_scorer(answer: str, reference: Reference) -> Score:
    """Score the copy of `answers[0]` (else of all `parts`), a text with `keyword` in it once.

    Details: `odd_present`; `odd_in_place`: the odd word stands once and where it should; `divergence`: the place of the
    first word (from 0) that differs or is missing, `None` for none; `length_ratio`: words of the copy to those of the
    text. In Chinese, `parts` are the words that the text is made of. A reference without a text raises `ValueError`.
    """
    known, odd = [word for word in map(normalize, reference.parts) if word], normalize(reference.keyword)
    right = _words(reference.answers[0] if reference.answers else "\n".join(reference.parts), known)
    if not right:
        raise ValueError("the reference has no text to be copied: give answers")
    vocabulary, copied = set(right), _words(answer, known)
    indexes = [index for index, word in enumerate(copied) if word in vocabulary]
    copied = copied[indexes[0] : indexes[-1] + 1] if indexes else []
    value = Levenshtein.normalized_similarity(right, copied)
    divergence = Prefix.similarity(right, copied)
    exact = right == copied
    details = {
        "odd_present": odd in copied,
        "odd_in_place": _indexes(copied, odd) == _indexes(right, odd),
        "divergence": None if exact else divergence,
        "length_ratio": round(len(copied) / len(right), 4),
    }
    why = "word for word" if exact else f"{len(copied)} words of {len(right)}, alike to word {divergence}"
    return Score(value, verdict_for(value, answer, partial_from=_PARTIAL), answer[:_SHOWN], why, details)


def _indexes(words: Sequence[str], wanted_word: str) -> list[int]:
    return [index for index, word in enumerate(words) if word == wanted_word]


def _words(text: str, known: Sequence[str]) -> list[str]:
    """The words of a text; in Chinese, those that are known and every other character."""
    longest = sorted((word for word in known if not word.isascii()), key=len, reverse=True)
    return re.findall("|".join(["[a-z0-9'-]+", *map(re.escape, longest), r"\w"]), normalize(text))


# LLMTest_NeedleInAHaystack and EvalScope have a model compare an answer with the needle. Here words do, by the rule of
# `documents`: of a needle those content words count that neither the question nor another needle has. Several needles:
# the share that is said.
@rule("needle_words", 2, whole=True)
def needle_words_scorer(answer: str, reference: Reference) -> Score:
    """Judge one answer by the needles: `reference.parts`, or `answers[0]`. `ValueError` without any."""
    needles = reference.parts or reference.answers[:1]
    if not needles:
        raise ValueError("the reference has no needle to compare with")
    texts = [
        _distinct_words(needle, (reference.question, *needles[:number], *needles[number + 1 :]))
        for number, needle in enumerate(needles)
    ]
    scores = [documents_score(answer, replace(reference, answers=(text,), parts=())) for text in texts]
    if len(scores) == 1:
        return scores[0]
    value = sum(score.value for score in scores) / len(scores)
    hits = sum(score.verdict == "found" for score in scores)
    missing = [text for text, score in zip(texts, scores, strict=True) if score.verdict != "found"]
    verdict = "partial" if 0 < hits < len(scores) else verdict_for(value, answer)
    details = {"missing": "; ".join(missing)}
    return Score(value, verdict, scores[0].answer, f"says {hits} of {len(scores)} needles", details)


@lru_cache(256)
def _distinct_words(needle: str, others: tuple[str, ...]) -> str:
    """The words of a needle that the others do not have; all of it if there are none."""
    known = frozenset[str]().union(*(content_words(text) for text in others if text))
    plain = normalize(needle)
    shown = {at for word, span in content_word_places(plain) if word not in known for at in range(*span)}
    return " ".join("".join(char if at in shown else " " for at, char in enumerate(plain)).split()) or needle


# The answer has to begin with the string that the question asks to prepend; white space, bold, quotes and fences around
# it change nothing. What follows is compared with the wanted piece and with the other pieces that the reference knows,
# by words: the piece that it is most like is the one that was given. The score is the likeness to the wanted piece
# where that was given, else 0, so that a text of the same kind earns nothing.
#
# Likeness: 1 - (insertions + deletions) / (length of both), the normalised Indel similarity of rapidfuzz.
_FENCE = re.compile(r"\A\s*`{3,}[^\n`]*\n(.*?)\n?`{3,}\s*\Z", re.DOTALL)
_AROUND = r"[\s*_`\"'“”‘’「」#>:：\u200b\ufeff-]*"
_EDGES = " \t\r\n*_`\"'“”‘’「」\u200b\ufeff"
_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORDS = re.compile(rf"[{_CJK}](?=(?P<next>[{_CJK}]?))|[^\W{_CJK}]+")
_LIKE = 0.5  # least likeness, by words, of an answer to the piece that it gives
_LEAD = 0.1  # how much more it is like that piece than any other one
_SAME = 0.98


@rule("mrcr", 1)
def mrcr_scorer(answer: str, reference: Reference) -> Score:
    """Score the piece behind the string: 0..1.

    `answers[0]`: the string and the wanted piece behind it. `given[0]`: the string; without it none is asked for.
    `distractors`: other pieces of the conversation, `kinds` what they are (`#2`). Details: `similarity` to the wanted
    piece whatever was given; `given`: `wanted`, the kind of the piece given, `other` for a piece without a kind, or
    `none`; `string`: whether the string stands first, later, or is missing.
    """
    string = reference.given[0] if reference.given else ""
    right = _flat(expected_text(reference).strip().removeprefix(string))
    if not _flat(answer):
        return Score(0.0, "empty", why="no text")
    piece, position = _split(answer, string)
    nearest = _nearest(piece, right, [_flat(text) for text in reference.distractors])
    kinds = {_flat(text): kind for text, kind in reference.kinds.items()}
    name = "none" if nearest is None else "wanted" if nearest == right else kinds.get(nearest, "other")
    similarity = Indel.normalized_similarity(piece, right)
    details: Details = {"similarity": round(similarity, 6), "given": name, "string": position}
    shown = piece[:_SHOWN]
    if position != "first":
        refused = name == "none" and is_refusal(normalize(answer[:4000]))
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


def _split(answer: str, string: str) -> tuple[str, str]:
    """The answer, flat and without the string, and the string's position: first, later, missing."""
    fenced = _FENCE.match(answer)
    text = unicodedata.normalize("NFC", fenced[1] if fenced else answer)
    if not string:
        return _flat(text), "first"
    if leading := re.match(rf"{_AROUND}{re.escape(string)}", text):
        return _flat(text[leading.end() :]), "first"
    before, match, after = text.rpartition(string)
    return _flat(after if match else before + after), "later" if match else "missing"


def _nearest(piece: str, right: str, others: Sequence[str]) -> str | None:
    """The piece that a text gives, the right one of those that are equal to it; `None`: no one."""
    words = _mrcr_words(piece)
    texts = dict.fromkeys((right, *others))
    likeness = {text: Indel.normalized_similarity(words, _mrcr_words(text)) for text in texts}
    best = max(likeness, key=likeness.__getitem__)  # the right one comes first
    second = max((value for text, value in likeness.items() if text != best), default=0.0)
    if piece == best or (likeness[best] >= _LIKE and (likeness[best] >= _SAME or likeness[best] - second >= _LEAD)):
        return best
    return None


def _mrcr_words(text: str) -> list[str]:
    """Words; of Chinese and Japanese, each character with the next."""
    return [match[0] + (match["next"] or "") for match in _WORDS.finditer(text)]


def _flat(text: str) -> str:
    """NFC, runs of white space as one space, nothing around it."""
    return " ".join(unicodedata.normalize("NFC", text).strip(_EDGES).split())
