"""Rules of RULER and EvalScope."""

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import fsum

from needlework.scoring.match.match import match_score
from needlework.scoring.plain_text import find_whole, normalize_lines, normalize_value
from needlework.scoring.published import data_sets
from needlework.scoring.reading import verdict_for
from needlework.scoring.scorers.sets import choice_letter_scorer, counted, f1_details, listed_beside, node_set_scorer
from needlework.scoring.scorers.values import mrcr_scorer
from needlework.scoring.scores import Reference, Score, Scorer, Verdict, expected_text, rule

# RULER (`string_match_all`, `string_match_part`): values count wherever they stand in the answer as text, in
# capitals or not: in longer numbers and words, in denials, among any number of wrong ones. `ruler_strict` wants whole,
# affirmed values, and takes off for every further one; both compatible rules tell its score in their details.
_CONTROLS = re.compile(r"[\x00-\x1f]")
_SHOWN = 160


def postprocessed(answer: str) -> str:
    """The answer as RULER looks at it: trimmed, control characters as line ends."""
    return _CONTROLS.sub("\n", answer.strip()).strip()


def _published_scorer(name: str, value_of: Callable[[int, int], float]) -> Scorer:
    """A rule as published, with the strict score in its details. `value_of`: of the values in the answer, and of all.

    Of several values all parts count, of one answer every spelling. A reference without a value raises `ValueError`.
    """

    def judge(answer: str, reference: Reference) -> Score:
        values = reference.parts or reference.answers
        if not values:
            raise ValueError("the reference has no value to match: give answers or parts")
        text, strict = postprocessed(answer).lower(), strict_score(answer, reference)
        hits = [value for value in values if value.lower() in text]
        value = value_of(len(hits), len(values))
        # A miss may be a hit for the strict rule (`1,234,567` for 1234567), or unclear to it.
        missed: Verdict = strict.verdict if strict.value == 0 and strict.verdict != "unclear" else "wrong"
        verdict: Verdict = "found" if value == 1 else "partial" if value else missed
        why = f"{len(hits)} of {len(values)} stand in the answer" if hits else strict.why
        details = {"strict": None if strict.verdict == "unclear" else round(strict.value, 4)}
        return Score(value, verdict, (", ".join(hits) or strict.answer)[:_SHOWN], why, details)

    return Scorer(name, 1, judge)


def strict_score(answer: str, reference: Reference) -> Score:
    """Judge one answer: `match` for one value; F1 for several, with other listed values too many.

    Too many are known wrong values, numbers and codes of the same shape, and items of one word in a list that are not
    wanted. Details: `recall`, `precision` and `extra` where several are wanted.
    """
    base = match_score(answer, reference)
    if len(reference.parts) < 2 or base.verdict in ("empty", "refused", "unclear"):
        return base
    hits, values = int(base.details.get("parts_found") or 0), list(map(normalize_value, reference.parts))
    extra = max(int(base.details.get("extra") or 0), len(listed_beside(normalize_lines(answer), values)))
    parts = len(reference.parts)
    value, details = 2 * hits / (parts + hits + extra), f1_details(hits, parts, extra)
    del details["f1"]
    verdict: Verdict = base.verdict if not hits else "found" if value == 1 else "partial"
    why = counted(hits, parts, extra, "values") if hits else base.why
    return replace(base, value=value, verdict=verdict, why=why, details=details)


RULER_ALL = _published_scorer("ruler_all", lambda hits, of: hits / of)
RULER_PART = _published_scorer("ruler_part", lambda hits, _of: float(hits > 0))
RULER_STRICT = Scorer("ruler_strict", 6, strict_score)


# EvalScope's rule wants the whole needle text: a correct short answer scores 0 (`exact_match_compat`). `exact_match`
# also takes an accepted spelling of the value; `normalized_match` wants one of them anywhere in the answer.
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def squash(text: str) -> str:
    """Remove ASCII punctuation and lower-case articles, merge spaces; capitals stay."""
    return " ".join(_ARTICLES.sub(" ", text.translate(_NO_PUNCTUATION)).split())


def normalize_answer(text: str) -> str:
    """Normalise as EvalScope and SQuAD do: lower case, no ASCII punctuation, no a/an/the, single spaces."""
    return squash(text.lower())


def rule_score(prediction: str, reference: str) -> int:
    """EvalScope's rule: 1 if the normalised texts are equal; 0 for an empty prediction."""
    left = normalize_answer(prediction)
    return int(bool(left) and left == normalize_answer(reference))


@rule("exact_match_compat", 1)
def exact_compat_scorer(answer: str, reference: Reference) -> Score:
    value = float(rule_score(answer, expected_text(reference)))
    return Score(value, verdict_for(value, answer), answer[:200], "equal" if value else "not the whole needle text")


@rule("exact_match", 1)
def exact_scorer(answer: str, reference: Reference) -> Score:
    if any(rule_score(answer, text) for text in _accepted(reference)):
        return Score(1.0, "found", answer[:200], "equal to an accepted text")
    return Score(0.0, verdict_for(0.0, answer), answer[:200], "equal to no accepted text")


@rule("normalized_match", 1)
def contained_scorer(answer: str, reference: Reference) -> Score:
    plain = normalize_answer(answer)
    for text in map(normalize_answer, _accepted(reference)):
        if find_whole(plain, text):
            return Score(1.0, "found", text, f"contains {text[:80]!r}")
    return Score(0.0, verdict_for(0.0, answer), answer[:200], "contains no accepted text")


def _accepted(reference: Reference) -> tuple[str, ...]:
    texts = tuple(text for text in (reference.statement, *reference.answers) if text.strip())
    return texts or (expected_text(reference),)


# The score is the sound one. Details have each other rule's as `as_NAME`, 0..1; of MRCR also `noise`: what the
# published ratio gives, on average, for any of the pieces that were written for the ask, the wanted one among them.
AS = "as_"


def _beside(
    name: str, sound: Scorer, others: Mapping[str, Scorer], ratio: Callable[[str, str], float] | None = None
) -> Scorer:
    """`ratio`: the published likeness of two pieces, for the noise of MRCR."""

    def judge(answer: str, reference: Reference) -> Score:
        score = sound.judge(answer, reference)
        details = {f"{AS}{name}": other.judge(answer, reference).value for name, other in others.items()}
        if ratio is not None and reference.kinds:
            # The mean ratio of the pieces of the ask to the wanted one (eval_hub's noise rate over relevant pieces).
            right = expected_text(reference).strip().removeprefix(data_sets.string_of(reference)).strip()
            pieces = [text for text in reference.distractors if text in reference.kinds]
            details["noise"] = fsum((1.0, *(ratio(text, right) for text in pieces))) / (len(pieces) + 1)
        return replace(score, details={**score.details, **details})

    return Scorer(name, 1, judge, whole=sound.whole)


OPENAI_MRCR = _beside(
    "openai_mrcr",
    mrcr_scorer,
    {"card": data_sets.MRCR_CARD, "openbench": data_sets.MRCR_OPENBENCH, "evalscope": data_sets.MRCR_EVALSCOPE},
    data_sets.ratio,
)
DEEPMIND_MRCR = _beside(
    "deepmind_mrcr", mrcr_scorer, {"deepmind": data_sets.DEEPMIND}, lambda piece, right: data_sets.ratio(right, piece)
)
GRAPHWALKS = _beside(
    "graphwalks",
    node_set_scorer,
    {
        "openbench": data_sets.OPENBENCH,
        "lm_eval": data_sets.LM_EVAL,
        "lm_eval_flexible": data_sets.LM_EVAL_FLEXIBLE,
        "card": data_sets.CARD,
    },
)
_LETTERS = {"authors": data_sets.AUTHORS, "evalscope": data_sets.EVALSCOPE}
LONGBENCH_V2 = _beside("longbench_v2", choice_letter_scorer, _LETTERS)
