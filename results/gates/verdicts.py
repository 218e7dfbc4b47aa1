"""What a gate says of a run: pass, fail, or inconclusive.

A gate asks about the model, and a run is a sample of it. So it passes when the whole interval of its mean is within the
limit, fails when the whole interval is beyond it, and is inconclusive while the limit lies inside. `lower_bound` asks
for proof: it fails as soon as the mean itself is not over the limit, where no further trials at that score would help.

Censored, unclear, invalid and failed trials count against a gate, as the score that it likes least: they can fail it
and never help. A trial that does not fit the model's window says nothing of a score; where the baseline scored it is a
drop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal

from needlework.results.gates.baseline import Baseline
from needlework.results.gates.gate import COMPARE, Gate, groups_of
from needlework.results.records.record import SCORED, UNDECIDED, UNSCORED, OutcomeName, Record
from needlework.results.statistics.clustered import NEEDED, Ends
from needlework.results.statistics.evidence import (
    Evidence,
    error_at,
    further_samples,
    level_of,
    of_differences,
    of_scores,
)
from needlework.results.statistics.intervals import FEW
from needlework.results.statistics.panels import Trial, trial_of

State = Literal["pass", "fail", "inconclusive"]
_AGAINST: tuple[OutcomeName, ...] = (*UNDECIDED, "invalid", "error")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's answer for one group.

    `value`: what the gate asks about (mean score, low end, or drop); `None` where nothing was scored, which fails.
    `low`, `high`: the interval of the mean (of the drop), at `level` percent; `None` where one sample has none. `n`:
    trials with a score, or pairs of them; `against`: the trials without one that counted against the gate. `samples`:
    of all these trials; `more`: the fewest further samples, like those seen, that would decide at the next look's
    level; `None` where no number would, or the verdict is not inconclusive. `paired`: a trial needs its twin in the
    baseline.
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
    samples: int = 0
    more: int | None = None
    note: str = ""
    paired: bool = False

    @property
    def more_trials(self) -> int | None:
        """The trials of as many further samples, asked as often as those seen."""
        trials = self.n + sum(self.against.values())
        return None if self.more is None or not self.samples else ceil(self.more * trials / self.samples)


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
    against = _unscored(records, _AGAINST)
    scored = sum(record["outcome"] in SCORED for record in records)
    blank = Verdict(gate.text, group, "fail", level=level_of(look), n=scored, against=against)
    if not scored:
        return replace(blank, note="nothing scored")
    worst = [_against(gate, trial_of(record)) for record in records]
    counted = [(trial.score, trial.sample_name) for trial in worst if trial.score is not None]
    return _judged(gate, blank, of_scores([score for score, _ in counted], [name for _, name in counted]), look)


def _against(gate: Gate, trial: Trial) -> Trial:
    """A trial without a score as the gate likes it least."""
    if trial.outcome not in _AGAINST:
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
    names = [trial_of(record).sample_name for record, _ in pairs]
    return _judged(gate, blank, of_differences(drops, names), look)


def _unscored(records: Sequence[Record], counted: Sequence[OutcomeName]) -> dict[OutcomeName, int]:
    found = [record["outcome"] for record in records]
    return {name: found.count(name) for name in counted if name in found}


def _judged(gate: Gate, blank: Verdict, evidence: Evidence, look: int) -> Verdict:
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
