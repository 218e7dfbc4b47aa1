"""Effective length: how long a context may be before the score falls below a bar."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needlework.results.statistics.intervals.clustered import Floats
from needlework.results.statistics.intervals.evidence import samples_to_pass
from needlework.results.statistics.length.answer import RELATIVE, EffectiveLength, Rule, Status
from needlework.results.statistics.length.base import Base, margin_ends
from needlework.results.statistics.length.scores import LengthScore, length_scores
from needlework.results.statistics.panels import Trial, decided

# Llama-2-7B-chat's RULER score at 4K: the bar of RULER's table (C.-P. Hsieh et al., "RULER", COLM 2024, table 3).
RULER_THRESHOLD = 0.856
_ROUNDING = 1e-9  # 0.85 x base is not exact in binary; a score that equals the bar passes


@dataclass(frozen=True, slots=True)
class _Judged:
    """What a bar says of one length: by its score with undecided trials as misses, and as hits; by the low and by the
    high end of its interval; `None` ends exclude nothing."""

    length: int
    tested: bool
    passes: bool
    may_pass: bool
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
            each.tested,
            each.least is not None and each.least >= bar,
            each.most is not None and each.most >= bar,
            each.low is not None and each.low >= bar,
            each.tested and (each.high is None or each.high >= bar),
        )
        for each in scores
    ]
    found = _told(_walk("absolute", judged, threshold), scores)
    if draws is None:
        return found
    lengths, means = draws
    chances = _chances(lengths, means, np.full(len(means), threshold))
    return replace(found, chances=_of_decided(chances, scores))


def relative_length(
    trials: Sequence[Trial], base: Base, share: float = RELATIVE, draws: tuple[tuple[int, ...], Floats] | None = None
) -> EffectiveLength:
    """Apply the relative rule: score >= `share` of the base, whose own uncertainty counts (see `margin_ends`).

    Lengths that the base was measured on are not judged. A base of 0 leaves nothing to keep: no length passes.
    """
    scores = length_scores(trials)
    if not base.score or base.score <= 0:
        status: Status = "undetermined" if base.score is None or base.ends[1] > 0 else "none"
        tested = max((each.length for each in scores if each.tested), default=None)
        return EffectiveLength(
            "relative", 0.0, status, base.score, None, None, None, None, None, tested, None, {}, base_words=base.words
        )
    threshold = share * base.score
    judged = [_beside_base(each, [one for one in trials if one.length == each.length], base, share) for each in scores]
    found = _told(_walk("relative", judged, threshold), [each for each in scores if each.length not in base.lengths])
    found = replace(found, base=base.score, base_words=base.words, base_range=base.range)
    if draws is None or base.range is not None or (base.trials and not base.lengths):
        return found
    lengths, means = draws
    bars = np.full(len(means), threshold)
    if base.lengths:
        with warnings.catch_warnings():  # a draw may have none of the base's trials; it then passes nothing
            warnings.simplefilter("ignore", RuntimeWarning)
            bars = share * np.nanmean(means[:, [lengths.index(length) for length in base.lengths]], axis=1)
    return replace(found, chances=_of_decided(_chances(lengths, means, bars), scores))


def _beside_base(each: LengthScore, trials: Sequence[Trial], base: Base, share: float) -> _Judged:
    """A length at its worst beside the base at its best, and the other way round: undecided trials may be either."""
    if each.length in base.lengths:
        return _Judged(each.length, each.tested, True, True, True, True)
    worst = best = margin_ends(trials, base, share)
    if each.undecided or base.range is not None:
        worst, best = (
            margin_ends(decided(trials, hits=hits), base.decided(hits=not hits), share) for hits in (False, True)
        )
    least, most = base.ends
    return _Judged(
        each.length,
        each.tested,
        each.least is not None and each.least >= share * most - _ROUNDING,
        each.most is not None and each.most >= share * least - _ROUNDING,
        worst is not None and worst[0] >= -_ROUNDING,
        each.tested and (best is None or best[1] >= -_ROUNDING),
    )


def _of_decided(chances: Mapping[int, float], scores: Sequence[LengthScore]) -> dict[int, float]:
    """The chances of lengths without undecided trials: the others' rest on the rest of their trials alone."""
    open_ = {each.length for each in scores if each.undecided}
    return {length: chance for length, chance in chances.items() if length not in open_}


def _told(found: EffectiveLength, scores: Sequence[LengthScore]) -> EffectiveLength:
    """With the samples that it rests on, and those that the bar takes when all are right."""
    known = [each for each in scores if each.samples]
    if not known:
        return found
    depths = 5 if any(each.trials > (each.samples or 0) for each in known) else 1
    needed = samples_to_pass(round(found.threshold, 6), depths) if 0 < found.threshold < 1 else None
    undecided = sum(each.undecided for each in known)
    return replace(found, samples=min(each.samples or 0 for each in known), needed=needed, undecided=undecided)


def _walk(rule: Rule, judged: Sequence[_Judged], threshold: float) -> EffectiveLength:
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
        chances={},
        longest_asked=judged[-1].length if judged else None,
    )


def _before_first_failure(lengths: Sequence[int], passes: Sequence[bool]) -> int | None:
    failed = passes.index(False) if False in passes else len(passes)
    return lengths[failed - 1] if failed else None


def _chances(lengths: Sequence[int], means: Floats, bars: Floats) -> dict[int, float]:
    """Share of the draws at or above their bar, among those that have a score at that length."""
    passed = means >= bars[:, None] - _ROUNDING
    there = ~np.isnan(means) & ~np.isnan(bars)[:, None]
    return {length: float(passed[there[:, at], at].mean()) for at, length in enumerate(lengths) if there[:, at].any()}
