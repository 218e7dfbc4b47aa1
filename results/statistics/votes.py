"""Votes of several answers to one question."""

from collections.abc import Iterator, Sequence
from math import fsum, sqrt
from typing import Literal

from msgspec import Struct

from needlework.core.record import SCORED, Record
from needlework.results.records.samples import grouped
from needlework.results.statistics.paired import Difference, mean_difference
from needlework.results.statistics.panels import Rate, rate_of
from needlework.scoring.plain_text import content_words

# The medoid is the answer with the highest mean cosine similarity to the others, of equal ones that of the lowest
# repeat (snorkel's long-context-eval calls it medoid voting, by embeddings). Here answers are bags of content words: no
# model is asked, and the same answers elect the same one. Two ways to take K answers from the same trials:
#
# * `moved`: each at another depth of the answer document, as a random order of all documents would have it;
# * `fixed`: all at one depth, only the other documents are reordered. This is the control.
CONTROL = 25.0
"""Percent: the depth of the published control."""


class Vote(Struct, frozen=True):
    """Votes of `of` answers each, of one task and arm."""

    task: str
    arm: str
    ways: Literal["moved", "fixed"]
    depth: float | None  # percent, where the answer document stands in each of them; `None` for all depths
    of: int
    n: int  # votes
    incomplete: int  # groups with an answer that has no score, which are left out
    voted: Rate  # score of the elected answers
    single: Rate  # score of all answers that were voted on
    gain: Difference | None  # voted - single, paired by question
    requests: int  # that the votes took; a single order takes the `of`-th part
    tokens: int  # of prompts and answers


def votes(records: Sequence[Record], of: int) -> tuple[Vote, ...]:
    """Return the votes of one model's records, by task and arm; nothing where `of` (answers a vote) is 0."""
    if not of:
        return ()
    series = grouped(
        (record for record in records if "focused" not in record.arm.split("_")),
        lambda record: (record.task, record.arm),
    )
    rows: list[Vote] = []
    for name, trials in sorted(series.items()):
        depths = sorted({record.depth for record in trials if record.depth is not None})
        fixed = list(_groups(trials, of, moved=False))
        if len(depths) > 1:
            rows.append(_vote(name, "moved", None, of, list(_groups(trials, of, moved=True))))
        rows.append(_vote(name, "fixed", depths[0] if len(depths) == 1 else None, of, fixed))
        if len(depths) > 1 and CONTROL in depths:
            control = [group for group in fixed if group[0].depth == CONTROL]
            rows.append(_vote(name, "fixed", CONTROL, of, control))
    return tuple(row for row in rows if row.n or row.incomplete)


def medoid(answers: Sequence[str]) -> int:
    """Return the index of the answer whose words are most like the others', the first of equal ones.

    Blank answers are like each other and nothing else.
    """
    words = [content_words(answer) for answer in answers]
    # Equal sums of other orders of the same terms are equal: `fsum` is exact.
    means = [
        fsum(_cosine(one, other) for at, other in enumerate(words) if at != here) for here, one in enumerate(words)
    ]
    return means.index(max(means))


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    if not one or not other:
        return float(one == other)
    return len(one & other) / sqrt(len(one) * len(other))


def _groups(records: Sequence[Record], of: int, *, moved: bool) -> Iterator[tuple[Record, ...]]:
    """The trials that vote together: one of each of `of` repeats of a question, at equal or moved depths."""
    questions = grouped(records, lambda record: (record.needle, record.length))
    for _, same_question in sorted(questions.items()):
        trials = {(record.repeat, record.depth): record for record in same_question}
        depths = sorted({depth for _, depth in trials}, key=lambda depth: -1.0 if depth is None else depth)
        rounds = (1 + max(repeat for repeat, _ in trials)) // of
        for first in range(0, rounds * of, of):
            for start in range(len(depths)):
                at = [(first + turn, depths[(start + turn * moved) % len(depths)]) for turn in range(of)]
                if all(each in trials for each in at):
                    yield tuple(trials[each] for each in at)


def _vote(
    name: tuple[str, str],
    ways: Literal["moved", "fixed"],
    depth: float | None,
    of: int,
    groups: Sequence[tuple[Record, ...]],
) -> Vote:
    complete = [group for group in groups if all(record.outcome in SCORED for record in group)]
    questions = [group[0].item for group in complete]
    scores = [[record.score or 0.0 for record in group] for group in complete]
    elected = [
        marks[medoid([record.response.text for record in group])] for group, marks in zip(complete, scores, strict=True)
    ]
    task, arm = name
    return Vote(
        task=task,
        arm=arm or "whole",
        ways=ways,
        depth=depth,
        of=of,
        n=len(complete),
        incomplete=len(groups) - len(complete),
        voted=rate_of(elected, questions),
        single=rate_of([score for marks in scores for score in marks], [each for each in questions for _ in range(of)]),
        gain=mean_difference([best - fsum(marks) / of for best, marks in zip(elected, scores, strict=True)], questions),
        requests=of * len(complete),
        tokens=sum(
            (record.response.prompt_tokens or record.prompt.tokens) + (record.response.completion_tokens or 0)
            for group in complete
            for record in group
        ),
    )
