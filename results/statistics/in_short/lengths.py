"""How long a context may be, as a clause: what the scores say, and beside it what is sure."""

from __future__ import annotations

from collections.abc import Mapping

from needlework.results.adaptive.base import SHARE
from needlework.results.adaptive.statement import Statement
from needlework.results.records.record import UNDECIDED, OutcomeName
from needlework.results.statistics.in_short.parts import tokens
from needlework.results.statistics.length.answer import RELATIVE, EffectiveLength
from needlework.results.statistics.length.effective import RULER_THRESHOLD
from needlework.results.style.text import percent1


def length_clause(found: EffectiveLength | None) -> str:
    """`holds RULER's 85.6 % up to 2k tokens (95 % sure: 1k to 4k)`; empty where nothing has a score.

    What is "sure" is what the intervals say: at least `conservative`, at most `optimistic`. Where undecided answers
    decide the rest, that is all, if it is anything: `open_words` has why.
    """
    if found is None or found.longest_tested is None or (found.rule == "relative" and not found.base):
        return ""
    bar = _bar(found)
    if found.status == "at least":
        scored = " with a score" if found.longest_asked not in (None, found.longest_tested) else ""
        return f"holds {bar} at every length{scored}, up to {tokens(found.longest_tested)} tokens (95 % sure)"
    if found.status == "none":
        return f"does not hold {bar} at any length, {tokens(found.decisive)} tokens included (95 % sure)"
    if found.hangs:
        return _sure_alone(bar, found)
    said = f"up to {tokens(found.point)} tokens" if found.point is not None else "at no length by its scores"
    return f"holds {bar} {said} ({_sure(found)})"


def few_clause(found: EffectiveLength | None) -> str:
    """What so few samples showed of the length, and how many would do: `too few to say ...`; else empty."""
    if found is None or not found.few or (found.rule == "relative" and not found.base):
        return ""
    bar = _bar(found)
    held = f"held {bar} up to {tokens(found.point)} tokens" if found.point is not None else f"held {bar} at no length"
    most = ""
    if found.optimistic is None:
        most = "; 95 % sure is that it holds it nowhere"
    elif found.optimistic != found.longest_tested:
        most = f"; 95 % sure is only that it ends by {tokens(found.optimistic)}"
    a_length = "one question" if found.samples == 1 else f"{found.samples} questions"
    return f"in this run it {held}, but {a_length} a length cannot prove that ({found.needed} can){most}"


def open_words(found: EffectiveLength | None, undecided: Mapping[OutcomeName, int]) -> str:
    """What stands behind the count of undecided answers that decide the length, none of which are a hit or a miss yet:
    `no word on effective length until they are whole`; empty where they do not. `undecided`: how many, by outcome.
    """
    if found is None or not found.hangs:
        return ""
    kinds = [name for name in UNDECIDED if undecided.get(name)]
    if len(kinds) > 1:
        until = "all these are decided"
    elif sum(undecided.get(name, 0) for name in UNDECIDED) == 1:
        until = "it is whole" if kinds == ["censored"] else "it is decided"
    else:
        until = "they are whole" if kinds == ["censored"] else "they are decided"
    return f"no {'more' if length_clause(found) else 'word'} on effective length until {until}"


def adaptive_clause(found: Statement) -> str:
    """`holds RULER's 85.6 % up to 32k to 64k tokens (95 % sure)`; empty where the bar is not known."""
    if found.bar is None:
        return ""
    bar = absolute(found.bar) if found.rule == "absolute" else f"{100 * SHARE:.0f} % of its base score"
    low, high = found.low, found.high
    if high is None:
        return f"does not hold {bar} even at {tokens(found.lengths[0].length)} tokens (95 % sure)"
    if low is None and found.or_more:
        scored = any(each.n for each in found.lengths)
        return f"is not decided: no length is shown to hold {bar}, none to fail it" if scored else ""
    if low == high and found.or_more:
        return f"holds {bar} at every length, up to {tokens(high)} tokens (95 % sure)"
    return _within(bar, low, None if found.or_more else high)


def _sure_alone(bar: str, found: EffectiveLength) -> str:
    """What the intervals say whatever undecided answers are; empty where that is nothing."""
    high = None if found.optimistic == found.longest_tested else found.optimistic
    return "" if found.conservative is None and high is None else _within(bar, found.conservative, high)


def _within(bar: str, low: int | None, high: int | None) -> str:
    """At least `low` tokens, at most `high`; `None` for an end that is not known."""
    if high is None:
        return f"holds {bar} up to {tokens(low)} tokens at least (95 % sure)"
    if low is None:
        return f"holds {bar} up to at most {tokens(high)} tokens (95 % sure)"
    ends = tokens(low) if low == high else f"a length between {tokens(low)} and {tokens(high)}"
    return f"holds {bar} up to {ends} tokens (95 % sure)"


def absolute(bar: float) -> str:
    """`RULER's 85.6 %`: whose bar it is, where it is theirs."""
    return f"RULER's {percent1(bar)} %" if bar == RULER_THRESHOLD else f"{percent1(bar)} %"


def _bar(found: EffectiveLength) -> str:
    if found.rule == "absolute":
        return absolute(found.threshold)
    return f"{100 * RELATIVE:.0f} % of its base score"


def _sure(found: EffectiveLength) -> str:
    """What is sure of a length: both ends, one of them, or nothing."""
    most = None if found.optimistic == found.longest_tested else tokens(found.optimistic)
    if found.optimistic is None:
        return "95 % sure: at no length"
    if found.conservative is None:
        return f"95 % sure: at most {most}" if most else "nothing about it is 95 % sure yet"
    least = tokens(found.conservative)
    if most is None:
        return f"95 % sure: {least} or more"
    return "95 % sure" if least == most else f"95 % sure: {least} to {most}"
