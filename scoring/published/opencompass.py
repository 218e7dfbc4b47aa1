"""Rules of OpenCompass: CDME, NeedleBench, ATC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from needlework.scoring.match.match import affirms
from needlework.scoring.plain_text import normalize_value
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_keyword, expected_text, verdict_for

# A hit is a whole, affirmed occurrence (`values`, `polarity`) after normalisation: `Jack` is not in `Jackson`, nor in
# `it is not Jack`; a keyword may hold spaces and `*`; an answer that repeats the prompt is no hit (`match`). The exact
# published rules, shortcuts included, are in `keyword_compat`.
MISS_SHARE = 0.2
_SHOWN = 200
# `\textbf{..}`, `\mathrm{..}`: how a box is written, not what is in it.
_STYLED = re.compile(r"\\(?:text|math)[a-z]*\s*\{([^{}]*)\}")
_SPACED_BOX = re.compile(r"\\boxed\s+(?=\{)")


def _keyword(answer: str, reference: Reference) -> Score:
    """100 for a hit, else 0.2 of the edit-distance score (CDME multi and NeedleBench v1, corrected)."""
    keyword = expected_keyword(reference)
    if affirms(answer, keyword, reference):
        return Score(1.0, "found", keyword, "keyword found whole")
    value = MISS_SHARE * edit_score(answer, expected_text(reference)).score / 100
    return Score(value, verdict_for(value, answer), answer[:_SHOWN], "keyword not found: 0.2 of the edit score")


def _binary(answer: str, reference: Reference) -> Score:
    """100 for a hit, else 0 (NeedleBench v2 single retrieval, corrected)."""
    keyword = expected_keyword(reference)
    if affirms(answer, keyword, reference):
        return Score(1.0, "found", keyword, "keyword found whole")
    return Score(0.0, verdict_for(0.0, answer), answer[:_SHOWN], "keyword not found")


def _words(answer: str, reference: Reference) -> Score:
    """The share of the keyword's words that stand in the answer (NeedleBench v1 multi reasoning, corrected)."""
    words = expected_keyword(reference).split()
    found = [word for word in words if affirms(answer, word, reference)]
    value = len(found) / len(words) if words else 0.0
    return Score(
        value, verdict_for(value, answer, partial_from=0), " ".join(found), f"{len(found)} of {len(words)} words"
    )


def _parallel(answer: str, reference: Reference) -> Score:
    """The share of needles whose keyword is given (NeedleBench multi retrieval, corrected: depths never collide)."""
    parts = reference.parts or (expected_keyword(reference),)
    found = [affirms(answer, part, reference) for part in parts]
    value = sum(found) / len(parts)
    given = ", ".join(part for part, hit in zip(parts, found, strict=True) if hit)
    return Score(
        value,
        verdict_for(value, answer, partial_from=0),
        given[:_SHOWN],
        f"{sum(found)} of {len(parts)} keywords",
        {f"part{number}": hit for number, hit in enumerate(found)},
    )


def _boxed(answer: str, reference: Reference) -> Score:
    r"""The last `\boxed{...}` equals an accepted answer (NeedleBench v2 M-RS and ATC, corrected).

    Both sides are normalised alike, so that names with an apostrophe can match, in bold or not. What is in the box
    tells whether the answer declines, not what was thought before it.
    """
    accepted = reference.answers or (expected_keyword(reference),)
    boxed = boxed_answer(_STYLED.sub(r"\1", _SPACED_BOX.sub(r"\\boxed", answer)))
    given = normalize_value(boxed.replace("'", ""))
    if given and any(given == normalize_value(normalize_value(text).replace("'", "")) for text in accepted):
        return Score(1.0, "found", boxed, "the boxed answer is right")
    why = f"boxed {boxed[:60]!r}" if boxed != NOTHING else "no boxed answer"
    said = answer if boxed == NOTHING else boxed
    wrong = {normalize_value(normalize_value(text).replace("'", "")) for text in reference.distractors}
    return Score(0.0, "distractor" if given in wrong else verdict_for(0.0, said), boxed[:_SHOWN], why)


def edit_score(prediction: str, reference: str, *, trim: bool = False) -> EditScore:
    """Score one prediction 0..100 by its edit distance to the reference."""
    left, right = _prepare(prediction, reference, trim)
    distance = Levenshtein.distance(left, right)
    longest = max(len(left), len(right))
    return EditScore(100 * (1 - distance / longest) if longest else 100.0, distance, left, right)


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


def _prepare(prediction: str, reference: str, trim: bool) -> tuple[str, str]:
    left, right = squeeze(prediction), squeeze(reference)
    return (trim_prediction(left, right) if trim else left), right


def squeeze(text: str) -> str:
    """Remove all white space; the same characters as `re.sub(r"\\s+", "", text)`."""
    return "".join(text.split())


def trim_prediction(prediction: str, reference: str) -> str:
    """Cut a squeezed prediction to about the reference's length (CDME's `use_trim`)."""
    shortest = int(0.8 * len(reference))
    trimmed = prediction[: int(1.2 * len(reference))]
    at = trimmed.find(reference[-1], shortest) if reference else -1
    return trimmed[: at + 1] if at >= 0 else trimmed


KEYWORD = Scorer("keyword", 5, _keyword)
CDME_MULTI = Scorer("cdme_multi", 5, _keyword)
NEEDLEBENCH_V1 = Scorer("needlebench_v1", 5, _keyword)
NEEDLEBENCH_V1_MULTI = Scorer("needlebench_v1_multi", 5, _words)
NEEDLEBENCH_V2 = Scorer("needlebench_v2", 5, _binary)
NEEDLEBENCH_PARALLEL = Scorer("needlebench_parallel", 5, _parallel)


def boxed_answer(text: str) -> str:
    r"""Return the cleaned content of the last `\boxed{...}`, or `None` as text (needlebench_atc_postprocess_v2)."""
    inner = _last_box(text)
    doubled = _DOUBLED.match(inner)
    inner = doubled[1] if doubled else inner
    return _clean(inner) if inner and inner != NOTHING else NOTHING


def _clean(text: str) -> str:
    for command in _COMMANDS:
        text = command.sub(r"\1", text)
    # A back slash goes, and a display bracket `\[` or `\]` with it.
    text = re.sub(r"\\[\[\]]", "", text).replace("\\", "")
    text = _SPACES.sub(" ", text).strip()
    return text.replace('"', "").replace("'", "").replace("~", " ")


_COMMANDS = (re.compile(r"\\text\{([^}]+)\}"), re.compile(r"\\boxed\{([^}]+)\}"))
_SPACES = re.compile(r"\s+")
_DOUBLED = re.compile(r"\{(.*)\}$")


# Rule: the last `\boxed{...}` (balanced braces, one doubled pair removed), cleaned of LaTeX commands, back slashes,
# quotes and tildes, must equal the reference exactly. Anything without such a box is the text `None`.
NOTHING = "None"


def _last_box(text: str) -> str:
    start = text.rfind(_BOX)
    if start < 0 or not text.startswith("{", start + len(_BOX)):
        return ""
    opening = start + len(_BOX)
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[opening + 1 : place]
    return ""


_BOX = r"\boxed"


NEEDLEBENCH_ATC = Scorer("needlebench_atc", 3, _boxed)


# | name | rule | defect it keeps |
# |---|---|---|
# | `cdme_multi_compat` | keyword in the squeezed prediction: 100, else 0.2 of the edit score | never with a space |
# | `needlebench_v1_compat` | keyword in the raw prediction: 100, else 0.2 of the edit score | `Jackson`, `not Jack` |
# | `needlebench_v2_compat` | keyword in the raw prediction: 100, else 0 | `Jackson`, `not Jack` |
# | `needlebench_v1_multi_compat` | 100/n for each lower-case word found as a substring | `bring` has `ring` |
# | `needlebench_parallel_compat` | 100/samples for each keyword, by depth | equal depths add up above 100 |
# | `needlebench_atc_compat` | the boxed answer equals the reference | quotes leave the prediction only |
#
# References are `answer*keyword` strings: a `*` inside either mis-parses, as published.
_MISS_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class KeywordScore:
    """One item: the score 0..100, whether the keyword hit, and what the edit distance compared."""

    score: float
    hit: bool
    edit_distance: int
    prediction: str
    answer: str


@dataclass(frozen=True, slots=True)
class WordsScore:
    """One item of the multi-reasoning rule: the score 0..100 and how many words of the keyword matched."""

    score: float
    matched: int


@dataclass(frozen=True, slots=True)
class ParallelScore:
    """Multi retrieval: points 0..100 by depth, and their average. Published keys are `Depth0` .. `average_score`."""

    by_depth: dict[int, float]
    average: float


def cdme_multi_compat(prediction: str, reference: str) -> KeywordScore:
    """CDME multi (`cdme_multi.py`): the keyword is looked for in the prediction without white space."""
    return _keyword_or_edit(prediction, squeeze(prediction), reference)


def needlebench_v1_compat(prediction: str, reference: str) -> KeywordScore:
    """NeedleBench v1 single retrieval (`needlebench/origin.py`): the keyword is looked for in the raw prediction."""
    return _keyword_or_edit(prediction, prediction, reference)


def needlebench_v2_compat(prediction: str, reference: str) -> KeywordScore:
    """NeedleBench v2 single retrieval (`needlebench_v2/origin.py`): 100 if the keyword is in it, else 0."""
    result = _keyword_or_edit(prediction, prediction, reference)
    return KeywordScore(
        100.0 if result.hit else 0.0, result.hit, result.edit_distance, result.prediction, result.answer
    )


def needlebench_v1_multi_compat(prediction: str, reference: str) -> WordsScore:
    """NeedleBench v1 multi reasoning (`needlebench/multi.py`): each lower-case word of the keyword is worth 100/n."""
    pieces = reference.split("*")
    if len(pieces) != 2:
        raise ValueError(f"a reference is answer*keyword, this has {len(pieces)} pieces: {reference[:80]!r}")
    words = pieces[1].lower().split()
    said = prediction.lower()
    matched = sum(word in said for word in words)
    return WordsScore(100 / len(words) * matched if words else 0.0, matched)


def needlebench_parallel_compat(predictions: Sequence[str], gold: Sequence[str]) -> ParallelScore:
    """NeedleBench multi retrieval (`parallel.py`, v1, v2): gold is `key*key#depth*depth`, the first has the depths."""
    if len(predictions) != len(gold):
        raise ValueError("predictions and gold have different lengths")
    if not gold:
        raise ValueError("no gold to take depths from")
    depths = [int(depth) for depth in _pieces(gold[0], "#")[1].split("*")]
    points: dict[int, float] = dict.fromkeys(depths, 0.0)
    for prediction, reference in zip(predictions, gold, strict=True):
        # Keywords and depths may differ in number: the longer list's rest is not looked at.
        for keyword, depth in zip(reference.split("#")[0].split("*"), depths, strict=False):
            if keyword in prediction:
                points[depth] += 100 / len(predictions)
    return ParallelScore(points, sum(points.values()) / len(points))


def _keyword_or_edit(prediction: str, searched: str, reference: str) -> KeywordScore:
    answer, keyword = _pieces(reference, "*")[:2]
    edit = edit_score(prediction, answer)
    hit = keyword in searched
    score = 100.0 if hit else _MISS_SHARE * edit.score
    return KeywordScore(score, hit, edit.distance, edit.prediction, edit.reference)


def _pieces(reference: str, mark: str) -> list[str]:
    pieces = reference.split(mark)
    if len(pieces) < 2:
        raise ValueError(f"the reference has no {mark!r}: {reference[:80]!r}")
    return pieces


def _joined(reference: Reference) -> str:
    return f"{expected_text(reference)}*{expected_keyword(reference)}"


def _from_points(points: float, answer: str, why: str, partial_from: float = 0.5) -> Score:
    value = points / 100
    return Score(value, verdict_for(value, answer, partial_from=partial_from), answer[:200], why)


def _judge_cdme_multi(answer: str, reference: Reference) -> Score:
    result = cdme_multi_compat(answer, _joined(reference))
    return _from_points(result.score, answer, f"keyword {'in' if result.hit else 'not in'} the squeezed answer")


def _judge_v1(answer: str, reference: Reference) -> Score:
    result = needlebench_v1_compat(answer, _joined(reference))
    return _from_points(result.score, answer, f"keyword {'in' if result.hit else 'not in'} the raw answer")


def _judge_v2(answer: str, reference: Reference) -> Score:
    result = needlebench_v2_compat(answer, _joined(reference))
    return _from_points(result.score, answer, f"keyword {'in' if result.hit else 'not in'} the raw answer")


def _judge_v1_multi(answer: str, reference: Reference) -> Score:
    result = needlebench_v1_multi_compat(answer, _joined(reference))
    return _from_points(result.score, answer, f"{result.matched} words of the keyword in the answer", 0)


def _judge_parallel(answer: str, reference: Reference) -> Score:
    parts = reference.parts or (expected_keyword(reference),)
    matched = sum(part in answer for part in parts)
    return _from_points(100 * matched / len(parts), answer, f"{matched} of {len(parts)} keywords in the answer", 0)


def _judge_atc(answer: str, reference: Reference) -> Score:
    boxed = boxed_answer(answer)
    right = is_same_name(boxed, expected_keyword(reference))
    return Score(float(right), verdict_for(float(right), answer), boxed[:200], f"boxed {boxed[:60]!r}")


CDME_MULTI_COMPAT = Scorer("cdme_multi_compat", 1, _judge_cdme_multi)
NEEDLEBENCH_V1_COMPAT = Scorer("needlebench_v1_compat", 1, _judge_v1)
NEEDLEBENCH_V1_MULTI_COMPAT = Scorer("needlebench_v1_multi_compat", 1, _judge_v1_multi)
NEEDLEBENCH_V2_COMPAT = Scorer("needlebench_v2_compat", 1, _judge_v2)
NEEDLEBENCH_PARALLEL_COMPAT = Scorer("needlebench_parallel_compat", 1, _judge_parallel)


def is_same_name(prediction: str, gold: str) -> bool:
    """Compare as ATC does: equal but for white space at the ends. Quotes were removed from the prediction only."""
    return prediction.strip() == gold.strip()


NEEDLEBENCH_ATC_COMPAT = Scorer("needlebench_atc_compat", 1, _judge_atc)


def levenshtein(first: str, second: str) -> int:
    """Count the insertions, deletions and substitutions of code points that make `second` of `first`."""
    return Levenshtein.distance(first, second)


def edit_scores(predictions: Sequence[str], references: Sequence[str], *, trim: bool = False) -> list[float]:
    """Score many pairs 0..100; the same numbers as `edit_score`, in one call to rapidfuzz."""
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions but {len(references)} references")
    if not predictions:
        return []
    pairs = [_prepare(left, right, trim) for left, right in zip(predictions, references, strict=True)]
    lefts = [left for left, _ in pairs]
    rights = [right for _, right in pairs]
    distances = cpdist(lefts, rights, scorer=Levenshtein.distance, dtype=np.int64)
    longest = np.array([max(len(left), len(right)) for left, right in pairs], dtype=np.int64)
    scores = 100 * (1 - distances / np.maximum(longest, 1))
    return [float(score) for score in np.where(longest == 0, 100.0, scores)]


def batch_mean(scores: Sequence[float]) -> float:
    """Average as CDME does: a sum from left to right over the count, 0 for no scores."""
    return sum(scores) / len(scores) if scores else 0.0


def _judge(answer: str, reference: Reference, trim: bool) -> Score:
    expected = expected_text(reference)
    result = edit_score(answer, expected, trim=trim)
    value = result.score / 100
    # Any answer has some letters of the right one, so the score does not say whether it is right: the keyword does.
    known = squeeze(expected_keyword(reference)) in squeeze(answer)
    verdict = "found" if known else verdict_for(0.0, answer)
    details: dict[str, float | str | int | bool | None]
    details = {"edit_distance": result.distance, "compared_with": expected}
    return Score(value, verdict, result.prediction[:200], f"edit distance {result.distance}", details)


CDME = Scorer("cdme", 2, lambda answer, reference: _judge(answer, reference, False))
CDME_TRIM = Scorer("cdme_trim", 2, lambda answer, reference: _judge(answer, reference, True))


def atc_score(predictions: Sequence[str], gold: Sequence[str]) -> float:
    """Return the percentage of post-processed predictions that equal their gold name (NeedleBenchATCEvaluator)."""
    if len(predictions) != len(gold):
        raise ValueError("predictions and gold have different lengths")
    right = sum(is_same_name(left, name) for left, name in zip(predictions, gold, strict=True))
    return right / len(predictions) * 100 if predictions else 0.0
