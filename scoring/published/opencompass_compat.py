"""The published keyword rules, exactly as OpenCompass computes them, for comparison with published numbers.

| name | rule | defect it keeps |
|---|---|---|
| `cdme_multi_compat` | keyword in the squeezed prediction: 100, else 0.2 of the edit score | never with a space |
| `needlebench_v1_compat` | keyword in the raw prediction: 100, else 0.2 of the edit score | `Jackson`, `not Jack` |
| `needlebench_v2_compat` | keyword in the raw prediction: 100, else 0 | `Jackson`, `not Jack` |
| `needlebench_v1_multi_compat` | 100/n for each lower-case word found as a substring | `bring` has `ring` |
| `needlebench_parallel_compat` | 100/samples for each keyword, by depth | equal depths add up above 100 |
| `needlebench_atc_compat` | the boxed answer equals the reference | quotes leave the prediction only |

References are `answer*keyword` strings: a `*` inside either mis-parses, as published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needlework.scoring.published.atc import boxed_answer, is_same_name
from needlework.scoring.published.cdme import edit_score, squeeze
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import expected_keyword, expected_text, verdict_for

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
NEEDLEBENCH_ATC_COMPAT = Scorer("needlebench_atc_compat", 1, _judge_atc)
