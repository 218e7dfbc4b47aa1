"""The table of tasks in words: for the terminal, for Markdown and for the report."""

from __future__ import annotations

from collections.abc import Sequence

from needlework.results.statistics.tasks import Macro, Share, TaskScore
from needlework.results.style.fold import folded_table
from needlework.results.style.text import one_line, percent1
from needlework.results.tables.headline import range_words, score_and_interval

HEAD = (
    "task",
    "score %",
    "95 %",
    "n",
    "unscored",
    "focused %",
    "of focused %",
    "chance %",
    "floor %",
    "corrected %",
)
MEANINGS = {
    "focused %": "the same questions where the text is nothing but what the answer rests on",
    "of focused %": "the score as a share of the focused one",
    "chance %": "what guessing among the allowed answers scores",
    "floor %": "what the best answer that is always the same scores",
    "corrected %": "the score with chance at 0 and a full score at 100",
    "invents %": "of questions whose answer is not in the text, those that got one",
    "abstains %": "of questions whose answer is in the text, those that got none",
}
_TWINS = ("invents %", "abstains %")
_NONE = "–"
_WIDE = 1000  # columns of what is no terminal: a table stays in one piece


def task_columns(rows: Sequence[TaskScore], found: Sequence[Macro]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of the table, one row a task and one for each macro score. Columns that nothing fills are
    left out; where there are several models their name is the first column."""
    several = len({row.model for row in rows}) > 1
    table: list[tuple[str, ...]] = []
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == model]
        table += [(model, *_cells(row)) for row in own]
        table += [(model, *_macro(each)) for each in found if each.model == model]
    head = ("model", *HEAD, *_TWINS)
    always = {1, 2, 3, 4} | ({0} if several else set())
    shown = [
        at for at in range(len(head)) if at in always or (at > 4 and any(row[at] not in (_NONE, "") for row in table))
    ]
    return tuple(head[at] for at in shown), [tuple(row[at] for at in shown) for row in table]


def task_lines(
    rows: Sequence[TaskScore], found: Sequence[Macro], *, ascii_only: bool = False, width: int = _WIDE
) -> list[str]:
    """The table for a terminal of so many columns; nothing for a run of a single task without controls."""
    if len(rows) == len({row.model for row in rows}) and not any(row.focused.trials or row.twins for row in rows):
        return []
    head, table = task_columns(rows, found)
    left = sum(name in ("model", "task") for name in head)
    lines = list(folded_table((head, *table), left, width))
    notes = [f"{name}: {MEANINGS[name]}" for name in head if name in MEANINGS]
    told = [*lines, *notes, *missing_lines(found)]
    return [line.replace("–", "-") for line in told] if ascii_only else told


def missing_lines(found: Sequence[Macro]) -> list[str]:
    """Say why there is no macro score."""
    return [
        f"no macro score of {each.model}: nothing scored for {', '.join(each.missing)}"
        for each in found
        if each.missing
    ]


def _cells(row: TaskScore) -> tuple[str, ...]:
    overall = row.overall
    unscored = ", ".join(f"{count} {name}" for name, count in overall.unscored.items())
    twins = row.twins
    return (
        one_line(row.task),
        *score_and_interval(overall),
        str(overall.n),
        unscored,
        f"{_percent(row.focused.mean)} (n {row.focused.n})" if row.focused.trials else _NONE,
        _share(row.relative),
        _percent(row.chance),
        _percent(row.floor),
        _share(row.corrected) if row.chance else _NONE,
        _percent(twins.hallucination.value) if twins else _NONE,
        _percent(twins.needless.value) if twins else _NONE,
    )


def _macro(each: Macro) -> tuple[str, ...]:
    name = f"macro ({each.families} families, {each.tasks} tasks)"
    score, corrected = each.score, each.corrected
    ends = _NONE if score.low is None or score.high is None else f"{_number(score.low)}–{_number(score.high)}"
    told = _share_value(score), ends
    if each.range is not None:
        scored = _NONE if score.value is None else f"scored {_number(score.value)}"
        told = range_words(each.range), scored if ends == _NONE else f"{scored} ({ends})"
    return (name, *told, "", "", _NONE, _NONE, _NONE, _NONE, _share(corrected), _NONE, _NONE)


def _percent(value: float | None) -> str:
    return _NONE if value is None else percent1(value)


def _number(value: float) -> str:
    """A share in percent that may lie beyond 0 and 100."""
    return percent1(value) if 0 <= value <= 1 else f"{100 * value:.1f}"


def _share_value(share: Share) -> str:
    return _NONE if share.value is None else _number(share.value)


def _share(share: Share) -> str:
    if share.value is None or share.low is None or share.high is None:
        return _share_value(share)
    return f"{_number(share.value)} ({_number(share.low)}–{_number(share.high)})"
