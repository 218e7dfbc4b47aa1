"""Effective length: how long a context may be before the score falls below a bar."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.intervals.evidence import samples_to_pass
from needlework.results.statistics.length.answer import RELATIVE, EffectiveLength, Rule, Status
from needlework.results.statistics.length.base import Base, margin_ends
from needlework.results.statistics.length.scores import LengthScore, length_scores
from needlework.results.statistics.panels import Trial

# Llama-2-7B-chat's RULER score at 4K: the bar of RULER's table (C.-P. Hsieh et al., "RULER", COLM 2024, table 3).
RULER_THRESHOLD = 0.856
_ROUNDING = 1e-9  # 0.85 x base is not exact in binary; a score that equals the bar passes


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a bar says of one length: by its score, by the low and by the high end; `None` ends exclude nothing."""

    length: int
    scored: bool
    passes: bool
    certain: bool
    possible: bool


def absolute_length(
    scores: Sequence[LengthScore],
    threshold: float = RULER_THRESHOLD,
    draws: tuple[tuple[int, ...], Floats] | None = None,
) -> EffectiveLength:
    """Apply the absolute rule: score >= `threshold` (0..1). `scores` ascend by length; `draws` as of `joint_draws`."""
    bar = threshold - _ROUNDING
    judged = [
        _Judged(
            each.length,
            each.score is not None,
            each.score is not None and each.score >= bar,
            each.low is not None and each.low >= bar,
            each.score is not None and (each.high is None or each.high >= bar),
        )
        for each in scores
    ]
    found = _told(_walk("absolute", judged, threshold), scores)
    if draws is None:
        return found
    lengths, means = draws
    return replace(found, chances=_chances(lengths, means, np.full(len(means), threshold)))


def relative_length(
    trials: Sequence[Trial], base: Base, share: float = RELATIVE, draws: tuple[tuple[int, ...], Floats] | None = None
) -> EffectiveLength:
    """Apply the relative rule: score >= `share` of the base, whose own uncertainty counts (see `margin_ends`).

    Lengths that the base was measured on are not judged. A base of 0 leaves nothing to keep: no length passes.
    """
    scores = length_scores(trials)
    if base.score is None or base.score <= 0:
        status: Status = "undetermined" if base.score is None else "none"
        tested = max((each.length for each in scores if each.score is not None), default=None)
        return EffectiveLength(
            "relative", 0.0, status, base.score, None, None, None, None, tested, None, {}, base_words=base.words
        )
    threshold, judged = share * base.score, []
    for each in scores:
        sure = each.length in base.lengths
        ends = margin_ends([trial for trial in trials if trial.length == each.length], base, share)
        judged.append(
            _Judged(
                each.length,
                each.score is not None,
                sure or (each.score is not None and each.score >= threshold - _ROUNDING),
                sure or (ends is not None and ends[0] >= -_ROUNDING),
                sure or (each.score is not None and (ends is None or ends[1] >= -_ROUNDING)),
            )
        )
    found = _told(_walk("relative", judged, threshold), [each for each in scores if each.length not in base.lengths])
    found = replace(found, base=base.score, base_words=base.words)
    if draws is None or (base.trials and not base.lengths):
        return found
    lengths, means = draws
    bars = np.full(len(means), threshold)
    if base.lengths:
        with warnings.catch_warnings():  # a draw may have none of the base's trials; it then passes nothing
            warnings.simplefilter("ignore", RuntimeWarning)
            bars = share * np.nanmean(means[:, [lengths.index(length) for length in base.lengths]], axis=1)
    return replace(found, chances=_chances(lengths, means, bars))


def _told(found: EffectiveLength, scores: Sequence[LengthScore]) -> EffectiveLength:
    """With the samples that it rests on, and those that the bar takes when all are right."""
    known = [each for each in scores if each.samples]
    if not known:
        return found
    depths = 5 if any(each.trials > (each.samples or 0) for each in known) else 1
    needed = samples_to_pass(round(found.threshold, 6), depths) if 0 < found.threshold < 1 else None
    return replace(found, samples=min(each.samples or 0 for each in known), needed=needed)


def _walk(rule: Rule, judged: Sequence[_Judged], threshold: float) -> EffectiveLength:
    """Walk up the lengths. Those without a score stop the walk; at the long end they count as not tested."""
    last = max((at for at, each in enumerate(judged) if each.scored), default=-1)
    tested = judged[: last + 1]
    lengths = [each.length for each in tested]
    decisive = next((each for each in tested if not each.certain), None)
    conservative = _before_first_failure(lengths, [each.certain for each in tested])
    status: Status
    if not tested:
        status = "undetermined"
    elif decisive is None:
        status = "at least"
    elif not decisive.scored or decisive.possible:
        status = "undetermined"
    else:
        status = "none" if conservative is None else "reached"
    return EffectiveLength(
        rule=rule,
        threshold=threshold,
        status=status,
        base=None,
        point=_before_first_failure(lengths, [each.passes for each in tested]),
        conservative=conservative,
        optimistic=_before_first_failure(lengths, [each.possible for each in tested]),
        longest_passing=max((each.length for each in tested if each.passes), default=None),
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
