"""`needle_words`: does an answer say what the needles say? For needles that come without a reference answer.

LLMTest_NeedleInAHaystack and EvalScope have a model compare an answer with the needle. Here words do, by the rule of
`documents`: of a needle those content words count that neither the question nor another needle has. Several needles:
the share that is said.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from needlework.scoring.answers.content_words import content_word_places, content_words
from needlework.scoring.answers.normalize import normalize
from needlework.scoring.scorers.documents import documents_score
from needlework.scoring.scores import Reference, Score, Scorer
from needlework.scoring.verdicts import verdict_for


def needle_words_score(answer: str, reference: Reference) -> Score:
    """Judge one answer by the needles: `reference.parts`, or one in `answers`. Without any it raises `ValueError`."""
    needles = reference.parts or reference.answers[:1]
    if not needles:
        raise ValueError("the reference has no needle to compare with")
    told = [_told(needle, (reference.question, *needles[:at], *needles[at + 1 :])) for at, needle in enumerate(needles)]
    scores = [documents_score(answer, replace(reference, answers=(text,), parts=())) for text in told]
    if len(scores) == 1:
        return scores[0]
    value = sum(score.value for score in scores) / len(scores)
    found = sum(score.verdict == "found" for score in scores)
    why = f"says {found} of {len(scores)} needles"
    missing = [text for text, score in zip(told, scores, strict=True) if score.verdict != "found"]
    verdict = "partial" if 0 < found < len(scores) else verdict_for(value, answer)
    return Score(value, verdict, scores[0].answer, why, {"missing": "; ".join(missing)})


NEEDLE_WORDS = Scorer("needle_words", 1, needle_words_score, whole=True)


@lru_cache(256)
def _told(needle: str, others: tuple[str, ...]) -> str:
    """What a needle says that the others do not, as it stands in it; all of it where that is nothing."""
    known = frozenset[str]().union(*(content_words(text) for text in others if text))
    plain = normalize(needle)
    runs: list[list[int]] = []
    for word, span in content_word_places(plain):
        if word in known:
            continue
        if runs and span.start <= runs[-1][1]:
            runs[-1][1] = span.end
        else:
            runs.append([span.start, span.end])
    return " ".join(plain[start:end] for start, end in runs) or needle
