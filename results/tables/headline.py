"""The one sentence beside every heatmap: score, interval, n, and the trials that have no score."""

from __future__ import annotations

from needlework.results.records.record import UNDECIDED, OutcomeName
from needlework.results.statistics.intervals import FEW
from needlework.results.statistics.panels import OWN, Panel, Tally
from needlework.results.style.text import percent1

_PLURAL: dict[OutcomeName, str] = {"error": "errors"}


def headline(panel: Panel) -> str:
    """`score 87.5 % (95 % interval 81.0–92.1), n = 96 · 20 cells of 5 trials · 3 censored · 1 error`.

    And the system, if it is not ours.
    """
    overall = panel.overall
    parts = [score_words(overall), _cells(panel), *_unscored(overall)]
    if panel.source != OWN:
        parts.append(f"data: {panel.source}")
    if panel.note:
        parts.append(panel.note)
    return " · ".join(parts)


def score_words(found: Tally) -> str:
    """`score 87.5 % (95 % interval 81.0–92.1), n = 96`; for few samples their number too."""
    if found.mean is None:
        return "no score, n = 0"
    text = f"score {percent1(found.mean)} %"
    if found.interval is not None:
        few = f" from {found.samples} samples" if found.samples < FEW else ""
        text += f" (95 % interval {percent1(found.interval.low)}–{percent1(found.interval.high)}{few})"
    elif found.n > 1:
        text += " (one sample: says nothing of other needles)"
    return f"{text}, n = {found.n}"


def scored_of(cell: Tally) -> str:
    """How many of a cell's trials its score counts: `4`, or `3/4` where some have none."""
    return str(cell.n) if cell.n == cell.trials else f"{cell.n}/{cell.trials}"


def _cells(panel: Panel) -> str:
    sizes = {cell.trials for cell in panel.cells.values()}
    trials = f"{min(sizes)}–{max(sizes)}" if len(sizes) > 1 else str(*sizes)
    cells = "1 cell" if len(panel.cells) == 1 else f"{len(panel.cells)} cells"
    return f"{cells} of {trials} trial{'' if trials == '1' else 's'}"


def _unscored(overall: Tally) -> list[str]:
    parts = []
    last = next((name for name in reversed(UNDECIDED) if overall.counts[name]), None)
    for outcome, count in overall.unscored.items():
        text = f"{count} {_PLURAL.get(outcome, outcome) if count > 1 else outcome}"
        bounds = overall.censored_bounds
        if outcome == last and bounds is not None:
            text += f" ({percent1(bounds[0])} % if all missed, {percent1(bounds[1])} % if all hit)"
        parts.append(text)
    return parts or ["every trial scored"]
