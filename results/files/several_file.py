"""`comparison.json`: several runs, each against its base: small, for dashboards and CI. Its schema: `schemas/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from needlework.results.statistics.comparison.comparison import FamilyDifference
from needlework.results.statistics.comparison.losses import Losses
from needlework.results.statistics.comparison.several import Against, Scores
from needlework.results.statistics.intervals.paired import Difference

COMPARISON = "comparison.json"
SCHEMA = "needlework-comparison-1"


def several_object(found: Sequence[Against], facts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One object for each run, in their order. `facts`: what else is known of each. Scores and differences in 0..1."""
    return [
        {
            "configuration": each.name,
            **facts.get(each.name, {}),
            **_scores(each.scores),
            "compared_with": each.base or None,
            "difference": _difference(each.whole),
            "verdict": each.verdict,
            "worse_from": each.worse_from,
            "not_compared": each.why or None,
            "different_prompts": each.different_prompts,
            "losses": [_losses(loss, each.base, each.name) for loss in each.losses],
            "lengths": [
                {"length": length, **_scores(scores), "difference": _difference(each.at.get(length))}
                for length, scores in each.lengths.items()
            ],
        }
        for each in found
    ]


def _scores(scores: Scores) -> dict[str, Any]:
    ends = scores.interval
    return {
        "trials": scores.trials,
        "scored": scores.n,
        "score": scores.mean,
        "low": ends.low if ends else None,
        "high": ends.high if ends else None,
        "range": list(scores.range) if scores.range else None,
    }


def _difference(found: FamilyDifference | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "pairs": found.whole.n,
        **_ends(found.difference),
        "losses_as_misses": _ends(found.counted),
        "p": found.p,
        "p_adjusted": found.p_adjusted,
        "verdict": found.verdict,
    }


def _ends(found: Difference | None) -> dict[str, float | None]:
    return {
        "mean": found.mean if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
    }


def _losses(loss: Losses, first: str, other: str) -> dict[str, Any]:
    return {
        "configuration": (first, other)[loss.side],
        "lost": loss.lost,
        "of": loss.of,
        "outcomes": dict(loss.outcomes),
        "lengths": {str(length): {"lost": lost, "of": of} for length, (lost, of) in loss.by_length.items()},
    }
