"""Several runs, each against the first or the one before, in words: losses first, then one line for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from needlework.results.statistics.comparison.several import Against, Scores, needed_samples
from needlework.results.style.text import length_labels, one_line, percent1
from needlework.results.tables.columns import NONE, aligned
from needlework.results.tables.comparison import interval_words, loss_words, p_words, points1, score_words

_SAME = "the first"


def several_lines(found: Sequence[Against], windows: Mapping[str, int | None]) -> list[str]:
    """Return what a terminal has of them: losses, the table, cautions. `windows`: of each run in tokens, if known."""
    if not found:
        return []
    losses = losses_lines(found, windows)
    rows = [head(found), *(several_row(each, first=each is found[0], losses=has_losses(found)) for each in found)]
    return [*losses, *([""] if losses else []), *aligned(rows, names=1), *cautions(found)]


def losses_lines(found: Sequence[Against], windows: Mapping[str, int | None]) -> list[str]:
    """`small cannot answer 12 of 36 trials that f16 scored: all 12 at 2k (12 skipped); window 1024, f16 had 8192`."""
    return [
        loss_words(loss, (windows.get(each.base), windows.get(each.name)), (one_line(each.base), one_line(each.name)))
        for each in found
        for loss in each.losses
    ]


def has_losses(found: Sequence[Against]) -> bool:
    """Whether any of them could not answer what another could."""
    return any(each.losses for each in found)


def head(found: Sequence[Against]) -> tuple[str, ...]:
    """The table's columns."""
    counted = ("losses as misses",) if has_losses(found) else ()
    bases = {each.base for each in found[1:]}
    difference = f"- {one_line(found[0].name)}" if bases <= {found[0].name} else "- the one before"
    return (
        "configuration",
        "trials",
        "score % (95 %)",
        difference,
        "95 %",
        *counted,
        "p (Holm)",
        "worse from",
        "verdict",
    )


def several_row(each: Against, *, first: bool, losses: bool) -> tuple[str, ...]:
    """One run's row, in the order of `head`."""
    name, scores = one_line(each.name), each.scores
    own = (name, _trials(scores), _score(scores))
    counted: tuple[str, ...] = (NONE,) if losses else ()
    if each.whole is None:
        said = _SAME if first else "not compared" if each.why else NONE
        return (*own, NONE, NONE, *counted, NONE, NONE, said)
    whole = each.whole
    difference = NONE if whole.whole.difference is None else points1(whole.whole.difference)
    ends = interval_words(whole.difference) if whole.difference else ""
    if losses and whole.counted is not None:
        counted = (points1(whole.counted.mean),)
    p = NONE if whole.p_adjusted is None else p_words(whole.p_adjusted)
    return (*own, difference, ends or NONE, *counted, p, _worse_from(each), str(each.verdict))


def cautions(found: Sequence[Against]) -> list[str]:
    """What makes the rows mean less than they seem to."""
    lines = [f"{one_line(each.name)} is not compared: {one_line(each.why)}" for each in found if each.why]
    for each in found:
        if each.different_prompts:
            trials = f"{each.different_prompts} trials"
            lines.append(f"caution: {one_line(each.name)} was asked other prompts in {trials} (another tokenizer?)")
    few = [each for each in found if each.whole is not None and each.verdict == "undetermined"]
    if few:
        needed = max(needed_samples(each.whole.families) for each in few if each.whole is not None)
        names = ", ".join(one_line(each.name) for each in few)
        lines.append(f"undetermined: too few samples for a verdict ({names}); give --repeats {needed} or more")
    return lines


def _score(scores: Scores) -> str:
    """`87.5 (81.0..92.1)`; `50.4..100, scored 100 (97.0..100)` where answers are undecided."""
    scored = score_words(scores.mean, scores.interval)
    if scores.range is None:
        return scored
    ends = "..".join(map(percent1, scores.range))
    return ends if scores.mean is None else f"{ends}, scored {scored}"


def _trials(scores: Scores) -> str:
    return str(scores.n) if scores.n == scores.trials else f"{scores.n} of {scores.trials}"


def _worse_from(each: Against) -> str:
    lengths = sorted(each.at)
    return NONE if each.worse_from is None else dict(zip(lengths, length_labels(lengths), strict=True))[each.worse_from]
