"""A gate's answer for one group of trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Literal

from needlework.results.records.record import OutcomeName
from needlework.results.statistics.comparison.losses import Losses

State = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate's answer for one group.

    `value`: what the gate asks about (mean score, low end, or drop); `None` where nothing was scored, which fails.
    `low`, `high`: the interval of the mean (of the drop), at `level` percent; `None` where one sample has none. `n`:
    trials with a score, or pairs of them; `against`: the trials without one that counted against the gate. `samples`:
    of all these trials; `more`: the fewest further samples, like those seen, that would decide at the next look's
    level; `None` where no number would, or the verdict is not inconclusive. `paired`: a trial needs its twin in the
    baseline. `losses`: what this run could not answer: of trials that the baseline scored, or that did not fit its
    window; counted as misses. `windows`: of the baseline and of this run in tokens, where known. `nothing`: of the `n`,
    answers that are empty or a refusal. `sees`: the smallest drop (0..1) that so many samples show in 80 of 100 runs.
    `several_depths`: a sample was asked at more than one depth of a length.
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
    losses: Losses | None = None
    windows: tuple[int | None, int | None] = (None, None)
    nothing: Mapping[OutcomeName, int] = field(default_factory=dict)
    sees: float | None = None
    several_depths: bool = False

    @property
    def certain(self) -> bool:
        """Whether it failed for what no sampling decides: trials that do not fit the model's window."""
        return self.losses is not None and "skipped" in self.losses.outcomes

    @property
    def trials(self) -> int:
        """All that were counted, with a score and without."""
        return self.n + sum(self.against.values()) + (self.losses.lost if self.losses and not self.paired else 0)

    @property
    def more_trials(self) -> int | None:
        """The trials of as many further samples, asked as often as those seen."""
        return None if self.more is None or not self.samples else ceil(self.more * self.trials / self.samples)
