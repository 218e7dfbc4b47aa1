"""Rules of OpenCompass: CDME, NeedleBench, ATC; each as published (`_compat`) and corrected."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import regex
from rapidfuzz.distance import Levenshtein

from needlework.scoring.match.match import affirms
from needlework.scoring.plain_text import normalize_value
from needlework.scoring.reading import verdict_for
from needlework.scoring.scores import Details, Reference, Score, Scorer, expected_keyword, expected_text, rule

MISS_SHARE = 0.2
"""What a missed keyword earns of the edit-distance score."""
_SHOWN = 200


# Formula: all white space is removed from both; `100 * (1 - levenshtein / max(len))`, 100 when both are empty. Code
# points, unit costs. `trim` first cuts the prediction to `int(1.2 * len(reference))` characters, then behind the first
# character equal to the reference's last at or after `int(0.8 * len(reference))`.
@dataclass(frozen=True, slots=True)
class EditScore:
    """One pair: the score 0..100, the distance, and the two strings that were compared."""

    score: float
    distance: int
    prediction: str
    reference: str


def edit_score(prediction: str, reference: str, *, trim: bool = False) -> EditScore:
    """Score one prediction 0..100 by its edit distance to the reference."""
    left, right = squeeze(prediction), squeeze(reference)
    if trim:
        left = left[: int(1.2 * len(right))]
        end = left.find(right[-1], int(0.8 * len(right))) if right else -1
        left = left[: end + 1] if end >= 0 else left
    distance = Levenshtein.distance(left, right)
    longest = max(len(left), len(right))
    return EditScore(100 * (1 - distance / longest) if longest else 100.0, distance, left, right)


def squeeze(text: str) -> str:
    """Remove all white space; the same characters as `re.sub(r"\\s+", "", text)`."""
    return "".join(text.split())


def _cdme(answer: str, reference: Reference, *, trim: bool) -> Score:
    expected = expected_text(reference)
    result = edit_score(answer, expected, trim=trim)
    # Any answer has some letters of the right one, so the score does not say whether it is right: the keyword does.
    known = squeeze(expected_keyword(reference)) in squeeze(answer)
    verdict = "found" if known else verdict_for(0.0, answer)
    details: Details = {"edit_distance": result.distance, "compared_with": expected}
    return Score(result.score / 100, verdict, result.prediction[:_SHOWN], f"edit distance {result.distance}", details)


CDME = Scorer("cdme", 2, partial(_cdme, trim=False))
CDME_TRIM = Scorer("cdme_trim", 2, partial(_cdme, trim=True))


# Corrected: a hit is a whole, affirmed occurrence as `match` finds it: `Jack` is not in `Jackson`, nor in `it is not
# Jack`; a keyword may hold spaces and `*`; an answer that repeats the prompt is no hit.
def _by_keyword(answer: str, reference: Reference, *, miss_share: float) -> Score:
    keyword = expected_keyword(reference)
    if affirms(answer, keyword, reference):
        return Score(1.0, "found", keyword, "keyword found whole")
    value = miss_share * edit_score(answer, expected_text(reference)).score / 100
    return Score(value, verdict_for(value, answer), answer[:_SHOWN], f"no keyword: {miss_share:g} of the edit score")


def _share(
    answer: str,
    reference: Reference,
    *,
    words_of: Callable[[Reference], list[str]],
    is_hit: Callable[[str, str, Reference], bool],
    what: str,
) -> Score:
    """The share of the wanted words or keywords that count as hits; details say which."""
    words = words_of(reference)
    hits = [is_hit(answer, word, reference) for word in words]
    value = sum(hits) / len(words) if words else 0.0
    shown = " ".join(word for word, hit in zip(words, hits, strict=True) if hit)[:_SHOWN]
    why = f"{sum(hits)} of {len(words)} {what}"
    details = {f"part{number}": hit for number, hit in enumerate(hits)}
    return Score(value, verdict_for(value, answer, partial_from=0), shown, why, details)


def _keywords(reference: Reference) -> list[str]:
    return list(reference.parts) or [expected_keyword(reference)]


KEYWORD, CDME_MULTI, NEEDLEBENCH_V1 = (
    Scorer(name, 5, partial(_by_keyword, miss_share=MISS_SHARE)) for name in ("keyword", "cdme_multi", "needlebench_v1")
)
NEEDLEBENCH_V2 = Scorer("needlebench_v2", 5, partial(_by_keyword, miss_share=0))
_affirmed = partial(_share, is_hit=affirms)
_by_word = partial(_affirmed, words_of=lambda reference: expected_keyword(reference).split(), what="words")
NEEDLEBENCH_V1_MULTI = Scorer("needlebench_v1_multi", 5, _by_word)
NEEDLEBENCH_PARALLEL = Scorer("needlebench_parallel", 5, partial(_affirmed, words_of=_keywords, what="keywords"))


# | name | rule as published | defect it keeps |
# |---|---|---|
# | `cdme_multi_compat` | keyword in the squeezed prediction: 100, else 0.2 of the edit score | never with a space |
# | `needlebench_v1_compat` | keyword in the raw prediction: 100, else 0.2 of the edit score | `Jackson`, `not Jack` |
# | `needlebench_v2_compat` | keyword in the raw prediction: 100, else 0 | `Jackson`, `not Jack` |
# | `needlebench_v1_multi_compat` | 100/n for each lower-case word found as a substring | `bring` has `ring` |
# | `needlebench_parallel_compat` | 100/samples for each keyword, by depth | equal depths add up above 100 |
# | `needlebench_atc_compat` | the boxed answer equals the reference | quotes leave the prediction only |
#
# References are `answer*keyword` strings: a `*` inside either mis-parses, as published.
def _published(answer: str, reference: Reference, miss_share: float, *, squeezed: bool = False) -> Score:
    statement, keyword = _pieces(reference)[:2]
    searched = squeeze(answer) if squeezed else answer
    hit = keyword in searched
    value = 1.0 if hit else miss_share * edit_score(answer, statement).score / 100
    why = f"keyword {'in' if hit else 'not in'} the {'raw' if searched == answer else 'squeezed'} answer"
    return Score(value, verdict_for(value, answer), answer[:_SHOWN], why)


def _pieces(reference: Reference) -> list[str]:
    return f"{expected_text(reference)}*{expected_keyword(reference)}".split("*")


@rule("needlebench_v1_multi_compat", 1)
def published_words_scorer(answer: str, reference: Reference) -> Score:
    pieces = _pieces(reference)
    if len(pieces) != 2:
        raise ValueError(f"a reference is answer*keyword, this has {len(pieces)} pieces: {'*'.join(pieces)[:80]!r}")
    words, what = pieces[1].lower().split(), "words of the keyword in the answer"
    return _share(answer.lower(), reference, words_of=lambda _reference: words, is_hit=_contains, what=what)


def _contains(answer: str, word: str, _reference: Reference) -> bool:
    return word in answer


CDME_MULTI_COMPAT = Scorer("cdme_multi_compat", 1, partial(_published, miss_share=MISS_SHARE, squeezed=True))
NEEDLEBENCH_V1_COMPAT = Scorer("needlebench_v1_compat", 1, partial(_published, miss_share=MISS_SHARE))
NEEDLEBENCH_V2_COMPAT = Scorer("needlebench_v2_compat", 1, partial(_published, miss_share=0))
_published_parallel = partial(_share, words_of=_keywords, is_hit=_contains, what="keywords in the answer")
NEEDLEBENCH_PARALLEL_COMPAT = Scorer("needlebench_parallel_compat", 1, _published_parallel)

# ATC: the last `\boxed{...}` (balanced braces, one doubled pair removed), cleaned of LaTeX commands, back slashes,
# quotes and tildes, must equal the reference exactly. Anything without such a box is the text `None`.
NOTHING = "None"
_BOX = r"\boxed"
_BRACES = regex.compile(r"\{((?>[^{}]+|\{(?1)\})*+)\}")
_COMMANDS = (re.compile(r"\\text\{([^}]+)\}"), re.compile(r"\\boxed\{([^}]+)\}"))
# `\textbf{..}`, `\mathrm{..}`: how a box is written, not what is in it.
_STYLED = re.compile(r"\\(?:text|math)[a-z]*\s*\{([^{}]*)\}")
_SPACED_BOX = re.compile(r"\\boxed\s+(?=\{)")


def boxed_answer(text: str) -> str:
    r"""Clean the content of the last `\boxed{...}`, or `None` as text (needlebench_atc_postprocess_v2)."""
    box = _BRACES.match(text, text.rfind(_BOX) + len(_BOX)) if _BOX in text else None
    inner = box[1] if box else ""
    doubled = re.match(r"\{(.*)\}$", inner)
    inner = doubled[1] if doubled else inner
    if not inner or inner == NOTHING:
        return NOTHING
    for command in _COMMANDS:
        inner = command.sub(r"\1", inner)
    # A back slash goes, and a display bracket `\[` or `\]` with it.
    inner = re.sub(r"\s+", " ", re.sub(r"\\[\[\]]", "", inner).replace("\\", "")).strip()
    return inner.replace('"', "").replace("'", "").replace("~", " ")


@rule("needlebench_atc", 3)
def atc_scorer(answer: str, reference: Reference) -> Score:
    """Both sides are normalised alike, so that names with an apostrophe can match, in bold or not.

    What is in the box tells whether the answer declines, not what was thought before it.
    """
    accepted = reference.answers or (expected_keyword(reference),)
    boxed = boxed_answer(_STYLED.sub(r"\1", _SPACED_BOX.sub(r"\\boxed", answer)))
    stated = normalize_value(boxed.replace("'", ""))
    if stated and any(stated == normalize_value(normalize_value(text).replace("'", "")) for text in accepted):
        return Score(1.0, "found", boxed, "the boxed answer is right")
    why = f"boxed {boxed[:60]!r}" if boxed != NOTHING else "no boxed answer"
    shown = answer if boxed == NOTHING else boxed
    wrong = {normalize_value(normalize_value(text).replace("'", "")) for text in reference.distractors}
    return Score(0.0, "distractor" if stated in wrong else verdict_for(0.0, shown), boxed[:_SHOWN], why)


@rule("needlebench_atc_compat", 1)
def published_atc_scorer(answer: str, reference: Reference) -> Score:
    boxed = boxed_answer(answer)
    value = float(boxed.strip() == expected_keyword(reference).strip())
    return Score(value, verdict_for(value, answer), boxed[:_SHOWN], f"boxed {boxed[:60]!r}")
