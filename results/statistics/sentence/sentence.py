"""The first sentence of a report, and how to narrow its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, fsum

from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import NOTHING_SAID, Record
from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.records.samples import retriever_of, task_of
from needlework.results.statistics.effective_length import EffectiveLength
from needlework.results.statistics.paired import further_samples, of_scores
from needlework.results.statistics.panels import Panel, RecordInPanel, Tally, decided, trial_of
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.sentence.families import (
    document_clauses,
    leval_clauses,
    no_overall,
    published_clauses,
)
from needlework.results.statistics.sentence.parts import depth_clause, lost_clauses, score_clause, span
from needlework.results.statistics.sentence.run import (
    FaultCount,
    adaptive_clause,
    beside_each_other,
    faults_of,
    few_clause,
    length_clause,
    one_score,
    open_words,
    rests,
    spread,
    task_clauses,
)
from needlework.results.statistics.tasks import PanelStatistics, TaskScore
from needlework.results.style import counted, one_line

_LANGUAGES = {"en": "in English", "zh": "in Chinese"}


@dataclass(frozen=True, slots=True)
class InShort:
    """What to say of a run first.

    `lead`: its first clause, which says most; `rest`: the others. `models`: a sentence for each model, where there are
    several. `rests`: what it rests on: trials, questions, those without a score. `faults`: errors and invalid trials by
    reason, the most frequent first. `surer`: what would make it surer.
    """

    lead: str
    rest: str
    models: tuple[str, ...]
    rests: str
    faults: tuple[FaultCount, ...]
    surer: Surer | None

    @property
    def sentence(self) -> str:
        """All of it in one line, with a full stop at its end."""
        return f"{self.lead}; {self.rest}." if self.rest else f"{self.lead}."


def in_short(report: RunReport) -> InShort:
    """Say a run in short. The same for the same records; it claims nothing that the intervals deny."""
    told = {model: _of_model(report, model) for model in report.models}
    lead, *rest = _clauses_of(report, told)
    return InShort(
        lead=lead,
        rest="; ".join(rest),
        models=tuple(f"{'; '.join(clauses)}." for clauses in told.values()) if len(told) > 1 else (),
        rests=rests(report),
        faults=faults_of(report.records),
        surer=_surer(report),
    )


def _clauses_of(report: RunReport, told: Mapping[str, Sequence[str]]) -> list[str]:
    if not told:
        return ["Nothing was recorded: no question has an answer yet"]
    early = f"{report.interrupted[0].upper()}{report.interrupted[1:]}: " if report.interrupted else ""
    first, *rest = next(iter(told.values()))
    if len(told) > 1:
        first, *rest = beside_each_other({model: one_score(report, model) for model in told})
    return [early + first, *rest]


def _of_model(report: RunReport, model: str) -> list[str]:
    """The clauses about one model; the first has its name."""
    asked = [row for row in report.tasks if row.model == model]
    clauses = _clauses(report, model, [row for row in asked if task_of(row.task) not in OWN_DOCUMENTS])
    found = next((each for each in report.documents if each.model == model), None)
    if found is not None:
        position = next((row.overall for row in asked if task_of(row.task) == "doc_position"), None)
        clauses = [*document_clauses(found, position), *clauses]
    tallies = [_lost_of(panel) for panel in report.panels if panel.model == model]
    lost = lost_clauses(tallies, _open(report, asked))
    if not clauses:
        return [f"{one_line(model)} has no score{': ' if lost else ''}{lost[0] if lost else ''}", *lost[1:]]
    return [f"{one_line(model)} {clauses[0]}", *clauses[1:], *lost]


def _lost_of(panel: Panel) -> Tally:
    """A panel's counts; where the answer is absent, to refuse one is right."""
    if task_of(panel.task) != "doc_absent":
        return panel.overall
    counts = {name: 0 if name in NOTHING_SAID else count for name, count in panel.overall.counts.items()}
    return replace(panel.overall, counts=counts | {"found": panel.overall.trials - sum(counts.values())})


def _clauses(report: RunReport, model: str, rows: Sequence[TaskScore]) -> list[str]:
    """What is said of tasks that are not about the user's own documents."""
    walked = [clause for each in report.adaptive if each.model == model and (clause := adaptive_clause(each))]
    if walked:
        return walked[:3]
    published = published_clauses(report, model) if rows else []
    if published:
        return published
    if rows:
        told = _one_task(report, rows[0]) if len(rows) == 1 else _several_tasks(report, model, rows)
        return [*told, *no_overall(report, model)] if told else told
    return [f"with {row.retriever} search {clause}" for row in report.retrieval if row.model == model
            and task_of(row.task) not in OWN_DOCUMENTS and (clause := score_clause(row.score))]  # fmt: skip


def _scored_lengths(panel: Panel) -> Iterator[int]:
    """Those that the score is about: of others every trial failed, or did not fit."""
    for length, found in zip(panel.lengths, panel.columns, strict=True):
        if found.n or found.range is not None:
            yield length


def _one_task(report: RunReport, row: TaskScore) -> list[str]:
    panels = _panels(report, row.model, row.task)
    if any(panel.uneven for panel in panels):
        return []
    found = _statistics(report, panels[0]) if len(panels) == 1 else None
    score = score_clause(row.overall)
    if not score:
        return []
    lengths = sorted({length for panel in panels for length in _scored_lengths(panel)})
    # What is cut to a length is not filled up to it: a short document stays short.
    where = f"{score} {span(lengths, at='with at most' if family_of(task_of(row.task)) == 'leval' else 'at')}"
    if found is None:
        return [where, *spread(_named(report, panels), f"on {len(panels)} parts")]
    rule = _rule(report, panels)
    depth = depth_clause(found.depth, undecided=row.overall.range is not None)
    length = length_clause(rule) if rule is not None and not rule.few else ""
    few = few_clause(rule)
    if length and rule is not None and not rule.hangs and row.overall.range is not None:
        length += " whatever the undecided answers were"
    sure = length and (
        rule is None
        or (rule.point is not None and not rule.hangs)
        or rule.optimistic is None
        or rule.conservative is not None
    )
    return [each for each in ((length, depth, where) if sure else (where, depth, length, few)) if each]


def _rule(report: RunReport, panels: Sequence[Panel]) -> EffectiveLength | None:
    """The effective length that is spoken of: that of a task's only panel."""
    found = _statistics(report, panels[0]) if len(panels) == 1 and not panels[0].uneven else None
    return None if found is None else found.absolute or found.relative


def _open(report: RunReport, rows: Sequence[TaskScore]) -> str:
    """What undecided answers leave open of the effective length, where a run of one task would tell it."""
    if len(rows) != 1 or published_clauses(report, rows[0].model):
        return ""
    return open_words(_rule(report, _panels(report, rows[0].model, rows[0].task)), rows[0].overall.counts)


def _named(report: RunReport, panels: Sequence[Panel]) -> list[tuple[str, Tally]]:
    """The panels of a task with words for them: their languages, where these tell them apart, else their labels."""
    languages = {_panel_of(record): record.language for record in report.records}
    spoken = [languages.get((panel.model, panel.task, panel.needle), "") for panel in panels]
    if len(set(spoken)) == len(panels) and set(spoken) <= set(_LANGUAGES):
        return [(_LANGUAGES[language], panel.overall) for language, panel in zip(spoken, panels, strict=True)]
    return [(f"on {panel.needle}", panel.overall) for panel in panels]


def _several_tasks(report: RunReport, model: str, rows: Sequence[TaskScore]) -> list[str]:
    macro = next((each for each in report.macros if each.model == model), None)
    return task_clauses(rows, macro, leval_clauses(report, model))


def _panels(report: RunReport, model: str, task: str) -> list[Panel]:
    """The panels of a task, those of retrievers left out."""
    own = [panel for panel in report.panels if (panel.model, panel.task) == (model, task)]
    if not report.retrieval:
        return own
    retrieved = {_panel_of(record) for record in report.records if retriever_of(record)}
    return [panel for panel in own if (panel.model, panel.task, panel.needle) not in retrieved]


def _panel_of(record: Record) -> tuple[str, str, str]:
    trial = trial_of(record)
    return trial.model, trial.task, trial.needle


def _statistics(report: RunReport, panel: Panel) -> PanelStatistics | None:
    at = panel.model, panel.task, panel.needle
    return next((each for each in report.statistics if (each.model, each.task, each.needle) == at), None)


def _surer(report: RunReport) -> Surer | None:
    """What is left to ask of a run that was ended early, or of which trials failed; else of the task that says least,
    and is no retriever's.
    """
    name = report.facts.name if report.facts else ""
    if report.interrupted:
        return Surer(asks_the_rest(name))
    if again := asks_again(report.records, name):
        return Surer(again)
    found = []
    for row in report.tasks:
        panels = _panels(report, row.model, row.task)
        if not panels or any(panel.uneven for panel in panels):
            continue
        rule = _rule(report, panels) if len(report.tasks) == 1 else None
        records = [each.record for each in report.asked if _is_of(row, each)]
        repeats = _repeats(report, row.task)
        more = surer(records, rule, row.overall, repeats)
        # What the command has asked already is not what is lacking: that is at cells which another one asked.
        if more is not None and not 0 < more.repeats <= (repeats or 0):
            found.append(more)
    return max(found, key=lambda each: each.repeats, default=None)


def _is_of(row: TaskScore, asked: RecordInPanel) -> bool:
    """Whether a trial is one of those that the row's own score is made of."""
    trial = asked.trial
    return trial.task == row.task and trial.model == row.model and not asked.control and not asked.retriever


def _repeats(report: RunReport, task: str) -> int | None:
    """The repeats of the command that ended last; the folder may have more of an earlier one."""
    suites = report.facts.told.get("suites") if report.facts else None
    own = [each for each in suites or () if isinstance(each, Mapping) and each.get("task") == task_of(task)]
    return max((each["repeats"] for each in own if isinstance(each.get("repeats"), int)), default=None)


_WIDE = 0.05  # half the width of an interval from which on a narrower one is worth its trials
# Their questions are what they are: a further repeat asks the same ones again.
_FIXED = ("leval", "openai_mrcr", "deepmind_mrcr", "graphwalks", "longbench_v2")
_MOST = 10_000  # repeats
_LASTING = ("client", "oom")  # errors that the same request meets again: what it asks for, and too little memory


@dataclass(frozen=True, slots=True)
class Surer:
    """`what` a further run would decide, and how: `repeats` for `--repeats`, 0 where another thing than an option is to
    be done, which `what` then says."""

    what: str
    repeats: int = 0


def asks_the_rest(name: str = "") -> str:
    """How a run that was ended early goes on; `name`: its run name, empty where it is not known."""
    return f"{_same_command(name)} asks the rest"


def asks_again(records: Sequence[Record], name: str = "") -> str:
    """How trials that failed get their answers; empty where none failed, or each would fail again."""
    count = sum(map(_may_be_mended, records))
    return f"{_same_command(name)} asks the {counted(count, 'failed trial')} again" if count else ""


def surer(
    records: Sequence[Record], found: EffectiveLength | None, overall: Tally, repeats: int | None = None
) -> Surer | None:
    """Return what would make the answer of one task surer; `None` where it is sure, or repeats would not help.

    `records`: those of the task, of which earlier sessions may have asked more; `found`: its effective length;
    `overall`: all of its trials; `repeats`: those of the command, `None` where nobody knows.
    """
    if not records or not overall.n:
        return None
    task = task_of(records[0].task)
    if task in OWN_DOCUMENTS:
        # A question counts once: beside `overall.samples`, which has it for each way of taking its answer out.
        asked = len({trial_of(record).sample for record in records})
        wide = _half_width(overall) > _WIDE
        return Surer(f"ask more than {asked} questions; intervals count questions, not trials") if wide else None
    if family_of(task) in _FIXED:
        return None
    if found is not None and found.hangs:
        return _room(records)
    if found is not None and found.status == "undetermined" and found.decisive is not None:
        return _to_decide(records, found)
    asked = repeats or min(_repeats_at(records).values())
    if overall.interval is None:
        return _surer_repeats(2 * asked, "for an interval: one sample has none")
    if _half_width(overall) > _WIDE:
        return _surer_repeats(4 * asked, "for an interval half as wide")
    return None


def _may_be_mended(record: Record) -> bool:
    if record.outcome == "error":
        return record.error is None or record.error.kind not in _LASTING
    return record.outcome == "invalid" and "uncalibrated" in record.details.invalid


def _same_command(name: str) -> str:
    return f"the same command{f' with --run-name {name}' if name else ''}"


def _room(records: Sequence[Record]) -> Surer | None:
    """What decides answers that the token limit cut off. Others need another thing than room: a note tells it."""
    cut = [record.response.finish_reason for record in records if record.outcome == "censored"]
    if not cut or "unfinished" in cut:
        return None
    return Surer("more room for the answers: --answer-budget, and --thinking-budget for a model that reasons first")


def _to_decide(records: Sequence[Record], found: EffectiveLength) -> Surer | None:
    """The fewest repeats after which the decisive length is decided, if their samples score as those so far.

    With too few samples to prove any length, the promise is kept to where every answer is right. Earlier sessions may
    have asked a length more often than another: each is counted by what it was asked.
    """
    asked, samples = _repeats_at(records), _scored_samples(records)
    trials = [trial for record in records if (trial := trial_of(record)).length == found.decisive]
    # Its mean is on one side of the bar whatever undecided trials are: they are counted for the other side.
    worst = [trial.score for trial in decided(trials, hits=False) if trial.score is not None]
    above = bool(worst) and fsum(worst) / len(worst) >= found.threshold
    trials = decided(trials, hits=not above)
    scored = [(trial.score, trial.sample_name) for trial in trials if trial.score is not None]
    if not scored:
        return None
    if found.few and found.needed and all(score == 1 for score, _ in scored):
        repeats = max(ceil(asked[length] * found.needed / len(names)) for length, names in samples.items())
        return _surer_repeats(repeats, "to prove a length, as far as every answer is right")
    evidence = of_scores([score for score, _ in scored], [sample for _, sample in scored])
    more = further_samples(evidence, lambda low, high: low >= found.threshold or high < found.threshold, 1)
    if not more:
        return None
    now = asked[found.decisive or 0]
    return _surer_repeats(now + ceil(more * now / evidence.samples), "to decide the length")


def _repeats_at(records: Sequence[Record]) -> dict[int, int]:
    """How many repeats each length has."""
    found: dict[int, int] = {}
    for record in records:
        found[record.length] = max(found.get(record.length, 0), 1 + record.repeat)
    return found


def _scored_samples(records: Sequence[Record]) -> dict[int, set[object]]:
    """The samples of each length that have a score."""
    found: dict[int, set[object]] = {}
    for trial in map(trial_of, records):
        if trial.score is not None:
            found.setdefault(trial.length, set()).add(trial.sample_name)
    return found


def _half_width(found: Tally) -> float:
    return 1.0 if found.interval is None else (found.interval.high - found.interval.low) / 2


def _surer_repeats(count: int, what: str) -> Surer | None:
    return Surer(what, count) if count <= _MOST else None
