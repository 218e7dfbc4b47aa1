"""RULER's and NeedleBench's tables, as published but for NeedleBench's two faults."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from needlework.core.record import OutcomeName, Record
from needlework.core.settings import Settings, Suite
from needlework.haystack_fixtures.configuration.resolve import resolve_settings
from needlework.haystack_fixtures.tasks.arms import split_label
from needlework.haystack_fixtures.tasks.catalogue import grid, task_named
from needlework.results.records.samples import by_test, grouped, without_controls
from needlework.results.statistics.effective_length import EffectiveLength, absolute_length
from needlework.results.statistics.length_scores import LengthScore
from needlework.results.statistics.panels import Range, Rate, ScoredTrial, Share, tally, trial_of
from needlework.results.statistics.tasks import weighted_mean, weighted_range

_NEEDLES = ("single_1", "single_2", "single_3", "multikey_1", "multikey_2", "multikey_3", "multivalue", "multiquery")
TASKS = (
    *(f"ruler_niah_{name}" for name in _NEEDLES),
    *("ruler_vt", "ruler_cwe", "ruler_fwe", "ruler_qa_1", "ruler_qa_2"),
)
_SCORERS = ("ruler_all", "ruler_part")


class RulerLength(Struct, frozen=True):
    """The tasks at one length; scores 0..1, all `None` where a task is missing."""

    length: int  # tokens
    mean: float | None  # of the tasks' means, each weighing the same
    low: float | None  # its 95 % interval, from the tasks' own (`weighted_mean`)
    high: float | None
    strict: float | None  # the same mean of the strict scores
    n: int  # trials that count
    cut: int  # of those, answers cut off before anything right, which RULER scores as 0
    unscored: int  # further trials, which have no score for another reason
    missing: tuple[str, ...]  # tasks without a score here
    partial: bool  # a task was not asked here at all, so that the length is none of the effective length's


class RulerTable(Struct, frozen=True):
    """A model's row in one language."""

    model: str
    language: str
    lengths: tuple[RulerLength, ...]
    increasing: float | None  # wAvg(inc): mean over the lengths that have one, weights growing by 1; `None` below two
    decreasing: float | None  # wAvg(dec): weights falling by 1
    effective: EffectiveLength
    effective_length: str  # in words
    scorers: tuple[str, ...]  # those that are not RULER's


def ruler_tables(records: Iterable[Record]) -> tuple[RulerTable, ...]:
    """Return a table for each model, test and language with any of the 13 tasks, without controls."""
    answers = (record for record in without_controls(records) if record.task in TASKS)
    tables = []
    for model, of_model in _by_model(answers).items():
        languages = grouped(of_model, lambda record: record.language)
        tables += [_table(model, language, languages[language]) for language in sorted(languages)]
    return tuple(tables)


def _by_model(records: Iterable[Record]) -> dict[str, list[Record]]:
    """The records of each model, sorted; where several tests asked the same, of each `model (test)`."""
    models: dict[str, list[Record]] = {}
    for test, of_test in by_test(records).items():
        for record in of_test:
            models.setdefault(f"{record.model} ({test})" if test else record.model, []).append(record)
    return dict(sorted(models.items()))


def weighted(scores: Sequence[float], *, increasing: bool) -> float:
    """The mean of scores by ascending length, with weights 1, 2, 3, ..., or in reverse."""
    weights = range(1, len(scores) + 1) if increasing else range(len(scores), 0, -1)
    return fsum(weight * score for weight, score in zip(weights, scores, strict=True)) / sum(weights)


def _table(model: str, language: str, records: Sequence[Record]) -> RulerTable:
    by_length = grouped(records, lambda record: record.length)
    lengths = tuple(_length(length, by_length[length]) for length in sorted(by_length))
    means = [each.mean for each in lengths if each.mean is not None]
    complete = [LengthScore(each.length, each.mean, each.low, each.high) for each in lengths if not each.partial]
    effective = absolute_length(complete)
    scorers = {record.scorer for record in records if record.score is not None} - set(_SCORERS)
    return RulerTable(
        model=model,
        language=language,
        lengths=lengths,
        increasing=weighted(means, increasing=True) if len(means) > 1 else None,
        decreasing=weighted(means, increasing=False) if len(means) > 1 else None,
        effective=effective,
        effective_length=effective.answer,
        scorers=tuple(sorted(scorers)),
    )


def _length(length: int, records: Sequence[Record]) -> RulerLength:
    by_task = grouped(records, lambda record: record.task)
    tallies = {task: tally(map(_trial, by_task.get(task, ()))) for task in TASKS}
    missing = tuple(task for task, scores in tallies.items() if scores.mean is None)
    counted = [record for record in records if _trial(record).score is not None]
    mean = Share(None) if missing else weighted_mean([scores.share for scores in tallies.values()])
    return RulerLength(
        length=length,
        mean=mean.value,
        low=mean.low,
        high=mean.high,
        strict=None if missing else _strict(counted),
        n=len(counted),
        cut=sum(record.outcome == "censored" for record in counted),
        unscored=len(records) - len(counted),
        missing=missing,
        partial=any(task not in by_task for task in missing),
    )


def _trial(record: Record) -> ScoredTrial:
    """A trial as RULER counts it: an answer that was cut off before it gave anything right is wrong."""
    trial = trial_of(record)
    return trial._replace(outcome="wrong", score=0.0) if trial.outcome == "censored" else trial


def _strict(records: Sequence[Record]) -> float | None:
    """The mean of the tasks' mean strict scores; `None` where a scored record has none.

    What is unclear to the strict rule is left out.
    """
    scores: dict[str, list[float]] = {}
    for record in records:
        score = 0.0 if record.outcome == "censored" else record.details.score.get("strict", "")
        if isinstance(score, (int, float)):
            scores.setdefault(record.task, []).append(float(score))
        elif score is not None:
            return None
    return fmean(map(fmean, scores.values())) if scores else None


# NeedleBench's rows and weights are OpenCompass's (`configs/summarizers/needlebench.py`): S-RT (one needle), M-RT (one
# needle at each depth), M-RS (a chain of two to five), by language, and their overall score. Two things are not
# repeated: its S-RT row is made of the M-RT data, and a recovery after a drop resets its longest ATC chain.
# A row with missing parts is no number: it says what is missing. The weights: shares of the overall score.
WEIGHTS = {"v1": {"S-RT": 0.4, "M-RT": 0.3, "M-RS": 0.3}, "v2": {"S-RT": 1 / 3, "M-RT": 1 / 3, "M-RS": 1 / 3}}
# A chain of the Ancestral Trace Challenge counts as held from this score on.
HELD = 0.6
_PARTS = {"niah": "S-RT", "parallel": "M-RT", "needlebench_reasoning": "M-RS", "needlebench_atc": "ATC"}
_PRESET = re.compile(r"needlebench-(v[12])-\w+")


class NeedleBenchPart(Struct, frozen=True):
    """A data set of NeedleBench: one task in one language, with one number of needles."""

    kind: str  # S-RT, M-RT, M-RS or ATC
    language: str  # EN or ZH
    needles: int  # 0 where there are no parts of several numbers
    task: str  # as records name it
    needle: str
    trials: frozenset[tuple[int, float | None, int]]  # length, depth, repeat that the run asks of every model

    @property
    def name(self) -> str:
        """`S-RT-EN`, `3-Needle-ZH`, `ATC-16-EN`."""
        if self.kind == "ATC":
            return f"ATC-{self.needles}-{self.language}"
        return f"{self.needles}-Needle-{self.language}" if self.needles else f"{self.kind}-{self.language}"


class NeedleBenchDesign(Struct, frozen=True):
    """The questions of a NeedleBench preset's run."""

    preset: str
    version: str
    parts: tuple[NeedleBenchPart, ...]
    changed: tuple[str, ...]  # keys of its suites that are not the preset's


class NeedleBenchRow(Rate, frozen=True):
    """The score of one row of the summary."""

    name: str = ""
    unscored: Mapping[OutcomeName, int] = {}
    missing: tuple[str, ...] = ()  # why there is no score
    range: Range | None = None  # of the score; `None` where no answer is undecided


class Reach(Struct, frozen=True):
    """The longest chain that a model holds: no number of statements up to it scores below `HELD`."""

    name: str
    needles: int | None  # 0 where the shortest fails; `None` where a score up to there is missing
    dropped: int | None  # that first number; `None` where there is none
    missing: tuple[str, ...] = ()


class NeedleBench(Struct, frozen=True):
    """The summary of one model, as `results.json` has it."""

    model: str
    preset: str
    changed: tuple[str, ...]  # keys of the run's suites that are not the preset's
    weights: Mapping[str, float]
    rows: tuple[NeedleBenchRow, ...]
    max_needles: tuple[Reach, ...]


def design_of(settings: Settings) -> NeedleBenchDesign | None:
    """The NeedleBench design of a run, by preset name and suites; `None` for other presets."""
    named = _PRESET.fullmatch(settings.preset)
    if named is None:
        return None
    published = resolve_settings({"preset": settings.preset}, {}, Path()).suites
    trials = {}
    for series in grid(settings):
        first = series.cells[0]
        if not split_label(first.needle, series.suite.controls)[1]:
            trials[first.task, first.needle] = frozenset((c.length, c.depth, c.repeat) for c in series.cells)
    parts = tuple(
        NeedleBenchPart(
            kind=_PARTS[suite.task],
            language=suite.language.upper(),
            needles=int("".join(filter(str.isdigit, label)) or 0),
            task=suite.task,
            needle=label,
            trials=trials.get((suite.task, label), frozenset()),
        )
        for suite in published
        for label in task_named(suite.task).labels(suite)
    )
    return NeedleBenchDesign(settings.preset, named[1], parts, _changed(settings.suites, published))


def needlebench(records: Iterable[Record], design: NeedleBenchDesign | None) -> tuple[NeedleBench, ...]:
    """Return the summary of each model and test, sorted; none for another preset. Without controls."""
    if design is None:
        return ()
    summaries = []
    for model, of_model in _by_model(record for record in records if record.task in _PARTS).items():
        by_part = grouped(of_model, lambda record: (record.task, record.needle))
        rows = {part: _part_row(part, by_part.get((part.task, part.needle), [])) for part in design.parts}
        weights = WEIGHTS[design.version]
        summary = tuple(_rows(rows, weights)), tuple(_reaches(rows))
        summaries.append(NeedleBench(model, design.preset, design.changed, weights, *summary))
    return tuple(summaries)


def _changed(suites: Sequence[Suite], published: Sequence[Suite]) -> tuple[str, ...]:
    """Keys that differ in a suite of the same task and language; missing suites show by their parts."""
    known = {(suite.task, suite.language): suite for suite in published}
    pairs = [(suite, known[suite.task, suite.language]) for suite in suites if (suite.task, suite.language) in known]
    names = [name for name in Suite.__struct_fields__ if name != "controls"]
    return tuple(name for name in names if any(getattr(suite, name) != getattr(other, name) for suite, other in pairs))


def _part_row(part: NeedleBenchPart, records: Sequence[Record]) -> NeedleBenchRow:
    scores = tally(map(trial_of, records))
    missing = tuple(_missing(part, records))
    share, limits = (Share(None), None) if missing else (scores.share, scores.range)
    unscored = scores.unscored
    return NeedleBenchRow(share.value, share.low, share.high, scores.n, part.name, unscored, missing, limits)


def _missing(part: NeedleBenchPart, records: Sequence[Record]) -> Iterable[str]:
    """The reason of a missing score: not asked, not all asked yet, or cells without a scored trial."""
    if not part.trials:
        yield part.name
        return
    left = len(part.trials - {(record.length, record.depth, record.repeat) for record in records})
    if left:
        yield f"{part.name}: {left} of {len(part.trials)} trials not run"
        return
    cells = {(length, depth) for length, depth, _ in part.trials}
    blank = cells - {(record.length, record.depth) for record in records if record.score is not None}
    if blank:
        lengths = ", ".join(map(str, sorted({length for length, _ in blank})))
        yield f"{part.name}: {len(blank)} of {len(cells)} cells without a score (at lengths {lengths})"


def _rows(parts: Mapping[NeedleBenchPart, NeedleBenchRow], weights: Mapping[str, float]) -> Iterable[NeedleBenchRow]:
    """The rows in the published order: overall, each kind with its languages, numbers of needles."""

    def of(kind: str, language: str = "") -> list[NeedleBenchRow]:
        return [row for part, row in parts.items() if part.kind == kind and language in ("", part.language)]

    kinds = {kind: rows for kind in weights if (rows := of(kind))}
    languages = tuple(dict.fromkeys(part.language for part in parts))
    if kinds:
        yield _combined("Overall", [(row, weights[kind] / len(rows)) for kind, rows in kinds.items() for row in rows])
    for kind, rows in kinds.items():
        yield _mean(kind, rows)
        yield from (_mean(f"{kind}-{language}", of(kind, language)) for language in languages)
    yield from of("M-RS")
    for language in languages if of("ATC") else ():
        chains = {part: row for part, row in parts.items() if part.kind == "ATC" and part.language == language}
        yield _mean(f"ATC-{language}", of("ATC", language))
        total = sum(part.needles for part in chains)
        yield _combined(f"ATC-{language} by needles", [(row, part.needles / total) for part, row in chains.items()])
        yield from chains.values()


def _mean(name: str, rows: Sequence[NeedleBenchRow]) -> NeedleBenchRow:
    return _combined(name, [(row, 1 / len(rows)) for row in rows])


def _combined(name: str, shares: Sequence[tuple[NeedleBenchRow, float]]) -> NeedleBenchRow:
    """The weighted mean of rows, which are of different needles; none where parts are missing."""
    unscored = Counter[OutcomeName]()
    for row, _ in shares:
        unscored.update(row.unscored)
    missing = tuple(reason for row, _ in shares for reason in row.missing)
    share = weighted_mean([row for row, _ in shares], [weight for _, weight in shares])
    limits = None if missing else weighted_range([(row.range, row.value, weight) for row, weight in shares])
    n = sum(row.n for row, _ in shares)
    return NeedleBenchRow(share.value, share.low, share.high, n, name, dict(unscored), missing, limits)


def _reaches(parts: Mapping[NeedleBenchPart, NeedleBenchRow]) -> Iterable[Reach]:
    chains = [(part, row) for part, row in parts.items() if part.kind == "ATC"]
    for language, rows in grouped(chains, lambda chain: chain[0].language).items():
        name, longest = f"ATC-{language} max needles", 0
        for part, row in sorted(rows, key=lambda chain: chain[0].needles):
            if row.value is None:
                yield Reach(name, None, None, row.missing)
                break
            if row.value < HELD:
                yield Reach(name, longest, part.needles)
                break
            longest = part.needles
        else:
            yield Reach(name, longest, None)
