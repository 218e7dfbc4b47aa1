"""Votes of several answers to one question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Literal

import numpy as np

from needlework.core.record import SCORED, Record
from needlework.results.records.journal import AnswerVectors
from needlework.results.records.samples import grouped
from needlework.results.statistics.absent import Rate, rate_of
from needlework.results.statistics.paired import Difference, mean_difference
from needlework.scoring.content_words import content_words

# The medoid is the answer with the highest mean cosine similarity to the others, of equal ones that of the lowest
# repeat (snorkel's long-context-eval calls it medoid voting). Answers are bags of content words, and nothing is asked;
# with `--vote-by embeddings`, as published, they are vectors. The same answers elect the same one. Two ways to take K
# answers from the same trials:
#
# * `moved`: each at another depth of the answer document, as a random order of all documents would have it;
# * `fixed`: all at one depth, only the other documents are reordered. This is the control.
_DIGITS = 5  # of a cosine that two machines agree on
Ways = Literal["moved", "fixed"]
WORDS = "words"
CONTROL = 25.0
"""Percent: the depth of the published control."""


@dataclass(frozen=True, slots=True)
class Vote:
    """Votes of `of` answers each, of one task and arm.

    `depth`: percent, where the answer document stands in each of them; `None` for all depths. `n`: votes; `incomplete`:
    groups with an answer that has no score, which are left out. `voted`, `single`: the score of the elected answers,
    and of all that were voted on. `gain`: their difference, paired by question. `requests`, `tokens`: what the votes
    took, prompts and answers; a single order takes the `of`-th part. `by`: what answers are alike in, `words` or an
    embedder.
    """

    task: str
    arm: str
    ways: Ways
    depth: float | None
    of: int
    n: int
    incomplete: int
    voted: Rate
    single: Rate
    gain: Difference | None
    requests: int
    tokens: int
    by: str = WORDS


def votes(records: Sequence[Record], of: int, vectors: AnswerVectors | None = None) -> tuple[Vote, ...]:
    """Return the votes of one model's records, by task and arm; nothing where `of` (answers a vote) is 0.

    `vectors`: of the answers; without one of them all vote by words.
    """
    if not of:
        return ()
    if vectors is not None and vectors.of([text for record in records if (text := _answer(record)).strip()]) is None:
        vectors = None
    searched = [record for record in records if "focused" not in record.arm.split("_")]
    series = grouped(searched, lambda record: (record.task, record.arm))
    found: list[Vote] = []
    for (task, arm), own in sorted(series.items()):
        depths = sorted({record.depth for record in own if record.depth is not None})
        fixed = list(_groups(own, of, moved=False))
        if len(depths) > 1:
            found.append(_vote(task, arm, "moved", None, of, list(_groups(own, of, moved=True)), vectors))
        found.append(_vote(task, arm, "fixed", depths[0] if len(depths) == 1 else None, of, fixed, vectors))
        if len(depths) > 1 and CONTROL in depths:
            control = [group for group in fixed if group[0].depth == CONTROL]
            found.append(_vote(task, arm, "fixed", CONTROL, of, control, vectors))
    return tuple(each for each in found if each.n or each.incomplete)


def medoid(answers: Sequence[str], vectors: AnswerVectors | None = None) -> int:
    """Return the place of the answer that is most like the others: in their vectors where there are any, else in words.

    Of answers that are as like as another but for rounding, the first.
    """
    if vectors is not None:
        return _by_vectors(answers, vectors)
    words = [content_words(answer) for answer in answers]
    means = [
        fsum(_cosine(one, other) for at, other in enumerate(words) if at != here) for here, one in enumerate(words)
    ]
    # Equal sums of other orders of the same terms are equal: `fsum` is exact.
    return means.index(max(means))


def _by_vectors(answers: Sequence[str], vectors: AnswerVectors) -> int:
    """Blank answers have no vector: they are like each other and like nothing else."""
    said = [at for at, answer in enumerate(answers) if answer.strip()]
    likeness = np.eye(len(answers))
    blank = [at for at in range(len(answers)) if at not in said]
    likeness[np.ix_(blank, blank)] = 1
    found = vectors.of([answers[at] for at in said]) if said else None
    if found is not None:
        sizes = np.linalg.norm(found, axis=1, keepdims=True)
        unit = np.divide(found, sizes, out=np.zeros_like(found), where=sizes > 0).astype(np.float64)
        likeness[np.ix_(said, said)] = unit @ unit.T
    # Equal answers have equal rows but for the last digits.
    return int(np.argmax((likeness.sum(axis=1) - likeness.diagonal()).round(_DIGITS)))


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    """Of bags of words; blank answers are like each other and like nothing else."""
    if not one or not other:
        return float(one == other)
    return len(one & other) / sqrt(len(one) * len(other))


def _groups(records: Sequence[Record], of: int, *, moved: bool) -> Iterator[tuple[Record, ...]]:
    """The trials that vote together: one of each of `of` repeats of a question, at one depth or each at the next."""
    places: dict[tuple[str, int], dict[tuple[int, float | None], Record]] = {}
    for record in records:
        place = places.setdefault((record.needle, record.length), {})
        place[record.repeat, record.depth] = record
    for _, trials in sorted(places.items()):
        depths = sorted({depth for _, depth in trials}, key=lambda depth: -1.0 if depth is None else depth)
        rounds = (1 + max(repeat for repeat, _ in trials)) // of
        for first in range(0, rounds * of, of):
            for start in range(len(depths)):
                at = [(first + turn, depths[(start + turn * moved) % len(depths)]) for turn in range(of)]
                if all(each in trials for each in at):
                    yield tuple(trials[each] for each in at)


def _vote(
    task: str,
    arm: str,
    ways: Ways,
    depth: float | None,
    of: int,
    groups: Sequence[tuple[Record, ...]],
    vectors: AnswerVectors | None,
) -> Vote:
    whole = [group for group in groups if all(record.outcome in SCORED for record in group)]
    names = [group[0].item for group in whole]
    scores = [[record.score or 0.0 for record in group] for group in whole]
    places = [medoid([_answer(record) for record in group], vectors) for group in whole]
    elected = [group[place] for group, place in zip(scores, places, strict=True)]
    gains = [score - fsum(group) / of for score, group in zip(elected, scores, strict=True)]
    return Vote(
        task=task,
        arm=arm or "whole",
        ways=ways,
        depth=depth,
        of=of,
        n=len(whole),
        incomplete=len(groups) - len(whole),
        voted=rate_of(elected, names),
        single=rate_of([score for group in scores for score in group], [name for name in names for _ in range(of)]),
        gain=mean_difference(gains, names),
        requests=of * len(whole),
        tokens=sum(_tokens(record) for group in whole for record in group),
        by=vectors.embedder if vectors is not None else WORDS,
    )


def _answer(record: Record) -> str:
    return record.response.text


def _tokens(record: Record) -> int:
    response = record.response
    return (response.prompt_tokens or record.prompt.tokens) + (response.completion_tokens or 0)
