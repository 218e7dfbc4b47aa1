"""F1 of the words of an answer (`f1.py` of L-Eval, as SQuAD).

Words are what remains of the text in small letters without ASCII punctuation and a/an/the; the best of several
references counts. The strict score differs on Chinese only, which the published rule takes for one word between two
spaces.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from needlework.scoring.leval.exact_core import SHOWN, gold_of
from needlework.scoring.leval.words import has_chinese, spaced
from needlework.scoring.published.evalscope import normalize_answer
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import verdict_for

Words = Callable[[str], list[str]]


def f1(said: list[str], wanted: list[str]) -> float:
    """F1 of two bags of words, 0..1; 0 where they share none."""
    shared = (Counter(said) & Counter(wanted)).total()
    return 2 * shared / (len(said) + len(wanted)) if shared else 0.0


def english_words(text: str) -> list[str]:
    """The words of a text as SQuAD counts them."""
    return normalize_answer(text).split()


def words(text: str) -> list[str]:
    """As `english_words`, with Chinese cut into words."""
    return english_words(spaced(text) if has_chinese(text) else text)


def _judge(answer: str, reference: Reference, split: Words) -> Score:
    said = split(answer)
    golds = reference.answers or (gold_of(reference),)
    value = max(f1(said, split(gold)) for gold in golds)
    verdict = verdict_for(value, answer, partial_from=0.0)
    return Score(value, verdict, answer[:SHOWN], f"F1 {value:.4f} of {len(said)} words", {"f1": value})


F1 = Scorer("leval_f1", 1, lambda answer, reference: _judge(answer, reference, words))
F1_COMPAT = Scorer("leval_f1_compat", 1, lambda answer, reference: _judge(answer, reference, english_words))
