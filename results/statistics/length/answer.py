"""One rule's answer to how long a context may be, and what it says in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from needlework.results.statistics.panels import Range
from needlework.results.style.text import length_labels, percent1

# NoLiMa's bar: 85 % of the model's own base score (A. Modarressi et al., "NoLiMa", ICML 2025, section 4).
RELATIVE = 0.85

Rule = Literal["absolute", "relative"]
Status = Literal["reached", "at least", "none", "undetermined"]


@dataclass(frozen=True, slots=True)
class EffectiveLength:
    """One rule's answer. Lengths in tokens, `None`: no length; scores in 0..1.

    `point`: the last length before the first that scores below `threshold`, all undecided answers taken for misses;
    `point_most`: the same with all of them as hits. `conservative`, `optimistic`: the same for the lower and the upper
    ends of the intervals; between them lies the effective length, with 95 % confidence at each length, whatever the
    undecided answers are. `longest_passing`: the longest that scores at or above the threshold, whatever lies between.
    `base`: the score that a relative threshold is a share of, `base_words` what it was measured on, `base_range` its
    ends where answers of it are undecided. `undecided`: answers at these lengths that are neither hits nor misses.
    `decisive`: the first length whose interval does not lie wholly at or above the threshold. Where it lies wholly
    below, the answer is certain: `reached`, or `none` when it is the shortest. Where it straddles, or nothing was
    scored there, the answer is `undetermined`. No decisive length: `at least`.
    `longest_asked`: the longest of which there are trials, with answers or without.
    `samples`: the fewest at any length, `None` of published scores; `needed`: those that pass the threshold when all
    are right.
    `chances`: by length, the share of bootstrap resamples that pass; empty where there is too little to resample.
    """

    rule: Rule
    threshold: float
    status: Status
    base: float | None
    point: int | None
    point_most: int | None
    conservative: int | None
    optimistic: int | None
    longest_passing: int | None
    longest_tested: int | None
    decisive: int | None
    chances: Mapping[int, float]
    longest_asked: int | None = None
    samples: int | None = None
    needed: int | None = None
    base_words: str = ""
    base_range: Range | None = None
    undecided: int = 0

    @property
    def hangs(self) -> bool:
        """Whether it is undetermined because of undecided answers: one answer as misses, another as hits."""
        return self.status == "undetermined" and self.point != self.point_most

    @property
    def caveat(self) -> str:
        """What it hangs on: `119 undecided answers: by the scores alone none if they are misses, 1k if hits`."""
        if not self.hangs:
            return ""
        answers = "one undecided answer" if self.undecided == 1 else f"{self.undecided:,} undecided answers"
        if not self.undecided:
            answers = "undecided answers of the base"
        are = "it is a miss" if self.undecided == 1 else "they are misses"
        hits = "a hit" if self.undecided == 1 else "hits"
        return f"{answers}: by the scores alone {_label(self.point)} if {are}, {_label(self.point_most)} if {hits}"

    @property
    def few(self) -> bool:
        """Whether it is undetermined with fewer samples than could pass the threshold if all were right."""
        few = self.samples is not None and 0 < self.samples < (self.needed or 0)
        return few and self.status == "undetermined" and not self.hangs

    @property
    def answer(self) -> str:
        """`8k`, `>= 128k (longest tested)`, `none`, `undetermined at 16k`, `32k in the 5 samples tested`."""
        if self.status == "at least":
            return f">= {_label(self.longest_tested)} (longest tested)"
        if self.few:
            tested = "one sample" if self.samples == 1 else f"{self.samples} samples"
            return f"{_label(self.point)} in the {tested} tested"
        if self.status == "undetermined":
            return "undetermined" if self.decisive is None else f"undetermined at {_label(self.decisive)}"
        return _label(self.point)

    @property
    def bar(self) -> str:
        """`score >= 85.6 %`, and for the relative rule what that is a share of."""
        if self.rule == "absolute":
            return f"score >= {percent1(self.threshold)} %"
        if not self.base or self.base_range is not None:
            where = f" {self.base_words}" if self.base and self.base_words else ""
            return f"score >= {100 * RELATIVE:.0f} % of the base{where}"
        share = f"{100 * self.threshold / self.base:.0f} % of the base"
        return f"score >= {percent1(self.threshold)} %, {share}{f' {self.base_words}' if self.base_words else ''}"

    @property
    def between(self) -> str:
        """`1k to 8k`: the 95 % interval; an end at the longest length that was tested is `8k or more`."""
        low, high = _label(self.conservative), _label(self.optimistic)
        if self.optimistic is not None and self.optimistic == self.longest_tested:
            high += " or more"
        return low if low == high else f"{low} to {high}"

    @property
    def words(self) -> str:
        """The answer and what it rests on: `8k, 95 % interval 8k to 16k, longest passing 32k`."""
        parts = [self.answer]
        if self.few:
            parts[0] += f"; {self.few_words}"
        elif self.status != "at least" and self.longest_tested is not None:
            parts.append(f"95 % interval {self.between}")
            if self.hangs:
                parts.append(self.caveat)
            elif self.status == "undetermined":
                parts.append(f"by the scores alone {_label(self.point)}")
        if self.status != "at least" and self.longest_passing != self.point:
            parts.append(f"longest passing {_label(self.longest_passing)}")
        return ", ".join(parts)

    @property
    def few_words(self) -> str:
        """What so few samples say: `at least 4k, up to 64k possible`."""
        if self.samples == 1:
            return "no statement about the model"
        bar = percent1(self.threshold)
        low = f"lower bound none (needs at least {self.needed} samples at bar {bar})"
        if self.conservative is not None:
            low = f"at least {_label(self.conservative)}"
        possible = self.optimistic is not None and self.optimistic != self.longest_tested
        return f"{low}, up to {_label(self.optimistic)} possible" if possible else low

    @property
    def text(self) -> str:
        """One sentence: the bar, and the words."""
        return f"{self.bar}: {self.words}"


def _label(length: int | None) -> str:
    return "none" if length is None else length_labels([length])[0]
