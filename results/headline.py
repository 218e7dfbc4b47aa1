"""The one sentence beside every heatmap: score, interval, n, and the trials that have no score."""

from __future__ import annotations

from results.records import OutcomeName
from results.summary import OWN, Panel, Tally
from results.text import percent1

_PLURAL: dict[OutcomeName, str] = {"error": "errors"}


def headline(panel: Panel) -> str:
    """`score 87.5 % (95 % interval 81.0–92.1), n = 96 · 3 censored · 1 error`, and the system if it is not ours."""
    overall = panel.overall
    parts = [_score(overall), *_unscored(overall)]
    if panel.source != OWN:
        parts.append(f"data: {panel.source}")
    return " · ".join(parts)


def _score(overall: Tally) -> str:
    if overall.mean is None:
        return "no score, n = 0"
    text = f"score {percent1(overall.mean)} %"
    if overall.interval is not None:
        text += f" (95 % interval {percent1(overall.interval.low)}–{percent1(overall.interval.high)})"
    return f"{text}, n = {overall.n}"


def _unscored(overall: Tally) -> list[str]:
    parts = []
    for outcome, count in overall.unscored.items():
        text = f"{count} {_PLURAL.get(outcome, outcome) if count > 1 else outcome}"
        bounds = overall.censored_bounds
        if outcome == "censored" and bounds is not None:
            text += f" ({percent1(bounds[0])} % if all missed, {percent1(bounds[1])} % if all hit)"
        parts.append(text)
    return parts or ["every trial scored"]
