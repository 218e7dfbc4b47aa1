"""Parts of the first sentence: faults, lengths, models, tasks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from needlework.core.labels import OWN_DOCUMENTS
from needlework.core.record import UNDECIDED, UNSCORED, OutcomeName, Record
from needlework.haystack_fixtures.tasks.catalogue import family_of
from needlework.results.adaptive.design import SHARE
from needlework.results.adaptive.survey import LengthStatement
from needlework.results.records.samples import task_of
from needlework.results.statistics.effective_length import RELATIVE, RULER_THRESHOLD, EffectiveLength
from needlework.results.statistics.panels import Range, RecordInPanel, Tally
from needlework.results.statistics.run_report import RunReport
from needlework.results.statistics.sentence.parts import ends_words, range_words, tokens
from needlework.results.statistics.suites.ruler import TASKS
from needlework.results.statistics.tasks import Macro, TaskScore
from needlework.results.style import counted, fit, one_line, percent1

FAULTS = ("error", "invalid")
_LONGEST = 240  # columns of a reason
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")
_OURS = re.compile(r"(?:no answer: |no connection: |context too long: )?[^:'\"]*")  # before what the server said
_WAYS = 3  # so many reasons that differ in the server's words alone may each be a fault of its own


@dataclass(frozen=True, slots=True)
class FaultCount:
    """`count` of `trials` trials went wrong for the same `reason`. `outcome`: `error` or `invalid`; `id`: the first."""

    outcome: str
    reason: str
    count: int
    trials: int
    id: str

    @property
    def text(self) -> str:
        """`19 of 19: the judge's reply cannot be read`."""
        return f"{self.count:,} of {self.trials:,}: {self.reason}"


def faults_of(records: Sequence[Record]) -> tuple[FaultCount, ...]:
    """Return the faults of a run, those of most trials first. Reasons that differ in numbers alone are one, and those
    that differ in what the server said, where it says many things.
    """
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for record in records:
        if record.outcome in FAULTS:
            reason = reason_of(record)
            at = record.outcome, _NUMBERS.sub("0", reason)
            groups.setdefault(at, []).append((reason, record.id))
    alike: dict[tuple[str, str], list[list[tuple[str, str]]]] = {}
    for (outcome, _), those in groups.items():
        alike.setdefault((outcome, _ours(those[0][0])), []).append(those)
    found = list[FaultCount]()
    for (outcome, _), ways in alike.items():
        many = len(ways) > _WAYS
        for those in [[each for way in ways for each in way]] if many else ways:
            reason = Counter(reason for reason, _ in those).most_common(1)[0][0]
            told = f"{reason} (of {len(ways)} that begin like it)" if many else reason
            found.append(FaultCount(outcome, told, len(those), len(records), those[0][1]))
    return tuple(sorted(found, key=lambda fault: (-fault.count, fault.outcome, fault.reason)))


def _ours(reason: str) -> str:
    """A reason up to the server's words, with the numbers of statuses alone."""
    begins = _OURS.match(reason)
    return re.sub(r"(?<!HTTP )(?<!\d)\d+(?:\.\d+)?", "0", begins[0]) if begins else ""


def reason_of(record: Record) -> str:
    """Why a trial has no score, in a line: the error's message, or what made it invalid."""
    error = record.error if record.outcome == "error" else None
    said = error and (error.message or error.kind)
    return fit(one_line(str(said or record.why or f"{record.outcome}, and nothing tells why")), _LONGEST, "…")


def length_clause(found: EffectiveLength | None) -> str:
    """`holds RULER's 85.6 % up to 2k tokens (95 % sure: 1k to 4k)`; empty where nothing has a score.

    What is "sure" is what the intervals say: at least `conservative`, at most `optimistic`. Where undecided answers
    decide the rest, that is all, if it is anything: `open_words` has why.
    """
    if found is None or found.longest_tested is None or (found.rule == "relative" and not found.base):
        return ""
    bar = _bar(found)
    if found.status == "at least":
        scored = " with a score" if found.longest_asked not in (None, found.longest_tested) else ""
        return f"holds {bar} at every length{scored}, up to {tokens(found.longest_tested)} tokens (95 % sure)"
    if found.status == "none":
        return f"does not hold {bar} at any length, {tokens(found.decisive)} tokens included (95 % sure)"
    if found.hangs:
        return _sure_alone(bar, found)
    said = f"up to {tokens(found.point)} tokens" if found.point is not None else "at no length by its scores"
    return f"holds {bar} {said} ({_sure(found)})"


def few_clause(found: EffectiveLength | None) -> str:
    """What so few samples showed of the length, and how many would do: `too few to say ...`; else empty."""
    if found is None or not found.few or (found.rule == "relative" and not found.base):
        return ""
    bar = _bar(found)
    held = f"held {bar} up to {tokens(found.point)} tokens" if found.point is not None else f"held {bar} at no length"
    most = ""
    if found.optimistic is None:
        most = "; 95 % sure is that it holds it nowhere"
    elif found.optimistic != found.longest_tested:
        most = f"; 95 % sure is only that it ends by {tokens(found.optimistic)}"
    a_length = "one question" if found.samples == 1 else f"{found.samples} questions"
    return f"in this run it {held}, but {a_length} a length cannot prove that ({found.needed} can){most}"


def open_words(found: EffectiveLength | None, undecided: Mapping[OutcomeName, int]) -> str:
    """What stands behind the count of undecided answers that decide the length, none of which are a hit or a miss yet:
    `no word on effective length until they are whole`; empty where they do not. `undecided`: how many, by outcome.
    """
    if found is None or not found.hangs:
        return ""
    kinds = [name for name in UNDECIDED if undecided.get(name)]
    if len(kinds) > 1:
        until = "all these are decided"
    elif sum(undecided.get(name, 0) for name in UNDECIDED) == 1:
        until = "it is whole" if kinds == ["censored"] else "it is decided"
    else:
        until = "they are whole" if kinds == ["censored"] else "they are decided"
    return f"no {'more' if length_clause(found) else 'word'} on effective length until {until}"


def adaptive_clause(found: LengthStatement) -> str:
    """`holds RULER's 85.6 % up to 32k to 64k tokens (95 % sure)`; empty where the bar is not known."""
    if found.bar is None:
        return ""
    bar = absolute(found.bar) if found.rule == "absolute" else f"{100 * SHARE:.0f} % of its base score"
    low, high = found.low, found.high
    if high is None:
        return f"does not hold {bar} even at {tokens(found.lengths[0].length)} tokens (95 % sure)"
    if low is None and found.or_more:
        scored = any(each.n for each in found.lengths)
        return f"is not decided: no length is shown to hold {bar}, none to fail it" if scored else ""
    if low == high and found.or_more:
        return f"holds {bar} at every length, up to {tokens(high)} tokens (95 % sure)"
    return _within(bar, low, None if found.or_more else high)


def _sure_alone(bar: str, found: EffectiveLength) -> str:
    """What the intervals say whatever undecided answers are; empty where that is nothing."""
    high = None if found.optimistic == found.longest_tested else found.optimistic
    return "" if found.conservative is None and high is None else _within(bar, found.conservative, high)


def _within(bar: str, low: int | None, high: int | None) -> str:
    """At least `low` tokens, at most `high`; `None` for an end that is not known."""
    if high is None:
        return f"holds {bar} up to {tokens(low)} tokens at least (95 % sure)"
    if low is None:
        return f"holds {bar} up to at most {tokens(high)} tokens (95 % sure)"
    ends = tokens(low) if low == high else f"a length between {tokens(low)} and {tokens(high)}"
    return f"holds {bar} up to {ends} tokens (95 % sure)"


def absolute(bar: float) -> str:
    """`RULER's 85.6 %`: whose bar it is, where it is theirs."""
    return f"RULER's {percent1(bar)} %" if bar == RULER_THRESHOLD else f"{percent1(bar)} %"


def _bar(found: EffectiveLength) -> str:
    if found.rule == "absolute":
        return absolute(found.threshold)
    return f"{100 * RELATIVE:.0f} % of its base score"


def _sure(found: EffectiveLength) -> str:
    """What is sure of a length: both ends, one of them, or nothing."""
    most = None if found.optimistic == found.longest_tested else tokens(found.optimistic)
    if found.optimistic is None:
        return "95 % sure: at no length"
    if found.conservative is None:
        return f"95 % sure: at most {most}" if most else "nothing about it is 95 % sure yet"
    least = tokens(found.conservative)
    if most is None:
        return f"95 % sure: {least} or more"
    return "95 % sure" if least == most else f"95 % sure: {least} to {most}"


_MOST_MODELS = 4  # that one sentence names


@dataclass(frozen=True, slots=True)
class ModelScore:
    """A model's one number, 0..1, with its 95 % interval; `range`: where undecided answers make it one."""

    value: float
    low: float | None
    high: float | None
    range: Range | None


def one_score(report: RunReport, model: str) -> ModelScore | None:
    """A model's one score: a published one, the macro score of families, the score of a single task; else `None`."""
    published = _published(report, model)
    if published is not None:
        return published
    macro = next((each for each in report.macros if each.model == model), None)
    if macro is not None:
        share = macro.score
        return None if share.value is None else ModelScore(share.value, share.low, share.high, macro.range)
    rows = [row for row in report.tasks if row.model == model and task_of(row.task) != "doc_absent"]
    if len(rows) != 1 or rows[0].overall.mean is None:
        return None
    found = rows[0].overall
    low, high = (found.interval.low, found.interval.high) if found.interval else (None, None)
    return ModelScore(found.mean or 0.0, low, high, found.range)


def _published(report: RunReport, model: str) -> ModelScore | None:
    """NeedleBench's overall score, and RULER's mean at one length."""
    for suite in (each for each in report.suites if each.model == model):
        for row in suite.rows:
            if row.name == "Overall" and row.score.value is not None and not row.missing:
                return ModelScore(row.score.value, row.score.low, row.score.high, row.range)
    asked = {row.task for row in report.tasks if row.model == model}
    for table in (each for each in report.ruler if each.model == model and asked <= set(TASKS)):
        if len(table.lengths) == 1 and (mean := table.lengths[0].mean) is not None:
            return ModelScore(mean, table.lengths[0].low, table.lengths[0].high, None)
    return None


def beside_each_other(scores: Mapping[str, ModelScore | None]) -> list[str]:
    """`2 models, scores in percent: a 90.0 (95 % sure: 80.1 to 95.2), b 40.0 (...)`, and `a is best`."""
    words = [f"{one_line(model)} {_short(scores[model])}" for model in [*scores][:_MOST_MODELS]]
    more = [f"and {len(scores) - _MOST_MODELS} more"] if len(scores) > _MOST_MODELS else []
    told = f"{len(scores)} models, scores in percent: {', '.join([*words, *more])}"
    return [told, *([best] if (best := _best(scores)) else [])]


def _short(found: ModelScore | None) -> str:
    if found is None:
        return "no score"
    if found.range is not None:
        return range_words(found.range).removesuffix(" %")
    ends = "" if found.low is None or found.high is None else f" ({ends_words(found.low, found.high)})"
    return f"{percent1(found.value)}{ends}"


def _best(scores: Mapping[str, ModelScore | None]) -> str:
    """Who is best, where one interval lies above all others; models of one run were asked the same questions."""
    ends = {
        model: (found.low, found.high)
        for model, found in scores.items()
        if found is not None and found.low is not None and found.high is not None and found.range is None
    }
    if None in scores.values():
        return ""
    if len(ends) < len(scores):
        return "not all of them have an interval: none is shown to be best"
    best = max(ends, key=lambda model: ends[model][0])
    if all(ends[best][0] > high for model, (_, high) in ends.items() if model != best):
        return f"{one_line(best)} is best"
    return "their intervals overlap: none is shown to be best"


def rests(report: RunReport) -> str:
    """`304 trials of 19 independent questions; 3 without a score (2 invalid, 1 error)`.

    Questions of L-Eval that share a document are one sample: `15 trials of 15 questions on 3 independent documents`.
    """
    trials, counts = len(report.records), Counter([each.trial.outcome for each in report.asked])
    lost = [f"{counts[name]:,} {name}" for name in UNSCORED if counts[name]]
    without = f"; {sum(counts[name] for name in UNSCORED):,} without a score ({', '.join(lost)})" if lost else ""
    # Models, controls and retrievers are asked the same questions: none counts twice.
    tasks = {each.trial.task for each in report.asked}
    leval = {task for task in tasks if family_of(task_of(task)) == "leval"}
    samples = _samples(report.asked, leval)
    of = counted(samples, "independent question")
    if leval == tasks:
        questions = len({(record.task, *record.needle.split("_")[:2]) for record in report.records})
        if samples < questions:
            of = f"{counted(questions, 'question')} on {counted(samples, 'independent document')}"
    return f"{counted(trials, 'trial')} of {of}{without}"


def _samples(asked: Iterable[RecordInPanel], leval: Collection[str]) -> int:
    """How many samples there are. Tasks on one's own documents share theirs; those of L-Eval are documents."""
    found: dict[tuple[str, str], set[int]] = {}
    for each in asked:
        found.setdefault((each.trial.task, each.trial.needle), set()).add(each.trial.sample)
    shared: dict[tuple[str, str], set[int]] = {}
    for (task, panel), samples in found.items():
        own = task_of(task) in OWN_DOCUMENTS
        shared.setdefault(("" if own else task, "" if own or task in leval else panel), set()).update(samples)
    return sum(map(len, shared.values()))


_LISTED = 4  # scores, of which each is named


def task_clauses(rows: Sequence[TaskScore], macro: Macro | None, means: Sequence[str] = ()) -> list[str]:
    """`scores 54.3 % (95 % sure: ...) as the mean of 9 kinds of tasks`, `from ... to ..., on 20 tasks`.

    `means`: what to say in place of a macro score, where there is none.
    """
    mean = _macro(macro) if macro is not None else ""
    parts = [mean] if mean else list(means)
    told = spread([(f"on {row.task}", row.overall) for row in rows], f"on {len(rows)} tasks")
    return [*parts, *(told if parts else [f"scores {each}" for each in told]), *_no_mean(macro, means)]


def _no_mean(found: Macro | None, means: Sequence[str]) -> list[str]:
    """Why several kinds of tasks have no mean."""
    if found is None or means or not found.missing or found.range is not None:
        return []
    more = f" and {len(found.missing) - 1} more" if len(found.missing) > 1 else ""
    have = "has" if len(found.missing) == 1 else "have"
    return [f"no mean over {found.families} kinds of tasks, as {one_line(found.missing[0])}{more} {have} no score"]


def _macro(found: Macro) -> str:
    over = f"as the mean of {found.families} kinds of tasks"
    if found.range is not None:
        return f"scores {range_words(found.range)} {over}"
    score = found.score
    if score.value is None:
        return ""
    ends = f" ({ends_words(score.low, score.high)})" if score.low is not None and score.high is not None else ""
    return f"scores {percent1(min(1.0, max(0.0, score.value)))} %{ends} {over}"


def spread(scores: Sequence[tuple[str, Tally]], where: str) -> list[str]:
    """`25.0 % on chain, 90.0 % on niah`, from the lowest on; of many scores the lowest and the highest of them.

    `scores`: with the words that follow each; `where`: the words that follow all of them.
    """
    known = sorted(
        ((found.mean, one_line(name)) for name, found in scores if found.mean is not None and found.range is None)
    )
    if len(known) < 2:
        return []
    (low, worst), (high, best) = known[0], known[-1]
    if low == high:
        return [f"{percent1(low)} % each {where}"]
    if len(known) <= _LISTED:
        return [", ".join(f"{percent1(score)} % {name}" for score, name in known)]
    return [f"from {percent1(low)} % {worst} to {percent1(high)} % {best}, {where}"]
