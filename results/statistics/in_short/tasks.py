"""Several tasks of a model as clauses: their mean, the lowest and the highest."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.in_short.parts import ends_words, range_words
from needlework.results.statistics.panels import Tally
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.style.text import one_line, percent1

_LISTED = 4  # scores, of which each is named


def task_clauses(rows: Sequence[TaskScore], macro: Macro | None, means: Sequence[str] = ()) -> list[str]:
    """`scores 54.3 % (95 % sure: ...) as the mean of 9 kinds of tasks`, `from ... to ..., on 20 tasks`.

    `means`: what to say in place of a macro score, where there is none.
    """
    mean = _macro(macro) if macro is not None else ""
    parts = [mean] if mean else list(means)
    told = spread([(f"on {row.task}", row.overall) for row in rows], f"on {len(rows)} tasks")
    return [*parts, *(told if parts else [f"scores {each}" for each in told]), *_no_mean(macro, means)]


def _no_mean(found: Macro | None, means: Sequence[str]) -> list[str]:
    """Why several kinds of tasks have no mean."""
    if found is None or means or not found.missing or found.range is not None:
        return []
    more = f" and {len(found.missing) - 1} more" if len(found.missing) > 1 else ""
    have = "has" if len(found.missing) == 1 else "have"
    return [f"no mean over {found.families} kinds of tasks, as {one_line(found.missing[0])}{more} {have} no score"]


def _macro(found: Macro) -> str:
    over = f"as the mean of {found.families} kinds of tasks"
    if found.range is not None:
        return f"scores {range_words(found.range)} {over}"
    score = found.score
    if score.value is None:
        return ""
    ends = f" ({ends_words(score.low, score.high)})" if score.low is not None and score.high is not None else ""
    return f"scores {percent1(min(1.0, max(0.0, score.value)))} %{ends} {over}"


def spread(scores: Sequence[tuple[str, Tally]], where: str) -> list[str]:
    """`25.0 % on chain, 90.0 % on niah`, from the lowest on; of many scores the lowest and the highest of them.

    `scores`: with the words that follow each; `where`: the words that follow all of them.
    """
    known = sorted(
        ((found.mean, one_line(name)) for name, found in scores if found.mean is not None and found.range is None)
    )
    if len(known) < 2:
        return []
    (low, worst), (high, best) = known[0], known[-1]
    if low == high:
        return [f"{percent1(low)} % each {where}"]
    if len(known) <= _LISTED:
        return [", ".join(f"{percent1(score)} % {name}" for score, name in known)]
    return [f"from {percent1(low)} % {worst} to {percent1(high)} % {best}, {where}"]
