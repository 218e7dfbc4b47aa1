"""What can be had without reading: answers that never saw a document."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from needlework.scoring.leval.exact_core import OPTIONS

DECLINED = "I do not know."


def blind_answers(rule: str, questions: Sequence[str], golds: Sequence[str]) -> list[list[str]]:
    """Sets of one answer for each question: the best of them under a rule is its floor.

    Exams: the same answer to every question, each option or each reference in turn, no answer in words, and a lone
    point. F1 and ROUGE: the question itself, and no answer in words.
    """
    if rule in ("leval_f1", "leval_rouge"):
        return [list(questions), [DECLINED] * len(golds)]
    if rule in ("leval_letter", "leval_letters"):
        most = 1 if rule == "leval_letter" else len(OPTIONS)
        same = ["".join(some) for size in range(1, most + 1) for some in combinations(OPTIONS, size)]
    else:
        same = list(dict.fromkeys(golds))
    return [[answer] * len(golds) for answer in (*same, DECLINED, ".")]
