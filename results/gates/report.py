"""What is said about gates: lines for the terminal, a table for CI pages, rows for a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from needlework.results.gates.verdict import State, Verdict
from needlework.results.statistics.gate_row import GateRow
from needlework.results.style.text import duration, one_line
from needlework.results.tables.comparison import loss_words, lost_words

_MOST = 40  # groups of one gate that are told one by one; JUnit XML has them all
_COUNTED = {True: "with these as misses", False: "counted against it:"}
WORD: dict[State, str] = {"pass": "pass", "fail": "FAIL", "inconclusive": "inconclusive"}


def gate_lines(
    verdicts: Sequence[Verdict], further: int, trial_s: float | None = None, selection: str = ""
) -> Iterator[tuple[str, State | None]]:
    """Lines with the verdict that colours them. `further`: the trials that `--top-up` has asked; `trial_s`: seconds
    that a trial took in this run; `selection`: as of `selection_words`."""
    for gate, grouped in groupby(verdicts, key=lambda verdict: verdict.gate):
        found, rest = _told(list(grouped))
        names = _aligned([(WORD[each.state], one_line(each.group)) for each in found])
        numbers = iter(_aligned([_numbers(each) for each in found if each.losses is None]))
        yield f"gate {gate}", None
        for name, verdict in zip(names, found, strict=True):
            said = next(numbers) if verdict.losses is None else _after_losses(verdict)
            yield f"  {name}  {said}  {_remark(verdict)}".rstrip(), verdict.state
        if rest:
            yield f"  {rest}", None
    open_ones = [verdict for verdict in verdicts if verdict.state == "inconclusive"]
    if selection and verdicts:
        yield f"  {selection}", None
    if further:
        yield f"--top-up asked {further} further trials", None
    if open_ones:
        yield (
            f"{len(open_ones)} of {len(verdicts)} verdicts inconclusive{_remedy(open_ones, further, trial_s)}",
            "inconclusive",
        )


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]


def _numbers(verdict: Verdict) -> tuple[str, str, str]:
    return value_words(verdict), _interval(verdict), _count(verdict)


def _after_losses(verdict: Verdict) -> str:
    """What the run could not answer, and the numbers behind it."""
    return f"{_lost(verdict)}; {_COUNTED[verdict.paired]} {'  '.join(filter(None, _numbers(verdict)))}"


def _lost(verdict: Verdict) -> str:
    """`this run cannot answer 12 of 36 trials: all 12 at 2k (12 skipped); window 1024`; empty without losses."""
    if verdict.losses is None:
        return ""
    if verdict.paired:
        return loss_words(verdict.losses, verdict.windows, ("the baseline", "this run"))
    losses, window = verdict.losses, verdict.windows[1]
    told = f"; window {window}" if window is not None else ""
    return f"this run cannot answer {losses.lost} of {losses.of} trials: {lost_words(losses)}{told}"


def markdown_rows(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """A table, one row for each verdict."""
    if not verdicts:
        return
    yield "| gate | group | verdict | value | interval | n | |"
    yield "|---|---|---|---|---|---|---|"
    told = [_told(list(found)) for _, found in groupby(verdicts, key=lambda verdict: verdict.gate)]
    for each in [verdict for found, _ in told for verdict in found]:
        verdict = each.state if each.state == "pass" else f"**{each.state}**"
        cells = [
            f"`{each.gate}`",
            one_line(each.group),
            verdict,
            value_words(each),
            _interval(each),
            _count(each).removeprefix("n "),
            _said(each),
        ]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    yield from (f"\n{rest}" for _, rest in told if rest)


def gate_rows(verdicts: Sequence[Verdict], selected: int) -> tuple[GateRow, ...]:
    """The verdicts for a run's report. `selected`: the trials that they were judged on, with a score and without."""
    return tuple(
        GateRow(
            gate=each.gate,
            group=one_line(each.group),
            verdict=each.state,
            value=each.value,
            low=each.low,
            high=each.high,
            level=each.level,
            n=each.n,
            remark=_said(each),
            selected=selected,
        )
        for each in verdicts
    )


def _told(found: list[Verdict]) -> tuple[list[Verdict], str]:
    """The verdicts to tell one by one, in their order, and words for the rest: passes are left out first."""
    rank: dict[State, int] = {"fail": 0, "inconclusive": 1, "pass": 2}
    chosen = sorted(range(len(found)), key=lambda i: (rank[found[i].state], i))[:_MOST]
    left = [each.state for i, each in enumerate(found) if i not in chosen]
    counts = ", ".join(f"{left.count(state)} {WORD[state]}" for state in rank if state in left)
    return [found[i] for i in sorted(chosen)], f"... and {len(left)} further groups: {counts}" if left else ""


def verdict_words(verdict: Verdict) -> str:
    """`length 4000: 0.800 (0.284..0.995, n 5), 1 error counted against it`, and before that what was lost."""
    inside = ", ".join(filter(None, [_interval(verdict), _count(verdict)]))
    lost, remark = _lost(verdict), _remark(verdict)
    before = f"{lost}; {_COUNTED[verdict.paired]} " if lost else ""
    return f"{verdict.group}: {before}{value_words(verdict)} ({inside}){', ' if remark else ''}{remark}"


def value_words(verdict: Verdict) -> str:
    return "-" if verdict.value is None else f"{verdict.value:.3f}"


def _interval(verdict: Verdict) -> str:
    if verdict.low is None or verdict.high is None:
        return ""
    return f"{verdict.level:.4g} % interval {verdict.low:.3f}..{verdict.high:.3f}"


def _count(verdict: Verdict) -> str:
    """`n 40 (26 empty)`, and of how many samples where some have several trials."""
    nothing = ", ".join(f"{count} {name}" for name, count in verdict.nothing.items())
    number = f"n {verdict.n}{f' ({nothing})' if nothing else ''}"
    if not verdict.samples or verdict.samples == verdict.trials:
        return number
    return f"{number} of {verdict.samples} sample{'s' * (verdict.samples > 1)}"


def _said(verdict: Verdict) -> str:
    """What was lost, and the rest of what is said of a verdict beside its numbers."""
    return "; ".join(filter(None, [_lost(verdict), _remark(verdict)]))


def _remark(verdict: Verdict) -> str:
    told = verdict.losses is not None and verdict.paired
    against = "" if told else ", ".join(f"{count} {name}" for name, count in verdict.against.items())
    parts = [f"{against} counted against it" if against else "", verdict.note, _sight(verdict)]
    if verdict.more is not None:
        at = "drop" if verdict.paired else "score"
        parts.append(f"at this {at} {verdict.samples + verdict.more} samples decide")
    elif verdict.state == "inconclusive" and verdict.low is not None:
        parts.append("at the limit: no number decides")
    return ", ".join(filter(None, parts))


def _sight(verdict: Verdict) -> str:
    """What a "not worse" that passed could have seen."""
    if verdict.sees is None or verdict.state != "pass":
        return ""
    drop = f"a drop of {100 * verdict.sees:.3g} points or more"
    return f"not shown worse; {verdict.samples} samples show {drop} (in 80 of 100 runs)"


def _remedy(open_ones: Sequence[Verdict], further: int, trial_s: float | None) -> str:
    """What to do. Groups of one gate share no trials; those of two gates may."""
    needed = [
        sum(each.more_trials or 0 for each in found) for _, found in groupby(open_ones, key=lambda each: each.gate)
    ]
    time = f" ({duration(max(needed) * trial_s)} more at this pace)" if trial_s else ""
    parts = [f"--top-up {further + max(needed)} would decide if scores stay as they are{time}" if max(needed) else ""]
    if any(each.several_depths for each in open_ones):
        parts.append("samples decide, not depths: --depths spread asks each sample at one depth")
    if any(each.paired for each in open_ones):
        parts.append("a drop needs the same trials in the baseline, so run that with more --repeats first")
    return "".join(f"; {part}" for part in parts if part)
