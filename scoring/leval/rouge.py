"""ROUGE-1, -2 and -L of an answer (package rouge-score, without stemming, F-measure), as L-Eval runs it.

A score's value is ROUGE-L; its details have `rouge1`, `rouge2`, `rougeL`, and `rougeLsum` where the sentence model is
installed (`sentences`). The strict score differs on Chinese only, of which rouge-score's own words have nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from math import fsum
from types import MappingProxyType
from typing import Any

from needlework.scoring.leval.exact_core import SHOWN, gold_of
from needlework.scoring.leval.sentences import by_line
from needlework.scoring.leval.words import REMEDY, MissingPackageError, SpacedWords, Tokenizer, has_chinese
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import verdict_for

PUBLISHED = ("rouge1", "rouge2", "rougeL")
SUMMARY = "rougeLsum"
_MISSING = f"ROUGE needs rouge-score: {REMEDY}"


@lru_cache(maxsize=1_024)  # both rules ask for the same
def rouge(answer: str, gold: str, *, chinese: bool = False) -> Mapping[str, float]:
    """The F-measures, 0..1, by name. Raises `MissingPackageError`."""
    sentences = None if chinese else (by_line(gold), by_line(answer))
    if sentences is None or None in sentences:
        scores = _scorer(PUBLISHED, chinese).score(gold, answer)
    else:
        scores = _scorer((*PUBLISHED, SUMMARY), chinese).score(*sentences)
    return MappingProxyType({name: float(score.fmeasure) for name, score in scores.items()})


def of_itself(text: str) -> dict[str, float]:
    """As `rouge(text, text)`, without the time that takes: 1 for all that a text has enough words for."""
    words = len((SpacedWords() if has_chinese(text) else _english()).tokenize(text))
    return {name: float(words >= (2 if name == "rouge2" else 1)) for name in (*PUBLISHED, SUMMARY)}


def geometric_mean(means: Mapping[str, float]) -> float:
    """L-Eval's `LEval_score`: the cube root of the product of the means of ROUGE-1, -2 and -L."""
    return float((means["rouge1"] * means["rouge2"] * means["rougeL"]) ** (1 / 3))


@cache
def _english() -> Tokenizer:
    try:
        from rouge_score.tokenizers import DefaultTokenizer
    except ImportError:
        raise MissingPackageError(_MISSING) from None
    tokenizer: Tokenizer = DefaultTokenizer(use_stemmer=False)
    return tokenizer


@cache
def _scorer(names: tuple[str, ...], chinese: bool) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise MissingPackageError(_MISSING) from None
    return RougeScorer(list(names), use_stemmer=False, tokenizer=SpacedWords() if chinese else None)


def _judge(answer: str, reference: Reference, *, strict: bool) -> Score:
    golds = reference.answers or (gold_of(reference),)
    found = [rouge(answer, gold, chinese=strict and has_chinese(answer, gold)) for gold in golds]
    best = max(found, key=lambda scores: fsum(scores[name] for name in PUBLISHED))
    value = min(1.0, best["rougeL"])
    verdict = verdict_for(value, answer, partial_from=0.0)
    return Score(value, verdict, answer[:SHOWN], f"ROUGE-L {value:.4f}", dict(best))


ROUGE = Scorer("leval_rouge", 1, lambda answer, reference: _judge(answer, reference, strict=True))
ROUGE_COMPAT = Scorer("leval_rouge_compat", 1, lambda answer, reference: _judge(answer, reference, strict=False))
