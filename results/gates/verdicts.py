"""What a gate says of a run: pass, fail, or inconclusive.

A gate asks about the model, and a run is a sample of it. So it passes when the whole interval of its mean is within the
limit, fails when the whole interval is beyond it, and is inconclusive while the limit lies inside. `lower_bound` asks
for proof: it fails as soon as the mean itself is not over the limit, where no further trials at that score would help.

`not worse` is the other way round: it passes unless the run is shown to be worse than its baseline, as `needlework
compare` would show it, and says which drop its samples would show. With too few samples to show any it is inconclusive.

Censored, unclear, invalid and failed trials count against a gate, as the score that it likes least: they can fail it
and never help. A trial that does not fit the model's window (of a drop: that the baseline could answer) is a fact and
no sample: it fails a gate at once, without an interval.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import fsum
from types import MappingProxyType

from needlework.results.gates.baseline import Baseline
from needlework.results.gates.gate import COMPARE, Gate, groups_of
from needlework.results.gates.verdict import State, Verdict
from needlework.results.records.record import NOTHING_SAID, SCORED, UNDECIDED, UNSCORED, OutcomeName, Record
from needlework.results.records.windows import common_window, windows_of
from needlework.results.statistics.comparison.comparison import LEVEL
from needlework.results.statistics.comparison.losses import losses_of
from needlework.results.statistics.intervals.clustered import ERROR, NEEDED, Ends
from needlework.results.statistics.intervals.evidence import (
    Evidence,
    error_at,
    further_samples,
    level_of,
    of_differences,
    of_scores,
)
from needlework.results.statistics.intervals.paired import mean_difference, pairs_of, sign_flip_p
from needlework.results.statistics.intervals.power import detectable_drop
from needlework.results.statistics.intervals.score import FEW
from needlework.results.statistics.panels import Trial, trial_of

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
    return groups_of(gate, records, each_model=shared and len({record["model"] for record in records}) > 1)


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

    `groups`: how many the gate asks of. `not worse` fails where any is shown to be worse, so that all share its 5 %.
    """
    scored = [record for record in records if record["outcome"] in SCORED]
    blank = Verdict(
        gate.text, group, "fail", level=level_of(look), n=len(scored), paired=gate.paired,
        windows=(None, common_window(windows, records)), nothing=_counts(scored, NOTHING_SAID),
        several_depths=_asked_at_several(records),
    )  # fmt: skip
    if gate.paired:
        return _judge_drop(gate, blank, records, baseline, look, groups)
    losses = losses_of((record["length"], (record["outcome"],) * 2, (True, not _skipped(record))) for record in records)
    blank = replace(blank, against=_counts(records, _AGAINST), losses=losses[0] if losses else None)
    if not scored:
        return replace(blank, note="nothing scored")
    worst = [_against(gate, trial_of(record)) for record in records]
    counted = [(trial.score, trial.sample_name) for trial in worst if trial.score is not None]
    return _judged(gate, blank, of_scores([score for score, _ in counted], [name for _, name in counted]), look)


def _skipped(record: Record) -> bool:
    return record["outcome"] == "skipped"


def _against(gate: Gate, trial: Trial) -> Trial:
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
    scored = [record for record in both if record["outcome"] in SCORED]
    losses = losses_of((each["length"], ("found", each["outcome"]), (True, each["outcome"] in SCORED)) for each in both)
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
    drops = [before - (record["score"] or 0.0 if record["outcome"] in SCORED else 0.0) for record, before in pairs]
    names = [trial_of(record).sample_name for record in both]
    if gate.metric == "drop" or blank.certain:
        return _judged(gate, blank, of_differences(drops, names), look)
    return _judge_not_worse(gate, blank, drops, names, fsum(before for _, before in pairs) / len(pairs), groups)


def _judge_not_worse(
    gate: Gate, blank: Verdict, drops: Sequence[float], names: Sequence[Hashable], base: float, groups: int
) -> Verdict:
    """`base`: the baseline's mean score. With several `groups` each is asked at its share of the 5 % (Bonferroni)."""
    error = ERROR / groups
    found, p = mean_difference(drops, names, error), sign_flip_p(pairs_of(drops, names))
    if found is None or found.clusters < FEW:
        few, more = (0, FEW) if found is None else (found.clusters, FEW - found.clusters)
        note = f"{few} sample{'s' * (few != 1)} can show no drop"
        blind = replace(
            blank, state="inconclusive", samples=few, more=more, note=", ".join(filter(None, [blank.note, note]))
        )
        return blind if found is None else replace(blind, value=found.mean)
    shown = found.low is not None and found.low > gate.limit and (p is None or p < LEVEL / groups or gate.limit > 0)
    sees = detectable_drop(found.clusters, base=base, beyond=gate.limit, error=error) if base > gate.limit else None
    return replace(
        blank, state="fail" if shown else "pass", value=found.mean, low=found.low, high=found.high,
        samples=found.clusters, sees=sees, level=100 * (1 - 2 * error),
    )  # fmt: skip


def _window_before(baseline: Baseline | None, records: Sequence[Record]) -> int | None:
    """The baseline's window, where it is known and the same for all of these trials."""
    twins = [baseline.twin_of(record) for record in records] if baseline else []
    known = windows_of(baseline.manifest) if baseline else {}
    return common_window(known, [twin for twin in twins if twin is not None])


def _counts(records: Sequence[Record], counted: Sequence[OutcomeName]) -> dict[OutcomeName, int]:
    found = [record["outcome"] for record in records]
    return {name: found.count(name) for name in counted if name in found}


def _judged(gate: Gate, blank: Verdict, evidence: Evidence, look: int) -> Verdict:
    if blank.certain:
        return replace(blank, value=evidence.mean, samples=evidence.samples)
    low, high = evidence.ends(error_at(look), 1.0) if evidence.samples >= NEEDED else (None, None)
    widest = (-1.0 if gate.metric == "drop" else 0.0, 1.0)
    state = _state(gate, evidence.mean, widest if low is None or high is None else (low, high))
    value = low if gate.metric == "lower_bound" else evidence.mean
    verdict = replace(blank, state=state, value=value, low=low, high=high, samples=evidence.samples)
    if evidence.samples < FEW:
        verdict = replace(verdict, note=", ".join(filter(None, [blank.note, _few(evidence.samples)])))
    if state != "inconclusive":
        return verdict

    def decides(low: float, high: float) -> bool:
        return _state(gate, evidence.mean, (low, high)) != "inconclusive"

    return replace(verdict, more=further_samples(evidence, decides, look + 1))


def _few(samples: int) -> str:
    return "one sample: says nothing of other needles" if samples < NEEDED else f"from {samples} samples"


def _state(gate: Gate, mean: float, ends: Ends) -> State:
    """Better scores never turn a pass into a fail: either needs the mean itself on its side.

    They may turn it inconclusive: misses that are spread over samples show that the trials of a sample differ, and all
    hits do not (see `clustered`).
    """
    within = COMPARE[gate.compare]
    near, far = ends if gate.compare in (">=", ">") else (ends[1], ends[0])
    if within(near, gate.limit) and within(mean, gate.limit):
        return "pass"
    if gate.metric == "lower_bound" and mean <= gate.limit:
        return "fail"
    if not within(far, gate.limit) and not within(mean, gate.limit):
        return "fail"
    return "inconclusive"
