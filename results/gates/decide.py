"""Decides gates: pass, fail or inconclusive; verdicts as lines and tables."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from math import fsum
from types import MappingProxyType

from msgspec.structs import replace

from needlework.core.record import NOTHING_SAID, SCORED, UNDECIDED, UNSCORED, OutcomeName, Record
from needlework.results.gates.gate import COMPARE, Baseline, Gate, State, Verdict, groups_of
from needlework.results.records.samples import common_window, windows_of
from needlework.results.report.comparison import loss_words, lost_words
from needlework.results.statistics import paired
from needlework.results.statistics.comparison.comparison import losses_of
from needlework.results.statistics.intervals import FEW, NEEDED, Counts, Ends, counts_of, detectable_drop, exact_ends
from needlework.results.statistics.panels import trial_of
from needlework.results.statistics.tasks import GateRow
from needlework.results.statistics.wording import unscored_words
from needlework.results.style import counted, duration, one_line

# A gate judges the model, and a run is a sample of it. So it passes when the whole interval of its mean is within the
# limit, fails when the whole interval is beyond it, and is inconclusive while the limit lies inside. `lower_bound`
# demands proof: it fails as soon as the mean itself is not over the limit, where no further trials at that score would
# help.
#
# Several groups of one gate (`per length`) share the chance of a wrong fail, since one that fails decides the run: each
# fails at its share of it (Bonferroni). Each group passes by itself.
#
# `not worse` is the other way round: it passes unless the run is shown to be worse than its baseline, by the p value of
# `needlework compare`, and says which drop its samples would show. Where no p of so many samples could be small enough
# for so many groups it is inconclusive.
#
# Censored, unclear, invalid and failed trials count against a gate, as the score that is worst for it: they can fail it
# and never help. A trial that does not fit the model's window (of a drop: that the baseline could answer) is a fact and
# no sample: it fails a gate at once, without an interval.
_AGAINST: tuple[OutcomeName, ...] = (*UNDECIDED, "invalid", "error")
_NO_WINDOWS: Mapping[str, int] = MappingProxyType({})


def judge_gate(
    gate: Gate,
    records: Sequence[Record],
    baseline: Baseline | None = None,
    look: int = 1,
    windows: Mapping[str, int] = _NO_WINDOWS,
) -> list[Verdict]:
    """The gate's verdict for each group; a fail without a record in scope. `windows`: model -> tokens."""
    groups = groups_of(gate, records, baseline)
    return [
        judge_group(gate, group, members, baseline, look, windows, groups=len(groups))
        for group, members in groups.items()
    ] or [Verdict(gate.text, "no cell in scope", "fail")]


def judge_group(
    gate: Gate,
    group: str,
    records: Sequence[Record],
    baseline: Baseline | None = None,
    look: int = 1,
    windows: Mapping[str, int] = _NO_WINDOWS,
    *,
    groups: int = 1,
) -> Verdict:
    """The verdict for one group of records, at the `look`-th look at them (see `paired`).

    `groups`: how many the gate has; they share the chance of a wrong fail.
    """
    baseline = baseline if gate.paired else None
    pairs = [(record, score) for record in records if baseline and (score := baseline.score_of(record)) is not None]
    counted = [record for record, _ in pairs] if gate.paired else list(records)
    scored = [record for record in counted if record.outcome in SCORED]
    fits = [(r, r.outcome in SCORED if gate.paired else r.outcome != "skipped") for r in counted]
    losses = losses_of((r.length, ("found" if gate.paired else r.outcome, r.outcome), (True, fit)) for r, fit in fits)
    trials = [trial_of(record) for record in records]
    verdict = Verdict(
        gate.text,
        group,
        "fail",
        level=paired.level_of(look),
        n=len(scored),
        against=_counts(counted, UNSCORED if gate.paired else _AGAINST),
        paired=gate.paired,
        losses=losses[0] if losses else None,
        windows=(_window_before(baseline, counted), common_window(windows, records)),
        nothing=_counts(scored, NOTHING_SAID),
        several_depths=len({(trial.sample_name, trial.length) for trial in trials}) < len(trials),
        note=f"{len(records) - len(counted)} not scored in the baseline" if len(counted) < len(records) else "",
    )
    if not scored and not (counted and gate.paired and verdict.certain):
        return replace(verdict, note="no trial that both runs scored" if gate.paired else "nothing scored")
    names = [trial_of(record).sample_name for record in counted]
    worst = 0.0 if gate.paired or gate.is_floor else 1.0
    scores = [record.score if record.score is not None else worst for record in counted]
    if not gate.paired:
        return _judge_interval(gate, verdict, counts_of(scores, names), exact_ends, look, groups)
    drops = [before - score for (_, before), score in zip(pairs, scores, strict=True)]
    if gate.metric == "not worse" and not verdict.certain:
        base = fsum(before for _, before in pairs) / len(pairs)
        return _judge_not_worse(gate, verdict, drops, names, base, groups)
    return _judge_interval(gate, verdict, counts_of(drops, names), paired.difference_ends, look, groups)


def _window_before(baseline: Baseline | None, records: Sequence[Record]) -> int | None:
    """The baseline's window, where it is known and the same for all of these trials."""
    twins = [baseline.twin_of(record) for record in records] if baseline else []
    known = windows_of(baseline.manifest) if baseline else {}
    return common_window(known, [twin for twin in twins if twin is not None])


def _counts(records: Sequence[Record], names: Sequence[OutcomeName]) -> dict[OutcomeName, int]:
    outcomes = [record.outcome for record in records]
    return {name: outcomes.count(name) for name in names if name in outcomes}


def _judge_not_worse(
    gate: Gate, verdict: Verdict, drops: Sequence[float], names: Sequence[Hashable], base: float, groups: int
) -> Verdict:
    """Judge a drop. `base`: the baseline's mean; several `groups` share the 5 % (Bonferroni)."""
    difference = paired.mean_difference(drops, names)
    samples = difference.clusters if difference else 0
    verdict = replace(verdict, samples=samples, value=difference.mean if difference else None)
    level = paired.LEVEL / groups
    if difference is None or samples == 0 or paired.smallest_p(samples) >= level:
        note = f"{counted(samples, 'sample')} can show no drop"
        note = _joined(verdict.note, f"{note} in any of {groups} groups" if groups > 1 else note)
        return replace(verdict, state="inconclusive", more=paired.samples_for_p(level) - samples, note=note)
    p = paired.sign_flip_p(counts_of([drop - gate.limit for drop in drops], names))
    is_worse = p is not None and p < level and difference.mean > gate.limit
    sees = detectable_drop(samples, base=base, beyond=gate.limit, level=level) if base > gate.limit else None
    state: State = "fail" if is_worse else "pass"
    return replace(verdict, state=state, low=difference.low, high=difference.high, sees=sees)


def _judge_interval(
    gate: Gate, verdict: Verdict, counts: Counts, ends_of: paired.EndsOf, look: int, groups: int
) -> Verdict:
    verdict = replace(verdict, value=counts.mean, samples=counts.samples)
    if verdict.certain:
        return verdict
    ends = shared = (-1.0 if gate.metric == "drop" else 0.0, 1.0)
    if counts.samples >= NEEDED:
        ends = ends_of(counts, paired.error_at(look), 1.0)
        shared = ends_of(counts, paired.error_at(look) / groups, 1.0)
        verdict = replace(verdict, low=ends[0], high=ends[1])
    verdict = replace(verdict, state=_state(gate, counts.mean, ends, shared))
    if gate.metric == "lower_bound":
        verdict = replace(verdict, value=verdict.low)
    if counts.samples < FEW:
        few = f"from {counts.samples} samples"
        note = "one sample: says nothing of other needles" if counts.samples < NEEDED else few
        verdict = replace(verdict, note=_joined(verdict.note, note))
    if verdict.state != "inconclusive":
        return verdict

    def decides(low: float, high: float) -> bool:
        return _state(gate, counts.mean, (low, high), (low, high)) != "inconclusive"

    return replace(verdict, more=paired.further_samples(counts, ends_of, decides, look + 1))


def _state(gate: Gate, mean: float, ends: Ends, shared: Ends) -> State:
    """The state by the interval that a pass needs, and by the wider one that a fail needs.

    Better scores never turn a pass into a fail: either needs the mean itself on its side.
    """
    within = COMPARE[gate.compare]
    near, far = (ends[0], shared[1]) if gate.is_floor else (ends[1], shared[0])
    if within(near, gate.limit) and within(mean, gate.limit):
        return "pass"
    if gate.metric == "lower_bound" and mean <= gate.limit:
        return "fail"
    return "inconclusive" if within(far, gate.limit) or within(mean, gate.limit) else "fail"


_MOST = 40  # groups of one gate, of which each has a line; of more those that passed have none
WORD: dict[State, str] = {"fail": "FAIL", "inconclusive": "inconclusive", "pass": "pass"}


def gate_lines(
    verdicts: Sequence[Verdict], further: int, trial_s: float | None = None, selection: str = ""
) -> Iterator[tuple[str, State | None]]:
    """Lines with the verdict that colours them. `further`: trials of `--top-up`; `trial_s`: seconds
    that a trial took in this run; `selection`: as of `selection_words`."""
    for gate, members in groupby(verdicts, key=lambda verdict: verdict.gate):
        every = list(members)
        shown = every if len(every) <= _MOST else [verdict for verdict in every if verdict.state != "pass"]
        names = [(WORD[verdict.state], one_line(verdict.group)) for verdict in shown]
        states, groups = (max(map(len, column)) for column in zip(*names, strict=True))
        yield f"gate {gate}", None
        for verdict, (state, group) in zip(shown, names, strict=True):
            yield "  ".join([f"  {state:{states}}", f"{group:{groups}}", *_parts(verdict)]), verdict.state
        if len(shown) < len(every):
            yield f"  ... and {len(every) - len(shown)} further groups pass", None
    if selection and verdicts:
        yield f"  {selection}", None
    if further:
        yield f"--top-up asked {further} further trials", None
    if undecided := [verdict for verdict in verdicts if verdict.state == "inconclusive"]:
        line = f"{len(undecided)} of {len(verdicts)} verdicts inconclusive{_remedy(undecided, further, trial_s)}"
        yield line, "inconclusive"


def gate_rows(verdicts: Sequence[Verdict], selected: int) -> tuple[GateRow, ...]:
    """The verdicts for a run's report. `selected`: their trials, with a score and without."""
    return tuple(
        GateRow(
            verdict.gate, one_line(verdict.group), verdict.state, verdict.value, verdict.low, verdict.high,
            level=verdict.level, n=verdict.n, remark=_words(verdict), selected=selected,
        )
        for verdict in verdicts
    )  # fmt: skip


def verdict_words(verdict: Verdict) -> str:
    """`length 4000: 0.800, 95 % interval 0.284..0.995, n 5, 1 error counted against it`; losses come first."""
    return f"{verdict.group}: {', '.join(_parts(verdict))}"


def _parts(verdict: Verdict) -> list[str]:
    """Losses and value, interval, `n 40 (26 empty) of 10 samples` if some have several trials, and remark."""
    value, interval, nothing = value_words(verdict), "", unscored_words(verdict.nothing)
    if verdict.losses:
        misses = "with these as misses" if verdict.paired else "counted against it:"
        value = f"{_lost(verdict)}; {misses} {value}"
    if verdict.low is not None and verdict.high is not None:
        interval = f"{verdict.level:.4g} % interval {verdict.low:.3f}..{verdict.high:.3f}"
    count = f"n {verdict.n}{f' ({nothing})' if nothing else ''}"
    if verdict.samples and verdict.samples != verdict.trials:
        count += f" of {counted(verdict.samples, 'sample')}"
    return list(filter(None, [value, interval, count, _remark(verdict)]))


def _lost(verdict: Verdict) -> str:
    """`this run cannot answer 12 of 36 trials: all 12 at 2k (12 skipped)`; empty without losses."""
    if verdict.losses is None:
        return ""
    if verdict.paired:
        return loss_words(verdict.losses, verdict.windows, ("the baseline", "this run"))
    losses, window = verdict.losses, verdict.windows[1]
    end = f"; window {window}" if window is not None else ""
    return f"this run cannot answer {losses.lost} of {losses.of} trials: {lost_words(losses)}{end}"


def value_words(verdict: Verdict) -> str:
    return "-" if verdict.value is None else f"{verdict.value:.3f}"


def _words(verdict: Verdict) -> str:
    nothing = unscored_words(verdict.nothing)
    return "; ".join(filter(None, [_lost(verdict), f"{nothing} of the n" if nothing else "", _remark(verdict)]))


def _remark(verdict: Verdict) -> str:
    """The remark of a verdict, beside the numbers and the losses."""
    against = "" if verdict.losses is not None and verdict.paired else unscored_words(verdict.against)
    parts = [f"{against} counted against it" if against else "", verdict.note]
    if verdict.sees is not None and verdict.state == "pass":
        drop = f"a drop of {100 * verdict.sees:.3g} points or more"
        parts.append(f"not shown worse; {verdict.samples} samples show {drop} (in 80 of 100 runs)")
    if verdict.more is not None:
        at = "drop" if verdict.paired else "score"
        parts.append(f"at this {at} {verdict.samples + verdict.more} samples decide")
    elif verdict.state == "inconclusive" and verdict.low is not None:
        parts.append("at the limit: no number decides")
    return _joined(*parts)


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _remedy(undecided: Sequence[Verdict], further: int, trial_s: float | None) -> str:
    """The remedy. Groups of one gate share no trials; those of two gates may."""
    by_gate = groupby(undecided, key=lambda verdict: verdict.gate)
    needed = max(sum(verdict.more_trials or 0 for verdict in members) for _, members in by_gate)
    parts = []
    if needed:
        time = f" ({duration(needed * trial_s)} more at this pace)" if trial_s else ""
        parts.append(f"; --top-up {further + needed} would decide if scores stay as they are{time}")
    if any(verdict.several_depths for verdict in undecided):
        parts.append("; samples decide, not depths: --depths spread asks each sample at one depth")
    if any(verdict.paired for verdict in undecided):
        parts.append("; a drop needs the same trials in the baseline, so run that with more --repeats first")
    return "".join(parts)
