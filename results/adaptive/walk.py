"""The sequential search of an adaptive run: looks that decide lengths, and their order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import fsum, inf, log
from typing import NamedTuple

from needlework.results.adaptive.design import Decision, SearchDesign, boundaries_at


# Looks are made one at a time: decisions do not depend on the number of requests in flight.
@dataclass(frozen=True, slots=True)
class Trials:
    """The first n trials of a length."""

    scores: Sequence[float]
    missing: tuple[int, ...] = ()  # repeats not answered yet; the look waits for them
    lost: int = 0  # trials without a score
    hopeless: bool = False  # too many trials have no score


ReadTrials = Callable[[int, int], Trials]
"""Returns the first n trials of a length: (index of the length, n)."""


@dataclass(frozen=True, slots=True)
class LengthState:
    """The state of one length at its last look."""

    n: int = 0  # trials
    total: float = 0.0  # their sum of scores
    looks: int = 0
    decision: Decision = ""


@dataclass(frozen=True, slots=True)
class LengthTurn:
    """Consecutive looks at one length (tokens), with its numbers of trials before and after."""

    length: int
    begun: int
    ended: int


Batch = tuple[int, int]
"""Further trials to send at one length: its index, and the most trials."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The state of a search: what the answers so far decide."""

    design: SearchDesign
    columns: tuple[LengthState, ...]  # of each length
    turns: tuple[LengthTurn, ...]
    batch: Batch | None  # of the look that waits; `None` at the end

    @property
    def ended(self) -> bool:
        """Whether the search is over."""
        return self.batch is None


def walk(design: SearchDesign, read: ReadTrials) -> Walk:
    """Make every look whose trials are all answered; returns the state of the search."""
    columns = [LengthState() for _ in design.lengths]
    turns: list[LengthTurn] = []
    while batch := next_batch(design, columns):
        at, trials = batch
        begun, missing = columns[at].n, False
        for n in design.looks(at)[columns[at].looks :]:
            first = read(at, n)
            missing = bool(first.missing) and not first.hopeless
            if first.hopeless:
                columns[at] = replace(columns[at], decision="not measurable")
            elif not missing:
                decision = boundaries_at(design, at).verdict(columns[at].looks, first.scores)
                columns[at] = LengthState(n, fsum(first.scores), columns[at].looks + 1, decision)
            if missing or columns[at].decision or n >= begun + trials:
                break
        if columns[at].n > begun or not missing:
            turns.append(LengthTurn(design.lengths[at], begun, columns[at].n))
        if missing:
            batch = at, begun + trials - columns[at].n
            break
    return Walk(design, tuple(columns), tuple(turns), batch)


def trials_to_send(state: Walk, read: ReadTrials, width: int) -> list[tuple[int, int]]:
    """The (index of a length, repeat) to send next: all that the next look needs, others up to `width` in all.

    The others are the rest of its batch and one more look at its length.
    """
    if state.batch is None:
        return []
    at, trials = state.batch
    looks = state.design.looks(at)[state.columns[at].looks :]
    end = state.columns[at].n + trials
    last = next((number for number, look in enumerate(looks, 1) if look >= end), len(looks))
    needed, coming = read(at, looks[0]).missing, read(at, looks[: last + 1][-1]).missing
    others = [repeat for repeat in coming if repeat not in needed][: max(0, width - len(needed))]
    return [(at, repeat) for repeat in (*needed, *others)]


# Planning changes the cost and never a decision: a wrong estimate costs tokens.
_TO_PASS, _TO_FAIL = 2.6, 4.0  # nats of evidence that a decision takes
_FIRST, _ABOVE, _BELOW = 0.9, 0.97, 0.93  # guessed scores: of the first length, and from one length to the next
_MOST = 6  # units of a batch; also the assumed need of a length without answers


def bracket(columns: Sequence[LengthState]) -> tuple[int, int]:
    """Bounds on the number of lengths, from the shortest on, that pass the bar: at least, at most."""
    decisions = [*(column.decision for column in columns), "end"]
    low = next(i for i, decision in enumerate(decisions) if decision != "pass")
    return low, decisions.index("fail") if "fail" in decisions else len(columns)


def next_batch(design: SearchDesign, columns: Sequence[LengthState]) -> Batch | None:
    """Plan the next batch; none when the bracket cannot be narrowed."""
    low, high = bracket(columns)
    near = high <= _reach(design, low)
    if near and (low == high or high < len(columns)):
        return None
    # If nothing failed, and only the longest length is open, it is tested too.
    to_pass, to_fail = _needs(design, columns)
    needed = None if near else _cheapest(design, to_pass, to_fail, low, high)
    needed = needed or _one_step(to_pass, to_fail, low, high)
    if needed is None:
        return None
    # A length has its first look after those of all shorter ones.
    fresh = next((i for i, column in enumerate(columns) if not column.n and not column.decision), len(columns))
    return min(needed.at, fresh), round(max(design.unit, min(needed.trials / 2, _MOST * design.unit)))


def out_of_reach(design: SearchDesign, columns: Sequence[LengthState]) -> list[bool]:
    """Flags of lengths that score so near to the bar that the cap leaves too few trials to decide."""
    needs = zip(columns, *_needs(design, columns), strict=True)
    return [
        bool(column.n) and not column.decision and min(passing.trials, failing.trials) == inf
        for column, passing, failing in needs
    ]


class _Need(NamedTuple):
    """Further trials that would decide a length, as estimated."""

    at: int
    trials: float
    tokens: float


def _needs(design: SearchDesign, columns: Sequence[LengthState]) -> tuple[list[_Need], list[_Need]]:
    """The needs of each length to pass, and to fail, by its estimated score."""
    scores = estimates(columns, design.pass_bar)
    reached = [*(column.decision for column in columns), "not measurable"].index("not measurable")

    def need(at: int, bar: float, possible: bool, enough: float) -> _Need:
        column, trials = columns[at], inf
        if possible and not column.decision and at < reached:
            trials = max(enough / divergence(scores[at], bar) - column.n, design.unit)
            if not column.n:
                trials = min(trials, _MOST * design.unit)
            elif trials > design.cap(at) - column.n:
                trials = inf
        return _Need(at, trials, trials * design.lengths[at])

    to_pass = [need(at, design.pass_bar, score > design.pass_bar, _TO_PASS) for at, score in enumerate(scores)]
    to_fail = [need(at, design.fail_bar, score < design.fail_bar, _TO_FAIL) for at, score in enumerate(scores)]
    return [_Need(n.at, 0, 0) if columns[n.at].decision == "pass" else n for n in to_pass], to_fail


def estimates(columns: Sequence[LengthState], bar: float) -> list[float]:
    """Estimate the score of each length, 0..1: never rising (isotonic regression), and a guess beyond."""
    from scipy.optimize import isotonic_regression

    answered = list(takewhile(lambda column: column.n, columns))
    means, weights = [(each.total + _FIRST) / (each.n + 1) for each in answered], [each.n + 1 for each in answered]
    scores: list[float] = isotonic_regression(means, weights=weights, increasing=False).x.tolist() if answered else []
    while len(scores) < len(columns):
        scores.append(scores[-1] * (_ABOVE if scores[-1] > bar else _BELOW) if scores else _FIRST)
    return scores


def divergence(p: float, q: float) -> float:
    """Kullback and Leibler's divergence of a hit with chance p from one with chance q, in nats."""
    return sum(a * log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def _reach(design: SearchDesign, low: int) -> int:
    """The highest upper end near enough to a lower one: the next length, or up to twice the tokens."""
    lengths = design.lengths
    within = [i for i, length in enumerate(lengths, start=1) if low and length <= 2 * lengths[low - 1]]
    return min(len(lengths), max([low + 1, *within]))


def _cheapest(
    design: SearchDesign, to_pass: Sequence[_Need], to_fail: Sequence[_Need], low: int, high: int
) -> _Need | None:
    """The cheapest undecided need of the cheapest plan to end the search."""
    plans = []
    for at in range(low, high):
        beyond = _reach(design, at)
        plans.append([*to_pass[low:at], *(to_fail[beyond : beyond + 1] if beyond < high else ())])
    best = min(plans, key=lambda plan: sum(need.tokens for need in plan))
    if sum(need.tokens for need in best) == inf:
        return None
    return min((need for need in best if need.trials), key=lambda need: need.tokens, default=None)


def _one_step(to_pass: Sequence[_Need], to_fail: Sequence[_Need], low: int, high: int) -> _Need | None:
    """The cheapest single decision that narrows the bracket; nothing where none is possible."""
    steps = [*to_fail[low : low + 1], *to_pass[low : low + 1], *to_fail[low + 1 : high]] if low < high else []
    best = min(steps, key=lambda need: need.tokens, default=None)
    return None if best is None or best.tokens == inf else best
