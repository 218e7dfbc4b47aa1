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
    """The options of an adaptive run."""

    mode: Mode
    bars: tuple[float | None, ...]  # scores, 0..1; `None`: 85 % of the base
    seed: int
    max_errors: float  # percent of a look's trials that may have no score
    base: float | None = None  # its score, if an option gives it
    base_length: int | None = None


@dataclass(frozen=True, slots=True)
class BarSearch:
    """The search for one bar of a series."""

    bar: float | None
    base: BaseScore | None
    walk: Walk | None  # `None` while the base is unknown, and for good if the base scores nothing
    hopeless: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be asked for this bar."""
        return self.hopeless if self.walk is None else self.walk.ended


class Survey:
    """The state of a series: its scores so far, and the search for each bar.

    `lengths` (tokens) ascend; `depths` (percent) are those of the whole grid.
    """

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
        self.searches = [self._search_score(bar) if bar is not None else self._search_share() for bar in rules.bars]

    @property
    def ended(self) -> bool:
        """Whether every bar has come to its end."""
        return all(search.ended for search in self.searches)

    def ahead(self, width: int) -> list[Place]:
        """The trials to send next: what every open bar needs, and up to `width` in all that may be needed."""
        trials: dict[Place, None] = {}
        for search in self.searches:
            if search.walk is not None:
                lengths = search.walk.design.lengths
                needed = asked_next(search.walk, self._see(lengths), width)
                trials |= dict.fromkeys(self.place(lengths[at], repeat) for at, repeat in needed)
            elif not search.hopeless:
                trials |= dict.fromkeys(self.place(self._base_length, repeat) for repeat in self._base_seen().missing)
        return list(trials)

    def place(self, length: int, repeat: int) -> Place:
        """Where a sample is asked at a length: at one of the depths, all of them equally often. A sample that replaces
        another takes over its depth."""
        trial = repeat % replacements_from(self.unit)
        (depth,) = spread_depths(self.depths, self.rules.seed, length, trial)
        return length, depth, repeat

    def _search_score(self, bar: float) -> BarSearch:
        design = absolute(self.rules.mode, self.lengths, len(self.depths), bar)
        return BarSearch(bar, None, walk(design, self._see(design.lengths)))

    def _search_share(self) -> BarSearch:
        base, score = None, self.rules.base
        if score is not None:
            base = BaseScore(0, 0, score, score, score)
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
    """The result at one length.

    A length that was decided early was so by luck too: its score lies on the side of the decision, and its interval
    holds less often than 95 %.
    """

    length: int
    n: int  # trials that its last look counted
    total: float  # their sum of scores, 0..1 each
    looks: int
    decision: Decision
    asked: int  # trials sent, those beyond the last look and without a score included
    tokens: int  # of the trials sent
    low: float | None  # both ends of the 95 % interval of the score as it stands
    high: float | None
    near: bool  # it seems to score so near to the bar that the trials which are left cannot decide it
    per_depth: Mapping[float | None, int]  # trials sent, by depth (percent)


@dataclass(frozen=True, slots=True)
class TurnFound:
    """Consecutive looks at one length: trials before and after."""

    length: int
    begun: int
    ended: int


@dataclass(frozen=True, slots=True)
class LengthStatement:
    """The longest length up to which every length scores at least `bar` lies between `low` and `high`, tokens.

    Wrong in at most 5 % of runs, whatever the model.
    """

    model: str
    task: str
    needle: str
    mode: str
    rule: Literal["absolute", "relative"]
    bar: float | None  # `None` while the base that it is a share of is unknown, and if that scores nothing
    base: BaseScore | None
    low: int | None  # `None`: no length was shown to hold the bar
    high: int | None  # `None`: the shortest length fails
    or_more: bool  # nothing failed: it may be longer than the grid is
    stopped: Stopped  # why the run ended early; empty for a search that came to its end
    lengths: tuple[LengthFound, ...]
    turns: tuple[TurnFound, ...]
    trials: int
    tokens: int
    grid_tokens: int  # of ten samples at every length and depth

    def as_object(self) -> dict[str, Any]:
        """For `results.json`."""
        content = asdict(self)
        for length in content["lengths"]:
            length["per_depth"] = [{"depth": depth, "n": n} for depth, n in length["per_depth"].items()]
        return content


def statements_of(
    survey: Survey, places: Sequence[Place], names: tuple[str, str, str], stopped: Stopped = "interrupted"
) -> list[LengthStatement]:
    """The statement of each bar of a series.

    `places`: of every trial that was sent; `names`: model, task, needle; `stopped`: why a search has not ended.
    """
    statements = []
    for search in survey.searches:
        low, high, or_more = _ends(search)
        turns = search.walk.turns if search.walk is not None else ()
        statements.append(
            LengthStatement(
                *names,
                mode=survey.rules.mode,
                rule="relative" if search.bar is None else "absolute",
                bar=_bar(search),
                base=search.base,
                low=low,
                high=high,
                or_more=or_more,
                stopped="" if search.ended else stopped,
                lengths=tuple(_length(length, search, places) for length in survey.lengths),
                turns=tuple(TurnFound(_judged_lengths(search)[turn.at], turn.begun, turn.ended) for turn in turns),
                trials=len(places),
                tokens=sum(place[0] for place in places),
                grid_tokens=_GRID_SAMPLES * len(survey.depths) * sum(survey.lengths),
            )
        )
    return statements


def _bar(search: BarSearch) -> float | None:
    if search.bar is not None or search.walk is None or search.base is None:
        return search.bar
    return SHARE * search.base.score


def _ends(search: BarSearch) -> tuple[int | None, int | None, bool]:
    """The bracket in tokens. The length of a base holds its own bar."""
    if search.walk is None:
        return None, None, False
    lengths = (search.base.length if search.base else 0, *_judged_lengths(search))
    low, high = search.walk.bracket
    return lengths[low] or None, lengths[high] or None, high == len(lengths) - 1


def _judged_lengths(search: BarSearch) -> tuple[int, ...]:
    return search.walk.design.lengths if search.walk is not None else ()


def _length(length: int, search: BarSearch, places: Sequence[Place]) -> LengthFound:
    depths = Counter(depth for at, depth, _ in places if at == length)
    asked = depths.total()
    column, near = LengthState(), False
    if search.walk is not None and length in _judged_lengths(search):
        index = _judged_lengths(search).index(length)
        column = search.walk.columns[index]
        near = out_of_reach(search.walk.design, search.walk.columns)[index]
    if search.base is not None and length == search.base.length:
        column = LengthState(search.base.n, search.base.score * search.base.n, 1)
    low, high = wilson(column.total / column.n, column.n, _Z95) if column.n else (None, None)
    return LengthFound(
        length=length,
        n=column.n,
        total=column.total,
        looks=column.looks,
        decision=column.decision,
        asked=asked,
        tokens=length * asked,
        low=low,
        high=high,
        near=near,
        per_depth=dict(sorted(depths.items(), key=lambda item: -1.0 if item[0] is None else item[0])),
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """What a model costs that is right up to a length and wrong beyond it."""

    right_up_to: int  # tokens; 0: wrong everywhere
    trials: int
    tokens: int


def costs(rules: Rules, lengths: tuple[int, ...], depths: int) -> list[Cost]:
    """The cost of a model for each length that it may be right up to; several bars cost at most the sum of each."""
    return [_cost(list(_designs(rules, lengths, depths)), lengths, right) for right in (0, *lengths)]


def most(rules: Rules, lengths: tuple[int, ...], depths: int) -> Cost:
    """The most that any model costs: every length up to the cap of each bar, bases included."""
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
        columns = walk(design, _model(design, right)).columns
        for length, column in zip(design.lengths, columns, strict=True):
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
    """The first `n` trials of a length. `outcomes`: by repeat, the score (0..1), `None` for a trial without one.

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
