"""The statistics of a run, and notes on them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from needlework.core.record import Record
from needlework.results.adaptive.statement import LengthStatement
from needlework.results.records.samples import grouped
from needlework.results.statistics import run_facts
from needlework.results.statistics.absent import AbsentTwins
from needlework.results.statistics.agreement import judge_notes
from needlework.results.statistics.documents import ArmScore, DocumentScores, arm_scores, document_statistics
from needlework.results.statistics.length_scores import BaselineChoice
from needlework.results.statistics.panels import Panel, Tally, depth_order, summarise
from needlework.results.statistics.run_facts import CostRow, cost_rows
from needlework.results.statistics.suites.data_sets import FieldTable, LevalSummary, field_tables, leval_summaries
from needlework.results.statistics.suites.published import (
    NeedleBench,
    NeedleBenchDesign,
    RulerTable,
    needlebench,
    ruler_tables,
)
from needlework.results.statistics.tasks import (
    GateRow,
    Macro,
    PanelStatistics,
    TaskScore,
    macros,
    overall_score,
    run_statistics,
    task_scores,
)
from needlework.results.style import counted, fit, length_label

AS_STOPPED = "intervals as stopped"


class RunReport(Struct, frozen=True):
    """A run's records and their statistics. Scores 0..1, lengths tokens; missing parts are empty."""

    records: tuple[Record, ...]  # sorted by what they are about
    panels: tuple[Panel, ...]  # a heatmap's worth each
    statistics: tuple[PanelStatistics, ...]  # of each panel, in their order
    twins: tuple[AbsentTwins, ...]  # questions asked with and without their answer
    tasks: tuple[TaskScore, ...]
    macros: tuple[Macro, ...]  # means over families
    retrieval: tuple[ArmScore, ...]  # a row for each way to retrieve
    ruler: tuple[RulerTable, ...]
    suites: tuple[NeedleBench, ...]
    documents: tuple[DocumentScores, ...]  # of one's own
    field: tuple[FieldTable, ...]  # MRCR, GraphWalks, LongBench v2
    stability: run_facts.Stability | None  # answers to prompts that were asked again
    planned: int  # trials the run was to have
    notes: tuple[str, ...]  # sentences about the run as a whole
    gates: tuple[GateRow, ...] = ()
    adaptive: tuple[LengthStatement, ...] = ()
    leval: tuple[LevalSummary, ...] = ()  # L-Eval's averages
    latency: tuple[run_facts.LatencyRow, ...] = ()
    cost: tuple[CostRow, ...] = ()  # a row for each model
    sending: tuple[str, ...] = ()  # how requests were sent
    facts: run_facts.RunFacts | None = None  # how the run was made

    @property
    def models(self) -> tuple[str, ...]:
        """The models that were asked, sorted."""
        return tuple(dict.fromkeys([record.model for record in self.records]))

    def overall(self, model: str) -> Tally:
        """The one score of a model."""
        return overall_score({(row.model, row.task): row.overall for row in self.tasks if row.model == model})

    def statistics_of(self, panel: Panel) -> PanelStatistics:
        """The statistics of one of the panels."""
        return self.statistics[self.panels.index(panel)]

    @property
    def interrupted(self) -> str:
        """`interrupted after 8 of 40 trials`; empty for a run that came to its end."""
        return interrupted(len(self.records), self.planned)


def run_report(
    records: Iterable[Record],
    *,
    design: NeedleBenchDesign | None = None,
    vote: int = 0,
    relative_to: BaselineChoice | None = None,
    planned: int | None = None,
    notes: Sequence[str] = (),
    gates: Sequence[GateRow] = (),
    adaptive: Sequence[LengthStatement] = (),
    sending: Sequence[str] = (),
    facts: run_facts.RunFacts | None = None,
    price: Sequence[str] = (),
) -> RunReport:
    """Compute everything that is reported of `records`; their order does not matter.

    `design`: what a run of a NeedleBench preset is to ask, for its summary. `vote`, `relative_to`, `price`: the run's
    options. `planned`: how many trials it was to have, all of these by default. `notes`: what else is to be said of the
    run, a sentence each.
    """
    ordered = tuple(sorted(records, key=reading_order))
    tasks = task_scores(ordered)
    stability = run_facts.stability_of(ordered)
    adapted = {(each.model, each.task, each.needle) for each in adaptive}
    planned = len(ordered) if planned is None else planned
    early = interrupted(len(ordered), planned)
    note = " · ".join(filter(None, (early, AS_STOPPED if adaptive else "")))
    panels = [replace(each, note=note, uneven=each.key in adapted) for each in summarise(ordered)]
    statistics = run_statistics(ordered, relative_to=relative_to)
    server = (*corpus_notes(ordered), *depth_notes(ordered), *server_notes(ordered), *judge_notes(ordered))
    return RunReport(
        records=ordered,
        panels=tuple(panels),
        statistics=tuple(
            replace(each, absolute=None, relative=None) if panel.uneven else each  # an adaptive run has its own
            for panel, each in zip(panels, statistics, strict=True)
        ),
        twins=tuple(sorted((row.twins for row in tasks if row.twins), key=lambda twin: (twin.model, twin.task))),
        tasks=tasks,
        macros=macros(tasks),
        retrieval=arm_scores(ordered),
        ruler=ruler_tables(ordered),
        suites=needlebench(ordered, design),
        documents=document_statistics(ordered, vote),
        field=field_tables(ordered),
        leval=leval_summaries(ordered),
        latency=run_facts.latency_rows(ordered),
        cost=cost_rows(ordered, price),
        sending=tuple(sending),
        stability=stability,
        planned=planned,
        gates=tuple(gates),
        adaptive=tuple(adaptive),
        facts=facts,
        notes=tuple(filter(None, (early, *notes, *server, run_facts.stability_line(stability) if stability else ""))),
    )


def interrupted(recorded: int, planned: int) -> str:
    """`interrupted after 8 of 40 trials`; empty where there are as many as were planned."""
    return f"interrupted after {recorded:,} of {planned:,} trials" if recorded < planned else ""


def reading_order(record: Record) -> tuple[Any, ...]:
    """Sort key of records: model, task, needle, length, depth, repeat."""
    at = (record.model, record.task_label, record.needle, record.length, depth_order(record.depth))
    return (*at, record.repeat, record.key)


_MANY = 0.5  # share of trials from which on a flag is about the server and not about a trial
_FEWEST = 5  # trials; from so many on a cache that gave nothing is told
_LONGEST, _MOST_NAMES = 60, 5  # columns of a model's name, and how many names: a server says what it likes
_UNANSWERED = ("skipped", "error")


def corpus_notes(records: Sequence[Record]) -> Iterator[str]:
    """A sentence where a prompt has more text than its corpus: copies of one text are no natural haystack."""
    repeated = [record for record in records if (record.prompt.corpus_passes or 0) > 1]
    if repeated:
        most = max(repeated, key=lambda record: record.prompt.corpus_passes or 0)
        times, at = most.prompt.corpus_passes, length_label(most.length)
        yield (
            f"the corpus is shorter than {len(repeated)} of {len(records)} prompts, and is repeated in them, up to"
            f" {times:,.1f} times over at {at} tokens: give --corpus more text, or shorter --lengths"
        )


def depth_notes(records: Sequence[Record]) -> Iterator[str]:
    """A sentence where several depths have one prompt: whole documents, and short texts, leave few places."""
    depths: dict[tuple[str, str, str], set[float]] = {}
    for record in records:
        if record.depth is not None and record.prompt.sha256:
            depths.setdefault((record.model, record.task_label, record.prompt.sha256), set()).add(record.depth)
    if same := [each for each in depths.values() if len(each) > 1]:
        shown = " and ".join(f"{depth:g}" for depth in sorted(same[0])[:2])
        yield (
            f"{counted(len(same), 'prompt')} for several depths each (such as {shown} %): between few or long documents"
            " there are fewer places; results.csv has the achieved_depth"
        )


def server_notes(records: Sequence[Record]) -> tuple[str, ...]:
    """Sentences about the servers of a run, a model at a time; none where nothing is odd.

    They rest on the records alone: on the names that replies bear, on flags, token counts and outcomes.
    """
    groups = grouped((record for record in records if record.outcome not in _UNANSWERED), lambda record: record.model)
    models = dict.fromkeys(record.model for record in records)
    return tuple(f"{model}: {note}" for model in models if model in groups for note in _notes_on(groups[model]))


# What a flag of some answers says of the server.
_FLAGS = {
    "length_off": "are further off, by the server's own count",
    "no_usage": "have no count of tokens by the server: nothing proves that these prompts were read whole; --canary"
    " shows whether an end was cut off",
    "server_changed": "were asked again: another server answers at this address than the one whose answers are in the"
    " journal",
    "cumulative_stream": "came in events that repeat the text so far: the last was read",
    "over_budget": "have more tokens than were asked for: the server heeds no limit",
    "canary_start_missing": "lack the mark at the start of the text: the model is too weak to repeat it, or the server"
    " cuts prompts and counts them whole",
    "canary_end_missing": "lack the mark at the end of the text: the model is too weak to repeat it, or the server cuts"
    " prompts and counts them whole",
}


def _notes_on(records: Sequence[Record]) -> Iterator[str]:
    flags = Counter(flag for record in records for flag in set(record.details.flags))
    names = Counter(name for record in records if (name := record.response.model))
    if len(names) > 1:  # in one session, between sessions, or between shards
        changed = next(record for record in records if record.response.model not in ("", next(iter(names))))
        listed = ", ".join(f"{fit(name, _LONGEST)!r} ({count})" for name, count in names.most_common(_MOST_NAMES))
        yield (
            f"the server CHANGED ITS MODEL during the run: answers came from {listed}; first at {changed.id};"
            " --strict-model makes such answers invalid"
        )
    elif "other_model" in flags:
        listed = ", ".join(repr(fit(name, _LONGEST)) for name in names)
        yield f"the server answers as {listed}, which is not the name that was asked for"
    fingerprints = {mark for record in records if (mark := record.response.fingerprint)}
    if len(fingerprints) > 1:
        yield f"the server's system_fingerprint changed during the run: {len(fingerprints)} kinds"
    empty = sum(record.outcome == "empty" for record in records)
    many_empty = empty >= _MANY * len(records) and len(records) > 1
    if flags["template_difference"] >= _MANY * len(records):
        likely = f": with {_of(empty, records)} empty, a WRONG CHAT TEMPLATE is the likely cause" if many_empty else ""
        yield f"the server's chat template is not the tokenizer's{likely}"
    elif many_empty:
        yield f"{_of(empty, records)} are empty: look at chat template, stop strings, tools and answer budget"
    if alone := sum(record.response.finish_reason == "unfinished" for record in records):
        yield (
            f"{_of(alone, records)} are reasoning without an answer, and the token limit was not reached: look at the"
            " server's reasoning parser and its chat template"
        )
    if error := max(record.prompt.tokens_error for record in records):
        yield f"lengths are approximate: a scaled tokenizer counts, {100 * error:.1f} % off in its calibration"
    yield from (f"{_of(flags[flag], records)} {words}" for flag, words in _FLAGS.items() if flags[flag])
    if all(record.timing.cached_tokens == 0 for record in records):
        fillers = Counter((record.length, record.prompt.filler_sha256) for record in records)
        if max(fillers.values()) >= _FEWEST:
            yield "the prompt cache gave nothing, though prompts begin alike: it is off, and each is computed whole"


def _of(count: int, records: Sequence[Record]) -> str:
    return f"{count} of {len(records)} answers"
