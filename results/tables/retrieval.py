"""The table of retrievers in words: for the terminal, for Markdown and for the report."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.absent import Rate
from needlework.results.statistics.panels import Tally
from needlework.results.statistics.retrieval import ArmScore, Paired
from needlework.results.style.text import one_line, percent1
from needlework.results.tables.columns import NONE, aligned
from needlework.results.tables.comparison import points1
from needlework.results.tables.headline import score_and_interval

MEANINGS = {
    "whole %": "the same questions on the documents as they are",
    "vs whole": "the difference in points, over questions scored in both ways",
    "recall %": "of questions whose document is known, those with a chunk of it among the ones shown",
    "MRR": "mean of 1 / the place of its first chunk, 0 for none",
    "words %": "the reference's content words that were retrieved, of those that the documents have",
    "if found %": "the score where a chunk of the answer's document was shown",
    "if missed %": "the score where none was",
    "tokens": "of the prompt, on average, and of that with the documents as they are",
}
_ALWAYS = ("task", "retriever", "score %", "n")
_NAMES = ("model", "task", "retriever")


def retrieval_columns(rows: Sequence[ArmScore]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of the table. Columns that nothing fills are left out; where there are several models
    their name is the first column."""
    table = [_cells(row) for row in rows]
    always = (*_ALWAYS, *(("model",) if len({row.model for row in rows}) > 1 else ()))
    filled = {name for row in table for name, text in row.items() if text != NONE} - {"model"}
    head = [name for name in (table[0] if table else ()) if name in always or name in filled]
    return tuple(head), [tuple(row[name] for name in head) for row in table]


def retrieval_lines(rows: Sequence[ArmScore], *, ascii_only: bool = False) -> list[str]:
    """The table for a terminal, and what its words mean; nothing for a run without retrievers."""
    if not rows:
        return []
    head, table = retrieval_columns(rows)
    lines = [*aligned([head, *table], sum(name in _NAMES for name in head))]
    lines += [f"{name}: {MEANINGS[name]}" for name in head if name in MEANINGS]
    lines += notes(rows)
    return [line.replace("–", "-").replace("−", "-") for line in lines] if ascii_only else lines


def notes(rows: Sequence[ArmScore]) -> list[str]:
    """What a reader of the rows must know: chunks that an embedder did not read to their end."""
    return [
        f"{one_line(row.task)}, {one_line(row.retriever)}: the embedder read only the beginning of some chunks in "
        f"{row.cut} trials; use a smaller --chunk-size"
        for row in rows
        if row.cut
    ]


def _cells(row: ArmScore) -> dict[str, str]:
    score = row.score
    told, interval = score_and_interval(score, NONE)
    shown = row.retriever if row.k is None else f"{row.retriever}, {row.k}"
    return {
        "model": one_line(row.model),
        "task": one_line(row.task),
        "retriever": one_line(shown),
        "score %": told,
        "95 %": interval,
        "n": str(score.n),
        "unscored": ", ".join(f"{count} {name}" for name, count in score.unscored.items()) or NONE,
        "whole %": _percent(row.paired.whole) if row.paired else NONE,
        "vs whole": _difference(row.paired, score.n) if row.paired else NONE,
        "recall %": _rate(row.recall, score.n),
        "MRR": NONE if row.reciprocal_rank.value is None else f"{row.reciprocal_rank.value:.2f}",
        "words %": _rate(row.answer_recall, score.n),
        "if found %": _tally(row.found),
        "if missed %": _tally(row.missed),
        "tokens": _tokens(row.paired) if row.paired else NONE,
    }


def _percent(value: float | None) -> str:
    return NONE if value is None else percent1(value)


def _rate(rate: Rate, usual: int) -> str:
    """A rate with its interval, and its n where that is not the usual one."""
    if rate.value is None:
        return NONE
    if rate.low is None or rate.high is None:
        return f"{percent1(rate.value)} (no interval{_n(rate.n, usual)})"
    return f"{percent1(rate.value)} ({percent1(rate.low)}–{percent1(rate.high)}{_n(rate.n, usual)})"


def _tally(found: Tally) -> str:
    if found.mean is None:
        return NONE
    if found.interval is None:
        return f"{percent1(found.mean)} (no interval, n {found.n})"
    return f"{percent1(found.mean)} ({percent1(found.interval.low)}–{percent1(found.interval.high)}, n {found.n})"


def _difference(paired: Paired, usual: int) -> str:
    found = paired.difference
    if found.low is None or found.high is None:
        return f"{points1(found.mean)} (no interval{_n(found.n, usual)})"
    return f"{points1(found.mean)} ({points1(found.low)} to {points1(found.high)}{_n(found.n, usual)})"


def _n(n: int, usual: int) -> str:
    return "" if n == usual else f", n {n}"


def _tokens(paired: Paired) -> str:
    return f"{paired.arm_tokens:,.0f} / {paired.whole_tokens:,.0f}"
