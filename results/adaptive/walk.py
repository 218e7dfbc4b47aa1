"""The sequential design of an adaptive run: which length is asked next, and what is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum, inf, log

from needlework.results.adaptive.design import Decision, SearchDesign, boundaries_at


# Looks are made one by one, so that what is decided does not depend on how many trials are in flight.
@dataclass(frozen=True, slots=True)
class Seen:
    """The first n trials of a length."""

    scores: Sequence[float]
    missing: tuple[int, ...] = ()  # repeats that are not asked yet; while there are any, the look cannot be made
    lost: int = 0  # trials without a score
    hopeless: bool = False  # too many trials have no score


See = Callable[[int, int], Seen]
"""The first n trials of the length with a number."""


@dataclass(frozen=True, slots=True)
class LookSchedule:
    """Consecutive looks at one length."""

    at: int  # the length's index
    begun: int  # trials before
    ended: int  # trials after


@dataclass(frozen=True, slots=True)
class Walk:
    """The state of a search: what the answers so far decide."""

    design: SearchDesign
    columns: tuple[LengthState, ...]  # of each length
    turns: tuple[LookSchedule, ...]
    parts: tuple[Batch, ...]  # what the open plan asks, the look whose trials are missing first; empty at the end

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be asked."""
        return not self.parts

    @property
    def bracket(self) -> tuple[int, int]:
        """How many lengths hold the bar: at least, and at most."""
        return bracket(self.columns)


def walk(design: SearchDesign, see: See) -> Walk:
    """Make every look that the answers allow."""
    columns = [LengthState() for _ in design.lengths]
    turns: list[LookSchedule] = []
    while parts := next_parts(design, columns):
        first = parts[0]
        begun = columns[first.at].n
        while not columns[first.at].decision and columns[first.at].n < begun + first.trials:
            if columns[first.at].looks == len(design.looks(first.at)):
                break
            column = _looked(design, columns[first.at], first.at, see)
            if column is None:
                left = Batch(first.at, begun + first.trials - columns[first.at].n)
                done = [LookSchedule(first.at, begun, columns[first.at].n)] * (columns[first.at].n > begun)
                return Walk(design, tuple(columns), (*turns, *done), (left, *parts[1:]))
            columns[first.at] = column
        turns.append(LookSchedule(first.at, begun, columns[first.at].n))
    return Walk(design, tuple(columns), tuple(turns), ())


def asked_next(state: Walk, see: See, width: int) -> list[tuple[int, int]]:
    """Return the (number of a length, repeat) to send next: what the look needs, and up to `width` that may be needed.

    After the look: the rest of the turn, the other parts of its plan, and one more look at the same length; never a
    length that was not asked yet.
    """
    trials: dict[tuple[int, int], None] = {}
    for number, (at, n) in enumerate(_coming_looks(state)):
        if number and len(trials) >= width:
            break
        for repeat in see(at, n).missing:
            if number and len(trials) >= width:
                break
            trials[at, repeat] = None
    return list(trials)


def _coming_looks(state: Walk) -> Iterator[tuple[int, int]]:
    design = state.design
    for number, part in enumerate(state.parts):
        column = state.columns[part.at]
        if number and not column.n:
            continue
        yield from ((part.at, look) for look in _looks_of(design, column, part))
    if state.parts:
        first, column = state.parts[0], state.columns[state.parts[0].at]
        after = column.looks + len(_looks_of(design, column, first))
        yield from ((first.at, look) for look in design.looks(first.at)[after : after + 1])


def _looks_of(design: SearchDesign, column: LengthState, part: Batch) -> list[int]:
    """The looks of a part of a turn, to the first that has all of its trials."""
    coming = design.looks(part.at)[column.looks :]
    return [look for at, look in enumerate(coming) if not at or coming[at - 1] < column.n + part.trials]


def _looked(design: SearchDesign, column: LengthState, at: int, see: See) -> LengthState | None:
    """A length after its next look; `None` while trials are missing."""
    n = design.looks(at)[column.looks]
    seen = see(at, n)
    if seen.hopeless:
        return LengthState(column.n, column.total, column.looks, "not measurable")
    if seen.missing:
        return None
    return LengthState(
        n, fsum(seen.scores), column.looks + 1, boundaries_at(design, at).verdict(column.looks, seen.scores)
    )


# Planning decides what an answer costs and never what is said: an estimate that is wrong costs tokens.
_TO_PASS, _TO_FAIL = 2.6, 4.0  # nats of evidence that a decision takes
_FIRST, _ABOVE, _BELOW = 0.9, 0.97, 0.93  # a guess for what was not asked yet: from one length to the next
_MOST = 6  # looks' worth of trials: the most of a turn, and what a length that was not asked yet is taken to need


@dataclass(frozen=True, slots=True)
class LengthState:
    """The state of one length at its last look."""

    n: int = 0  # trials
    total: float = 0.0  # their sum of scores
    looks: int = 0
    decision: Decision = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """At most so many further trials of one length."""

    at: int  # the length's index
    trials: int


def bracket(columns: Sequence[LengthState]) -> tuple[int, int]:
    """How many of the lengths, from the shortest on, hold the bar: at least, and at most."""
    decisions = [column.decision for column in columns]
    low = next((i for i, decision in enumerate(decisions) if decision != "pass"), len(decisions))
    return low, decisions.index("fail") if "fail" in decisions else len(decisions)


def next_parts(design: SearchDesign, columns: Sequence[LengthState]) -> list[Batch]:
    """What to ask next, first what counts most; nothing when the bracket is as narrow as it will be."""
    low, high = bracket(columns)
    near = high <= _reach(design, low)
    if near and (low == high or high < len(columns)):
        return []
    # Nothing failed, and one step from the longest: whether that one passes is worth knowing.
    needs = _Needs(design, columns)
    parts = [] if near else _cheapest(design, needs, low, high)
    parts = parts or _one_step(design, needs, low, high)
    return _first_looks(columns, parts)


def out_of_reach(design: SearchDesign, columns: Sequence[LengthState]) -> list[bool]:
    """Of each length whether it seems to score so near to the bar that the cap leaves too few trials to decide it."""
    needs = _Needs(design, columns)
    return [
        bool(column.n) and not column.decision and min(needs.to_pass(at).trials, needs.to_fail(at).trials) == inf
        for at, column in enumerate(columns)
    ]


@dataclass(frozen=True, slots=True)
class _Need:
    at: int
    trials: float
    tokens: float


class _Needs:
    """How many further trials would decide each length, by its estimated score."""

    def __init__(self, design: SearchDesign, columns: Sequence[LengthState]) -> None:
        self._design = design
        self._columns = columns
        self._scores = estimates(columns, design.pass_bar)
        decisions = [column.decision for column in columns]
        self._reached = decisions.index("not measurable") if "not measurable" in decisions else len(decisions)

    def to_pass(self, at: int) -> _Need:
        if self._columns[at].decision == "pass":
            return _Need(at, 0, 0)
        return self._need(at, self._design.pass_bar, self._scores[at] > self._design.pass_bar, _TO_PASS)

    def to_fail(self, at: int) -> _Need:
        return self._need(at, self._design.fail_bar, self._scores[at] < self._design.fail_bar, _TO_FAIL)

    def _need(self, at: int, bar: float, possible: bool, enough: float) -> _Need:
        design, column = self._design, self._columns[at]
        trials = inf
        if possible and not column.decision and at < self._reached:
            trials = max(enough / divergence(self._scores[at], bar) - column.n, design.unit)
            if not column.n:
                trials = min(trials, _MOST * design.unit)
            elif trials > design.cap(at) - column.n:
                trials = inf
        return _Need(at, trials, trials * design.lengths[at])


def estimates(columns: Sequence[LengthState], bar: float) -> list[float]:
    """Estimate the score of each length, 0..1: never rising (isotonic regression), and a guess beyond."""
    blocks: list[tuple[float, float, int]] = []  # mean, weight, lengths
    for column in columns:
        if not column.n:
            break
        mean, weight, count = (column.total + _FIRST) / (column.n + 1), column.n + 1.0, 1
        while blocks and blocks[-1][0] < mean:
            other, more, lengths = blocks.pop()
            mean = (mean * weight + other * more) / (weight + more)
            weight, count = weight + more, count + lengths
        blocks.append((mean, weight, count))
    scores = [mean for mean, _, count in blocks for _ in range(count)]
    while len(scores) < len(columns):
        scores.append(scores[-1] * (_ABOVE if scores[-1] > bar else _BELOW) if scores else _FIRST)
    return scores


def divergence(p: float, q: float) -> float:
    """Kullback and Leibler's divergence of a hit with chance p from one with chance q, in nats."""
    return sum(a * log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def _reach(design: SearchDesign, low: int) -> int:
    """The upper end that is near enough to a lower one: the next length, or one of twice as many tokens at most."""
    lengths = design.lengths
    within = [i for i, length in enumerate(lengths, start=1) if low and length <= 2 * lengths[low - 1]]
    return min(len(lengths), max([low + 1, *within]))


def _cheapest(design: SearchDesign, needs: _Needs, low: int, high: int) -> list[Batch]:
    """The undecided parts of the bracket that costs the fewest tokens, the cheapest part first."""
    plans = [list(_bracket_at(design, needs, low, at, high)) for at in range(low, high)]
    best = min(plans, key=lambda plan: sum(need.tokens for need in plan))
    if sum(need.tokens for need in best) == inf:
        return []
    return [_part(design, need) for need in sorted(best, key=lambda need: need.tokens) if need.trials]


def _bracket_at(design: SearchDesign, needs: _Needs, low: int, at: int, high: int) -> Iterator[_Need]:
    yield from (needs.to_pass(i) for i in range(low, at))
    beyond = _reach(design, at)
    if beyond < high:
        yield needs.to_fail(beyond)


def _one_step(design: SearchDesign, needs: _Needs, low: int, high: int) -> list[Batch]:
    """The cheapest single decision that moves an end; nothing where none is in reach."""
    steps = [need for at in range(low, high) for need in (needs.to_fail(at), *([needs.to_pass(at)] * (at == low)))]
    best = min(steps, key=lambda need: need.tokens, default=None)
    return [] if best is None or best.tokens == inf else [_part(design, best)]


def _part(design: SearchDesign, need: _Need) -> Batch:
    return Batch(need.at, round(max(design.unit, min(need.trials / 2, _MOST * design.unit))))


def _first_looks(columns: Sequence[LengthState], parts: Sequence[Batch]) -> list[Batch]:
    """No length is asked before every shorter one has had its first look."""
    fresh = next((i for i, column in enumerate(columns) if not column.n and not column.decision), len(columns))
    batches = [Batch(min(part.at, fresh), part.trials) for part in parts]
    return list({batch.at: batch for batch in reversed(batches)}.values())[::-1]
