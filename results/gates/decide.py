"""Decides gates: pass, fail or inconclusive."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import fsum
from types import MappingProxyType

from needlework.core.record import NOTHING_SAID, SCORED, UNDECIDED, UNSCORED, OutcomeName, Record
from needlework.results.gates.gate import COMPARE, Baseline, Gate, State, Verdict, groups_of
from needlework.results.records.samples import common_window, windows_of
from needlework.results.statistics.comparison.comparison import losses_of
from needlework.results.statistics.intervals import FEW, NEEDED, Ends, detectable_drop
from needlework.results.statistics.paired import (
    LEVEL,
    Evidence,
    error_at,
    further_samples,
    level_of,
    mean_difference,
    of_differences,
    of_scores,
    pairs_of,
    samples_for_p,
    sign_flip_p,
    smallest_p,
)
from needlework.results.statistics.panels import ScoredTrial, trial_of
from needlework.results.statistics.tasks import GateRow
from needlework.results.style import duration, one_line
from needlework.results.tables.comparison import loss_words, lost_words

# A gate asks about the model, and a run is a sample of it. So it passes when the whole interval of its mean is within
# the limit, fails when the whole interval is beyond it, and is inconclusive while the limit lies inside. `lower_bound`
# asks for proof: it fails as soon as the mean itself is not over the limit, where no further trials at that score would
# help.
#
# Several groups of one gate (`per length`) share the chance of a wrong fail, since one that fails decides the run: each
# fails at its share of it (Bonferroni). A pass is each group's own.
#
# `not worse` is the other way round: it passes unless the run is shown to be worse than its baseline, by the p value of
# `needlework compare`, and says which drop its samples would show. Where no p of so many samples could be small enough
# for so many groups it is inconclusive.
#
# Censored, unclear, invalid and failed trials count against a gate, as the score that it likes least: they can fail it
# and never help. A trial that does not fit the model's window (of a drop: that the baseline could answer) is a fact and
# no sample: it fails a gate at once, without an interval.
_AGAINST: tuple[OutcomeName, ...] = (*UNDECIDED, "invalid", "error")


def judge_gate(
    gate: Gate,
    records: Sequence[Record],
    baseline: Baseline | None = None,
    look: int = 1,
    windows: Mapping[str, int] = MappingProxyType({}),
) -> list[Verdict]:
    """The gate's verdict for each group; one that fails when no record is in scope. `windows`: model -> tokens."""
    groups = gate_groups(gate, records, baseline)
    if not groups:
        return [Verdict(gate.text, "no cell in scope", "fail")]
    return [
        judge_group(gate, group, found, baseline, look, windows, groups=len(groups)) for group, found in groups.items()
    ]


def gate_groups(gate: Gate, records: Sequence[Record], baseline: Baseline | None) -> dict[str, list[Record]]:
    """The groups that a gate asks of; several models that share one baseline are compared with it one by one."""
    shared = gate.paired and baseline is not None and not baseline.by_model
    return groups_of(gate, records, each_model=shared and len({record.model for record in records}) > 1)


def _asked_at_several(records: Sequence[Record]) -> bool:
    places = [(trial.sample_name, trial.length) for trial in map(trial_of, records)]
    return len(set(places)) < len(places)


def judge_group(
    gate: Gate,
    group: str,
    records: Sequence[Record],
    baseline: Baseline | None = None,
    look: int = 1,
    windows: Mapping[str, int] = MappingProxyType({}),
    *,
    groups: int = 1,
) -> Verdict:
    """The verdict for one group of records, at the `look`-th look at them (see `evidence`).

    `groups`: how many the gate asks of; they share the chance of a wrong fail.
    """
    scored = [record for record in records if record.outcome in SCORED]
    blank = Verdict(
        gate.text, group, "fail", level=level_of(look), n=len(scored), paired=gate.paired,
        windows=(None, common_window(windows, records)), nothing=_counts(scored, NOTHING_SAID),
        several_depths=_asked_at_several(records),
    )  # fmt: skip
    if gate.paired:
        return _judge_drop(gate, blank, records, baseline, look, groups)
    losses = losses_of((record.length, (record.outcome,) * 2, (True, not _skipped(record))) for record in records)
    blank = replace(blank, against=_counts(records, _AGAINST), losses=losses[0] if losses else None)
    if not scored:
        return replace(blank, note="nothing scored")
    worst = [_against(gate, trial_of(record)) for record in records]
    counted = [(trial.score, trial.sample_name) for trial in worst if trial.score is not None]
    evidence = of_scores([score for score, _ in counted], [name for _, name in counted])
    return _judged(gate, blank, evidence, look, groups)


def _skipped(record: Record) -> bool:
    return record.outcome == "skipped"


def _against(gate: Gate, trial: ScoredTrial) -> ScoredTrial:
    """A trial without a score as the gate likes it least."""
    if trial.outcome in SCORED:
        return trial
    return trial._replace(outcome="wrong", score=0.0 if gate.compare in (">=", ">") else 1.0)


def _judge_drop(
    gate: Gate, blank: Verdict, records: Sequence[Record], baseline: Baseline | None, look: int, groups: int
) -> Verdict:
    known = [(record, baseline.score_of(record) if baseline else None) for record in records]
    pairs = [(record, before) for record, before in known if before is not None]
    both = [record for record, _ in pairs]
    scored = [record for record in both if record.outcome in SCORED]
    losses = losses_of((each.length, ("found", each.outcome), (True, each.outcome in SCORED)) for each in both)
    blank = replace(
        blank,
        n=len(scored),
        against=_counts(both, UNSCORED),
        nothing=_counts(scored, NOTHING_SAID),
        losses=losses[0] if losses else None,
        windows=(_window_before(baseline, both), blank.windows[1]),
        note=f"{len(records) - len(pairs)} not scored in the baseline" if len(records) > len(pairs) else "",
    )
    if not pairs or (not scored and not blank.certain):
        return replace(blank, note="no trial that both runs scored")
    drops = [before - (record.score or 0.0 if record.outcome in SCORED else 0.0) for record, before in pairs]
    names = [trial_of(record).sample_name for record in both]
    if gate.metric == "drop" or blank.certain:
        return _judged(gate, blank, of_differences(drops, names), look, groups)
    return _judge_not_worse(gate, blank, drops, names, fsum(before for _, before in pairs) / len(pairs), groups)


def _judge_not_worse(
    gate: Gate, blank: Verdict, drops: Sequence[float], names: Sequence[Hashable], base: float, groups: int
) -> Verdict:
    """`base`: the baseline's mean score. With several `groups` each is asked at its share of the 5 % (Bonferroni)."""
    difference = mean_difference(drops, names)
    samples = difference.clusters if difference else 0
    blank = replace(blank, samples=samples, value=difference.mean if difference else None)
    level = LEVEL / groups
    if difference is None or samples == 0 or smallest_p(samples) >= level:
        note = f"{samples} sample{'s' * (samples != 1)} can show no drop"
        note += f" in any of {groups} groups" if groups > 1 else ""
        notes = ", ".join(filter(None, [blank.note, note]))
        return replace(blank, state="inconclusive", more=samples_for_p(level) - samples, note=notes)
    p = sign_flip_p(pairs_of([drop - gate.limit for drop in drops], names))
    shown = p is not None and p < level and difference.mean > gate.limit
    sees = detectable_drop(samples, base=base, beyond=gate.limit, level=level) if base > gate.limit else None
    return replace(blank, state="fail" if shown else "pass", low=difference.low, high=difference.high, sees=sees)


def _window_before(baseline: Baseline | None, records: Sequence[Record]) -> int | None:
    """The baseline's window, where it is known and the same for all of these trials."""
    twins = [baseline.twin_of(record) for record in records] if baseline else []
    known = windows_of(baseline.manifest) if baseline else {}
    return common_window(known, [twin for twin in twins if twin is not None])


def _counts(records: Sequence[Record], counted: Sequence[OutcomeName]) -> dict[OutcomeName, int]:
    found = [record.outcome for record in records]
    return {name: found.count(name) for name in counted if name in found}


def _judged(gate: Gate, blank: Verdict, evidence: Evidence, look: int, groups: int) -> Verdict:
    if blank.certain:
        return replace(blank, value=evidence.mean, samples=evidence.samples)
    widest = (-1.0 if gate.metric == "drop" else 0.0, 1.0)
    low, high, shared = None, None, widest
    if evidence.samples >= NEEDED:
        low, high = evidence.ends(error_at(look), 1.0)
        shared = evidence.ends(error_at(look) / groups, 1.0) if groups > 1 else (low, high)
    state = _state(gate, evidence.mean, widest if low is None or high is None else (low, high), shared)
    value = low if gate.metric == "lower_bound" else evidence.mean
    verdict = replace(blank, state=state, value=value, low=low, high=high, samples=evidence.samples)
    if evidence.samples < FEW:
        verdict = replace(verdict, note=", ".join(filter(None, [blank.note, _few(evidence.samples)])))
    if state != "inconclusive":
        return verdict

    def decides(low: float, high: float) -> bool:
        return _state(gate, evidence.mean, (low, high), (low, high)) != "inconclusive"

    return replace(verdict, more=further_samples(evidence, decides, look + 1))


def _few(samples: int) -> str:
    return "one sample: says nothing of other needles" if samples < NEEDED else f"from {samples} samples"


def _state(gate: Gate, mean: float, ends: Ends, shared: Ends) -> State:
    """Return the state by the interval that a pass needs, and by the wider one that a fail needs, of several groups.

    Better scores never turn a pass into a fail: either needs the mean itself on its side.
    """
    within = COMPARE[gate.compare]
    near, far = (ends[0], shared[1]) if gate.compare in (">=", ">") else (ends[1], shared[0])
    if within(near, gate.limit) and within(mean, gate.limit):
        return "pass"
    if gate.metric == "lower_bound" and mean <= gate.limit:
        return "fail"
    if not within(far, gate.limit) and not within(mean, gate.limit):
        return "fail"
    return "inconclusive"


_MOST = 40  # groups of one gate that are told one by one; JUnit XML has them all
_COUNTED = {True: "with these as misses", False: "counted against it:"}
WORD: dict[State, str] = {"pass": "pass", "fail": "FAIL", "inconclusive": "inconclusive"}


def gate_lines(
    verdicts: Sequence[Verdict], further: int, trial_s: float | None = None, selection: str = ""
) -> Iterator[tuple[str, State | None]]:
    """Lines with the verdict that colours them. `further`: the trials that `--top-up` has asked; `trial_s`: seconds
    that a trial took in this run; `selection`: as of `selection_words`."""
    for gate, grouped in groupby(verdicts, key=lambda verdict: verdict.gate):
        found, rest = _told(list(grouped))
        names = _aligned([(WORD[each.state], one_line(each.group)) for each in found])
        numbers = iter(_aligned([_numbers(each) for each in found if each.losses is None]))
        yield f"gate {gate}", None
        for name, verdict in zip(names, found, strict=True):
            said = next(numbers) if verdict.losses is None else _after_losses(verdict)
            yield f"  {name}  {said}  {_remark(verdict)}".rstrip(), verdict.state
        if rest:
            yield f"  {rest}", None
    open_ones = [verdict for verdict in verdicts if verdict.state == "inconclusive"]
    if selection and verdicts:
        yield f"  {selection}", None
    if further:
        yield f"--top-up asked {further} further trials", None
    if open_ones:
        yield (
            f"{len(open_ones)} of {len(verdicts)} verdicts inconclusive{_remedy(open_ones, further, trial_s)}",
            "inconclusive",
        )


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _numbers(verdict: Verdict) -> tuple[str, str, str]:
    return value_words(verdict), _interval(verdict), _count(verdict)


def _after_losses(verdict: Verdict) -> str:
    """What the run could not answer, and the numbers behind it."""
    return f"{_lost(verdict)}; {_COUNTED[verdict.paired]} {'  '.join(filter(None, _numbers(verdict)))}"


def _lost(verdict: Verdict) -> str:
    """`this run cannot answer 12 of 36 trials: all 12 at 2k (12 skipped); window 1024`; empty without losses."""
    if verdict.losses is None:
        return ""
    if verdict.paired:
        return loss_words(verdict.losses, verdict.windows, ("the baseline", "this run"))
    losses, window = verdict.losses, verdict.windows[1]
    told = f"; window {window}" if window is not None else ""
    return f"this run cannot answer {losses.lost} of {losses.of} trials: {lost_words(losses)}{told}"


def markdown_rows(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A table, one row for each verdict."""
    if not verdicts:
        return
    yield "| gate | group | verdict | value | interval | n | |"
    yield "|---|---|---|---|---|---|---|"
    told = [_told(list(found)) for _, found in groupby(verdicts, key=lambda verdict: verdict.gate)]
    for each in [verdict for found, _ in told for verdict in found]:
        verdict = each.state if each.state == "pass" else f"**{each.state}**"
        cells = [
            f"`{each.gate}`",
            one_line(each.group),
            verdict,
            value_words(each),
            _interval(each),
            _count(each).removeprefix("n "),
            _said(each),
        ]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield from (f"\n{rest}" for _, rest in told if rest)


def gate_rows(verdicts: Sequence[Verdict], selected: int) -> tuple[GateRow, ...]:
    """The verdicts for a run's report. `selected`: the trials that they were judged on, with a score and without."""
    return tuple(
        GateRow(
            gate=each.gate,
            group=one_line(each.group),
            verdict=each.state,
            value=each.value,
            low=each.low,
            high=each.high,
            level=each.level,
            n=each.n,
            remark=_said(each),
            selected=selected,
        )
        for each in verdicts
    )


def _told(found: list[Verdict]) -> tuple[list[Verdict], str]:
    """The verdicts to tell one by one, in their order, and words for the rest: passes are left out first."""
    rank: dict[State, int] = {"fail": 0, "inconclusive": 1, "pass": 2}
    chosen = sorted(range(len(found)), key=lambda i: (rank[found[i].state], i))[:_MOST]
    left = [each.state for i, each in enumerate(found) if i not in chosen]
    counts = ", ".join(f"{left.count(state)} {WORD[state]}" for state in rank if state in left)
    return [found[i] for i in sorted(chosen)], f"... and {len(left)} further groups: {counts}" if left else ""


def verdict_words(verdict: Verdict) -> str:
    """`length 4000: 0.800 (0.284..0.995, n 5), 1 error counted against it`, and before that what was lost."""
    inside = ", ".join(filter(None, [_interval(verdict), _count(verdict)]))
    lost, remark = _lost(verdict), _remark(verdict)
    before = f"{lost}; {_COUNTED[verdict.paired]} " if lost else ""
    return f"{verdict.group}: {before}{value_words(verdict)} ({inside}){', ' if remark else ''}{remark}"


def value_words(verdict: Verdict) -> str:
    return "-" if verdict.value is None else f"{verdict.value:.3f}"


def _interval(verdict: Verdict) -> str:
    if verdict.low is None or verdict.high is None:
        return ""
    return f"{verdict.level:.4g} % interval {verdict.low:.3f}..{verdict.high:.3f}"


def _count(verdict: Verdict) -> str:
    """`n 40 (26 empty)`, and of how many samples where some have several trials."""
    nothing = ", ".join(f"{count} {name}" for name, count in verdict.nothing.items())
    number = f"n {verdict.n}{f' ({nothing})' if nothing else ''}"
    if not verdict.samples or verdict.samples == verdict.trials:
        return number
    return f"{number} of {verdict.samples} sample{'s' * (verdict.samples > 1)}"


def _said(verdict: Verdict) -> str:
    """What was lost, and the rest of what is said of a verdict beside its numbers."""
    return "; ".join(filter(None, [_lost(verdict), _remark(verdict)]))


def _remark(verdict: Verdict) -> str:
    told = verdict.losses is not None and verdict.paired
    against = "" if told else ", ".join(f"{count} {name}" for name, count in verdict.against.items())
    parts = [f"{against} counted against it" if against else "", verdict.note, _sight(verdict)]
    if verdict.more is not None:
        at = "drop" if verdict.paired else "score"
        parts.append(f"at this {at} {verdict.samples + verdict.more} samples decide")
    elif verdict.state == "inconclusive" and verdict.low is not None:
        parts.append("at the limit: no number decides")
    return ", ".join(filter(None, parts))


def _sight(verdict: Verdict) -> str:
    """What a "not worse" that passed could have seen."""
    if verdict.sees is None or verdict.state != "pass":
        return ""
    drop = f"a drop of {100 * verdict.sees:.3g} points or more"
    return f"not shown worse; {verdict.samples} samples show {drop} (in 80 of 100 runs)"


def _remedy(open_ones: Sequence[Verdict], further: int, trial_s: float | None) -> str:
    """What to do. Groups of one gate share no trials; those of two gates may."""
    needed = [
        sum(each.more_trials or 0 for each in found) for _, found in groupby(open_ones, key=lambda each: each.gate)
    ]
    time = f" ({duration(max(needed) * trial_s)} more at this pace)" if trial_s else ""
    parts = [f"--top-up {further + max(needed)} would decide if scores stay as they are{time}" if max(needed) else ""]
    if any(each.several_depths for each in open_ones):
        parts.append("samples decide, not depths: --depths spread asks each sample at one depth")
    if any(each.paired for each in open_ones):
        parts.append("a drop needs the same trials in the baseline, so run that with more --repeats first")
    return "".join(f"; {part}" for part in parts if part)
