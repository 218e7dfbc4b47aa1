"""What a walk costs for models that are all right up to a length and all wrong beyond: the range before a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from needlework.results.adaptive.base import measured, relative
from needlework.results.adaptive.design import MOST_LOOK, Design, absolute, unit_of
from needlework.results.adaptive.survey import Rules
from needlework.results.adaptive.walk import See, Seen, walk


@dataclass(frozen=True, slots=True)
class Cost:
    """Right at this length (tokens, 0: at none) and at shorter ones, wrong at longer ones: so many trials."""

    right_up_to: int
    trials: int
    tokens: int


def costs(rules: Rules, lengths: tuple[int, ...], depths: int) -> list[Cost]:
    """What each such model costs; several bars together at most the sum of each."""
    return [_cost(list(_designs(rules, lengths, depths)), lengths, right) for right in (0, *lengths)]


def most(rules: Rules, lengths: tuple[int, ...], depths: int) -> Cost:
    """What no model costs more than, whatever it scores: every length up to the cap of each bar, bases included."""
    caps = dict.fromkeys(lengths, 0)
    for base, design in _designs(rules, lengths, depths):
        caps |= {length: max(caps[length], design.cap) for length in design.lengths}
        caps |= {base: MOST_LOOK * design.unit} if base else {}
    return Cost(lengths[-1], sum(caps.values()), sum(length * trials for length, trials in caps.items()))


def _designs(rules: Rules, lengths: tuple[int, ...], depths: int) -> Iterator[tuple[int, Design]]:
    """The length of the base, 0 for none, and the design of each bar; a base that is measured is taken to be full."""
    for bar in rules.bars:
        if bar is not None:
            yield 0, absolute(rules.mode, lengths, depths, bar)
        else:
            length = 0 if rules.base is not None else rules.base_length or lengths[0]
            base = measured(length, [rules.base or 1.0] * (MOST_LOOK * unit_of(depths)))
            yield length, relative(rules.mode, lengths, depths, base)


def _model(design: Design, right: int) -> See:
    return lambda at, n: Seen([float(design.lengths[at] <= right)] * n)


def _cost(designs: list[tuple[int, Design]], lengths: tuple[int, ...], right: int) -> Cost:
    sent = dict.fromkeys(lengths, 0)
    for base, design in designs:
        found = walk(design, _model(design, right))
        for length, column in zip(design.lengths, found.columns, strict=True):
            sent[length] = max(sent[length], column.n)
        if base:
            sent[base] = max(sent[base], MOST_LOOK * design.unit)
    return Cost(right, sum(sent.values()), sum(length * trials for length, trials in sent.items()))
