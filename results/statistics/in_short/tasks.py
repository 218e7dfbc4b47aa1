"""Several tasks of a model as clauses: their mean, the lowest and the highest."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.in_short.parts import ends_words, range_words
from needlework.results.statistics.panels import Tally
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.style.text import one_line, percent1


def task_clauses(rows: Sequence[TaskScore], macro: Macro | None, means: Sequence[str] = ()) -> list[str]:
    """`scores 54.3 % (95 % sure: ...) as the mean of 9 kinds of tasks`, `on 20 tasks, from ... to ...`.

    `means`: what to say in place of a macro score, where there is none.
    """
    mean = _macro(macro) if macro is not None else ""
    parts = [mean] if mean else list(means)
    lead = f"{'' if parts else 'scores, '}on {len(rows)} tasks, "
    return [*parts, *spread([(row.task, row.overall) for row in rows], lead)]


def _macro(found: Macro) -> str:
    over = f"as the mean of {found.families} kinds of tasks"
    if found.range is not None:
        return f"scores {range_words(found.range)} {over}"
    score = found.score
    if score.value is None:
        return ""
    ends = f" ({ends_words(score.low, score.high)})" if score.low is not None and score.high is not None else ""
    return f"scores {percent1(min(1.0, max(0.0, score.value)))} %{ends} {over}"


def spread(scores: Sequence[tuple[str, Tally]], lead: str) -> list[str]:
    """`from 10.0 % (chain) to 90.0 % (niah)`: the lowest and the highest that were seen."""
    known = sorted(
        ((found.mean, one_line(name)) for name, found in scores if found.mean is not None and found.range is None)
    )
    if len(known) < 2:
        return []
    (low, worst), (high, best) = known[0], known[-1]
    if low == high:
        return [f"{lead or 'on each part '}{percent1(low)} % each"]
    return [f"{lead}from {percent1(low)} % ({worst}) to {percent1(high)} % ({best})"]
