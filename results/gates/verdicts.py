"""What a gate says of a run: pass, fail, or inconclusive.

A gate asks about the model, and a run is a sample of it. So it passes when the whole interval of its mean is within the
limit, fails when the whole interval is beyond it, and is inconclusive while the limit lies inside. `lower_bound` asks
for proof: it fails as soon as the mean itself is not over the limit, where no further trials at that score would help.

Censored, invalid and failed trials count against a gate, as the score that it likes least: they can fail it and never
help. A trial that does not fit the model's window says nothing of a score; where the baseline scored it is a drop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from needlework.results.gates.baseline import Baseline
from needlework.results.gates.gate import COMPARE, Gate, groups_of
from needlework.results.records.record import SCORED, UNSCORED, OutcomeName, Record
from needlework.results.statistics.evidence import (
    Ends,
    Evidence,
    further_trials,
    level_of,
    of_difference,
    of_scores,
    wrong_at,
)
from needlework.results.statistics.paired import mean_difference
from needlework.results.statistics.panels import Trial, tally, trial_of
from needlework.results.statistics.resampling import sample_clusters

State = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's answer for one group.

    `value`: what the gate asks about (mean score, low end, or drop); `None` where nothing was scored, which fails.
    `low`, `high`: the interval of the mean (of the drop), at `level` percent. `n`: trials with a score, or pairs of
    them; `against`: the trials without one that counted against the gate. `more`: further trials that would decide, at
    the score seen and the next look's level; `None` where no number would, or the verdict is not inconclusive.
    `paired`: a trial needs its twin in the baseline.
    """

    gate: str
    group: str
    state: State
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 95.0
    n: int = 0
    against: Mapping[OutcomeName, int] = field(default_factory=dict)
    more: int | None = None
    note: str = ""
    paired: bool = False


def judge_gate(gate: Gate, records: Sequence[Record], baseline: Baseline | None = None, look: int = 1) -> list[Verdict]:
    """The gate's verdict for each group; one that fails when no record is in scope."""
    groups = groups_of(gate, records)
    if not groups:
        return [Verdict(gate.text, "no cell in scope", "fail")]
    return [judge_group(gate, group, found, baseline, look) for group, found in groups.items()]


def judge_group(
    gate: Gate, group: str, records: Sequence[Record], baseline: Baseline | None = None, look: int = 1
) -> Verdict:
    """The verdict for one group of records, at the `look`-th look at them (see `evidence`)."""
    if gate.metric == "drop":
        return _judge_drop(gate, group, records, baseline, look)
    trials = [trial_of(record) for record in records]
    against = _unscored(records, ("censored", "invalid", "error"))
    blank = Verdict(gate.text, group, "fail", level=level_of(look), n=tally(trials).n, against=against)
    worst = tally(_against(gate, trial) for trial in trials)
    if blank.n == 0 or worst.mean is None or worst.interval is None:
        return replace(blank, note="nothing scored")
    if worst.n > 1 and len({trial.sample for trial in trials}) == 1:
        blank = replace(blank, note="from one sample")
    return _judged(gate, blank, of_scores(worst.mean, worst.interval, worst.n), look)


def _against(gate: Gate, trial: Trial) -> Trial:
    """A trial without a score as the gate likes it least."""
    if trial.outcome not in ("censored", "invalid", "error"):
        return trial
    return replace(trial, outcome="wrong", score=0.0 if gate.compare in (">=", ">") else 1.0)


def _judge_drop(gate: Gate, group: str, records: Sequence[Record], baseline: Baseline | None, look: int) -> Verdict:
    known = [(record, baseline.score_of(record) if baseline else None) for record in records]
    pairs = [(record, before) for record, before in known if before is not None]
    against = _unscored([record for record, _ in pairs], UNSCORED)
    scored = len(pairs) - sum(against.values())
    left_out = f"{len(records) - len(pairs)} not scored in the baseline" if len(records) > len(pairs) else ""
    blank = Verdict(
        gate.text, group, "fail", level=level_of(look), n=scored, against=against, note=left_out, paired=True
    )
    if scored == 0:
        return replace(blank, note="no trial that both runs scored")
    drops = [before - (record["score"] or 0.0 if record["outcome"] in SCORED else 0.0) for record, before in pairs]
    clusters = sample_clusters((record["length"], record["repeat"]) for record, _ in pairs)
    difference = mean_difference(drops, clusters)
    hits = all(drop in (-1.0, 0.0, 1.0) for drop in drops)
    evidence = of_difference(difference, hits=hits) if difference is not None else None
    if evidence is None:
        value = difference.mean if difference is not None else None
        return replace(blank, state="inconclusive", value=value, note="one sample says nothing of others")
    return _judged(gate, blank, evidence, look)


def _unscored(records: Sequence[Record], counted: Sequence[OutcomeName]) -> dict[OutcomeName, int]:
    found = [record["outcome"] for record in records]
    return {name: found.count(name) for name in counted if name in found}


def _judged(gate: Gate, blank: Verdict, evidence: Evidence, look: int) -> Verdict:
    low, high = evidence.ends(wrong_at(look), 1.0)
    state = _state(gate, evidence.mean, (low, high))
    value = low if gate.metric == "lower_bound" else evidence.mean
    verdict = replace(blank, state=state, value=value, low=low, high=high)
    if state != "inconclusive":
        return verdict

    def decides(low: float, high: float) -> bool:
        return _state(gate, evidence.mean, (low, high)) != "inconclusive"

    return replace(verdict, more=further_trials(evidence, decides, look + 1))


def _state(gate: Gate, mean: float, ends: Ends) -> State:
    """More and better scores never turn a pass into a fail: either needs the mean itself on its side."""
    within = COMPARE[gate.compare]
    near, far = ends if gate.compare in (">=", ">") else (ends[1], ends[0])
    if within(near, gate.limit) and within(mean, gate.limit):
        return "pass"
    if gate.metric == "lower_bound" and mean <= gate.limit:
        return "fail"
    if not within(far, gate.limit) and not within(mean, gate.limit):
        return "fail"
    return "inconclusive"
