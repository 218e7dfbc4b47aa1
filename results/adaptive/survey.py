"""An adaptive run's trials so far, and what may be claimed of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from needlework.core.grid import spread_depths
from needlework.results.adaptive.design import (
    BASE_LOOK,
    MOST_LOOK,
    SHARE,
    BaseScore,
    Decision,
    Mode,
    SearchDesign,
    absolute,
    measured,
    relative,
    unit_of,
    wilson,
)
from needlework.results.adaptive.walk import LengthState, See, Seen, Walk, asked_next, out_of_reach, walk

Place = tuple[int, float | None, int]
"""Where a trial stands: length (tokens), depth (percent), repeat."""
Outcomes = Mapping[Place, float | None]
"""What came of a series' trials: a score (0..1), or none."""
_LEAST_BASE = 0.05


@dataclass(frozen=True, slots=True)
class Rules:
    """How a run is adaptive. `bars`: scores (0..1), `None` for 85 % of the base; `base`: its score, where it is given.

    `max_errors`: percent of a look's trials that may have no score.
    """

    mode: Mode
    bars: tuple[float | None, ...]
    seed: int
    max_errors: float
    base: float | None = None
    base_length: int | None = None


@dataclass(frozen=True, slots=True)
class BarSearch:
    """One bar of a series: its walk, `None` while the base is not known, or for good where that scores nothing."""

    bar: float | None
    base: BaseScore | None
    walk: Walk | None
    hopeless: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be asked for this bar."""
        return self.hopeless if self.walk is None else self.walk.ended


class Survey:
    """A series' places, and what is known of them. `lengths` (tokens) ascend; `depths` are those of the whole grid."""

    def __init__(
        self, rules: Rules, lengths: tuple[int, ...], depths: tuple[float | None, ...], outcomes: Outcomes
    ) -> None:
        self.rules = rules
        self.lengths = lengths
        self.depths = depths
        self.unit = unit_of(len(depths))
        self._by_repeat: dict[int, dict[int, float | None]] = {length: {} for length in lengths}
        for place, score in outcomes.items():
            if place[0] in self._by_repeat and place == self.place(place[0], place[2]):
                self._by_repeat[place[0]][place[2]] = score
        self.found = [self._at_score(bar) if bar is not None else self._at_share() for bar in rules.bars]

    @property
    def ended(self) -> bool:
        """Whether every bar has come to its end."""
        return all(found.ended for found in self.found)

    def ahead(self, width: int) -> list[Place]:
        """The trials to send next: what every open bar needs, and up to `width` in all that may be needed."""
        asked: dict[Place, None] = {}
        for found in self.found:
            if found.walk is not None:
                lengths = found.walk.design.lengths
                sent = asked_next(found.walk, self._see(lengths), width)
                asked |= dict.fromkeys(self.place(lengths[at], repeat) for at, repeat in sent)
            elif not found.hopeless:
                asked |= dict.fromkeys(self.place(self._base_length, repeat) for repeat in self._base_seen().missing)
        return list(asked)

    def place(self, length: int, repeat: int) -> Place:
        """Where a sample is asked at a length: at one of the depths, all of them equally often. A sample that replaces
        another takes over its depth."""
        trial = repeat % replacements_from(self.unit)
        (depth,) = spread_depths(self.depths, self.rules.seed, length, trial)
        return length, depth, repeat

    def _at_score(self, bar: float) -> BarSearch:
        design = absolute(self.rules.mode, self.lengths, len(self.depths), bar)
        return BarSearch(bar, None, walk(design, self._see(design.lengths)))

    def _at_share(self) -> BarSearch:
        base, given = None, self.rules.base
        if given is not None:
            base = BaseScore(0, 0, given, given, given)
        elif not self._base_seen().missing and not self._base_seen().hopeless:
            base = measured(self._base_length, self._base_seen().scores)
        if base is None or base.score < _LEAST_BASE:
            return BarSearch(None, base, None, base is not None or self._base_seen().hopeless)
        design = relative(self.rules.mode, self.lengths, len(self.depths), base)
        return BarSearch(None, base, walk(design, self._see(design.lengths)))

    @property
    def _base_length(self) -> int:
        return self.rules.base_length or self.lengths[0]

    def _base_seen(self) -> Seen:
        return self._seen(self._base_length, BASE_LOOK * self.unit)

    def _see(self, lengths: Sequence[int]) -> See:
        return lambda at, n: self._seen(lengths[at], n)

    def _seen(self, length: int, n: int) -> Seen:
        return seen(self._by_repeat[length], n, self.unit, self.rules.max_errors)


_Z95 = 1.959963984540054
_GRID_SAMPLES = 10  # of the full grid that a run is compared with


Stopped = Literal["", "budget", "interrupted"]


@dataclass(frozen=True, slots=True)
class LengthFound:
    """One length. `n`, `total`: the trials that its last look counted, and their sum of scores (0..1 each); `looks`:
    how many; `asked`, `tokens`: what was sent there, trials beyond the last look and those without a score included.

    `low`, `high`: the 95 % interval of the score as it stands. A length that was decided early was so by luck too: its
    score lies on the side of the decision, and its interval holds less often than 95 %. `near`: it seems to score
    so near to the bar that the trials which are left cannot decide it. `per_depth`: what was sent, by depth (percent).
    """

    length: int
    n: int
    total: float
    looks: int
    decision: Decision
    asked: int
    tokens: int
    low: float | None
    high: float | None
    near: bool
    per_depth: Mapping[float | None, int]


@dataclass(frozen=True, slots=True)
class TurnFound:
    """A length was asked from so many trials to so many."""

    length: int
    begun: int
    ended: int


@dataclass(frozen=True, slots=True)
class LengthStatement:
    """The longest length up to which every length scores at least `bar` lies between `low` and `high`, tokens.

    Wrong in at most 5 % of runs, whatever the model. `low` is `None` where no length was shown to hold the bar, `high`
    where the shortest one fails; `or_more`: nothing failed, so that it may be longer than the grid is. `bar` is `None`
    while the base that it is a share of is not known, or scores nothing. `stopped`: why more would have been asked, and
    was not; empty for a walk that came to its end.
    `grid_tokens`: what ten samples at every length and depth would have been.
    """

    model: str
    task: str
    needle: str
    mode: str
    rule: Literal["absolute", "relative"]
    bar: float | None
    base: BaseScore | None
    low: int | None
    high: int | None
    or_more: bool
    stopped: Stopped
    lengths: tuple[LengthFound, ...]
    turns: tuple[TurnFound, ...]
    trials: int
    tokens: int
    grid_tokens: int

    def as_object(self) -> dict[str, Any]:
        """For `results.json`."""
        told = asdict(self)
        for length in told["lengths"]:
            length["per_depth"] = [{"depth": depth, "n": n} for depth, n in length["per_depth"].items()]
        return told


def statements_of(
    survey: Survey, places: Sequence[Place], names: tuple[str, str, str], stopped: Stopped = "interrupted"
) -> list[LengthStatement]:
    """What each bar of a series says. `places`: of every trial that was sent; `names`: model, task, needle; `stopped`:
    why, where it has not come to its end."""
    found = []
    for bar in survey.found:
        low, high, or_more = _ends(bar)
        turns = [] if bar.walk is None else [(bar.walk.design.lengths[turn.at], turn) for turn in bar.walk.turns]
        found.append(
            LengthStatement(
                *names,
                mode=survey.rules.mode,
                rule="relative" if bar.bar is None else "absolute",
                bar=_bar(bar),
                base=bar.base,
                low=low,
                high=high,
                or_more=or_more,
                stopped="" if bar.ended else stopped,
                lengths=tuple(_length(length, bar, places) for length in survey.lengths),
                turns=tuple(TurnFound(length, turn.begun, turn.ended) for length, turn in turns),
                trials=len(places),
                tokens=sum(place[0] for place in places),
                grid_tokens=_GRID_SAMPLES * len(survey.depths) * sum(survey.lengths),
            )
        )
    return found


def _bar(found: BarSearch) -> float | None:
    if found.bar is not None or found.walk is None or found.base is None:
        return found.bar
    return SHARE * found.base.score


def _ends(found: BarSearch) -> tuple[int | None, int | None, bool]:
    """The bracket in tokens. The length of a base holds its own bar."""
    if found.walk is None:
        return None, None, False
    lengths = (found.base.length if found.base else 0, *found.walk.design.lengths)
    low, high = found.walk.bracket
    return lengths[low] or None, lengths[high] or None, high == len(lengths) - 1


def _by_depth(counted: tuple[float | None, int]) -> float:
    return -1.0 if counted[0] is None else counted[0]


def _near(found: BarSearch) -> list[int]:
    if found.walk is None:
        return []
    near = zip(found.walk.design.lengths, out_of_reach(found.walk.design, found.walk.columns), strict=True)
    return [length for length, out in near if out]


def _length(length: int, found: BarSearch, places: Sequence[Place]) -> LengthFound:
    here = [place for place in places if place[0] == length]
    columns = {} if found.walk is None else dict(zip(found.walk.design.lengths, found.walk.columns, strict=True))
    column = columns.get(length, LengthState())
    if found.base is not None and length == found.base.length:
        column = LengthState(found.base.n, found.base.score * found.base.n, 1)
    low, high = wilson(column.total / column.n, column.n, _Z95) if column.n else (None, None)
    return LengthFound(
        length=length,
        n=column.n,
        total=column.total,
        looks=column.looks,
        decision=column.decision,
        asked=len(here),
        tokens=length * len(here),
        low=low,
        high=high,
        near=length in _near(found),
        per_depth=dict(sorted(Counter(depth for _, depth, _ in here).items(), key=_by_depth)),
    )


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
        caps |= {length: max(caps[length], design.cap(at)) for at, length in enumerate(design.lengths)}
        caps |= {base: BASE_LOOK * design.unit} if base else {}
    return Cost(lengths[-1], sum(caps.values()), sum(length * trials for length, trials in caps.items()))


def _designs(rules: Rules, lengths: tuple[int, ...], depths: int) -> Iterator[tuple[int, SearchDesign]]:
    """The length of the base, 0 for none, and the design of each bar; a base that is measured is taken to be full."""
    for bar in rules.bars:
        if bar is not None:
            yield 0, absolute(rules.mode, lengths, depths, bar)
        else:
            length = 0 if rules.base is not None else rules.base_length or lengths[0]
            base = measured(length, [rules.base or 1.0] * (BASE_LOOK * unit_of(depths)))
            yield length, relative(rules.mode, lengths, depths, base)


def _model(design: SearchDesign, right: int) -> See:
    return lambda at, n: Seen([float(design.lengths[at] <= right)] * n)


def _cost(designs: list[tuple[int, SearchDesign]], lengths: tuple[int, ...], right: int) -> Cost:
    sent = dict.fromkeys(lengths, 0)
    for base, design in designs:
        found = walk(design, _model(design, right))
        for length, column in zip(design.lengths, found.columns, strict=True):
            sent[length] = max(sent[length], column.n)
        if base:
            sent[base] = max(sent[base], BASE_LOOK * design.unit)
    return Cost(right, sum(sent.values()), sum(length * trials for length, trials in sent.items()))


_TRIES = 5
_LOST = 1  # a single trial without a score is no sign of anything


def replacements_from(unit: int) -> int:
    """The first repeat that may replace another: no look of any mode comes so far."""
    return MOST_LOOK * unit


def seen(outcomes: Mapping[int, float | None], n: int, unit: int, max_errors: float) -> Seen:
    """What is known of a length's first `n` trials. `outcomes`: by repeat, the score (0..1), `None` for none.

    A trial without a score is replaced by the repeat of so many more than any look has, at the same depth: it is never
    taken for a miss. More than `max_errors` percent of them, and more than one: the length cannot be measured.
    """
    step, scores, missing, lost, exhausted = replacements_from(unit), [], [], 0, False
    for trial in range(n):
        for repeat in range(trial, trial + _TRIES * step, step):
            if repeat not in outcomes:
                missing.append(repeat)
                break
            score = outcomes[repeat]
            if score is not None:
                scores.append(score)
                break
            lost += 1
        else:
            exhausted = True
    hopeless = exhausted or lost > max(_LOST, max_errors * n / 100)
    return Seen(tuple(scores), tuple(missing), lost, hopeless)
