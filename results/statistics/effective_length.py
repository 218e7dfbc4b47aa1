"""The effective length of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from needlework.results.statistics.intervals import ERROR
from needlework.results.statistics.length_scores import (
    LengthScore,
    ReferenceScore,
    base_score,
    length_scores,
    margin_ends,
)
from needlework.results.statistics.paired import samples_to_pass
from needlework.results.statistics.panels import Range, ScoredTrial, decided
from needlework.results.style import length_label, percent1

# Llama-2-7B-chat's RULER score at 4K: the bar of RULER's table (C.-P. Hsieh et al., "RULER", COLM 2024, table 3).
RULER_THRESHOLD = 0.856
_ROUNDING = 1e-9  # 0.85 x base is not exact in binary; a score that equals the bar passes


@dataclass(frozen=True, slots=True)
class _LengthVerdict:
    """What a bar says of one length: by its score with undecided trials as misses, and as hits; by the low and by the
    high end of its interval; `None` ends exclude nothing."""

    length: int
    tested: bool
    passes: bool
    may_pass: bool
    certain: bool
    possible: bool


def absolute_length(scores: Sequence[LengthScore], threshold: float = RULER_THRESHOLD) -> EffectiveLength:
    """Apply the absolute rule: score >= `threshold` (0..1). `scores` ascend by length."""
    bar = threshold - _ROUNDING
    judged = [
        _LengthVerdict(
            each.length,
            each.tested,
            each.least is not None and each.least >= bar,
            each.most is not None and each.most >= bar,
            each.low is not None and each.low >= bar,
            each.tested
            and ((high := each.high if each.shared_high is None else each.shared_high) is None or high >= bar),
        )
        for each in scores
    ]
    return _told(_walk("absolute", judged, threshold), scores)


# NoLiMa's bar: 85 % of the model's own base score (A. Modarressi et al., "NoLiMa", ICML 2025, section 4).
RELATIVE = 0.85


def relative_length(trials: Sequence[ScoredTrial], base: ReferenceScore, share: float = RELATIVE) -> EffectiveLength:
    """Apply the relative rule: score >= `share` of the base, whose own uncertainty counts (see `margin_ends`).

    Lengths that the base was measured on are not judged. A base of 0 leaves nothing to keep: no length passes.
    """
    scores = length_scores(trials)
    if not base.score or base.score <= 0:
        status: Status = "undetermined" if base.score is None or base.ends[1] > 0 else "none"
        tested = max((each.length for each in scores if each.tested), default=None)
        return EffectiveLength(
            "relative", 0.0, status, base.score, None, None, None, None, None, tested, None, base_words=base.words
        )
    threshold = share * base.score
    judged = [
        _beside_base(each, [one for one in trials if one.length == each.length], base, share, len(scores))
        for each in scores
    ]
    found = _told(_walk("relative", judged, threshold), [each for each in scores if each.length not in base.lengths])
    return replace(found, base=base.score, base_words=base.words, base_range=base.range)


def _beside_base(
    each: LengthScore, trials: Sequence[ScoredTrial], base: ReferenceScore, share: float, lengths: int
) -> _LengthVerdict:
    """A length at its worst beside the base at its best, and the other way round: undecided trials may be either."""
    if each.length in base.lengths:
        return _LengthVerdict(each.length, each.tested, True, True, True, True)
    worst = margin_ends(decided(trials, hits=False), base.decided(hits=True), share)
    best = margin_ends(decided(trials, hits=True), base.decided(hits=False), share, ERROR / lengths)
    least, most = base.ends
    return _LengthVerdict(
        each.length,
        each.tested,
        each.least is not None and each.least >= share * most - _ROUNDING,
        each.most is not None and each.most >= share * least - _ROUNDING,
        worst is not None and worst[0] >= -_ROUNDING,
        each.tested and (best is None or best[1] >= -_ROUNDING),
    )


def _told(found: EffectiveLength, scores: Sequence[LengthScore]) -> EffectiveLength:
    """With the samples that it rests on, and those that the bar takes when all are right."""
    known = [each for each in scores if each.samples]
    if not known:
        return found
    needed = samples_to_pass(round(found.threshold, 6)) if 0 < found.threshold < 1 else None
    undecided = sum(each.undecided for each in known)
    return replace(found, samples=min(each.samples or 0 for each in known), needed=needed, undecided=undecided)


def _walk(rule: Rule, judged: Sequence[_LengthVerdict], threshold: float) -> EffectiveLength:
    """Walk up the lengths. Those without an answer stop the walk; at the long end they count as not tested."""
    last = max((at for at, each in enumerate(judged) if each.tested), default=-1)
    tested = judged[: last + 1]
    lengths = [each.length for each in tested]
    decisive = next((each for each in tested if not each.certain), None)
    conservative = _before_first_failure(lengths, [each.certain for each in tested])
    status: Status
    if not tested:
        status = "undetermined"
    elif decisive is None:
        status = "at least"
    elif not decisive.tested or decisive.possible:
        status = "undetermined"
    else:
        status = "none" if conservative is None else "reached"
    return EffectiveLength(
        rule=rule,
        threshold=threshold,
        status=status,
        base=None,
        point=_before_first_failure(lengths, [each.passes for each in tested]),
        point_most=_before_first_failure(lengths, [each.may_pass for each in tested]),
        conservative=conservative,
        optimistic=_before_first_failure(lengths, [each.possible for each in tested]),
        longest_passing=max((each.length for each in tested if each.passes), default=None),
        longest_tested=lengths[-1] if lengths else None,
        decisive=None if decisive is None else decisive.length,
        longest_asked=judged[-1].length if judged else None,
    )


def _before_first_failure(lengths: Sequence[int], passes: Sequence[bool]) -> int | None:
    failed = passes.index(False) if False in passes else len(passes)
    return lengths[failed - 1] if failed else None


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
        low, high = length_label(self.point), length_label(self.point_most)
        return f"{answers}: by the scores alone {low} if {are}, {high} if {hits}"

    @property
    def few(self) -> bool:
        """Whether it is undetermined with fewer samples than could pass the threshold if all were right."""
        few = self.samples is not None and 0 < self.samples < (self.needed or 0)
        return few and self.status == "undetermined" and not self.hangs

    @property
    def answer(self) -> str:
        """`8k`, `>= 128k (longest tested)`, `none`, `undetermined at 16k`, `32k in the 5 samples tested`."""
        if self.status == "at least":
            return f">= {length_label(self.longest_tested)} (longest tested)"
        if self.few:
            tested = "one sample" if self.samples == 1 else f"{self.samples} samples"
            return f"{length_label(self.point)} in the {tested} tested"
        if self.status == "undetermined":
            return "undetermined" if self.decisive is None else f"undetermined at {length_label(self.decisive)}"
        return length_label(self.point)

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
        low, high = length_label(self.conservative), length_label(self.optimistic)
        more = " or more" if self.optimistic is not None and self.optimistic == self.longest_tested else ""
        return f"{high}{more}" if low == high else f"{low} to {high}{more}"

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
                parts.append(f"by the scores alone {length_label(self.point)}")
        if self.status != "at least" and self.longest_passing != self.point:
            parts.append(f"longest passing {length_label(self.longest_passing)}")
        return ", ".join(parts)

    @property
    def few_words(self) -> str:
        """What so few samples say: `at least 4k, up to 64k possible`."""
        if self.samples == 1:
            return "no statement about the model"
        bar = percent1(self.threshold)
        low = f"lower bound none (needs at least {self.needed} samples at bar {bar})"
        if self.conservative is not None:
            low = f"at least {length_label(self.conservative)}"
        possible = self.optimistic is not None and self.optimistic != self.longest_tested
        return f"{low}, up to {length_label(self.optimistic)} possible" if possible else low

    @property
    def text(self) -> str:
        """One sentence: the bar, and the words."""
        return f"{self.bar}: {self.words}"


@dataclass(frozen=True, slots=True)
class Trend:
    """Scores over lengths. `None` where there is too little to say it.

    `area`: area under the score over log2(length), divided by the width, so that it is the mean score over doublings,
    0..1. `drop`: 1 - score at the longest length / base; below 0 where the score rose. `half_life`: the first length,
    in tokens, that scores below half of the base (the italics of NoLiMa's table 3); `None` where no tested one does.
    """

    base: float | None
    area: float | None
    drop: float | None
    half_life: int | None


def trend(scores: Sequence[LengthScore], base: float | None = None) -> Trend:
    """Return the trend of `scores`, which ascend by length. Lengths without a score are left out.

    `base`: what the drop and the half-life are a share of, 0..1; without one as of `base_score`.
    """
    scored = [(each.length, each.score) for each in scores if each.score is not None]
    base = base_score(scores) if base is None else base
    if base is None or not scored:
        return Trend(None, None, None, None)
    area = drop = None
    if len(scored) > 1:
        octaves = np.log2([length for length, _ in scored])
        area = float(np.trapezoid([score for _, score in scored], octaves) / (octaves[-1] - octaves[0]))
        drop = 1 - scored[-1][1] / base if base > 0 else None
    half_life = next((length for length, score in scored if score < base / 2 - _ROUNDING), None)
    return Trend(base, area, drop, half_life)
