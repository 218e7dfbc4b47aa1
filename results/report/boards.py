"""Leaderboards and histories: their sections."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from needlework.core.record import UNSCORED
from needlework.results.report.charts import history_chart, score_lines
from needlework.results.report.comparison import score_cell
from needlework.results.report.section import Chart, Section, Table, chart_name, filled_table
from needlework.results.statistics.leaderboard import Board, BoardEntry, BoardSeries, ModelRun, ScoreChange
from needlework.results.statistics.paired import LEVEL, samples_for_p
from needlework.results.statistics.wording import p_words, points1, score_and_interval, share_cell, unscored_words
from needlework.results.style import NONE, counted, length_labels, percent1

_DRAWN = 7  # lines that a picture can hold apart


def board_sections(boards: Sequence[Board]) -> list[Section]:
    """Return a section for each board: its table, the score over length, notes."""
    tasks = [board.task for board in boards]
    sections = []
    for number, board in enumerate(boards, start=1):
        rows = [
            (
                str(best) if best == worst else f"{best}–{worst}",
                f"{run.name} *" if run.name in board.differences else run.name,
                run,
            )
            for run, (best, worst) in board.rows
        ]
        table = _runs_table(("rank", "model"), board.task, rows)
        charts = _board_charts(board, str(number) if tasks.count(board.task) > 1 else "")
        sections.append(Section(_board_title(board), (table,), notes=tuple(_board_notes(board)), charts=charts))
    return sections


def _board_title(board: Board) -> str:
    """`niah: 12 trials of 6 samples, 300 to 600 tokens, scored by match@4`."""
    entry, lengths = board.first, length_labels(list(board.first.by_length))
    parts = [f"{counted(entry.overall.trials, 'trial')} of {counted(len(entry.sums), 'sample')}"]
    if lengths:
        first, last = lengths[0], lengths[-1]
        parts.append(f"{first} tokens" if first == last else f"{first} to {last} tokens")
    if entry.scorers:
        parts.append(f"scored by {', '.join(sorted(entry.scorers))}")
    return f"{board.task}: {', '.join(parts)}"


def _runs_table(head: tuple[str, str], task: str, rows: Sequence[tuple[str, str, ModelRun]]) -> Table:
    """A row for each run: rank or date, name, results in the task; all have the same lengths."""
    entries = [run.entries[task] for _, _, run in rows]
    names = ("area % (95 %)", "effective length (95 %)", "prompt tokens", "answer tokens")
    times = ("seconds an answer", "seconds, slowest 5 %", "dollars")
    columns = ("score % (95 %)", "misses counted", *length_labels(list(entries[0].by_length)), *names, *times)
    has_misses = any(entry.has_misses for entry in entries)
    cells = [
        (
            first,
            f"{name} ({failed})" if (failed := failed_words([entry])) else name,
            score_cell(entry.overall),
            percent1(entry.counted) if has_misses else NONE,
            *(score_and_interval(tally)[0] for tally in entry.by_length.values()),
            share_cell(entry.area),
            entry.effective.between if entry.effective else NONE,
            *(NONE if value is None else f"{value:,.0f}" for value in (entry.prompt_tokens, entry.answer_tokens)),
            *map(_seconds, (entry.latency.median, entry.latency.p95) if entry.latency else (None, None)),
            NONE if entry.dollars is None else f"{entry.dollars:,.4g}",
        )
        for (first, name, _), entry in zip(rows, entries, strict=True)
    ]
    links = tuple(run.link for _, _, run in rows)
    return replace(filled_table("", (*head, *columns), cells, 2), links=links)


def _seconds(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}" if value >= 0.001 else "<0.001"


def _board_notes(board: Board) -> list[str]:
    """Notes on a board's ranks, and on models that were asked with other settings."""
    count, notes = len(board.rows), []
    if count > 1 and all(ranks == (1, count) for _, ranks in board.rows):
        needed = samples_for_p(2 * LEVEL / (count * (count - 1)))
        few = f"; {needed} samples are the fewest that could show any" if len(board.first.sums) < needed else ""
        notes.append(f"no difference between these {count} is shown: all are tied{few}")
    if board.differences:
        listed = "; ".join(f"{name} ({board.differences[name]})" for name in sorted(board.differences))
        notes.append(f"* asked in another way than the others here, which may be what differs: {listed}")
    return notes


def _board_charts(board: Board, number: str) -> tuple[Chart, ...]:
    """Score over length of the first models; none where there is one length, or no model to compare."""
    if len(board.first.by_length) < 2 or len(board.rows) < 2:
        return ()
    lines = {run.name: run.entries[board.task].by_length for run, _ in board.rows[:_DRAWN]}
    below = "of the answers with a score" if board.has_misses else ""
    title = f"{board.task}: score over length"
    return tuple(score_lines(lines, chart_name("scores", board.task, number), title, below))


def failed_words(entries: Iterable[BoardEntry]) -> str:
    """`8 errors, 2 invalid`; empty where no trial failed."""
    counts = [entry.overall.counts for entry in entries]
    errors, invalid = sum(count["error"] for count in counts), sum(count["invalid"] for count in counts)
    return ", ".join([*[counted(errors, "error")] * (errors > 0), *[f"{invalid:,} invalid"] * (invalid > 0)])


def series_sections(series: Sequence[BoardSeries]) -> list[Section]:
    """Return a section for each series: its table, the score over time, the changes."""
    sections = []
    for number, part in enumerate(series, start=1):
        name = chart_name("history", part.task, str(number) if len(series) > 1 else "")
        changes = [change_words(part, change) for change in part.changes] or ["no change is shown"]
        chart = history_chart(part, name, f"{_series_name(part)}: {'; '.join(changes)}", _size(part))
        table = _runs_table(("when", "run"), part.task, [(run.when, run.run, run) for run in part.runs])
        title = f"{_series_name(part)}: {_size(part)}"
        sections.append(Section(title, (table,), notes=tuple(_series_notes(part)), charts=(chart,)))
    return sections


def _series_notes(series: BoardSeries) -> list[str]:
    counts = {name: sum(entry.overall.counts[name] for entry in series.entries) for name in UNSCORED}
    lost = unscored_words({name: count for name, count in counts.items() if count})
    as_misses = [f"{lost}: counted as misses"] * bool(lost)
    if series.changes:
        return [*(change_words(series, change) for change in series.changes), *as_misses]
    few = f"; {series.needed} samples are the fewest that could show one" if series.samples < series.needed else ""
    return [f"no change is shown{few}", *as_misses]


def change_words(series: BoardSeries, change: ScoreChange) -> str:
    """`fell between step 2000 and step 3000, from 92.6 to 55.6 % (-37.0 points; p 0.002, Holm)`."""
    first, last = (series.names[at] for at in (change.first, change.last))
    likely = "" if change.last - change.first == 1 else f", most likely at {series.names[change.at]}"
    scores = f"from {percent1(change.before)} to {percent1(change.after)} %"
    points = f"{points1(change.after - change.before)} points; p {p_words(change.p)}, Holm"
    return f"{'fell' if change.is_fall else 'rose'} between {first} and {last}{likely}, {scores} ({points})"


def _series_name(series: BoardSeries) -> str:
    return " · ".join(part for part in (series.model, series.task) if part)


def _size(series: BoardSeries) -> str:
    """`4 runs of 36 trials of 12 samples`."""
    trials, samples = counted(series.entries[0].overall.trials, "trial"), counted(series.samples, "sample")
    return f"{counted(len(series.runs), 'run')} of {trials} of {samples}"
