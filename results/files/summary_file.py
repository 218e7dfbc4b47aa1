"""`summary.json`: a run in a few kilobytes, for dashboards, CI and tables of many runs. Its schema: `schemas/`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from needlework.haystack_fixtures.writing.whole_files import write_whole
from needlework.results.files.json_file import escaped, plain
from needlework.results.files.run_object import models_object, run_object
from needlework.results.statistics.in_short.sentence import in_short
from needlework.results.statistics.length.answer import EffectiveLength
from needlework.results.statistics.panels import Panel, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.summary_rows import PanelStatistics

SUMMARY = "summary.json"
SCHEMA = "needlework-summary-1"
_WORST = ("fail", "inconclusive", "pass")  # what a run with several gates comes to: the first that any has


def write_summary(path: Path, report: RunReport) -> None:
    """Write it, whole or not at all."""
    text = json.dumps(plain(summary_object(report)), ensure_ascii=False, allow_nan=False, indent=1)
    write_whole(path, f"{escaped(text)}\n".encode())


def summary_object(report: RunReport) -> dict[str, Any]:
    """A run as JSON objects. Scores and shares are 0..1, lengths tokens, depths percent, times ISO 8601 in UTC."""
    short = in_short(report)
    verdicts = {row.verdict for row in report.gates}
    flags = Counter(flag for record in report.records for flag in record["details"].get("flags", ()))
    return {
        "schema": SCHEMA,
        "run": run_object(report.facts),
        "models": models_object(report.facts, report.models),
        "sentence": short.sentence,
        "rests_on": short.rests,
        "planned": report.planned,
        "recorded": len(report.records),
        "outcomes": dict(Counter(record["outcome"] for record in report.records)),
        "flags": dict(flags),
        "faults": [asdict(fault) for fault in short.faults],
        "notes": list(report.notes),
        "tasks": [
            {"model": row.model, "task": row.task, "family": row.family, **score_object(row.overall)}
            for row in report.tasks
        ],
        "panels": [_panel(panel, _of(report.statistics, panel)) for panel in report.panels],
        "macro": [
            {
                "model": each.model,
                "families": each.families,
                "tasks": each.tasks,
                "missing": list(each.missing),
                "score": each.score.value,
                "low": each.score.low,
                "high": each.score.high,
            }
            for each in report.macros
        ],
        "adaptive": [found.as_object() for found in report.adaptive],
        "gates": [asdict(row) for row in report.gates],
        "verdict": next((state for state in _WORST if state in verdicts), None),
    }


def score_object(found: Tally) -> dict[str, Any]:
    """A score with its interval. `range`: its ends where undecided answers are all misses, and all hits."""
    interval = found.interval
    return {
        "score": found.mean,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "range": None if found.range is None else list(found.range),
        "n": found.n,
        "trials": found.trials,
        "samples": found.samples,
    }


def length_object(found: EffectiveLength) -> dict[str, Any]:
    """How long a context may be: `low` to `high` tokens hold it (95 %), `point` by the scores alone; 0: no length.

    `undecided`: answers that are neither hits nor misses; with all of them as misses it is `point`, with all as hits
    `point_most`. Both ends hold whatever they are. `caveat`: why they leave it open, null where they do not.
    """
    return {
        "rule": found.rule,
        "threshold": found.threshold,
        "status": found.status,
        "low": found.conservative or 0,
        "point": found.point or 0,
        "point_most": found.point_most or 0,
        "high": found.optimistic or 0,
        "or_more": found.optimistic is not None and found.optimistic == found.longest_tested,
        "longest_tested": found.longest_tested,
        "undecided": found.undecided,
        "caveat": found.caveat or None,
        "words": found.answer,
    }


def _panel(panel: Panel, found: PanelStatistics | None) -> dict[str, Any]:
    rules = (found.absolute, found.relative) if found else ()
    return {
        "model": panel.model,
        "task": panel.task,
        "needle": panel.needle,
        **score_object(panel.overall),
        "lengths": [
            {"length": length, **score_object(column)}
            for length, column in zip(panel.lengths, panel.columns, strict=True)
        ],
        "depths": [{"depth": depth, **score_object(row)} for depth, row in zip(panel.depths, panel.rows, strict=True)],
        "effective_length": [length_object(rule) for rule in rules if rule is not None],
    }


def _of(statistics: Sequence[PanelStatistics], panel: Panel) -> PanelStatistics | None:
    at = panel.model, panel.task, panel.needle
    return next((each for each in statistics if (each.model, each.task, each.needle) == at), None)
