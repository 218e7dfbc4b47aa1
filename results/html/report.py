"""`report.html`: the page of a run."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from needlework.core.grid import depth_label
from needlework.core.record import OWN_DOCUMENTS, UNDECIDED, UNSCORED, Record
from needlework.results.html.charts import grid_view, picture_of
from needlework.results.html.details import LIMIT_BYTES, TrialDetails, page_with_trials
from needlework.results.html.page import on_one_line, percent_number
from needlework.results.records.samples import task_of, without_controls
from needlework.results.report.adaptive import adaptive_sections
from needlework.results.report.charts import panel_heatmap
from needlework.results.report.panels import panels_table, question_title, task_title, unscored_of
from needlework.results.report.section import Section, Table
from needlework.results.report.sections import run_sections
from needlework.results.report.suites import cost_sections, latency_sections
from needlework.results.report.tasks import gate_sections, panel_findings, twins_sections
from needlework.results.statistics.panels import OUTCOMES, Panel, Tally
from needlework.results.statistics.run_facts import RunFacts
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_sentence import headline_of
from needlework.results.statistics.wording import score_and_interval
from needlework.results.style import ColorsName, length_label, length_labels


def panel_views(report: RunReport) -> list[dict[str, Any]]:
    """Return the template's values for each panel: heatmap, tables, statistics of length and depth."""
    views = []
    for panel, statistics in zip(report.panels, report.statistics, strict=True):
        chart = panel_heatmap(panel)
        views.append(
            {
                "panel": panel,
                "title": panel_title(panel, len(report.models)),
                "grid": grid_view(chart),
                "chart": chart,
                "tables": [
                    _tally_table("Score by context length", "length", length_labels(panel.lengths), panel.columns),
                    _tally_table("Score by depth", "depth %", list(map(depth_label, panel.depths)), panel.rows),
                ],
                "findings": panel_findings(statistics),
            }
        )
    return views


def panel_title(panel: Panel, models: int) -> str:
    """Return `model · task · what is asked about`; the model only where there are several."""
    parts = (panel.model if models > 1 else "", task_title(panel.task), question_title(panel))
    return on_one_line(" · ".join(filter(None, parts)))


def _tally_table(caption: str, head: str, labels: Sequence[str], tallies: Sequence[Tally]) -> Table:
    lost = unscored_of(tallies)
    rows = [
        (label, *score_and_interval(tally), str(tally.n), *(str(tally.counts[name]) for name in lost))
        for label, tally in zip(labels, tallies, strict=True)
    ]
    return Table(caption, (head, "score %", "95 % interval", "n", *lost), tuple(rows))


def trial_details(records: Iterable[Record], panels: Sequence[Panel]) -> list[TrialDetails]:
    """Return the trials with their places; those found without a flag are dropped first."""
    numbers = {panel.key: number for number, panel in enumerate(panels)}
    details = []
    for record in records:
        number = numbers[record.model, record.task_label, record.panel]
        column, row = panels[number].lengths.index(record.length), panels[number].depths.index(record.depth)
        drop_rank = int(record.outcome == "found" and not record.details.flags)
        details.append(TrialDetails((record,), number, column, row, drop_rank))
    return details


def panels_data(panels: Sequence[Panel]) -> dict[str, Any]:
    """Return what the script needs of all panels.

    `stats` has every different `[n, mean, low, high, outcomes]` once, in percent; `cells` (rows of columns), `byLength`
    and `byDepth` are numbers into it, -1 for a cell that never ran.
    """
    stats: dict[tuple[Any, ...], int] = {}
    models = len({panel.model for panel in panels})

    def number(tally: Tally | None) -> int:
        if tally is None:
            return -1
        share = tally.share
        shares = [None if value is None else percent_number(value) for value in (tally.mean, share.low, share.high)]
        counts = tuple(tally.counts[name] for name in OUTCOMES)
        return stats.setdefault((tally.n, *shares, counts), len(stats))

    views = [
        {
            "name": panel_title(panel, models),
            **{name: on_one_line(getattr(panel, name)) for name in ("model", "task", "needle")},
            **axes_data(panel.lengths, panel.depths),
            "byLength": [number(column) for column in panel.columns],
            "byDepth": [number(row) for row in panel.rows],
            "cells": [[number(panel.cells.get((length, depth))) for length in panel.lengths] for depth in panel.depths],
        }
        for panel in panels
    ]
    return {"outcomes": OUTCOMES, "undecided": UNDECIDED, "panels": views, "stats": list(stats)}


def axes_data(lengths: Sequence[int], depths: Sequence[float | None]) -> dict[str, Any]:
    """Return the axes of a grid, as numbers and as labels."""
    return {
        "lengths": list(lengths),
        "lengthLabels": length_labels(lengths),
        "depths": list(depths),
        "depthLabels": [depth_label(depth) for depth in depths],
    }


_LISTED = 50
_QUESTION, _ANSWER = 90, 110  # columns
# What to look at first: answers without a verdict, then answers that say nothing, then wrong ones.
_ORDER = ("censored", "unclear", "empty", "refused", "distractor", "wrong", "partial")


def missed_of(
    records: Sequence[Record], details: Sequence[TrialDetails], panels: Sequence[Panel]
) -> list[dict[str, str]]:
    """Return the answers that were not right, most telling first. `details`: of each record.

    `answer`: what it says; `place`: `panel,column,row`. Failed trials are counted by reason at the top of the page.
    """
    models = len({panel.model for panel in panels})
    rows: list[dict[str, str]] = []
    missed = [(record, trial) for record, trial in zip(records, details, strict=True) if record.outcome in _ORDER]
    for record, trial in sorted(missed, key=lambda pair: _ORDER.index(pair[0].outcome))[:_LISTED]:
        parts = [panel_title(panels[trial.panel], models)] if len(panels) > 1 else []
        parts.append(f"{length_label(record.length)} tokens")
        parts += [f"depth {depth_label(record.depth)} %"] if record.depth is not None else []
        text = record.response.text or record.answer or record.why
        rows.append(
            {
                "outcome": record.outcome,
                "where": ", ".join(parts),
                "question": on_one_line(record.question, _QUESTION) if record.task in OWN_DOCUMENTS else "",
                "answer": on_one_line(text, _ANSWER) or "no text",
                "place": f"{trial.panel},{trial.column},{trial.row}",
            }
        )
    return rows


_FAULTS = 5  # reasons that are listed at the top; the rest are counted


def html_text(
    report: RunReport, *, title: str | None = None, colors: ColorsName = "viridis", limit_bytes: int = LIMIT_BYTES
) -> str:
    """Return the page: the same for the same records in any order, and self-contained.

    `title`: `Needlework: MODELS`, where none is given. Controls have no panel but tables. Scores are all in the page,
    whatever their number: what `limit_bytes` limits is the details of the trials, and the page says what it left out.
    """
    panels = report.panels
    trials = without_controls(report.records)
    details = trial_details(trials, panels)
    scores = panels_data(panels)
    overview = panels_table(report, with_model=len(report.models) > 1)
    heading = f"Needlework: {', '.join(report.models)}" if title is None else title
    tasks = tuple(row for row in report.tasks if task_of(row.task) not in OWN_DOCUMENTS)
    twins = [each for each in report.twins if task_of(each.task) not in OWN_DOCUMENTS]
    fields = {
        "head": _head(report),
        "picture": picture_of(report),
        "panels": panel_views(report),
        "overview": replace(overview, links=tuple(f"#panel-{at}" for at in range(len(panels)))),
        "missed": missed_of(trials, details, panels),
        "missed_all": sum(record.outcome in _ORDER for record in trials),
        "gates": gate_sections(report.gates, len(report.records)),
        "sections": [
            *(_linked(section, panels) for section in run_sections(replace(report, tasks=tasks))),
            *adaptive_sections(report.adaptive),
        ],
        "own_alone": all(task_of(panel.task) in OWN_DOCUMENTS for panel in panels),
        "twins": twins_sections(twins),
        "mixed": bool(report.macros),
        "facts": _facts_tables(report.facts),
        "latency": [*latency_sections(report.latency, report.sending), *cost_sections(report.cost)],
        "interrupted": report.interrupted,
        "notes": [note for note in report.notes if note != report.interrupted],
        "unscored": UNSCORED,
    }

    return page_with_trials("report", heading, scores, details, limit_bytes, colors=colors, fields=fields)


def _linked(section: Section, panels: Sequence[Panel]) -> Section:
    """The section with links from rows that name a model and task to their first panel."""
    first = {panel.key[:2]: f"#panel-{at}" for at, panel in reversed(list(enumerate(panels)))}
    tables = (
        replace(table, links=tuple(first.get(key, "") if key else "" for key in table.panels))
        for table in section.tables
    )
    return replace(section, tables=tuple(tables))


def _head(report: RunReport) -> dict[str, object]:
    """Return the top of the page: faults, the sentence (`lead`, `rest`), each model's, what next."""
    headline, facts = headline_of(report), report.facts
    lead, rest = headline.lead, headline.rest
    if headline.models:  # their scores stand in a line each
        lead, rest = f"{len(headline.models)} models: {rest or 'no single score to compare them by'}", ""
    known = {model.name: model.short for model in facts.models} if facts else {}
    models = ", ".join(f"{name} ({known[name]})" if known.get(name) else name for name in report.models)
    made = [facts.name, facts.started[:10], facts.commit] if facts else []
    return {
        "run": " · ".join(filter(None, (*made, models))),
        "lead": f"{lead}.",
        "rest": f"{rest[0].upper()}{rest[1:]}." if rest else "",
        "models": headline.models,
        "rests": headline.rests,
        "faults": [fault.text for fault in headline.faults[:_FAULTS]],
        "more_faults": sum(fault.count for fault in headline.faults[_FAULTS:]),
        "next": headline.next_run,
    }


def _facts_tables(facts: RunFacts | None) -> list[dict[str, object]]:
    """Return how the run was made, as tables: the run, each model, the programs."""
    if facts is None:
        return []
    names, command = ("run", "started", "commit", "command"), " ".join(facts.command)
    run = list(zip(names, (facts.name, facts.started, facts.commit, command), strict=True))
    tables = [("The run", run), *((model.name, model.facts) for model in facts.models), ("Programs", facts.versions)]
    return [{"name": name, "rows": [row for row in rows if row[1]]} for name, rows in tables if rows]
