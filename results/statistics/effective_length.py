"""Effective length: how long a context may be before the score falls below a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from needlework.results.statistics.length_scores import LengthScore, base_lengths, base_score
from needlework.results.statistics.resampling import Floats
from needlework.results.style.text import length_labels, percent1

# Llama-2-7B-chat's RULER score at 4K: the bar of RULER's table (C.-P. Hsieh et al., "RULER", COLM 2024, table 3).
RULER_THRESHOLD = 0.856
# NoLiMa's bar: 85 % of the model's own base score (A. Modarressi et al., "NoLiMa", ICML 2025, section 4).
RELATIVE = 0.85
_ROUNDING = 1e-9  # 0.85 x base is not exact in binary; a score that equals the bar passes

Rule = Literal["absolute", "relative"]
Status = Literal["reached", "at least", "none", "undetermined"]


@dataclass(frozen=True, slots=True)
class EffectiveLength:
    """One rule's answer. Lengths in tokens, `None`: no length; scores in 0..1.

    `point`: the last length before the first that scores below `threshold`. `conservative`, `optimistic`: the same for
    the lower and the upper ends of the intervals; between them lies the effective length, with 95 % confidence at each
    length. `longest_passing`: the longest that scores at or above the threshold, whatever lies between. `base`: the
    score that a relative threshold is a share of.
    `decisive`: the first length whose interval does not lie wholly at or above the threshold. Where it lies wholly
    below, the answer is certain: `reached`, or `none` when it is the shortest. Where it straddles, or nothing was
    scored there, the answer is `undetermined`. No decisive length: `at least`.
    `chances`: by length, the share of bootstrap resamples that pass; empty where there is too little to resample.
    Resamples of scores that all agree agree as well: read it beside the interval.
    """

    rule: Rule
    threshold: float
    status: Status
    base: float | None
    point: int | None
    conservative: int | None
    optimistic: int | None
    longest_passing: int | None
    longest_tested: int | None
    decisive: int | None
    chances: Mapping[int, float]

    @property
    def answer(self) -> str:
        """`8k`, `>= 128k (longest tested)`, `none`, `undetermined at 16k`."""
        if self.status == "at least":
            return f">= {_label(self.longest_tested)} (longest tested)"
        if self.status == "undetermined":
            return "undetermined" if self.decisive is None else f"undetermined at {_label(self.decisive)}"
        return _label(self.point)

    @property
    def bar(self) -> str:
        """`score >= 85.6 %`, and for the relative rule what that is a share of."""
        if self.rule == "absolute":
            return f"score >= {percent1(self.threshold)} %"
        if not self.base:
            return f"score >= {100 * RELATIVE:.0f} % of the base"
        return f"score >= {percent1(self.threshold)} %, {100 * self.threshold / self.base:.0f} % of the base"

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
        if self.status != "at least" and self.longest_tested is not None:
            parts.append(f"95 % interval {self.between}")
            if self.status == "undetermined":
                parts.append(f"by the scores alone {_label(self.point)}")
            if self.longest_passing != self.point:
                parts.append(f"longest passing {_label(self.longest_passing)}")
        return ", ".join(parts)

    @property
    def text(self) -> str:
        """One sentence: the bar, and the words."""
        return f"{self.bar}: {self.words}"


def absolute_length(
    scores: Sequence[LengthScore],
    threshold: float = RULER_THRESHOLD,
    draws: tuple[tuple[int, ...], Floats] | None = None,
) -> EffectiveLength:
    """Apply the absolute rule: score >= `threshold` (0..1). `scores` ascend by length; `draws` as of `joint_draws`."""
    found = _walk("absolute", scores, threshold, frozenset())
    if draws is None:
        return found
    lengths, means = draws
    return replace(found, chances=_chances(lengths, means, np.full(len(means), threshold)))


def relative_length(
    scores: Sequence[LengthScore], share: float = RELATIVE, draws: tuple[tuple[int, ...], Floats] | None = None
) -> EffectiveLength:
    """Apply the relative rule: score >= `share` of the base, the mean over lengths <= 1k or else the shortest length.

    A base of one length passes by its definition. The bar of point and conservative value is taken as known; the
    chances resample it together with the scores. A base of 0 leaves nothing to keep: no length passes.
    """
    base, of_base = base_score(scores), base_lengths(scores)
    if base is None or base <= 0:
        status: Status = "undetermined" if base is None else "none"
        tested = max((each.length for each in scores if each.score is not None), default=None)
        return EffectiveLength("relative", 0.0, status, base, None, None, None, None, tested, None, {})
    sure = frozenset(of_base if len(of_base) == 1 else ())
    found = replace(_walk("relative", scores, share * base, sure), base=base)
    if draws is None:
        return found
    lengths, means = draws
    bars = share * np.nanmean(means[:, [lengths.index(length) for length in of_base]], axis=1)
    return replace(found, chances=_chances(lengths, means, bars))


def _walk(rule: Rule, scores: Sequence[LengthScore], threshold: float, sure: frozenset[int]) -> EffectiveLength:
    """Walk up the lengths. Those without a score stop the walk; at the long end they count as not tested."""
    last = max((at for at, each in enumerate(scores) if each.score is not None), default=-1)
    tested = scores[: last + 1]
    bar = threshold - _ROUNDING
    passes = [each.score is not None and each.score >= bar for each in tested]
    certain = [each.length in sure or (each.low is not None and each.low >= bar) for each in tested]
    possible = [each.length in sure or (each.high is not None and each.high >= bar) for each in tested]
    lengths = [each.length for each in tested]
    decisive = next((each for each, yes in zip(tested, certain, strict=True) if not yes), None)
    conservative = _before_first_failure(lengths, certain)
    status: Status
    if not tested:
        status = "undetermined"
    elif decisive is None:
        status = "at least"
    elif decisive.high is None or decisive.high >= bar:
        status = "undetermined"
    else:
        status = "none" if conservative is None else "reached"
    return EffectiveLength(
        rule=rule,
        threshold=threshold,
        status=status,
        base=None,
        point=_before_first_failure(lengths, passes),
        conservative=conservative,
        optimistic=_before_first_failure(lengths, possible),
        longest_passing=max((length for length, yes in zip(lengths, passes, strict=True) if yes), default=None),
        longest_tested=lengths[-1] if lengths else None,
        decisive=None if decisive is None else decisive.length,
        chances={},
    )


def _before_first_failure(lengths: Sequence[int], passes: Sequence[bool]) -> int | None:
    failed = passes.index(False) if False in passes else len(passes)
    return lengths[failed - 1] if failed else None


def _chances(lengths: Sequence[int], means: Floats, bars: Floats) -> dict[int, float]:
    """Share of the draws at or above their bar, among those that have a score at that length."""
    passed = means >= bars[:, None] - _ROUNDING
    there = ~np.isnan(means) & ~np.isnan(bars)[:, None]
    return {length: float(passed[there[:, at], at].mean()) for at, length in enumerate(lengths) if there[:, at].any()}


def _label(length: int | None) -> str:
    return "none" if length is None else length_labels([length])[0]
