"""A panel in words, and all panels as a table."""

from collections.abc import Iterable

from needlework.core.record import NOTHING_SAID, UNDECIDED, UNSCORED, OutcomeName
from needlework.results.records.samples import task_of
from needlework.results.report.adaptive import answer
from needlework.results.report.section import GLOSSARY, Table
from needlework.results.statistics.effective_length import EffectiveLength
from needlework.results.statistics.intervals import FEW
from needlework.results.statistics.panels import NEEDLEWORK, Panel, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.wording import range_words, rate_words, score_and_interval, unscored_words
from needlework.results.style import NONE, counted

UNEVEN = "no score over all lengths: each was asked as often as it took"
_TASKS: dict[str, str] = GLOSSARY["titles"]["tasks"]
_QUESTIONS: dict[str, str] = GLOSSARY["titles"]["questions"]


def task_title(task: str) -> str:
    """Return a task by the name that people read."""
    return _TASKS.get(task_of(task), task)


def question_title(panel: Panel) -> str:
    """Return what the questions of a panel are about."""
    return _QUESTIONS.get(panel.needle, panel.needle) if task_of(panel.task) in _TASKS else panel.needle


def unscored_of(tallies: Iterable[Tally]) -> list[OutcomeName]:
    """Return the outcomes without a score that occur, in the order of `UNSCORED`."""
    occurring = {name for tally in tallies for name in tally.unscored}
    return [name for name in UNSCORED if name in occurring]


def panels_table(report: RunReport, *, with_model: bool = True) -> Table:
    """Return a row for each panel: its score, its trials without a score, and how far the model reads."""
    adaptive = {(each.model, each.task, each.needle): answer(each) for each in reversed(report.adaptive)}
    reaches = [
        adaptive.get(panel.key, _length(row.absolute or row.relative))
        for panel, row in zip(report.panels, report.statistics, strict=True)
    ]
    lost = unscored_of(panel.overall for panel in report.panels)
    rows = []
    for panel, length in zip(report.panels, reaches, strict=True):
        tally, names = panel.overall, (task_title(panel.task), question_title(panel) or NONE)
        score = (NONE, NONE) if panel.uneven else score_and_interval(tally)
        counts = [str(tally.n), *(str(tally.counts[name]) for name in lost)]
        rows.append((*[panel.model] * with_model, *names, *score, *counts, *[length or NONE] * any(reaches)))
    head = [*["model"] * with_model, "task", "asked about", "score %", "95 %", "n", *lost]
    return Table("", (*head, *["effective length"] * any(reaches)), tuple(rows), with_model + 2)


def _length(rule: EffectiveLength | None) -> str:
    if rule is None or rule.few:
        return ""
    return rule.answer if rule.status == "at least" else f"{rule.answer} ({rule.between})"


def headline(panel: Panel) -> str:
    """`score 87.5 % (95 % interval 81.0–92.1), n = 96 · 20 cells of 5 trials · 1 error`; a foreign system.

    Where answers are undecided the score is a range, and that of the scored ones comes second: `score 70.0–80.0 % (10
    censored of 100: all missed to all hit) · of the scored 77.8 % (95 % interval 68.3–85.1), n = 90 · ...`. Where the
    answers decided how often each length was asked there is none.
    """
    overall = panel.overall
    score = f"{UNEVEN}, n = {overall.n}" if panel.uneven else score_words(overall)
    parts = [score, _cells(panel), *_counts(overall)]
    if panel.source != NEEDLEWORK:
        parts.append(f"data: {panel.source}")
    if panel.context_alone:
        parts.append("lengths are of the context alone")
    if panel.note:
        parts.append(panel.note)
    return " · ".join(parts)


def score_words(tally: Tally) -> str:
    """`score 87.5 % (95 % interval 81.0–92.1), n = 96`; or a range, and the score of the other trials."""
    if tally.range is None:
        return f"score {_mean_words(tally)}" if tally.n else "no score, n = 0"
    undecided = {name: count for name in UNDECIDED if (count := tally.counts[name])}
    of = f"{unscored_words(undecided)} of {tally.n + sum(undecided.values())}: all missed to all hit"
    scored = f"of the scored {_mean_words(tally)}" if tally.n else "none scored"
    return f"score {range_words(tally.range)} % ({of}) · {scored}"


def _mean_words(tally: Tally) -> str:
    words = rate_words(tally.share, tally.n, "one sample: says nothing of others")
    return f"{words} from {counted(tally.samples, 'sample')}" if tally.samples < min(FEW, tally.n) else words


def scored_of(cell: Tally) -> str:
    """The trials that a cell's score counts: `4`, or `3/4` where some have none."""
    return str(cell.n) if cell.n == cell.trials else f"{cell.n}/{cell.trials}"


def _cells(panel: Panel) -> str:
    sizes = {cell.trials for cell in panel.cells.values()}
    trials = f"{min(sizes)}–{max(sizes)}" if len(sizes) > 1 else str(*sizes)
    cells = counted(len(panel.cells), "cell")
    if panel.source != NEEDLEWORK and sizes == {1}:  # other systems give the mean of a cell
        return cells
    return f"{cells} of {trials} trial{'' if trials == '1' else 's'}"


def _counts(overall: Tally) -> list[str]:
    failed = {outcome: count for outcome, count in overall.unscored.items() if outcome not in UNDECIDED}
    nothing = {outcome: count for outcome in NOTHING_SAID if (count := overall.counts[outcome])}
    every = "" if overall.unscored else "every trial scored"
    return list(filter(None, (every, unscored_words(failed), unscored_words(nothing))))
