"""Tables in Markdown: the scores, for pages of CI runs, and any other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from needlework.results.adaptive.statement import Statement
from needlework.results.records.record import UNSCORED
from needlework.results.statistics.length.answer import EffectiveLength
from needlework.results.statistics.panels import Panel
from needlework.results.statistics.summary_rows import PanelStatistics
from needlework.results.style.text import one_line
from needlework.results.tables.adaptive import answer
from needlework.results.tables.headline import score_and_interval

_HEAD = ("model · task · needle", "score %", "95 % interval", "n", *UNSCORED, "effective length (95 %)")


def panel_table(
    panels: Sequence[Panel], statistics: Sequence[PanelStatistics], adaptive: Sequence[Statement] = ()
) -> list[str]:
    """Return a row for each panel: its score with interval and n, the trials without a score, how far it reads."""
    found = {(each.model, each.task, each.needle): each for each in statistics}
    walked = {(each.model, each.task, each.needle): answer(each) for each in reversed(adaptive)}
    rows = []
    for panel in panels:
        overall = panel.overall
        counts = (str(overall.counts[name]) for name in UNSCORED)
        statistic = found.get((panel.model, panel.task, panel.needle))
        reads = "–" if statistic is None or statistic.absolute is None else _length(statistic.absolute)
        reads = walked.get((panel.model, panel.task, panel.needle), reads)
        score = ("–", "–") if panel.uneven else score_and_interval(overall)
        rows.append((panel.name, *score, str(overall.n), *counts, reads))
    return table(_HEAD, rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    return [_row(head), f"|{'---|' * len(head)}", *map(_row, rows)]


def _length(found: EffectiveLength) -> str:
    certain = found.status == "at least" or found.longest_tested is None or found.few
    return found.answer if certain else f"{found.answer} ({found.between})"


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(one_line(text).replace('|', chr(92) + '|') for text in texts)} |"
