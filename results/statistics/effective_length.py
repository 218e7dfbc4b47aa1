"""The effective length of a model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from needlework.results.statistics.intervals import ERROR
from needlework.results.statistics.length_scores import LengthScore, ReferenceScore, length_scores, margin_ends
from needlework.results.statistics.paired import samples_to_pass
from needlework.results.statistics.panels import Range, ScoredTrial, Share, decided
from needlework.results.style import counted, length_label, percent1

# Llama-2-7B-chat's RULER score at 4K: the bar of RULER's table (C.-P. Hsieh et al., "RULER", COLM 2024, table 3).
RULER_THRESHOLD = 0.856
# NoLiMa's bar: 85 % of the model's own base score (A. Modarressi et al., "NoLiMa", ICML 2025, section 4).
RELATIVE = 0.85
_ROUNDING = 1e-9  # 0.85 x base is not exact in binary; a score that equals the bar passes

Rule = Literal["absolute", "relative"]
Status = Literal["reached", "at least", "none", "undetermined"]


class _LengthVerdict(NamedTuple):
    """A bar's verdict on one length; undecided trials as misses, then as hits."""

    length: int
    tested: bool
    passes: bool = True  # by its score as misses
    may_pass: bool = True  # as hits
    certain: bool = True  # by the low end of its interval
    possible: bool = True  # by the high end


def absolute_length(scores: Sequence[LengthScore], threshold: float = RULER_THRESHOLD) -> EffectiveLength:
    """Apply the absolute rule: score >= `threshold` (0..1). `scores` ascend by length."""
    judged = [
        _verdict(each, each.limits, (each.low, each.high if each.shared_high is None else each.shared_high), threshold)
        for each in scores
    ]
    return _walk("absolute", threshold, judged, scores)


def relative_length(trials: Sequence[ScoredTrial], base: ReferenceScore) -> EffectiveLength:
    """Apply the relative rule: score >= `RELATIVE` of the uncertain base (see `margin_ends`).

    Lengths that the base was measured on are not judged. A base of 0 leaves nothing to keep: no length passes.
    """
    scores = length_scores(trials)
    if not base.score or base.score <= 0:
        status: Status = "undetermined" if base.score is None or base.ends[1] > 0 else "none"
        tested = max((score.length for score in scores if score.tested), default=None)
        return EffectiveLength("relative", 0.0, status, base.score, longest_tested=tested, base_words=base.words)
    judged = []
    for score in scores:
        if score.length in base.lengths:
            judged.append(_LengthVerdict(score.length, score.tested))
            continue
        # At its worst beside the base at its best, and the other way round: undecided trials may be either.
        column = [trial for trial in trials if trial.length == score.length]
        worst = margin_ends(decided(column, hits=False), base.decided(hits=True), RELATIVE)
        best = margin_ends(decided(column, hits=True), base.decided(hits=False), RELATIVE, ERROR / len(scores))
        least, most = score.limits
        margins = (
            None if least is None else least - RELATIVE * base.ends[1],
            None if most is None else most - RELATIVE * base.ends[0],
        )
        judged.append(_verdict(score, margins, (worst and worst[0], best and best[1])))
    length = _walk(
        "relative", RELATIVE * base.score, judged, [score for score in scores if score.length not in base.lengths]
    )
    return replace(length, base=base.score, base_words=base.words, base_range=base.range)


_Limits = tuple[float | None, float | None]


def _verdict(score: LengthScore, limits: _Limits, ends: _Limits, bar: float = 0.0) -> _LengthVerdict:
    """Compare `limits` (of the score) and `ends` (of its interval; `None` excludes nothing) with the bar."""
    least, most, low, high = (None if value is None else value >= bar - _ROUNDING for value in (*limits, *ends))
    return _LengthVerdict(
        score.length, score.tested, bool(least), bool(most), bool(low), score.tested and high is not False
    )


def _walk(
    rule: Rule, threshold: float, judged: Sequence[_LengthVerdict], scores: Sequence[LengthScore]
) -> EffectiveLength:
    """Walk up the lengths. Those without an answer stop the walk; at the long end they are untested.

    `scores`: those whose samples count.
    """
    last = max((at for at, each in enumerate(judged) if each.tested), default=-1)
    tested = judged[: last + 1]
    decisive = next((each for each in tested if not each.certain), None)
    conservative = _before_first_failure(tested, "certain")
    status: Status
    if not tested:
        status = "undetermined"
    elif decisive is None:
        status = "at least"
    elif not decisive.tested or decisive.possible:
        status = "undetermined"
    else:
        status = "none" if conservative is None else "reached"
    sampled = [each for each in scores if each.samples]
    return EffectiveLength(
        rule=rule,
        threshold=threshold,
        status=status,
        point=_before_first_failure(tested, "passes"),
        point_most=_before_first_failure(tested, "may_pass"),
        conservative=conservative,
        optimistic=_before_first_failure(tested, "possible"),
        longest_passing=max((each.length for each in tested if each.passes), default=None),
        longest_tested=tested[-1].length if tested else None,
        decisive=None if decisive is None else decisive.length,
        samples=min((each.samples or 0 for each in sampled), default=None),
        needed=samples_to_pass(round(threshold, 6)) if sampled and 0 < threshold < 1 else None,
        undecided=sum(each.undecided for each in sampled),
    )


def _before_first_failure(tested: Sequence[_LengthVerdict], name: str) -> int | None:
    return max((verdict.length for verdict in takewhile(attrgetter(name), tested)), default=None)


class EffectiveLength(Struct, frozen=True):
    """One rule's answer. Lengths in tokens, `None`: no length; scores in 0..1.

    The effective length lies between `conservative` and `optimistic`, with 95 % confidence at each length, whatever the
    undecided answers are.
    """

    rule: Rule
    threshold: float
    status: Status  # as the interval at `decisive` is below the bar (reached, none), or straddles it (undetermined)
    base: float | None = None  # score that a relative threshold is a share of
    point: int | None = None  # the last length before the first score below the bar; undecided answers as misses
    point_most: int | None = None  # with undecided answers as hits
    conservative: int | None = None  # by the low ends of the intervals
    optimistic: int | None = None  # by the high ends
    longest_passing: int | None = None  # the longest that scores at or above the threshold, whatever lies between
    longest_tested: int | None = None
    decisive: int | None = None  # the first length whose interval is not wholly at or above the threshold
    samples: int | None = None  # the fewest at any length; `None` of published scores
    needed: int | None = None  # samples that pass the threshold when all are right
    base_words: str = ""  # trials that `base` was measured on, in words
    base_range: Range | None = None  # `None` where no answer of the base is undecided
    undecided: int = 0  # answers at these lengths

    @property
    def hangs(self) -> bool:
        """Whether undecided answers leave it undetermined: as misses they give another length than as hits."""
        return self.status == "undetermined" and self.point != self.point_most

    @property
    def caveat(self) -> str:
        """Its condition: `119 undecided answers: by the scores alone none as misses, 1k as hits`."""
        if not self.hangs:
            return ""
        answers = counted(self.undecided, "undecided answer") if self.undecided else "undecided answers of the base"
        low, high = length_label(self.point), length_label(self.point_most)
        return f"{answers}: by the scores alone {low} as misses, {high} as hits"

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
            return f"{length_label(self.point)} in the {counted(self.samples or 0, 'sample')} tested"
        if self.status == "undetermined":
            return "undetermined" if self.decisive is None else f"undetermined at {length_label(self.decisive)}"
        return length_label(self.point)

    @property
    def bar(self) -> str:
        """`score >= 85.6 %`, and for the relative rule its base."""
        if self.rule == "absolute":
            return f"score >= {percent1(self.threshold)} %"
        of = f"% of the base{f' {self.base_words}' if self.base and self.base_words else ''}"
        if not self.base or self.base_range is not None:
            return f"score >= {100 * RELATIVE:.0f} {of}"
        return f"score >= {percent1(self.threshold)} %, {100 * self.threshold / self.base:.0f} {of}"

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
        if self.status != "at least" and self.longest_tested is not None:
            parts.append(f"95 % interval {self.between}")
            if self.hangs:
                parts.append(self.caveat)
            elif self.few:
                parts.append(f"proof takes at least {self.needed} samples")
            elif self.status == "undetermined":
                parts.append(f"by the scores alone {length_label(self.point)}")
        if self.status != "at least" and self.longest_passing != self.point:
            parts.append(f"longest passing {length_label(self.longest_passing)}")
        return ", ".join(parts)

    @property
    def text(self) -> str:
        """One sentence: the bar, and the words."""
        return f"{self.bar}: {self.words}"

    def as_object(self) -> dict[str, Any]:
        """The object for `results.json`."""
        names = (
            "rule", "threshold", "base", "samples", "status", "answer", "point", "point_most", "conservative",
            "optimistic", "longest_passing", "longest_tested", "decisive", "undecided",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "base_of": self.base_words or None,
            "samples_needed": self.needed,
            "low": self.conservative,
            "high": self.optimistic,
            "caveat": self.caveat or None,
        }


class Trend(Struct, frozen=True):
    """Scores over lengths; `None` where there is too little to say it."""

    base: float | None  # score, 0..1
    area: Share  # see `area_under_curve`
    drop: float | None  # 1 - score at the longest length / base; below 0 where the score rose
    half_life: int | None  # tokens: the first length below half of the base (the italics of NoLiMa's table 3)


def trend(scores: Sequence[LengthScore], base: float | None) -> Trend:
    """Return the trend of `scores`, which ascend by length; those without a score are left out.

    `base`: what the drop and the half-life are a share of, 0..1; `None` where nothing was scored.
    """
    scored = [(each.length, each.score) for each in scores if each.score is not None]
    drop = 1 - scored[-1][1] / base if base and len(scored) > 1 else None
    half_life = None
    if base is not None:
        half_life = next((length for length, score in scored if score < base / 2 - _ROUNDING), None)
    area = area_under_curve([(each.length, Share(each.score, each.low, each.high)) for each in scores])
    return Trend(base, area, drop, half_life)


def area_under_curve(scores: Sequence[tuple[int, Share]]) -> Share:
    """The area under the score over log2(length), by its width: the mean score over doublings, 0..1.

    `scores` ascend by length (tokens); those without a value are left out, and of fewer than two there is no area. The
    ends are the areas under the ends of the intervals: they hold however much the lengths have their samples in common.
    """
    known = [(length, share) for length, share in scores if share.value is not None]
    if len(known) < 2:
        return Share(None)
    octaves = np.log2([length for length, _ in known])

    def area(values: Sequence[float | None]) -> float | None:
        if None in values:
            return None
        return float(np.trapezoid(np.array(values, float), octaves) / (octaves[-1] - octaves[0]))

    shares = [share for _, share in known]
    return Share(
        area([each.value for each in shares]), area([each.low for each in shares]), area([each.high for each in shares])
    )
