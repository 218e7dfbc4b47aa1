"""A panel in words: its score, cells and trials without a score."""

from __future__ import annotations

from needlework.core.record import NOTHING_SAID, UNDECIDED, OutcomeName
from needlework.results.statistics.intervals import FEW
from needlework.results.statistics.panels import OWN, Panel, Tally
from needlework.results.statistics.wording import range_words
from needlework.results.style import percent1

UNEVEN = "no score over all lengths: each was asked as often as it took"
_PLURAL: dict[OutcomeName, str] = {"error": "errors"}


def headline(panel: Panel) -> str:
    """`score 87.5 % (95 % interval 81.0–92.1), n = 96 · 20 cells of 5 trials · 1 error`; and the system, if not ours.

    Where answers are undecided the score is a range, and that of the scored ones comes second: `score 70.0–80.0 % (10
    censored of 100: all missed to all hit) · of the scored 77.8 % (95 % interval 68.3–85.1), n = 90 · ...`. Where the
    answers decided how often each length was asked there is none.
    """
    overall = panel.overall
    score = f"{UNEVEN}, n = {overall.n}" if panel.uneven else score_words(overall)
    parts = [score, _cells(panel), *_counts(overall)]
    if panel.source != OWN:
        parts.append(f"data: {panel.source}")
    if panel.context_alone:
        parts.append("lengths are of the context alone")
    if panel.note:
        parts.append(panel.note)
    return " · ".join(parts)


def score_words(found: Tally) -> str:
    """`score 87.5 % (95 % interval 81.0–92.1), n = 96`; for few samples their number too; a range where it is one."""
    if found.range is not None:
        undecided, scored = range_notes(found)
        return f"score {range_words(found.range)} % ({undecided}) · {scored}"
    return "no score, n = 0" if found.mean is None else f"score {_mean_words(found)}"


def range_notes(found: Tally) -> tuple[str, str]:
    """What a range is made of: `10 censored of 100: all missed to all hit`, and the score of the others."""
    undecided = ", ".join(f"{found.counts[name]} {name}" for name in UNDECIDED if found.counts[name])
    trials = found.n + sum(found.counts[name] for name in UNDECIDED)
    scored = f"of the scored {_mean_words(found)}" if found.n else "none scored"
    return f"{undecided} of {trials}: all missed to all hit", scored


def _mean_words(found: Tally) -> str:
    text = f"{percent1(found.mean or 0.0)} %"
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
    if panel.source != OWN and sizes == {1}:  # other systems' files have the mean of a cell, of as many as there were
        return cells
    return f"{cells} of {trials} trial{'' if trials == '1' else 's'}"


def _counts(overall: Tally) -> list[str]:
    parts = []
    for outcome, count in overall.unscored.items():
        if outcome not in UNDECIDED:  # those stand beside the score
            parts.append(f"{count} {_PLURAL.get(outcome, outcome) if count > 1 else outcome}")
    nothing = [f"{overall.counts[name]} {name}" for name in NOTHING_SAID if overall.counts[name]]
    return [*(parts if overall.unscored else ["every trial scored"]), *nothing]
