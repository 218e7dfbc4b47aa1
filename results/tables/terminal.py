"""A run in a terminal: heatmaps, tables, last lines; and in Markdown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import escape
from itertools import compress
from pathlib import Path
from shlex import quote
from textwrap import shorten
from types import MappingProxyType
from typing import Literal

from msgspec import Struct

from needlework.core.errors import InputError
from needlework.core.record import Record
from needlework.core.settings import READ, Places
from needlework.haystack_fixtures.configuration.stored_settings import paths_to_name
from needlework.results import style
from needlework.results.records.manifest import settings_of, start_of
from needlework.results.records.samples import grouped, refused_below_window
from needlework.results.report.adaptive import adaptive_lines
from needlework.results.report.charts import panel_heatmap
from needlework.results.report.panels import headline, panels_table, scored_of
from needlework.results.report.section import section_lines
from needlework.results.report.sections import run_sections
from needlework.results.statistics.agreement import Agreement
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.run_followup import retry_words
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import Headline, headline_of
from needlework.results.statistics.wording import interval_cell, percent2, range_words

_CELL = 5  # terminal columns of the narrowest cell: a space, three digits, a glyph or space
_PARTLY = "*"  # after a cell whose score leaves trials out


class Screen(Struct, frozen=True):
    """A terminal, `width` columns wide.
    `color`: whether it has 256 ANSI colours; cells then have the score's colour behind them, else a block."""

    width: int = 80
    color: bool = False
    colors: style.ColorsName = "viridis"

    def cell(self, tally: Tally | None, width: int, partly: bool) -> str:
        """Return one cell, `width` columns; one more where cells of the panel may be `partly` scored."""
        if tally is None or tally.mean is None:
            mark = tally and style.mark_of(tally.n, tally.counts)
            return (mark.letter if mark else style.NOT_RUN).rjust(width - 1) + " " * (1 + partly)
        number = style.percent(tally.mean).rjust(width - 1)
        aside = "" if not partly else _PARTLY if tally.unscored else " "
        if self.color:
            return f"{self._background(tally.mean)}{number} \x1b[0m{aside}"
        return f"{number}{style.score_glyph(tally.mean)}{aside}"

    def _background(self, score: float) -> str:
        """Return the escapes for a background in the score's colour and letters that can be read on it."""
        color = style.between(style.COLORS[self.colors], score)
        # xterm's 6x6x6 cube: its levels are 0, 95, 135, 175, 215, 255.
        levels = (0 if part < 48 else max(1, round((part - 55) / 40)) for part in color)
        cube = 16 + sum(level * size for level, size in zip(levels, (36, 6, 1), strict=True))
        return f"\x1b[{97 if style.dark(color) else 30};48;5;{cube}m"


def terminal_heatmaps(panels: Sequence[Panel], screen: Screen) -> list[str]:
    """Return the lines of every panel, a blank line between two, none wider than the screen."""
    lines: list[str] = []
    for panel in panels:
        lines += [""] * bool(lines) + _grid(panel, screen)
        lines += [*style.broken(headline(panel), screen.width), *style.broken(_legend(panel), screen.width)]
    return [style.fit(line, screen.width) if "\x1b" not in line else line for line in lines]


def terminal_grid(panel: Panel, screen: Screen, room: int) -> list[str]:
    """Return a panel in at most `room` lines: its cells, the means by length alone, or nothing."""
    lines = [*_grid(panel, screen), *style.broken(_legend(panel), screen.width)]
    if len(lines) > room:
        lines = _grid(panel, screen, depths=False)
    return lines if len(lines) <= room else []


def _grid(panel: Panel, screen: Screen, *, depths: bool = True) -> list[str]:
    """Return the panel's name and cells, in blocks of as many lengths as fit, and rows under the means."""
    chart = panel_heatmap(panel)
    lengths, labels, partly = chart.lengths, chart.depths, chart.is_partial
    aside = max(style.display_width(label) for label in (["depth", *labels] if depths else ["tokens"])) + 1
    intervals = [column.interval for column in panel.columns]
    notes = {
        "range": [range_words(column.range, whole=True) if column.range else "" for column in panel.columns],
        "high": [style.percent(interval.high) if interval else "" for interval in intervals],
        "low": [style.percent(interval.low) if interval else "" for interval in intervals],
        "n": [scored_of(column) for column in panel.columns],
    }
    notes = {label: texts for label, texts in notes.items() if any(texts)}
    # A cell has room for its heading and for what stands below its column, and a space on either side.
    cell = max(_CELL, *(len(text) + 2 for texts in (lengths, *notes.values()) for text in texts))

    def words(texts: Sequence[str]) -> list[str]:
        return [text.rjust(cell - 1) + " " * (1 + partly) for text in texts]

    def scores(tallies: Sequence[Tally | None]) -> list[str]:
        return [screen.cell(tally, cell, partly) for tally in tallies]

    rows = [("depth" if depths else "tokens", words(lengths))]
    for depth, label in zip(panel.depths, labels, strict=True) if depths else ():
        rows.append((label, scores([panel.cells.get((length, depth)) for length in panel.lengths])))
    rows += [("mean", scores(panel.columns))] if len(labels) > 1 or not depths else []
    rows += [(label, words(texts)) for label, texts in notes.items()]
    across = max(1, (screen.width - aside) // (cell + partly))
    blocks = [slice(first, first + across) for first in range(0, len(lengths), across)]
    lines = [f"{label:>{aside - 1}} {''.join(cells[block])}".rstrip() for block in blocks for label, cells in rows]
    return [style.fit(style.one_line(panel.name), screen.width), *lines]


def _legend(panel: Panel) -> str:
    """Return what the letters of this panel mean; empty when it has none."""
    chart = panel_heatmap(panel)
    parts = [f"{mark.letter} {mark.outcome}" for mark in style.MARKS if mark in chart.marks]
    parts += [f"{_PARTLY} some trials without a score"] * chart.is_partial
    return " · ".join([*parts, *[f"{style.NOT_RUN} not run"] * chart.has_blanks])


def agreement_lines(result: Agreement, rows: str, columns: str) -> Iterator[str]:
    """Agreement and the table of labels; `rows` and `columns` name the raters."""
    kappa = result.kappa
    span = style.NONE if kappa.low is None or kappa.high is None else f"{kappa.low:.3f} to {kappa.high:.3f}"
    basis = f"({interval_cell(result.agreement)}), {result.n} verdicts on {result.items} items"
    yield f"{rows} and {columns} agree: {percent2(result.agreement.value)} % {basis}"
    yield f"  Cohen's kappa: {style.NONE if kappa.value is None else f'{kappa.value:.3f}'} ({span})"
    names = [style.one_line(label) for label in result.labels]
    table = [(name, *map(str, counts)) for name, counts in zip(names, result.table, strict=True)]
    yield from (f"  {line}" for line in style.folded_table([(f"{rows} \\ {columns}", *names), *table], 1))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [_row(head), f"|{'---|' * len(head)}", *map(_row, rows)]


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(style.one_line(text).replace('|', chr(92) + '|') for text in texts)} |"


MOST = 24  # lines of ours below the progress; pytest's last one is the 25th
_MOST_PANELS = 12  # heatmaps in a terminal; a run with more shows its table
_FAULTS, _NOTES, _MODELS = 3, 3, 3  # how many of each are shown
_LONGEST = 3  # lines of one of them
_LONGEST_NAME = 32  # columns of a task's name, or of a model's as the head of a column
_FEWEST = 4  # rows of tasks that are worth a table
_NO_MISS = ("found", "error", "skipped")

Line = tuple[str, Literal["red", "yellow", "green", ""]]


def run_lines(report: RunReport, screen: Screen) -> list[str]:
    """Return every panel as a heatmap of text, if not too many, and all sections of the report."""
    panels = report.panels if len(report.panels) <= _MOST_PANELS else ()
    lines = terminal_heatmaps(panels, screen)
    for block in (section_lines(run_sections(report), width=screen.width), adaptive_lines(report.adaptive)):
        lines += [*([""] if lines and block else []), *block]
    return [*lines, *report.notes]


def markdown_lines(report: RunReport) -> list[str]:
    """Return a table with a row for each panel, the other sections, and the notes."""
    sections = [section for section in run_sections(report) if section.name != "tasks"]
    summary = [*section_lines(sections), *adaptive_lines(report.adaptive)]
    block = ["", "```", *summary, "```"] if summary else []
    notes = ["", *(f"- {escape(note, quote=False)}" for note in report.notes)] if report.notes else []
    panels = panels_table(report)
    return [*table(panels.head, panels.rows), *block, *notes]


def next_line(report: RunReport, folder: str) -> str:
    """Return the last line of `-v` and of `merge`: failed trials to retry, and where the report is.

    `folder`: as the user would write it. Further repeats are advised in the short ending alone.
    """
    again = retry_words(report.records, report.facts.name if report.facts else "")
    line = f"next: {again}{'; ' if again else ''}open {folder}/report.html (a click on a cell shows its answers)"
    missed = first_miss(report)
    if missed is None:
        return line
    return f"{line}; {' '.join(_prompt_words(report, folder, missed))} prints what the model saw"


def _prompt_words(report: RunReport, folder: str, cell: str) -> list[str]:
    """The words of the command that prints the prompt of a cell, with the user's own files that it is made of."""
    named: list[str] = []
    with suppress(InputError):
        manifest = report.facts.manifest if report.facts else {}
        places = Places(Path(folder).resolve(), start_of(manifest))
        paths = paths_to_name(settings_of(manifest), places)
        named = [word for path in paths for word in (READ, style.relative(Path(path)))]
    return ["needlework", "prompt", *map(quote, (folder, cell, *named))]


def first_miss(report: RunReport) -> str | None:
    """Return the first trial that a model answered, and not rightly: others show nothing that it saw."""
    return next((record.id for record in report.records if record.outcome not in _NO_MISS), None)


def ending(
    report: RunReport, screen: Screen, *, skipped: Sequence[str], folder: str, last: int, quiet: bool = False
) -> Iterator[Line]:
    """Give at most `MOST` lines, none wider than the screen, `last` of which others need.

    `folder`: as the user types it; `skipped`: what else is to be said of this session's trials; `quiet`: without the
    grid and the notes.
    """
    headline, width = headline_of(report), screen.width
    models = () if quiet else headline.models[:_MODELS]
    above = [
        *style.folded(headline.sentence, width, ""),
        *(line for text in models for line in _cut(f"- {text}", width)),
    ]
    notes = [*([] if quiet else report.notes), *skipped]
    below = [*_fault_lines(headline, notes, width), *_report_lines(report, headline, folder, width, quiet=quiet)]
    yield from ((line, "") for line in above)
    room = MOST - last - len(above) - len(below) - 2
    if not quiet and room > 0:
        grid = _brief_lines(report, screen, room)
        yield from ((line, "") for line in (["", *grid, ""] if grid else []))
    yield from below


def _brief_lines(report: RunReport, screen: Screen, room: int) -> list[str]:
    """Return the grid of the only panel or a table of tasks, and the tables of published suites."""
    width = screen.width
    sections = [section_lines([section], width=width) for section in run_sections(report) if section.brief]
    suites: list[str] = []
    for block in (adaptive_lines(report.adaptive), *sections):  # whole or not at all
        lines = [part for line in block for part in (style.folded(line, width) if len(line) > width else [line])]
        if lines and len(suites) + bool(suites) + len(lines) <= room - _FEWEST:
            suites += [*([""] if suites else []), *lines]
    left = room - len(suites) - bool(suites)
    grid = terminal_grid(report.panels[0], screen, left) if len(report.panels) == 1 else []
    grid = grid or _task_lines(report, left, width)
    return [*grid, *([""] if grid and suites else []), *suites]


def _task_lines(report: RunReport, room: int, width: int) -> list[str]:
    """Return a row for each panel; if there are too many, the first ones."""
    table = panels_table(report, with_model=len(report.models) > 1)
    names = table.names
    rows = [
        [*(style.fit(style.one_line(text), _LONGEST_NAME) for text in row[:names]), *row[names:]]
        for row in (table.head, *table.rows)
    ]
    columns = [max(map(style.display_width, column)) for column in zip(*rows, strict=True)]
    fits = [at < names or sum(columns[:names]) + 2 * names + columns[at] <= width for at in range(len(columns))]
    rows = [[*compress(row, fits)] for row in rows]  # columns that do not fit are in the report
    lines = list(style.folded_table(rows, names, width)) if table.rows else []
    if len(lines) <= room:
        return lines
    shown = room * len(rows) // len(lines) - 2  # a wide table goes on below, under its names again
    more = f"... and {len(table.rows) - shown} more, in the report"
    return [*style.folded_table(rows[: shown + 1], names, width), more] if shown > 0 else []


def _cut(text: str, width: int) -> list[str]:
    """Return the first lines of a text, marked where it goes on: the report has all of it."""
    lines = style.folded(text, width)
    if len(lines) <= _LONGEST:
        return lines
    return [*lines[: _LONGEST - 1], shorten(lines[_LONGEST - 1], width - 6, placeholder="") + " ..."]


def _fault_lines(headline: Headline, notes: Sequence[str], width: int) -> Iterator[Line]:
    """Give the faults by reason, then notes; of each the first ones."""
    faults = [fault.text for fault in headline.faults]
    parts: tuple[tuple[Sequence[str], int, Literal["red", "yellow"]], ...] = (
        (faults, _FAULTS, "red"), (notes, _NOTES, "yellow"),
    )  # fmt: skip
    for texts, most, color in parts:
        yield from ((line, color) for text in texts[:most] for line in _cut(text, width))
        if len(texts) > most:
            yield f"and {len(texts) - most} more, in the report", color


def _report_lines(report: RunReport, headline: Headline, folder: str, width: int, *, quiet: bool) -> Iterator[Line]:
    """Give where the report is, what the model saw of a miss, and what to run next."""
    more = "" if quiet else "  (a click on a cell shows its answers; -v prints every table)"
    lines = style.folded(f"report: {folder}/report.html{more}", width, "")
    missed = first_miss(report)
    if missed is not None and not quiet:
        lines += style.folded_command("what the model saw: ", _prompt_words(report, folder, missed), width)
    if headline.next_run and not quiet:
        lines += style.folded(f"next: {style.fit(headline.next_run, 200)}", width)
    yield from ((line, "") for line in lines)


_SHOWN = 300  # characters of an example


def unscored_lines(records: Sequence[Record], windows: Mapping[str, int] = MappingProxyType({})) -> list[str]:
    """One line for each reason of invalid or skipped trials: their number, and the first one's words.

    Errors are told by pytest itself, censored and unclear trials by their answers. `windows`: model -> tokens; what a
    server refused below them is told too.
    """
    unscored = (record for record in records if record.outcome in ("invalid", "skipped"))
    groups = grouped(unscored, lambda record: (record.outcome, ", ".join(record.details.invalid)))
    lines = [
        f"{outcome}: {style.counted(len(group), 'trial')}: {style.one_line(group[0].why)[:_SHOWN]}"
        for (outcome, _), group in sorted(groups.items())
    ]
    below = [record for record in records if refused_below_window(record, windows)]
    if below:
        length, window = min((record.length, windows[record.model]) for record in below)
        lines.append(
            f"skipped below the window: {len(below)}, from length {length} on, where {window} tokens are told:"
            " the server gives less; these count for --max-errors"
        )
    return lines


def cost_lines(report: RunReport) -> Iterator[str]:
    """One line for each model whose price is known."""
    for row in report.cost:
        if row.dollars is not None:
            prompts = f"{row.prompt_tokens:,} prompt tokens ({row.cached_tokens:,} cached)"
            yield style.one_line(
                f"{row.model}: {row.dollars:,.4g} dollars for {prompts}, {row.answer_tokens:,} answer tokens"
            )


def shared_lines(records: Sequence[Record]) -> Iterator[str]:
    """One line for each model whose answers tell that tokens were shared, when they were asked for."""
    for model, group in grouped(records, lambda record: record.model).items():
        tokens = sum(record.prompt.tokens or 0 for record in group)
        shared = sum(record.timing.cached_tokens or 0 for record in group)
        if 0 < shared < tokens:
            yield style.one_line(
                f"{model}: {tokens:,} prompt tokens, {tokens - shared:,} computed and {shared:,} shared with other "
                f"prompts ({100 * shared / tokens:.0f} % saved)"
            )
