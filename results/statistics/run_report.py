"""A run as everything reports it: its records and all that is computed of them, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.adaptive.statement import Statement
from needlework.results.records.answer_vectors import AnswerVectors
from needlework.results.records.record import Record
from needlework.results.statistics.absent import AbsentTwins
from needlework.results.statistics.asked import Asked, asked_of
from needlework.results.statistics.documents import Documents, document_statistics
from needlework.results.statistics.gate_row import GateRow
from needlework.results.statistics.judges import judge_notes
from needlework.results.statistics.latency import LatencyRow, latency_rows
from needlework.results.statistics.length.base import Wanted
from needlework.results.statistics.panels import Panel, depth_order, summary_of
from needlework.results.statistics.published.field import FieldTable, field_tables
from needlework.results.statistics.published.leval import LevalSummary, leval_summaries
from needlework.results.statistics.published.needlebench import Design, NeedleBench, needlebench
from needlework.results.statistics.published.ruler import RulerTable, ruler_tables
from needlework.results.statistics.retrieval import ArmScore, arm_scores
from needlework.results.statistics.run_facts import RunFacts
from needlework.results.statistics.run_notes import corpus_notes, server_notes
from needlework.results.statistics.stability import Stability, stability_line, stability_of
from needlework.results.statistics.summary_rows import PanelStatistics, statistics_of, without_lengths
from needlework.results.statistics.tasks import Macro, TaskScore, macros, scores_of

AS_STOPPED = "intervals as stopped"


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run's records, sorted by what they are about, and the statistics of them. Scores are 0..1, lengths tokens.

    `asked`: the records with their trials, in the same order; `panels`: a heatmap's worth each, with `statistics` of
    the same names; `twins`: questions asked with and without their answer; `tasks`, `macros`: a row for each task, and
    the mean over families; `retrieval`: a row for each way to retrieve; `ruler`, `suites`, `field`: the tables of
    RULER, of NeedleBench, and of MRCR, GraphWalks and LongBench v2; `leval`: L-Eval's averages; `documents`: documents
    of one's own; `stability`: answers to prompts that were asked again; `planned`: how many trials the run was to
    have; `notes`: sentences about the run as a whole; `gates`: what its gates decided; `adaptive`: how long a context
    may be, as an adaptive run found it; `facts`: how it was made.
    What a run has nothing of is empty.
    """

    records: tuple[Record, ...]
    asked: tuple[Asked, ...]
    panels: tuple[Panel, ...]
    statistics: tuple[PanelStatistics, ...]
    twins: tuple[AbsentTwins, ...]
    tasks: tuple[TaskScore, ...]
    macros: tuple[Macro, ...]
    retrieval: tuple[ArmScore, ...]
    ruler: tuple[RulerTable, ...]
    suites: tuple[NeedleBench, ...]
    documents: tuple[Documents, ...]
    field: tuple[FieldTable, ...]
    stability: Stability | None
    planned: int
    notes: tuple[str, ...]
    gates: tuple[GateRow, ...] = ()
    adaptive: tuple[Statement, ...] = ()
    leval: tuple[LevalSummary, ...] = ()
    latency: tuple[LatencyRow, ...] = ()
    sending: tuple[str, ...] = ()
    facts: RunFacts | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked, sorted."""
        return tuple(dict.fromkeys([each.trial.model for each in self.asked]))

    @property
    def interrupted(self) -> str:
        """`interrupted after 8 of 40 trials`; empty for a run that came to its end."""
        return interrupted(len(self.records), self.planned)


def run_report(
    records: Iterable[Record],
    *,
    design: Design | None = None,
    vote: int = 0,
    vectors: AnswerVectors | None = None,
    relative_to: Wanted | None = None,
    planned: int | None = None,
    notes: Sequence[str] = (),
    gates: Sequence[GateRow] = (),
    adaptive: Sequence[Statement] = (),
    sending: Sequence[str] = (),
    facts: RunFacts | None = None,
) -> RunReport:
    """Compute everything that is reported of `records`; their order does not matter. `gates`: as they were decided.

    `design`: what a run of a NeedleBench preset is to ask, for its summary. `vote`, `relative_to`: the run's options;
    `vectors`: of the answers that vote.
    `planned`: how many trials it was to have, all of these where nothing is said. `notes`: what else is to be said of
    the run, a sentence each. `facts`: how it was made.
    """
    ordered = tuple(sorted(records, key=reading_order))
    asked = tuple(asked_of(ordered))
    tasks = scores_of(asked, family_of)
    stability = stability_of(ordered)
    walked = {(found.model, found.task, found.needle) for found in adaptive}
    still = stability_line(stability) if stability else ""
    early = interrupted(len(ordered), len(ordered) if planned is None else planned)
    return RunReport(
        records=ordered,
        asked=asked,
        panels=tuple(
            replace(panel, uneven=True) if (panel.model, panel.task, panel.needle) in walked else panel
            for panel in noted(_panels(asked), " · ".join(filter(None, (early, AS_STOPPED if adaptive else ""))))
        ),
        statistics=tuple(
            without_lengths(each) if (each.model, each.task, each.needle) in walked else each
            for each in statistics_of(asked, relative_to=relative_to)
        ),
        twins=tuple(sorted((row.twins for row in tasks if row.twins), key=lambda each: (each.model, each.task))),
        tasks=tasks,
        macros=macros(tasks),
        retrieval=arm_scores(ordered),
        ruler=ruler_tables(ordered),
        suites=needlebench(ordered, design),
        documents=document_statistics(ordered, vote, vectors),
        field=field_tables(ordered),
        leval=leval_summaries(ordered),
        latency=latency_rows(ordered),
        sending=tuple(sending),
        stability=stability,
        planned=len(ordered) if planned is None else planned,
        gates=tuple(gates),
        adaptive=tuple(adaptive),
        facts=facts,
        notes=tuple(
            filter(None, (early, *notes, *corpus_notes(ordered), *server_notes(ordered), *judge_notes(ordered), still))
        ),
    )


def _panels(asked: Sequence[Asked]) -> tuple[Panel, ...]:
    own = [each for each in asked if not each.control]
    return summary_of([each.record for each in own], [each.trial for each in own])


def interrupted(recorded: int, planned: int) -> str:
    """`interrupted after 8 of 40 trials`; empty where there are as many as were planned."""
    return f"interrupted after {recorded:,} of {planned:,} trials" if recorded < planned else ""


def noted(panels: Iterable[Panel], note: str) -> tuple[Panel, ...]:
    """The panels with a note on their run, which their headlines then have."""
    return tuple(replace(panel, note=note) for panel in panels)


def reading_order(record: Record) -> tuple[Any, ...]:
    """Sort key of records: model, task, needle, length, depth, repeat."""
    at = (record["model"], record["task"], record["needle"], record["length"], depth_order(record["depth"]))
    return (*at, record["repeat"], record.get("key", ""))
