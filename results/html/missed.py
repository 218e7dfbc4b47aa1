"""Answers to look at: what was not right, as a list that leads to the trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needlework.haystack_fixtures.grid.cells import depth_label
from needlework.results.html.texts import on_one_line
from needlework.results.html.titles import panel_title
from needlework.results.records.record import Record
from needlework.results.records.samples import OWN_DOCUMENTS
from needlework.results.records.tests_of_cells import task_of
from needlework.results.statistics.in_short.faults import FAULTS, reason_of
from needlework.results.statistics.panels import Panel, trial_of
from needlework.results.style.text import length_labels

MOST = 50
_QUESTION, _ANSWER = 90, 110  # columns
# What to look at first: what is no answer at all, then answers that say nothing, then wrong ones.
_ORDER = ("error", "invalid", "censored", "unclear", "empty", "refused", "distractor", "wrong", "partial", "skipped")


@dataclass(frozen=True, slots=True)
class MissedView:
    """One trial: its outcome, where it was asked, what the answer says; `place`: `panel,column,row`."""

    outcome: str
    where: str
    question: str
    answer: str
    place: str


def missed_of(records: Sequence[Record], panels: Sequence[Panel]) -> list[MissedView]:
    """The trials that were not found, most telling first; `records` in reading order, controls left out."""
    numbers = {(panel.model, panel.task, panel.needle): at for at, panel in enumerate(panels)}
    missed = [record for record in records if record["outcome"] in _ORDER]
    missed.sort(key=lambda record: _ORDER.index(record["outcome"]))
    missed = _told_once(missed)
    models = len({panel.model for panel in panels})
    found = []
    for record in missed[:MOST]:
        number = numbers[record["model"], record["task"], trial_of(record).needle]
        panel = panels[number]
        column, row = panel.lengths.index(record["length"]), panel.depths.index(record["depth"])
        parts = [panel_title(panel, models)] if len(panels) > 1 else []
        parts.append(f"{length_labels([record['length']])[0]} tokens")
        parts += [f"depth {depth_label(record['depth'])} %"] if record["depth"] is not None else []
        own = task_of(record["task"]) in OWN_DOCUMENTS
        question = on_one_line(record["question"], _QUESTION) if own else ""
        told = on_one_line(_said(record), _ANSWER) or "no text"
        found.append(MissedView(record["outcome"], ", ".join(parts), question, told, f"{number},{column},{row}"))
    return found


def _told_once(missed: Sequence[Record]) -> list[Record]:
    """Without trials that failed for a reason that one before them shows."""
    seen: set[str] = set()
    kept = []
    for record in missed:
        reason = reason_of(record) if record["outcome"] in FAULTS else ""
        if reason not in seen:
            kept.append(record)
        seen |= {reason} - {""}
    return kept


def _said(record: Record) -> str:
    """The answer; of a trial without one, why."""
    error = record["error"] or {}
    return str(record["answer"] or record["response"].get("text") or error.get("message") or record["why"] or "")
